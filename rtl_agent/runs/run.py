"""The writer of a run directory: what is in it after a kill at any moment can be read, and gone on from."""

import json
import logging
import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rtl_agent.runs import layout
from rtl_agent.runs.checkpoint import Checkpoint
from rtl_agent.runs.code_diff import code_diff
from rtl_agent.runs.config import Difference, differences, refuse_changes
from rtl_agent.runs.durable import append_line, cut_torn_line, remove_unfinished, write_whole
from rtl_agent.runs.errors import RunError, cannot
from rtl_agent.runs.if_exists import IfExists, decide
from rtl_agent.runs.jsonl import plain, read_lines, read_object, to_line
from rtl_agent.runs.lock import RunLock
from rtl_agent.runs.log_file import LogFile


class Run:
    """Made with `Run.create`; holds the run's lock until `close`, or until the process ends.

    To go on after a kill, load `last_checkpoint` and `rewind` to its step (to 0 without one).
    """

    def __init__(self, path: Path, lock: RunLock, config: Mapping[str, Any], changes: tuple[Difference, ...]) -> None:
        self.path = path
        self.config = config
        self.changes = changes
        """What this config has other than the one that the run began with; empty for a new run."""
        self._lock = lock
        self._log_files: list[LogFile] = []
        for name in (layout.METRICS, layout.CHECKPOINTS, layout.LOGS):
            cut_torn_line(path / name)
        for folder in (path, path / layout.ROLLOUTS):
            remove_unfinished(folder)
        self._last_step = max((_step_of(line) for line in read_lines(path / layout.METRICS)), default=-1)

    @classmethod
    def create(
        cls,
        path: str | Path,
        config: Mapping[str, Any],
        *,
        if_exists: IfExists | str,
        ask: Callable[[str], str] | None = None,
        fixed: Collection[str] = (),
    ) -> Self:
        """A new run, or one that goes on. `fixed` names the options that may not change on resume."""
        path = Path(path)
        action = decide(path, IfExists(if_exists), ask)
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise cannot("make", path, error) from error
        lock = RunLock(path)
        try:
            if action is IfExists.DELETE:
                _empty(path)
            elif action is IfExists.RAISE and (path / layout.CONFIG).exists():
                raise RunError(f"{path} was made by another process just now; choose another log_path")
            new_config = plain(config)
            changes = differences(read_object(path / layout.CONFIG), new_config) if action is IfExists.RESUME else ()
            refuse_changes(path, changes, fixed)
            run = cls(path, lock, new_config, changes)
            if action is IfExists.RESUME:
                run._note_resumption()
            write_whole(path / layout.CONFIG, (_indented(new_config) + "\n").encode())
        except BaseException:
            lock.release()
            raise
        return run

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        return tuple(Checkpoint.from_json(line) for line in read_lines(self.path / layout.CHECKPOINTS))

    @property
    def last_checkpoint(self) -> Checkpoint | None:
        """The newest that training can go on from."""
        return next((checkpoint for checkpoint in reversed(self.checkpoints) if checkpoint.state_path), None)

    def rewind(self, step: int) -> None:
        """Forget everything from step number `step` on, so that it can be done again.

        Checkpoints go first: a kill half-way must not leave one that is newer than the metrics.
        """
        self._keep(layout.CHECKPOINTS, lambda line: Checkpoint.from_json(line).step <= step)
        for file in layout.rollout_files(self.path):
            if file.step >= step:
                try:
                    file.path.unlink()
                except OSError as error:
                    raise cannot("remove", file.path, error) from error
        self._keep(layout.METRICS, lambda line: _step_of(line) < step)
        self._last_step = max((_step_of(line) for line in read_lines(self.path / layout.METRICS)), default=-1)

    def log_metrics(self, step: int, metrics: Mapping[str, float]) -> None:
        """One line for each step, in order; a second line for the same step is a mistake of the caller."""
        if step <= self._last_step:
            raise RunError(
                f"step {step} of {self.path} is written already (the last is {self._last_step}): give all metrics of a "
                "step at once, and rewind before doing it again"
            )
        append_line(self.path / layout.METRICS, to_line({"step": step, **metrics}))
        self._last_step = step

    def log_rollouts(self, step: int, episodes: Sequence[Mapping[str, Any]], kind: str = "step") -> None:
        """Every episode of a step, an evaluation (`eval`) or a `teacher`, in one file that is there whole or not."""
        lines = "".join(to_line(episode) + "\n" for episode in episodes)
        write_whole(layout.rollout_path(self.path, kind, step), lines.encode())

    def has_rollouts(self, kind: str) -> bool:
        return any(file.kind == kind for file in layout.rollout_files(self.path))

    def write_held_out(self, problems: Sequence[Mapping[str, Any]]) -> None:
        """What the evaluations ask, with references: once for a run, so that no episode need repeat it."""
        lines = "".join(to_line(problem) + "\n" for problem in problems)
        write_whole(self.path / layout.HELD_OUT, lines.encode())

    def add_checkpoint(self, checkpoint: Checkpoint) -> None:
        """To be called once the weights are saved: a line here means that they can be loaded."""
        append_line(self.path / layout.CHECKPOINTS, to_line(checkpoint.to_json()))

    def write_code_diff(self, folder: Path | None = None) -> None:
        """The working tree's difference to its commit; of this package's own checkout unless told otherwise."""
        diff = code_diff(folder or Path(__file__).parent)
        write_whole(self.path / layout.CODE_DIFF, diff.encode(errors="replace"))

    def logging_handler(self) -> logging.Handler:
        """For `logging.getLogger().addHandler`; closed with the run."""
        handler = LogFile(self.path / layout.LOGS)
        self._log_files.append(handler)
        return handler

    def close(self) -> None:
        for handler in self._log_files:
            handler.close()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _keep(self, name: str, wanted: Callable[[dict[str, Any]], bool]) -> None:
        lines = list(read_lines(self.path / name))
        kept = [line for line in lines if wanted(line)]
        if len(kept) < len(lines):
            write_whole(self.path / name, "".join(to_line(line) + "\n" for line in kept).encode())

    def _note_resumption(self) -> None:
        """The config file keeps only the newest values; the log keeps when they changed."""
        changed = "".join(f"\n  {change}" for change in self.changes) or " the same config"
        append_line(self.path / layout.LOGS, f"resumed after step {self._last_step} with{changed}")


def _step_of(line: Mapping[str, Any]) -> int:
    """Lines of other writers may have no step: they come before every step."""
    step = line.get("step")
    return int(step) if isinstance(step, int | float) else -1


def _empty(path: Path) -> None:
    """Checkpoints first and config last: killed half-way, it is still a run directory, and one without a future."""
    order = {layout.CHECKPOINTS: 0, layout.CONFIG: 2}
    for child in sorted(path.iterdir(), key=lambda child: order.get(child.name, 1)):
        if child.name == layout.LOCK:
            continue
        try:
            if child.is_dir() and not child.is_symlink():
                shutil.rmtree(child)
            else:
                child.unlink()
        except OSError as error:
            raise cannot("delete", child, error) from error


def _indented(config: Mapping[str, Any]) -> str:
    return json.dumps(config, indent=2, allow_nan=False)
