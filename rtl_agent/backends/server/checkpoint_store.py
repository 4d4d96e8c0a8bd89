"""CheckpointStore on disk: `tinker://<run>/weights/<name>` and `tinker://<run>/sampler_weights/<name>`.

    <state>/<run>/run.json                          what was trained: base model, LoRA, metadata
    <state>/<run>/<kind>/<name>/current.json        which version holds, when it was written
    <state>/<run>/<kind>/<name>/<version>/          what the engine saved

A checkpoint exists from the moment its current.json is renamed into place, so a server killed while it saves leaves the
old one. A time to live is kept and shown, but nothing is deleted by it: the disk is the user's own.
"""

import json
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from rtl_agent.backends.engine.contract import EngineError, Lora, UnknownModel

Kind = Literal["weights", "sampler_weights"]
KINDS: tuple[Kind, ...] = ("weights", "sampler_weights")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.=+-]{0,127}")
RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9:_-]{0,127}")
CURRENT = "current.json"


@dataclass(frozen=True)
class StoredRun:
    """What has to be known to train on from a checkpoint."""

    run: str
    base: str
    lora: Lora
    user_metadata: Mapping[str, str] | None
    time: str


@dataclass(frozen=True)
class Address:
    run: str
    kind: Kind
    name: str

    @property
    def path(self) -> str:
        return f"tinker://{self.run}/{self.kind}/{self.name}"


@dataclass(frozen=True)
class StoredCheckpoint:
    address: Address
    version: str
    time: str
    size_bytes: int
    expires_at: str | None = None
    user_metadata: Mapping[str, str] | None = None


def parse(path: str) -> Address:
    parts = path.removeprefix("tinker://").split("/")
    if not path.startswith("tinker://") or len(parts) != 3 or parts[1] not in KINDS:
        raise EngineError(
            f"{path!r} is not a checkpoint path: expected tinker://RUN/weights/NAME or .../sampler_weights/NAME"
        )
    return address(parts[0], "weights" if parts[1] == "weights" else "sampler_weights", parts[2])


def address(run: str, kind: Kind, name: str) -> Address:
    if not NAME.fullmatch(name):
        raise EngineError(
            f"{name!r} is not a valid checkpoint name: use letters, digits and _ . = + -, and do not begin with a dot"
        )
    if not RUN.fullmatch(run):
        raise EngineError(f"{run!r} is not the name of a training run")
    return Address(run, kind, name)


class CheckpointStore:
    """Below one directory. Several threads write, each its own run; readers see whole checkpoints."""

    def __init__(self, state: Path) -> None:
        self._state = state
        state.mkdir(parents=True, exist_ok=True)

    def write(
        self,
        record: StoredRun,
        where: Address,
        save: Callable[[Path], None],
        *,
        overwrite: bool = False,
        ttl_seconds: int | None = None,
        user_metadata: Mapping[str, str] | None = None,
    ) -> None:
        folder = self._folder(where)
        if (folder / CURRENT).exists() and not overwrite:
            raise EngineError(f"{where.path} already exists: choose another name, or pass overwrite=True to save_state")
        folder.mkdir(parents=True, exist_ok=True)
        _replace(self._state / record.run / "run.json", asdict(record))
        version = uuid.uuid4().hex
        save(folder / version)
        now = datetime.now(UTC)
        _replace(
            folder / CURRENT,
            {
                "version": version,
                "time": now.isoformat(),
                "size_bytes": sum(file.stat().st_size for file in (folder / version).rglob("*") if file.is_file()),
                "expires_at": (now + timedelta(seconds=ttl_seconds)).isoformat() if ttl_seconds else None,
                "user_metadata": user_metadata,
            },
        )
        for old in folder.iterdir():
            if old.is_dir() and old.name != version:
                shutil.rmtree(old, ignore_errors=True)

    def find(self, where: Address) -> StoredCheckpoint:
        try:
            fields = json.loads((self._folder(where) / CURRENT).read_text())
        except FileNotFoundError:
            raise UnknownModel(f"there is no checkpoint {where.path} on this server") from None
        return StoredCheckpoint(where, **fields)

    def directory(self, where: Address) -> Path:
        """Where the engine finds it."""
        return self._folder(where) / self.find(where).version

    def record(self, run: str) -> StoredRun | None:
        """Of a run that has saved something."""
        if not RUN.fullmatch(run):
            return None
        try:
            fields = json.loads((self._state / run / "run.json").read_text())
        except FileNotFoundError:
            return None
        return StoredRun(**(fields | {"lora": Lora(**fields["lora"])}))

    def runs(self) -> list[StoredRun]:
        """The newest first."""
        found = [self.record(folder.name) for folder in self._state.iterdir() if folder.is_dir()]
        return sorted((record for record in found if record), key=lambda record: record.time, reverse=True)

    def of_run(self, run: str) -> list[StoredCheckpoint]:
        """The newest first."""
        return sorted(self._of_run(run), key=lambda checkpoint: checkpoint.time, reverse=True)

    def _of_run(self, run: str) -> Iterator[StoredCheckpoint]:
        for kind in KINDS:
            for current in (self._state / run / kind).glob(f"*/{CURRENT}"):
                yield self.find(Address(run, kind, current.parent.name))

    def delete(self, where: Address) -> None:
        self.find(where)
        (self._folder(where) / CURRENT).unlink()
        shutil.rmtree(self._folder(where))

    def set_ttl(self, where: Address, ttl_seconds: int | None) -> None:
        self.find(where)
        file = self._folder(where) / CURRENT
        expires = (datetime.now(UTC) + timedelta(seconds=ttl_seconds)).isoformat() if ttl_seconds else None
        _replace(file, json.loads(file.read_text()) | {"expires_at": expires})

    def _folder(self, where: Address) -> Path:
        return self._state / where.run / where.kind / where.name


def _replace(file: Path, content: Mapping[str, object]) -> None:
    new = file.with_name(f".{file.name}.{uuid.uuid4().hex}")
    with new.open("w") as stream:
        json.dump(content, stream)
        stream.flush()
        os.fsync(stream.fileno())
    new.replace(file)
