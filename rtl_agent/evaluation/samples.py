"""Graded answers: asked for until there are as many as wanted, and kept on disk, a line each.

What a killed evaluation has done is not done again; what fails is tried again.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rtl_agent.envs.episode import EpisodeFailed
from rtl_agent.envs.rollout import gather_or_cancel, seed_of
from rtl_agent.evaluation.players import Player, Unwatched
from rtl_agent.evaluation.settings import EvaluationError, EvaluationSettings
from rtl_agent.problems import Problem, problem_digest
from rtl_agent.runs.compare import differences
from rtl_agent.runs.episode import Episode
from rtl_agent.runs.files import append_line, cannot, cut_torn_line, read_lines, to_line

TEXTS_CHANGED = (
    "texts: what a model is told besides the problem (system message, form of an answer, tools, failures) is worded "
    "differently in this version of rtl-agent"
)


@dataclass(frozen=True)
class EvaluationSample:
    """One graded answer to one problem."""

    index: int  # which of the problem's samples
    asked: str  # digest of the problem as it was then
    seconds: float  # to answer and to grade
    usage: Mapping[str, int]  # tokens: prompt, answer; 0 where nobody counted
    not_sent: tuple[str, ...]  # parameters of sampling that the endpoint refused, and did without
    episode: Episode

    @property
    def key(self) -> tuple[str, int]:
        return self.episode.problem_id, self.index

    @property
    def passed(self) -> bool:
        return self.episode.passed

    def to_json(self) -> dict[str, Any]:
        return {
            "index": self.index,
            "asked": self.asked,
            "seconds": round(self.seconds, 3),
            "usage": self.usage,
            "not_sent": list(self.not_sent),
            "episode": self.episode.to_json(),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "EvaluationSample":
        told = (data["index"], data["asked"], data["seconds"], data["usage"], tuple(data["not_sent"]))
        return EvaluationSample(*told, Episode.from_json(data["episode"]))


class SampleFile:
    """A JSONL whose first line is the settings. Held by one process at a time, however it ends."""

    def __init__(self, path: Path, settings: EvaluationSettings, *, fresh: bool = False) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise cannot("write", path, error) from error
        try:
            self._lock()
            if fresh:
                os.ftruncate(self._descriptor, 0)
            cut_torn_line(path)
            self._samples = self._read(settings)
        except BaseException:
            os.close(self._descriptor)
            raise

    def _lock(self) -> None:
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise EvaluationError(
                f"another process is writing {self.path}: wait for it, stop it, or give another --out"
            ) from None

    def _read(self, settings: EvaluationSettings) -> dict[tuple[str, int], EvaluationSample]:
        lines = read_lines(self.path)
        first = next(lines, None)
        if first is None:
            append_line(self.path, to_line({"settings": settings.to_json()}))
            return {}
        if "settings" not in first:
            raise EvaluationError(f"{self.path} holds no samples of an evaluation: give another --out")
        if changes := differences(first["settings"], settings.to_json()):
            listed = "".join(f"\n  {TEXTS_CHANGED if change.option == 'texts' else change}" for change in changes)
            raise EvaluationError(
                f"the answers in {self.path} were made with different settings:{listed}\n"
                "Give the old values, another --out, or --fresh to throw the old answers away."
            )
        return {sample.key: sample for sample in map(EvaluationSample.from_json, lines)}

    def find(self, problem: Problem, index: int) -> EvaluationSample | None:
        """An answer to the problem as it is now."""
        sample = self._samples.get((problem.id, index))
        return sample if sample is not None and sample.asked == problem_digest(problem) else None

    def add(self, sample: EvaluationSample) -> None:
        append_line(self.path, to_line(sample.to_json()))
        self._samples[sample.key] = sample

    def close(self) -> None:
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


TRIES = 3


@dataclass(frozen=True)
class LostSample:
    """A sample that could not be had or graded, by no fault of the model."""

    problem_id: str
    index: int
    why: str


@dataclass(frozen=True)
class Asked:
    """All samples, by problem and index, and the lost ones."""

    samples: tuple[EvaluationSample, ...]
    lost: tuple[LostSample, ...]
    reused: int  # of the samples, those that were there before


async def ask_all(
    problems: Sequence[Problem],
    samples: int,
    player: Player,
    file: SampleFile,
    *,
    seed: int,
    at_a_time: int,
    told: Callable[[EvaluationSample | LostSample], None] = lambda one: None,
) -> Asked:
    """First one sample of every problem, then the second: what is there after a kill is of all problems alike."""
    wanted = [(problem, index) for index in range(samples) for problem in problems]
    there = {(problem.id, index): file.find(problem, index) for problem, index in wanted}
    results: dict[tuple[str, int], EvaluationSample | LostSample] = {
        key: found for key, found in there.items() if found is not None
    }
    reused = len(results)
    for found in results.values():
        told(found)
    todo = iter([(problem, index) for problem, index in wanted if (problem.id, index) not in results])

    async def work(todo: Iterator[tuple[Problem, int]]) -> None:
        for problem, index in todo:
            one = await _sample(player, problem, index, seed)
            if isinstance(one, EvaluationSample):
                file.add(one)
            results[problem.id, index] = one
            told(one)

    await gather_or_cancel(work(todo) for _ in range(at_a_time))
    order = [results[problem.id, index] for problem in problems for index in range(samples)]
    return Asked(
        tuple(one for one in order if isinstance(one, EvaluationSample)),
        tuple(one for one in order if isinstance(one, LostSample)),
        reused,
    )


async def _sample(player: Player, problem: Problem, index: int, seed: int) -> EvaluationSample | LostSample:
    why = ""
    for _ in range(TRIES):
        began = time.perf_counter()
        try:
            played = await player.play(problem, seed_of(seed, problem.id, index), Unwatched())
        except EpisodeFailed as failure:
            why = str(failure)
            continue
        seconds = time.perf_counter() - began
        return EvaluationSample(index, problem_digest(problem), seconds, played.usage, played.not_sent, played.episode)
    return LostSample(problem.id, index, why)
