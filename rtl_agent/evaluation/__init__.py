"""How good a model is: any model, any problems, pass@k with intervals, and one episode at a time to watch."""

from rtl_agent.evaluation.errors import EvaluationError, ModelGone
from rtl_agent.evaluation.evaluate import Options, evaluate, opened
from rtl_agent.evaluation.models import ModelSpec, open_model
from rtl_agent.evaluation.problem_sets import ProblemSet, problem_set
from rtl_agent.evaluation.result import Result
from rtl_agent.evaluation.rules import Rules
from rtl_agent.evaluation.summary import Summary, summarise

__all__ = [
    "EvaluationError",
    "ModelGone",
    "ModelSpec",
    "Options",
    "ProblemSet",
    "Result",
    "Rules",
    "Summary",
    "evaluate",
    "open_model",
    "opened",
    "problem_set",
    "summarise",
]
