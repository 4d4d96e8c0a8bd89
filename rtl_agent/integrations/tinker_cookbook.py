"""tinker-cookbook: our problems as an `RLDatasetBuilder`, which its own training programs take by name.

    dataset_builder=rtl_agent.integrations.tinker_cookbook:RTLDatasetBuilder dataset_builder.problems=bundled

An answer that cannot be graded raises in its environment, and never counts as a reward of 0: what becomes of the group
is decided by the run's `rollout_error_tolerance`.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import chz
from tinker_cookbook.rl.types import RLDataset, RLDatasetBuilder

from rtl_agent.backends.models.registry import OWN
from rtl_agent.envs.env import EpisodeEnv, ProblemGroupBuilder, live_grader
from rtl_agent.envs.episode_config import SINGLE, EpisodeConfig
from rtl_agent.envs.hosted import grader_options, playable
from rtl_agent.envs.renderers import default_renderer
from rtl_agent.envs.task_sampler import EnvDataset, TaskSampler, fitting, partition
from rtl_agent.envs.tokenizers import register_local_tokenizers
from rtl_agent.grading import GraderOptions, shared_grader
from rtl_agent.grading.executors import LOCAL
from rtl_agent.local_models import imported_models, read_card

log = logging.getLogger(__name__)
# The cookbook asks for a tokenizer by the model's name before it builds a dataset, but after it has read this module.
register_local_tokenizers([*OWN, *(card.name for folder in imported_models() if (card := read_card(folder)))])


@dataclass(frozen=True)
class RTLGroupBuilder(ProblemGroupBuilder):
    """Brings its grader along as options, so that it works in whichever process its group is played."""

    grading: GraderOptions = field(default_factory=GraderOptions)

    async def make_envs(self) -> Sequence[EpisodeEnv]:
        with live_grader(shared_grader(self.grading).grader, self.grader):
            return await super().make_envs()


@chz.chz
class RTLDatasetBuilder(RLDatasetBuilder):
    """Problems as a training set, and those of held-out families as a test set.

    `max_tokens` should be the training program's: an episode ends where another turn of that length would not fit into
    `context`.
    """

    model_name_for_tokenizer: str
    renderer_name: str | None = chz.field(default=None, doc="None: the one that fits the model")
    problems: str = chz.field(default="bundled", doc="bundled, generated, a CVDP file, a directory of problems, ...")
    limit: int = chz.field(default=0, doc="only so many problems; 0: all")
    held_out: float = chz.field(default=0.0, doc="share of families that are the test set; 0: no test set")
    seed: int = chz.field(default=0, doc="of the order of problems")
    epochs: int = 1
    batch_size: int = chz.field(default=4, doc="problems in a batch")
    group_size: int = chz.field(default=4, doc="episodes of each problem")
    max_tokens: int = chz.field(default=1024, doc="maximum tokens of one turn: the training program's max_tokens")
    context: int | None = chz.field(default=None, doc="the most tokens that the model takes")
    env: str = chz.field(default=SINGLE, doc="single, refine or agentic")
    level: str = chz.field(default="", doc="what a model may know: spec, own-tests or feedback; empty: the usual one")
    max_turns: int = chz.field(default=50, doc="of an agentic episode")
    reward: str = chz.field(default="staged", doc="reward preset, with weights over it")
    jobs: int = chz.field(default=0, doc="grades at a time; 0: one for each core")
    executor: str = chz.field(default=LOCAL, doc="where to grade: local, ray, or the address of a grade server")

    @property
    def episode(self) -> EpisodeConfig:
        return EpisodeConfig(kind=self.env, level=self.level, max_tokens=self.max_tokens, max_turns=self.max_turns)

    async def __call__(self) -> tuple[RLDataset, RLDataset | None]:
        episode, model = self.episode, self.model_name_for_tokenizer
        found = playable(self.problems, episode, limit=self.limit)
        template = RTLGroupBuilder(
            found[0],
            self.group_size,
            model,
            self.renderer_name or default_renderer(model),
            episode,
            self.context,
            grading=grader_options(episode, reward=self.reward, jobs=self.jobs, executor=self.executor),
        )
        fit, too_long = fitting(found, lambda problem: replace(template, problem=problem))
        for text in too_long:
            log.warning("%s", text)
        sides = partition(fit, held_out=self.held_out)
        train = TaskSampler(sides.train, self.batch_size, seed=self.seed, epochs=self.epochs)
        if not sides.held_out:
            return EnvDataset(train, template), None
        tests = TaskSampler(sides.held_out, self.batch_size)
        return EnvDataset(train, template), EnvDataset(tests, replace(template, group_size=1))
