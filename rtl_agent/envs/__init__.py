"""tinker-cookbook environments over problems and the grader: single-shot; renderers, tokenizers, datasets."""

from rtl_agent.envs.dataset import EmptyDataset, EnvDataset, Partition, ProblemDataset, fitting, gradable, partition
from rtl_agent.envs.episode import Episode, EpisodeFailed, EpisodeTurn
from rtl_agent.envs.episode_env import EpisodeEnv
from rtl_agent.envs.group_builder import ProblemGroupBuilder
from rtl_agent.envs.live import NoGrader, live_grader
from rtl_agent.envs.prompt import Prompt, prompt_for
from rtl_agent.envs.renderers import RENDERERS, UnknownRenderer, default_renderer, renderer_for, warnings_for
from rtl_agent.envs.single_shot import SingleShotEnv, SingleShotGroupBuilder
from rtl_agent.envs.tokenizers import NoTokenizer, tokenizer_for

__all__ = [
    "RENDERERS",
    "EmptyDataset",
    "EnvDataset",
    "Episode",
    "EpisodeEnv",
    "EpisodeFailed",
    "EpisodeTurn",
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
