"""Problems as environments of tinker-cookbook. Names are loaded when they are asked for: the rules need no tinker."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rtl_agent.envs.dataset import EmptyDataset, EnvDataset, Partition, ProblemDataset, fitting, gradable, partition
    from rtl_agent.envs.episode import Episode, EpisodeFailed, EpisodeTurn
    from rtl_agent.envs.episode_config import EpisodeConfig, Level
    from rtl_agent.envs.episode_env import EpisodeEnv
    from rtl_agent.envs.group_builder import ProblemGroupBuilder
    from rtl_agent.envs.live import NoGrader, live_grader
    from rtl_agent.envs.prompt import Prompt, prompt_for
    from rtl_agent.envs.renderers import RENDERERS, UnknownRenderer, default_renderer, renderer_for, warnings_for
    from rtl_agent.envs.single_shot import SingleShotEnv, SingleShotGroupBuilder
    from rtl_agent.envs.tokenizers import NoTokenizer, tokenizer_for

_HOMES = {
    "EmptyDataset": "dataset",
    "EnvDataset": "dataset",
    "Episode": "episode",
    "EpisodeConfig": "episode_config",
    "EpisodeEnv": "episode_env",
    "EpisodeFailed": "episode",
    "EpisodeTurn": "episode",
    "Level": "episode_config",
    "NoGrader": "live",
    "NoTokenizer": "tokenizers",
    "Partition": "dataset",
    "ProblemDataset": "dataset",
    "ProblemGroupBuilder": "group_builder",
    "Prompt": "prompt",
    "RENDERERS": "renderers",
    "SingleShotEnv": "single_shot",
    "SingleShotGroupBuilder": "single_shot",
    "UnknownRenderer": "renderers",
    "default_renderer": "renderers",
    "fitting": "dataset",
    "gradable": "dataset",
    "live_grader": "live",
    "partition": "dataset",
    "prompt_for": "prompt",
    "renderer_for": "renderers",
    "tokenizer_for": "tokenizers",
    "warnings_for": "renderers",
}

__all__ = [
    "RENDERERS",
    "EmptyDataset",
    "EnvDataset",
    "Episode",
    "EpisodeConfig",
    "EpisodeEnv",
    "EpisodeFailed",
    "EpisodeTurn",
    "Level",
    "NoGrader",
    "NoTokenizer",
    "Partition",
    "ProblemDataset",
    "ProblemGroupBuilder",
    "Prompt",
    "SingleShotEnv",
    "SingleShotGroupBuilder",
    "UnknownRenderer",
    "default_renderer",
    "fitting",
    "gradable",
    "live_grader",
    "partition",
    "prompt_for",
    "renderer_for",
    "tokenizer_for",
    "warnings_for",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
