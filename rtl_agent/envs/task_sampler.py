"""The task sampler: problems in the order in which they are learned from, a pure function of seed and batch number."""

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from tinker_cookbook.rl.types import EnvGroupBuilder, RLDataset

from rtl_agent.envs.env import ProblemGroupBuilder
from rtl_agent.problems import NEEDS_IN_WORDS, Kind, Needs, Problem, Selection, Split, select
from rtl_agent.prompts import PromptTooLong


class NoTasks(ValueError):
    """There is nothing to learn from, or to evaluate on."""


@dataclass(frozen=True)
class Partition:
    """Problems by family: siblings are on one side."""

    train: tuple[Problem, ...]
    held_out: tuple[Problem, ...]


def partition(problems: Iterable[Problem], *, held_out: float = 0.2, seed: int = 0) -> Partition:
    """A family's side depends on its name alone, so no filter and no new problem moves it across."""
    found = list(problems)

    def side(of: Split) -> tuple[Problem, ...]:
        return tuple(select(found, Selection(split=of, held_out=held_out, split_seed=seed)))

    return Partition(side(Split.TRAIN), side(Split.HELD_OUT))


def gradable(
    problems: Iterable[Problem], kinds: Sequence[Kind] = (Kind.SINGLE_SHOT,)
) -> tuple[list[Problem], list[str]]:
    """The problems that can be asked so and graded here; a sentence for each that is left out."""
    kept: list[Problem] = []
    left_out: list[str] = []
    for problem in problems:
        if problem.kind not in kinds:
            why = "which takes more than one turn" if problem.kind is Kind.AGENTIC else "and others are agentic"
            left_out.append(f"{problem.id} is left out: it is {problem.kind.value}, {why}")
        elif problem.needs is not Needs.OPEN_TOOLS:
            left_out.append(f"{problem.id} is left out: it needs {NEEDS_IN_WORDS[problem.needs]}")
        else:
            kept.append(problem)
    return kept, left_out


def fitting(
    problems: Iterable[Problem], builder_of: Callable[[Problem], ProblemGroupBuilder]
) -> tuple[list[Problem], list[str]]:
    """The problems whose prompts can be cut to their length; a sentence for each that is left out."""
    kept: list[Problem] = []
    left_out: list[str] = []
    for problem in problems:
        try:
            builder_of(problem).prompt()
        except PromptTooLong as error:
            left_out.append(f"left out: {error}")
        else:
            kept.append(problem)
    return kept, left_out


@dataclass(frozen=True)
class TaskSampler:
    """Sampling without replacement: every epoch has every problem once, in an order of its own.

    Resuming needs the batch's number, nothing else.
    """

    problems: tuple[Problem, ...]
    batch_size: int
    seed: int = 0
    epochs: int = 1

    def __post_init__(self) -> None:
        if not self.problems:
            raise NoTasks("no problems are left: name other files, or use fewer filters")
        if self.batch_size < 1 or self.epochs < 1:
            raise ValueError(f"batch_size is {self.batch_size} and epochs {self.epochs}: both must be 1 or more")

    @property
    def batches_per_epoch(self) -> int:
        """The last batch of an epoch may be smaller: no problem is twice in a batch."""
        return -(-len(self.problems) // self.batch_size)

    def __len__(self) -> int:
        return self.epochs * self.batches_per_epoch

    def batch(self, index: int) -> tuple[Problem, ...]:
        """Any index of 0 or more: who wants more steps than there are epochs just goes on."""
        if index < 0:
            raise IndexError(f"there is no batch {index}")
        epoch, part = divmod(index, self.batches_per_epoch)
        order = list(range(len(self.problems)))
        random.Random(f"{self.seed}/{epoch}").shuffle(order)
        return tuple(self.problems[at] for at in order[part * self.batch_size : (part + 1) * self.batch_size])

    def spare(self, index: int) -> tuple[Problem, ...]:
        """Other problems for a batch, in an order of its own: at most as many as it has already."""
        taken = {problem.id for problem in self.batch(index)}
        others = [problem for problem in self.problems if problem.id not in taken]
        random.Random(f"{self.seed}/{index}/spare").shuffle(others)
        return tuple(others[: self.batch_size])


@dataclass(frozen=True)
class EnvDataset(RLDataset):
    """The same for tinker-cookbook's own loops: batches of environment builders, all like `template`."""

    problems: TaskSampler
    template: ProblemGroupBuilder

    def get_batch(self, index: int) -> Sequence[EnvGroupBuilder]:
        return [replace(self.template, problem=problem) for problem in self.problems.batch(index)]

    def __len__(self) -> int:
        return len(self.problems)
