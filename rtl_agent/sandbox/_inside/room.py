"""How much the files of a box without a tmpfs take: looked at now and then, since no size is a limit here."""

# pathlib would add 9 ms of CPU to every box, and contextlib 2 ms:
# ruff: noqa: PTH101

import os
import time
from collections.abc import Sequence

from rtl_agent.sandbox._inside.files import DiskWatch
from rtl_agent.sandbox._inside.tree import is_below

SHORTEST_PAUSE = 0.25  # seconds between two looks
LEAST_FREE = 256 * 1024 * 1024  # bytes of the filesystem that boxes leave to the container
BYTES_OF_A_FILE = 4096
ENAMETOOLONG = 36


class Room(DiskWatch):
    """Of places that may hold `most` bytes each."""

    def __init__(self, places: Sequence[bytes], most: int) -> None:
        self.places, self.most = places, most
        self.files = max(1024, most // BYTES_OF_A_FILE)
        self.pause, self.next = SHORTEST_PAUSE, 0.0

    def exceeded(self, now: bool = False) -> bool:
        begun = time.monotonic()
        if begun < self.next and not now:
            return False
        found = any(self.too_full(place) for place in self.places)
        self.pause = max(SHORTEST_PAUSE, 50 * (time.monotonic() - begun))
        self.next = begun + self.pause
        return found

    def nearly_full(self) -> bool:
        """Whose files they are cannot be told: one without a name is in no directory."""
        free = os.statvfs(b"/tmp")
        return free.f_bavail * free.f_frsize < LEAST_FREE

    def has_room(self, path: bytes, size: int) -> bool:
        return not any(self.too_full(place, size) for place in self.places if is_below(path, place))

    def too_full(self, place: bytes, used: int = 0) -> bool:
        """With `used` bytes more than there are. A directory too deep to be looked into counts as full."""
        files, waiting = 0, [place]
        while waiting:
            try:
                found = look_into(waiting.pop(), self.files)
            except OSError as error:
                if error.errno == ENAMETOOLONG:
                    return True
                continue
            files += len(found)
            used += sum(blocks for _, blocks, _ in found) * 512
            waiting += [path for path, _, is_directory in found if is_directory]
            if files > self.files or used > self.most:
                return True
        return used > self.most


def look_into(directory: bytes, most: int) -> list[tuple[bytes, int, bool]]:
    """Path, blocks and whether it is a directory; also where a command forbade it to its own user, to write unseen."""
    try:
        if found := list_of(directory, most):
            return found
    except PermissionError:
        pass
    mode = os.lstat(directory).st_mode
    if mode & 0o170000 != 0o040000 or mode & 0o500 == 0o500:
        return []
    os.chmod(directory, mode & 0o7777 | 0o500)
    try:
        return list_of(directory, most)
    finally:
        os.chmod(directory, mode & 0o7777)


def list_of(directory: bytes, most: int) -> list[tuple[bytes, int, bool]]:
    """One more than `most` at the most: there may be millions."""
    found: list[tuple[bytes, int, bool]] = []
    with os.scandir(directory) as entries:
        for entry in entries:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError as error:
                if error.errno == ENAMETOOLONG:
                    raise
                continue
            if len(found) > most:
                break
            found.append((entry.path, status.st_blocks, status.st_mode & 0o170000 == 0o040000))
    return found
