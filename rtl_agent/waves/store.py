"""Waves that were made before, in folders below the user's cache; the oldest go when there are too many."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rtl_agent.grading import default_cache_path
from rtl_agent.waves.job import WAVES

MOST_BYTES = 1024 * 1024 * 1024


class WaveStore:
    """`most_bytes` holds for what is kept; what is being made comes on top. Several processes can use one folder."""

    def __init__(self, path: Path | None = None, most_bytes: int = MOST_BYTES) -> None:
        self.path = path or default_cache_path().with_name("waves")
        self._most_bytes = most_bytes

    @property
    def empty(self) -> bool:
        return not self.path.is_dir() or not any(self.path.iterdir())

    def get(self, key: str) -> Path | None:
        folder = self.path / key
        if not (folder / WAVES).is_file():
            return None
        with suppress(OSError):
            folder.touch()  # used last
        return folder

    @contextmanager
    def making(self, key: str) -> Iterator[Path]:
        """A folder to fill, which is kept unless an exception ends it."""
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        building = Path(tempfile.mkdtemp(dir=self.path, prefix=".making-"))
        try:
            yield building
            with suppress(OSError):  # another process was faster
                building.rename(self.path / key)
            self._make_room(key)
        finally:
            shutil.rmtree(building, ignore_errors=True)

    def _make_room(self, newest: str) -> None:
        """What a killed process left unfinished counts, and goes, like the rest."""
        folders = sorted((one for one in self.path.iterdir() if one.is_dir()), key=_age)
        total = sum(_size(one) for one in folders)
        for folder in folders:
            if total <= self._most_bytes:
                return
            if folder.name != newest:
                total -= _size(folder)
                shutil.rmtree(folder, ignore_errors=True)


def _age(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0


def _size(folder: Path) -> int:
    with suppress(OSError):
        return sum(file.stat().st_size for file in folder.iterdir())
    return 0
