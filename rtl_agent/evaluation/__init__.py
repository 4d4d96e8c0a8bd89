"""How good a model is: any model, any problems, pass@k with intervals, and one episode at a time to watch."""

from rtl_agent.evaluation.evaluate import EvaluationOptions, ProblemSet, evaluate, opened, play, problem_set
from rtl_agent.evaluation.models import ModelSpec, episode_config, open_model
from rtl_agent.evaluation.result import EvaluationResult
from rtl_agent.evaluation.settings import EvaluationError, EvaluationSettings, ModelGone
from rtl_agent.evaluation.summary import Summary, summarise

__all__ = [
    "EvaluationError",
    "EvaluationOptions",
    "EvaluationResult",
    "EvaluationSettings",
    "ModelGone",
    "ModelSpec",
    "ProblemSet",
    "Summary",
    "episode_config",
    "evaluate",
    "open_model",
    "opened",
    "play",
    "problem_set",
    "summarise",
]
