"""Train language models to write RTL that obeys its specification, and grade it with real EDA tools in a sandbox.

::

    import rtl_agent as ra

    problem = ra.load_problems("bundled")[0]
    with ra.SyncGrader() as grader:
        print(grader.grade_reply(problem, reply).reward.total)

The names below are the public interface; they are loaded when they are first used, so that importing the package costs
nothing and grading needs neither torch nor Tinker.
"""

from importlib import import_module
from typing import TYPE_CHECKING

__version__ = "0.2.0"

if TYPE_CHECKING:
    from rtl_agent.evaluation.api import EvaluationResult, evaluate
    from rtl_agent.grading import (
        REWARD_TERMS,
        Extraction,
        Grade,
        GradeCache,
        Grader,
        GraderOptions,
        JudgedSubmission,
        Outcome,
        RewardWeights,
        Submission,
        SyncGrader,
        parse_weights,
        shared_grader,
        submit,
    )
    from rtl_agent.problems import PROBLEM_SOURCES, LoadOptions, Problem, load_problems, parse_record
    from rtl_agent.registry import Registry
    from rtl_agent.training import (
        BudgetConfig,
        Config,
        CurriculumConfig,
        DataConfig,
        EpisodeConfig,
        EvalConfig,
        GradingConfig,
        ModelConfig,
        ObjectiveConfig,
        OptimConfig,
        OverlapConfig,
        RunConfig,
        TrainResult,
        configure,
        train,
        train_async,
    )

_WHERE = {
    "rtl_agent.evaluation.api": ("EvaluationResult", "evaluate"),
    "rtl_agent.grading": (
        "REWARD_TERMS",
        "Extraction",
        "Grade",
        "GradeCache",
        "Grader",
        "GraderOptions",
        "JudgedSubmission",
        "Outcome",
        "RewardWeights",
        "Submission",
        "SyncGrader",
        "parse_weights",
        "shared_grader",
        "submit",
    ),
    "rtl_agent.problems": ("PROBLEM_SOURCES", "LoadOptions", "Problem", "load_problems", "parse_record"),
    "rtl_agent.registry": ("Registry",),
    "rtl_agent.training": (
        "BudgetConfig",
        "Config",
        "CurriculumConfig",
        "DataConfig",
        "EpisodeConfig",
        "EvalConfig",
        "GradingConfig",
        "ModelConfig",
        "ObjectiveConfig",
        "OptimConfig",
        "OverlapConfig",
        "RunConfig",
        "TrainResult",
        "configure",
        "train",
        "train_async",
    ),
}
_MODULES = {name: module for module, names in _WHERE.items() for name in names}

__all__ = [
    "PROBLEM_SOURCES",
    "REWARD_TERMS",
    "BudgetConfig",
    "Config",
    "CurriculumConfig",
    "DataConfig",
    "EpisodeConfig",
    "EvalConfig",
    "EvaluationResult",
    "Extraction",
    "Grade",
    "GradeCache",
    "Grader",
    "GraderOptions",
    "GradingConfig",
    "JudgedSubmission",
    "LoadOptions",
    "ModelConfig",
    "ObjectiveConfig",
    "OptimConfig",
    "Outcome",
    "OverlapConfig",
    "Problem",
    "Registry",
    "RewardWeights",
    "RunConfig",
    "Submission",
    "SyncGrader",
    "TrainResult",
    "configure",
    "evaluate",
    "load_problems",
    "parse_record",
    "parse_weights",
    "shared_grader",
    "submit",
    "train",
    "train_async",
]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'rtl_agent' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
