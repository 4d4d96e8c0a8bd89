"""The reader of run directories: finished runs, runs that are still going, and tinker-cookbook's."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rtl_agent.runs import directory
from rtl_agent.runs.episode import RolloutRecord
from rtl_agent.runs.files import RunError, cannot, read_lines, read_object
from rtl_agent.runs.rows import LARGEST

_TIMES = ("time/total", "time/eval", "teacher/time/eval")
_OWN = ("name", "step", "state_path", "sampler_path", "best", "value")


@dataclass(frozen=True)
class Checkpoint:
    """`step` counts the steps done, so a run resumes with step number `step`.

    `state_path` holds weights and optimiser, `sampler_path` weights to sample from. `best` says that no earlier
    checkpoint had a better `value` (the held-out score). `extra` is the loop's own: data position, random state.
    """

    name: str
    step: int
    state_path: str | None
    sampler_path: str | None = None
    best: bool = False
    value: float | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _OWN} | {"extra": dict(self.extra)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> "Checkpoint":
        """Also from tinker-cookbook's lines, which say `batch` for the step and keep the loop's own keys beside it."""
        kept = record.get("extra")
        extra = dict(kept) if isinstance(kept, Mapping) else {}
        extra |= {key: value for key, value in record.items() if key not in (*_OWN, "extra", "batch")}
        return cls(
            name=str(record.get("name", "")),
            step=number_of_step(record.get("step", record.get("batch"))) or 0,
            state_path=record.get("state_path"),
            sampler_path=record.get("sampler_path"),
            best=bool(record.get("best", False)),
            value=record.get("value"),
            extra=extra,
        )


@dataclass(frozen=True)
class RunRecord:
    """What a run directory says. Rollouts can be gigabytes, so they are read only as they are asked for."""

    path: Path
    config: Mapping[str, Any]
    metrics: tuple[Mapping[str, Any], ...]
    checkpoints: tuple[Checkpoint, ...]
    is_running: bool
    starts: tuple[Mapping[str, Any], ...] = ()  # of early runs and other writers' none

    @property
    def name(self) -> str:
        return self.path.resolve().name

    def option(self, *names: str) -> Any:
        """The value of the first of these options that the config has, at its top or in one of its groups."""
        groups = [self.config, *(value for value in self.config.values() if isinstance(value, Mapping))]
        found = (group[name] for name in names for group in groups if group.get(name) not in (None, ""))
        return next((value for value in found if isinstance(value, str | int | float)), None)

    @property
    def student(self) -> str | None:
        return _text_or_none(self.option("student", "student_model", "model_name"))

    @property
    def teacher(self) -> str | None:
        return _text_or_none(self.option("teacher", "teacher_model"))

    @property
    def command(self) -> str | None:
        """The command that started it, with its options."""
        return _text_or_none(self.starts[0].get("command")) if self.starts else None

    @property
    def resumed_by(self) -> str | None:
        """The newest command that resumed it; None for a run that went through at once."""
        return _text_or_none(self.starts[-1].get("command")) if len(self.starts) > 1 else None

    @property
    def seconds(self) -> float | None:
        """Time spent in steps and evaluations, whatever pauses there were between them."""
        spent = [value for name in _TIMES for _, value in self.series(name)]
        return sum(spent) if spent else None

    @property
    def steps(self) -> int:
        """How many steps of training have metrics."""
        steps = {number_of_step(line.get("step")) for line in self.metrics if not _is_evaluation(line)}
        return len(steps - {None})

    def series(self, metric: str) -> list[tuple[int, float]]:
        """Step and value wherever the metric was measured and is a number."""
        lines = ((line.get("step", index), line.get(metric)) for index, line in enumerate(self.metrics))
        known = ((number_of_step(step), value) for step, value in lines)
        return [
            (step, float(value))
            for step, value in known
            if step is not None and isinstance(value, int | float) and -LARGEST < value < LARGEST
        ]

    def metric_names(self) -> list[str]:
        """In the order of their first appearance."""
        names = dict.fromkeys(name for line in self.metrics for name in line)
        names.pop("step", None)
        return list(names)

    def episodes(self, kind: str = "step") -> Iterator[dict[str, Any]]:
        """Every episode of training (`step`), evaluations (`eval`) or a `teacher`, in order, each with its step."""
        for file in directory.rollout_files(self.path):
            if file.kind == kind:
                for episode in read_lines(file.path):
                    yield {"step": file.step, **episode}

    def rollouts(self, kind: str = "step") -> Iterator[RolloutRecord]:
        """The same, typed, whatever version of rtl-agent wrote them; without their tokens."""
        return map(RolloutRecord.from_json, self.episodes(kind))

    def trust(self) -> dict[str, Any]:
        """The audit's version, the wanted grade, and each problem's grade of trust; in older runs nothing is known."""
        path = self.path / directory.TRUST
        try:
            found = json.loads(path.read_text()) if path.exists() else None
        except (OSError, ValueError):
            found = None
        return found if isinstance(found, dict) else _no_trust()

    def held_out(self) -> list[dict[str, Any]]:
        """The problems of the evaluations, with their references; none in runs of other writers."""
        return list(read_lines(self.path / directory.HELD_OUT))


def _no_trust() -> dict[str, Any]:
    return {"audit": None, "wanted": None, "grades": {}}


def read_run(path: str | Path) -> RunRecord:
    path = Path(path)
    if not path.is_dir():
        raise RunError(f"there is no run directory {path}; see `rtl-agent runs list`")
    if not looks_like_run(path):
        raise RunError(f"{path} is not a run directory: it has no {directory.METRICS}; see `rtl-agent runs list`")
    return RunRecord(
        path=path,
        config=read_object(path / directory.CONFIG) if (path / directory.CONFIG).exists() else {},
        metrics=tuple(read_lines(path / directory.METRICS)),
        checkpoints=tuple(Checkpoint.from_json(line) for line in read_lines(path / directory.CHECKPOINTS)),
        is_running=directory.is_locked(path),
        starts=tuple(read_lines(path / directory.STARTS)),
    )


def list_runs(root: str | Path) -> list[Path]:
    """The run directories at most two levels below a folder, the newest first; the folder itself if it is one."""
    root = Path(root)
    if not root.is_dir():
        raise RunError(f"there is no folder {root}: give the folder that holds the runs")
    if directory.is_run(root):
        return [root]
    try:
        children = [child for child in root.iterdir() if child.is_dir()]
    except OSError as error:
        raise cannot("list", root, error) from error
    found = [child for child in children if looks_like_run(child)]
    for child in children:
        if child not in found:
            with suppress(OSError):  # a folder of somebody else hides no run beside it
                found += [one for one in child.iterdir() if one.is_dir() and looks_like_run(one)]
    return sorted(found, key=lambda run: (-_last_written(run), run.name))


def looks_like_run(path: Path) -> bool:
    """For reading, less will do than for deleting: a copy may lack any of the other files."""
    return directory.is_run(path) or (path / directory.METRICS).is_file()


def number_of_step(value: Any) -> int | None:
    """Lines come from anybody: a step that is no number, or none that can be counted to, is none."""
    return int(value) if isinstance(value, int | float) and -LARGEST < value < LARGEST else None


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _is_evaluation(line: Mapping[str, Any]) -> bool:
    """The evaluation after the last step has a line of its own."""
    kinds = {name.split("/")[0] for name in line}
    return "test" in kinds and not kinds & {"env", "optim"}


def _last_written(run: Path) -> float:
    files = (run / name for name in (directory.METRICS, directory.CONFIG))
    return max((file.stat().st_mtime for file in files if file.exists()), default=0.0)
