"""Graded answers on disk, a line each: what a killed evaluation has done is not done again."""

import fcntl
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rtl_agent.runs.episode import Episode
from rtl_agent.evaluation.errors import EvaluationError
from rtl_agent.evaluation.settings import Settings, problem_digest
from rtl_agent.problems import Problem
from rtl_agent.runs.compare import differences
from rtl_agent.runs.files import append_line, cannot, cut_torn_line, read_lines, to_line

TEXTS_CHANGED = (
    "texts: what a model is told besides the problem (system message, form of an answer, tools, failures) is worded "
    "otherwise in this version of rtl-agent"
)


@dataclass(frozen=True)
class Sample:
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
        return bool(self.episode.is_scored and self.episode.grade["outcome"] == "passed")

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
    def from_json(data: Mapping[str, Any]) -> "Sample":
        told = (data["index"], data["asked"], data["seconds"], data["usage"], tuple(data["not_sent"]))
        return Sample(*told, Episode.from_json(data["episode"]))


class SampleFile:
    """A JSONL whose first line is the settings. Held by one process at a time, however it ends."""

    def __init__(self, path: Path, settings: Settings, *, fresh: bool = False) -> None:
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

    def _read(self, settings: Settings) -> dict[tuple[str, int], Sample]:
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
                f"the answers in {self.path} were made with other settings:{listed}\n"
                "Give the old values, another --out, or --fresh to throw the old answers away."
            )
        return {sample.key: sample for sample in map(Sample.from_json, lines)}

    def find(self, problem: Problem, index: int) -> Sample | None:
        """An answer to the problem as it is now."""
        sample = self._samples.get((problem.id, index))
        return sample if sample is not None and sample.asked == problem_digest(problem) else None

    def add(self, sample: Sample) -> None:
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
