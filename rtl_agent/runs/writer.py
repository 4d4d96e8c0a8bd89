"""The writer of a run directory: what is in it after a kill at any moment can be read, and resumed."""

import json
import logging
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rtl_agent import __version__
from rtl_agent.runs import directory
from rtl_agent.runs.compare import Difference, differences, refuse_changes
from rtl_agent.runs.directory import IfExists, RunLock, decide
from rtl_agent.runs.files import (
    RunError,
    append_line,
    cannot,
    cut_torn_line,
    plain,
    read_lines,
    read_object,
    remove_unfinished,
    to_line,
    write_whole,
)
from rtl_agent.runs.index import encode, index_of, index_path
from rtl_agent.runs.packing import pack
from rtl_agent.runs.record import Checkpoint
from rtl_agent.runs.rows import without_tokens


@dataclass(frozen=True)
class RolloutFiles:
    """How rollouts are kept.

    Args:
        packed: as `.jsonl.gz`, each line by itself; plain `.jsonl` otherwise.
        tokens_every: what there is of single tokens stays in the rollouts of every N-th step; 0: of none.
    """

    packed: bool = False
    tokens_every: int = 1

    def kept(self, episode: Mapping[str, Any], kind: str, step: int) -> Mapping[str, Any]:
        """Evaluations are few, and are kept as they are."""
        whole = kind != "step" or (self.tokens_every > 0 and step % self.tokens_every == 0)
        return episode if whole else without_tokens(episode)

    def stored(self, episode: Mapping[str, Any]) -> bytes:
        line = to_line(episode).encode() + b"\n"
        return pack(line) if self.packed else line


class RunWriter:
    """Made with `RunWriter.create`; holds the run's lock until `close`, or until the process ends.

    To go on after a kill, load `last_checkpoint` and `rewind` to its step (to 0 without one).
    """

    def __init__(
        self,
        path: Path,
        lock: RunLock,
        config: Mapping[str, Any],
        changes: tuple[Difference, ...],
        rollouts: RolloutFiles = RolloutFiles(),
    ) -> None:
        self.path = path
        self.config = config
        self.rollouts = rollouts
        self.changes = changes
        """What this config has other than the one that the run began with; empty for a new run."""
        self._lock = lock
        self._log_files: list[LogFile] = []
        for name in (
            directory.METRICS,
            directory.CHECKPOINTS,
            directory.LOGS,
            directory.CURRICULUM,
            directory.TIMELINE,
        ):
            cut_torn_line(path / name)
        for folder in (path, path / directory.ROLLOUTS):
            remove_unfinished(folder)
        self._last_step = max((_step_of(line) for line in read_lines(path / directory.METRICS)), default=-1)

    @classmethod
    def create(
        cls,
        path: str | Path,
        config: Mapping[str, Any],
        *,
        if_exists: IfExists | str,
        ask: Callable[[str], str] | None = None,
        fixed: Collection[str] = (),
        rollouts: RolloutFiles = RolloutFiles(),
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
            elif action is IfExists.RAISE and (path / directory.CONFIG).exists():
                raise RunError(f"{path} was made by another process just now; choose another log_path")
            new_config = plain(config)
            changes = differences(read_object(path / directory.CONFIG), new_config) if action is IfExists.RESUME else ()
            refuse_changes(path, changes, fixed)
            run = cls(path, lock, new_config, changes, rollouts)
            if action is IfExists.RESUME:
                run._note_resumption()
            write_whole(path / directory.CONFIG, (_indented(new_config) + "\n").encode())
            run._note_start()
        except BaseException:
            lock.release()
            raise
        return run

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        return tuple(Checkpoint.from_json(line) for line in read_lines(self.path / directory.CHECKPOINTS))

    @property
    def last_checkpoint(self) -> Checkpoint | None:
        """The newest that training can go on from."""
        return next((checkpoint for checkpoint in reversed(self.checkpoints) if checkpoint.state_path), None)

    def rewind(self, step: int) -> None:
        """Forget everything from step number `step` on, so that it can be done again.

        Checkpoints go first: a kill half-way must not leave one that is newer than the metrics.
        """
        self._keep(directory.CHECKPOINTS, lambda line: Checkpoint.from_json(line).step <= step)
        for file in directory.rollout_files(self.path):
            if file.step >= step:
                for path in (file.path, index_path(file.path)):
                    try:
                        path.unlink(missing_ok=True)
                    except OSError as error:
                        raise cannot("remove", path, error) from error
        self._keep(directory.CURRICULUM, lambda line: _step_of(line) < step)
        self._keep(directory.TIMELINE, lambda line: _step_of(line) < step)
        self._keep(directory.METRICS, lambda line: _step_of(line) < step)
        self._last_step = max((_step_of(line) for line in read_lines(self.path / directory.METRICS)), default=-1)

    def log_metrics(self, step: int, metrics: Mapping[str, float]) -> None:
        """One line for each step, in order; a second line for the same step is a mistake of the caller."""
        if step <= self._last_step:
            raise RunError(
                f"step {step} of {self.path} is already written (the last is {self._last_step}): give all metrics of a "
                "step at once, and rewind before doing it again"
            )
        append_line(self.path / directory.METRICS, to_line({"step": step, **metrics}))
        self._last_step = step

    def log_rollouts(self, step: int, episodes: Sequence[Mapping[str, Any]], kind: str = "step") -> None:
        """Every episode of a step, an evaluation (`eval`) or a `teacher`, in one file that is there whole or not."""
        path = directory.rollout_path(self.path, kind, step, packed=self.rollouts.packed)
        kept = [self.rollouts.kept(episode, kind, step) for episode in episodes]
        lines = [self.rollouts.stored(episode) for episode in kept]
        index = encode(index_of(kept, lines, kind, step))
        write_whole(path, b"".join(lines))
        write_whole(index_path(path), index)  # killed before it: whoever wants to see the rows reads the lines

    def has_rollouts(self, kind: str) -> bool:
        return any(file.kind == kind for file in directory.rollout_files(self.path))

    def write_held_out(self, problems: Sequence[Mapping[str, Any]]) -> None:
        """What the evaluations ask, with references: once for a run, so that no episode need repeat it."""
        lines = "".join(to_line(problem) + "\n" for problem in problems)
        write_whole(self.path / directory.HELD_OUT, lines.encode())

    def write_trust(self, found: Mapping[str, Any]) -> None:
        """Which audit the tests of the run's problems were judged by, and each problem's grade of trust."""
        write_whole(self.path / directory.TRUST, (json.dumps(found, indent=1) + "\n").encode())

    def curriculum_start(self, found: Callable[[], Mapping[str, Any]]) -> dict[str, Any]:
        """What was known of each problem when the run began: `found` is asked once in a run, at its first start."""
        path = self.path / directory.CURRICULUM_START
        if not path.exists():
            write_whole(path, (json.dumps(found(), indent=1) + "\n").encode())
        return read_object(path)

    def log_curriculum(self, step: int, line: Mapping[str, Any]) -> None:
        """What the step's groups found: a resumed run draws by all lines before its first step."""
        append_line(self.path / directory.CURRICULUM, to_line({"step": step, **line}))

    def log_timeline(self, step: int, line: Mapping[str, Any]) -> None:
        """When each kind of work was in progress during the step. Nothing that is learned depends on it."""
        append_line(self.path / directory.TIMELINE, to_line({"step": step, **line}))

    @property
    def curriculum_lines(self) -> list[dict[str, Any]]:
        return list(read_lines(self.path / directory.CURRICULUM))

    @property
    def identity(self) -> str:
        """This run and no other, also if another one is made in the same directory later."""
        first = next(read_lines(self.path / directory.STARTS), {})
        return f"{self.path.resolve()} {first.get('time')}"

    def add_checkpoint(self, checkpoint: Checkpoint) -> None:
        """To be called once the weights are saved: a line here means that they can be loaded."""
        append_line(self.path / directory.CHECKPOINTS, to_line(checkpoint.to_json()))

    def write_code_diff(self, folder: Path | None = None) -> None:
        """The working tree's difference to its commit; of this package's own checkout unless told otherwise."""
        diff = code_diff(folder or Path(__file__).parent)
        write_whole(self.path / directory.CODE_DIFF, diff.encode(errors="replace"))

    def logging_handler(self) -> logging.Handler:
        """For `logging.getLogger().addHandler`; closed with the run."""
        handler = LogFile(self.path / directory.LOGS)
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

    def _note_start(self) -> None:
        """One line for each start: a resumed run has several, maybe with other options."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        start = {"time": now, "command": command_line(sys.argv), "version": __version__, "step": self._last_step + 1}
        cut_torn_line(self.path / directory.STARTS)
        append_line(self.path / directory.STARTS, to_line(start))

    def _note_resumption(self) -> None:
        """The config file keeps only the newest values; the log keeps when they changed."""
        changed = "".join(f"\n  {change}" for change in self.changes) or " the same config"
        append_line(self.path / directory.LOGS, f"resumed after step {self._last_step} with{changed}")


def command_line(arguments: Sequence[str]) -> str:
    """The command as a person would type it again, whichever way Python was told to start it."""
    program = Path(arguments[0]).name if arguments else ""
    return shlex.join(["rtl-agent" if program == "main.py" else program, *arguments[1:]])


def _step_of(line: Mapping[str, Any]) -> int:
    """Lines of other writers may have no step: they come before every step."""
    step = line.get("step")
    return int(step) if isinstance(step, int | float) else -1


def _empty(path: Path) -> None:
    """Checkpoints first and config last: killed half-way, it is still a run directory, and one without a future."""
    order = {directory.CHECKPOINTS: 0, directory.CONFIG: 2}
    for child in sorted(path.iterdir(), key=lambda child: order.get(child.name, 1)):
        if child.name == directory.LOCK:
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


_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class LogFile(logging.Handler):
    """One record, one write. A record that cannot be written never stops the run: logging reports it on stderr."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(_FORMAT))
        try:
            self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise cannot("write", path, error) from error

    def emit(self, record: logging.LogRecord) -> None:
        try:
            os.write(self._descriptor, self.format(record).encode(errors="backslashreplace") + b"\n")
        except Exception:  # logging's own contract: a handler never raises
            self.handleError(record)

    def close(self) -> None:
        self.acquire()
        try:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1
        finally:
            self.release()
        super().close()


_SECONDS = 30


def code_diff(folder: Path) -> str:
    """A patch that `git apply` takes, under a line with its commit; a note where there is no git checkout."""
    top = _git(folder, "rev-parse", "--show-toplevel")
    commit = _git(folder, "rev-parse", "HEAD")
    if top is None or commit is None:
        return "# no git checkout, so there is nothing to compare the code with\n"
    checkout = Path(top.removesuffix("\n"))
    diff = _git(checkout, "diff", "HEAD", "--no-color", "--no-ext-diff") or ""
    untracked = _git(checkout, "ls-files", "--others", "--exclude-standard") or ""
    names = "".join(f"# not in git: {name}\n" for name in untracked.splitlines())
    return f"# commit {commit.strip()}\n{names}{diff}"


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode(errors="replace")
