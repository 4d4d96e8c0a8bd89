"""The smallest task for the cookbook's programs: the reward is the share of even tokens."""

from collections.abc import Sequence
from dataclasses import dataclass

import chz
import tinker
from tinker_cookbook.rl.types import Env, EnvGroupBuilder, RLDataset, RLDatasetBuilder, StepResult

STEPS = 3


class EvenTokens(Env):
    """One turn; the reward is the share of even tokens."""

    def __init__(self, first: int) -> None:
        self.first = first

    async def initial_observation(self) -> tuple[tinker.ModelInput, list[int]]:
        return tinker.ModelInput.from_ints([self.first, 12, 13]), []

    async def step(self, action: list[int], *, extra: object = None) -> StepResult:
        even = sum(token % 2 == 0 for token in action) / len(action)
        return StepResult(even, True, tinker.ModelInput.empty(), [])


@dataclass(frozen=True)
class Group(EnvGroupBuilder):
    first: int

    async def make_envs(self) -> Sequence[Env]:
        return [EvenTokens(self.first) for _ in range(4)]


class Numbers(RLDataset):
    def get_batch(self, index: int) -> Sequence[EnvGroupBuilder]:
        return [Group(20 + index), Group(30 + index)]

    def __len__(self) -> int:
        return STEPS


@chz.chz
class NumbersBuilder(RLDatasetBuilder):
    async def __call__(self) -> tuple[RLDataset, None]:
        return Numbers(), None
