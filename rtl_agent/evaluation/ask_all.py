"""Every problem, as often as wanted: what is there already is not asked again, what fails is tried again."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from rtl_agent.envs.episode import EpisodeFailed
from rtl_agent.evaluation.players import Player, Unwatched
from rtl_agent.evaluation.samples import Sample, SampleFile
from rtl_agent.evaluation.settings import problem_digest
from rtl_agent.problems import Problem
from rtl_agent.training.seeds import seed_of
from rtl_agent.training.together import together

TRIES = 3


@dataclass(frozen=True)
class Lost:
    """A sample that could not be had or graded, by no fault of the model."""

    problem_id: str
    index: int
    why: str


@dataclass(frozen=True)
class Asked:
    """All samples, by problem and index, and the lost ones."""

    samples: tuple[Sample, ...]
    lost: tuple[Lost, ...]
    reused: int  # of the samples, those that were there before


async def ask_all(
    problems: Sequence[Problem],
    samples: int,
    player: Player,
    file: SampleFile,
    *,
    seed: int,
    at_a_time: int,
    told: Callable[[Sample | Lost], None] = lambda one: None,
) -> Asked:
    """First one sample of every problem, then the second: what is there after a kill is of all problems alike."""
    wanted = [(problem, index) for index in range(samples) for problem in problems]
    there = {(problem.id, index): file.find(problem, index) for problem, index in wanted}
    results: dict[tuple[str, int], Sample | Lost] = {key: found for key, found in there.items() if found is not None}
    reused = len(results)
    for found in results.values():
        told(found)
    todo = iter([(problem, index) for problem, index in wanted if (problem.id, index) not in results])

    async def work(todo: Iterator[tuple[Problem, int]]) -> None:
        for problem, index in todo:
            one = await _sample(player, problem, index, seed)
            if isinstance(one, Sample):
                file.add(one)
            results[problem.id, index] = one
            told(one)

    await together(work(todo) for _ in range(at_a_time))
    order = [results[problem.id, index] for problem in problems for index in range(samples)]
    return Asked(
        tuple(one for one in order if isinstance(one, Sample)),
        tuple(one for one in order if isinstance(one, Lost)),
        reused,
    )


async def _sample(player: Player, problem: Problem, index: int, seed: int) -> Sample | Lost:
    why = ""
    for _ in range(TRIES):
        began = time.perf_counter()
        try:
            played = await player.play(problem, seed_of(seed, problem.id, index), Unwatched())
        except EpisodeFailed as failure:
            why = str(failure)
            continue
        seconds = time.perf_counter() - began
        return Sample(index, problem_digest(problem), seconds, played.usage, played.not_sent, played.episode)
    return Lost(problem.id, index, why)
