"""Train a model by reinforcement learning, distillation, or both.

    from rtl_agent.training import configure, train

    result = train(configure("rl", max_steps=4))
    print(result.path, result.metrics["env/all/reward/total"])

`Config` is made of groups, or by `configure` from flat names and a preset. `train` and what belongs to it are loaded
when they are asked for: they import torch and tinker, which takes seconds.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from rtl_agent.envs.episode_config import EpisodeConfig
from rtl_agent.options import BadOption
from rtl_agent.training.config import (
    Config,
    DataConfig,
    EvalConfig,
    ModelConfig,
    ObjectiveConfig,
    OptimConfig,
    RunConfig,
)
from rtl_agent.training.cost import BudgetConfig
from rtl_agent.training.curriculum_options import CurriculumConfig
from rtl_agent.training.errors import BackendGone, BadConfig, LossNotFinite, TrainingError
from rtl_agent.training.grading_options import GradingConfig
from rtl_agent.training.interrupt import Interrupted, Stop
from rtl_agent.training.overlap_options import OverlapConfig
from rtl_agent.training.parse import configure
from rtl_agent.training.presets import PRESETS

if TYPE_CHECKING:
    from rtl_agent.training.start import TrainResult, train, train_async

__all__ = [
    "PRESETS",
    "BackendGone",
    "BadConfig",
    "BadOption",
    "BudgetConfig",
    "Config",
    "CurriculumConfig",
    "DataConfig",
    "EpisodeConfig",
    "EvalConfig",
    "GradingConfig",
    "Interrupted",
    "LossNotFinite",
    "ModelConfig",
    "ObjectiveConfig",
    "OptimConfig",
    "OverlapConfig",
    "RunConfig",
    "Stop",
    "TrainResult",
    "TrainingError",
    "configure",
    "train",
    "train_async",
]


def __getattr__(name: str) -> Any:
    if name in ("TrainResult", "train", "train_async"):
        return getattr(import_module("rtl_agent.training.start"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
