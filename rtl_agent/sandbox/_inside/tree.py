"""The root directory of a box that has no mount namespace: links to what it may read, and directories of its own.

Made as root before anything untrusted runs, kept for the next box of the same uid. A link costs no space. On an
overlay, or from another filesystem, there is one copy that all boxes are linked from. What everybody may write to is
copied, so that a box cannot change it.
"""

# pathlib would add 9 ms of CPU to every box:
# ruff: noqa: PTH101, PTH102, PTH103, PTH104, PTH106, PTH108, PTH110, PTH112, PTH113, PTH114, PTH115, PTH116, PTH120, PTH123
# ruff: noqa: PTH208, PTH211

import binascii
import fcntl
import marshal
import os
from collections.abc import Iterator, Sequence

Part = tuple[bytes, bytes, str]  # where it is in the box, where it is here, what it looked like
LOOKED_AT = 500  # entries of a source, outermost first: an installed package shows there
MOST_SLOTS = 32  # directories that are kept; each has one tree
OTHERS_WRITE = 0o002
LONGEST_NAME = 250  # of a file


class Slot:
    """A uid that this process holds, with the directory of its box."""

    def __init__(self, home: bytes, uid: int, lock: int) -> None:
        self.home, self.uid, self.lock = home, uid, lock
        self.place = home + b"/%d" % uid
        self.root, self.record = self.place + b"/root", self.place + b"/made"

    def made(self) -> tuple[list[Part], list[bytes], list[bytes]]:
        """Parts, places and links of the tree as it is; raises where there is no whole one."""
        with open(self.record, "rb") as file:
            parts, places, links = marshal.loads(file.read())  # noqa: S302  (a file that only root can write)
        return parts, places, links


def take_slot(home: bytes, locks: bytes, uids: Sequence[int], wanted: Sequence[Part]) -> Slot | None:
    """A free uid, best one whose tree is as wanted already; None when all are taken."""
    known = sorted(int(name) for name in os.listdir(home) if name.isdigit())
    alike = [uid for uid in known if _parts(Slot(home, uid, -1)) == wanted]
    new = [uid for uid in uids if uid not in known] if len(known) < MOST_SLOTS else []
    for uid in (*alike, *new[:64], *known, *new[64:]):
        lock = os.open(locks + b"/uid-%d" % uid, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
        else:
            return Slot(home, uid, lock)
    return None


def _parts(slot: Slot) -> list[Part] | None:
    try:
        return slot.made()[0]
    except (OSError, ValueError, EOFError, TypeError):
        return None


def look(source: bytes) -> str:
    """What changes when something in `source` was replaced, as far as a quick look tells."""
    seen = [_facts(source)]
    waiting = [source]
    while waiting and len(seen) < LOOKED_AT:
        try:
            names = sorted(os.listdir(waiting[0]))
        except OSError:
            names = []
        for name in names[: LOOKED_AT - len(seen)]:
            path = waiting[0] + b"/" + name
            seen.append(_facts(path))
            if seen[-1][0] & 0o170000 == 0o040000:
                waiting.append(path)
        waiting.pop(0)
    if source == b"/usr":
        seen.append(_facts(b"/var/lib/dpkg/status"))
    return "%x" % (hash(tuple(seen)) & (2**64 - 1))  # of numbers: the same in every process


def _facts(path: bytes) -> tuple[int, ...]:
    try:
        found = os.lstat(path)
    except OSError:
        return (0, 0, 0, 0)
    return (found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns)


def make_tree(
    slot: Slot,
    parts: Sequence[Part],
    places: Sequence[tuple[bytes, int]],
    links: Sequence[tuple[bytes, bytes]],
    files: Sequence[tuple[bytes, bytes]],
    devices: Sequence[bytes],
    left_out: Sequence[bytes],
) -> None:
    """The tree of this box: what is there and right stays, everything that a command could write to is new."""
    os.makedirs(slot.place, 0o711, exist_ok=True)
    try:
        old, old_places, old_links = slot.made()
        os.unlink(slot.record)  # whoever is killed now leaves no record, and the next one begins anew
        for path in sorted(old_places):  # outer ones first: what leads to an inner one may be a link of a command's
            remove(slot.root, path)
        for path in old_links:
            remove(slot.root, path)
        inside = [path for path, _ in places] + old_places
        kept = [part for part in old if part in parts and not any(is_below(part[0], place) for place in inside)]
        changed = [part[0] for part in (*old, *parts) if part not in kept]
        if any(is_below(a, b) or is_below(b, a) for a in changed for b in (part[0] for part in kept)):
            raise ValueError("one part is within another")
        for part in old:
            if part not in kept:
                remove(slot.root, part[0])
    except (OSError, ValueError, EOFError, TypeError):
        kept = []
        empty(slot.place)
        os.mkdir(slot.root, 0o755)
        os.chmod(slot.root, 0o755)
        make_system(slot.root, files, devices)
    own = {path: mode for path, mode in places}
    sources = {part[0]: part for part in parts}
    for path in sorted({*own, *sources}, key=lambda path: path.split(b"/")):
        if path in own:
            crowded = any(is_below(target, path) for target in sources)
            make_place(slot.root, path, own[path], slot.uid, crowded)
        elif sources[path] not in kept:
            remove(slot.root, path)
            parents(slot.root, path)
            link_tree(origin(slot.home, sources[path], left_out), slot.root + path, left_out)
    for path, target in links:
        parents(slot.root, path)
        os.symlink(target, slot.root + path)
    with open(slot.record + b".new", "wb") as file:
        file.write(marshal.dumps((list(parts), [path for path, _ in places], [path for path, _ in links]), 2))
    os.rename(slot.record + b".new", slot.record)


def make_system(root: bytes, files: Sequence[tuple[bytes, bytes]], devices: Sequence[bytes]) -> None:
    for path, content in files:
        parents(root, path)
        with open(root + path, "wb") as file:
            file.write(content)
        os.chmod(root + path, 0o444)
    os.mkdir(root + b"/dev")
    os.chmod(root + b"/dev", 0o755)
    for name in devices:
        os.mknod(root + b"/dev/" + name, 0o20666, os.stat(b"/dev/" + name).st_rdev)
        os.chmod(root + b"/dev/" + name, 0o666)
    for number, name in enumerate((b"stdin", b"stdout", b"stderr")):
        os.symlink(b"/proc/self/fd/%d" % number, root + b"/dev/" + name)
    os.symlink(b"/proc/self/fd", root + b"/dev/fd")


def make_place(root: bytes, path: bytes, mode: int, uid: int, crowded: bool) -> None:
    """A directory of the box's user; one with a mounted directory inside is root's, so that this cannot be renamed."""
    parents(root, path)
    os.mkdir(root + path, 0o700)
    if crowded:
        os.chmod(root + path, 0o1777)
    else:
        os.chmod(root + path, mode)
        os.chown(root + path, uid, uid)


def origin(home: bytes, part: Part, left_out: Sequence[bytes]) -> bytes:
    """What to link: a part itself, or a copy that is made once. To link a file of an overlay's lower layer the kernel
    copies it and waits for the disk, file by file: minutes for a system."""
    _, source, looked = part
    name = source.replace(b"/", b"!") + b"-%s-%08x" % (looked.encode(), binascii.crc32(b"\0".join(left_out)))
    if len(name) > LONGEST_NAME or not (on_overlay(home) or os.stat(source).st_dev != os.stat(home).st_dev):
        return source
    place = home + b"/parts"
    os.makedirs(place, 0o711, exist_ok=True)
    copy = place + b"/" + name
    lock = os.open(place + b"/lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(copy):
            remove(place, b"/new")
            link_tree(source, place + b"/new", left_out, copied=True)
            os.rename(place + b"/new", copy)
    finally:
        os.close(lock)
    return copy


def on_overlay(path: bytes) -> bool:
    """By /proc, from which no name with a space is wanted here: the innermost mount that the path is in."""
    kinds = {}
    with open("/proc/self/mountinfo", "rb") as mounts:
        for line in mounts:
            before, _, after = line.partition(b" - ")
            kinds[before.split()[4]] = after.split()[0]
    return kinds[max((place for place in kinds if is_below(path, place)), key=len)] == b"overlay"


def link_tree(source: bytes, target: bytes, left_out: Sequence[bytes], copied: bool = False) -> None:
    found = os.stat(source)
    if found.st_mode & 0o170000 != 0o040000:
        link_file(source, target, found, copied)
        return
    os.mkdir(target, 0o700)
    with os.scandir(source) as entries:
        for entry in entries:
            path = target + b"/" + entry.name
            if entry.path in left_out:
                continue
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), path)
            elif entry.is_dir(follow_symlinks=False):
                link_tree(entry.path, path, left_out, copied)
            elif entry.is_file(follow_symlinks=False):
                link_file(entry.path, path, entry.stat(follow_symlinks=False), copied)
    os.chmod(target, found.st_mode & 0o755)


def link_file(source: bytes, target: bytes, found: os.stat_result, copied: bool) -> None:
    if not copied and not found.st_mode & OTHERS_WRITE:
        try:
            os.link(source, target)
        except OSError:
            pass  # on another filesystem, or linked too often
        else:
            return
    with open(source, "rb") as old, open(target, "xb") as new:
        while data := old.read(1 << 20):
            new.write(data)
    os.chmod(target, found.st_mode & 0o555)
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))  # compiled Python is compared with it


def parents(root: bytes, path: bytes) -> None:
    """The directories above it, root's. Nothing untrusted has been there, but links of parts may be on the way."""
    at = root
    for name in path.split(b"/")[1:-1]:
        at += b"/" + name
        try:
            os.mkdir(at, 0o755)
        except FileExistsError:
            if os.path.islink(at):
                raise ValueError(f"{path!r} leads through a link") from None
        else:
            os.chmod(at, 0o755)


def remove(root: bytes, path: bytes) -> None:
    """What is at this path, and the directories above it that were made for it alone."""
    at = root + path
    if os.path.islink(at) or os.path.isfile(at):
        os.unlink(at)
    elif os.path.isdir(at):
        empty(at)
        os.rmdir(at)
    while (path := os.path.dirname(path)) not in (b"/", b""):
        try:
            os.rmdir(root + path)
        except OSError:
            return


def empty(directory: bytes) -> None:
    """However deep: what is in a directory's directories comes up to it, so that no path gets long.

    No process that could change anything meanwhile is alive.
    """
    top = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    numbers = _numbers()
    try:
        while names := os.listdir(top):
            for name in names:
                if not _is_directory(name, top):
                    os.unlink(name, dir_fd=top)
                    continue
                inner = _enter(name, top)
                try:
                    for child in os.listdir(inner):
                        if _is_directory(child, inner):
                            os.close(_enter(child, inner))
                            os.rename(child, next(numbers), src_dir_fd=inner, dst_dir_fd=top)
                        else:
                            os.unlink(child, dir_fd=inner)
                finally:
                    os.close(inner)
                os.rmdir(name, dir_fd=top)
    finally:
        os.close(top)


def _enter(name: str, above: int) -> int:
    """Opened, and everything in it can be changed. Root needs no other mode, and never changes one by a name."""
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
    try:
        fd = os.open(name, flags, dir_fd=above)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=above)
        fd = os.open(name, flags, dir_fd=above)
    os.fchmod(fd, 0o700)
    return fd


def _numbers() -> Iterator[str]:
    """Names that nobody can have taken."""
    word, number = os.urandom(8).hex(), 0
    while True:
        number += 1
        yield f".{word}-{number}"


def _is_directory(name: str, above: int) -> bool:
    return os.stat(name, dir_fd=above, follow_symlinks=False).st_mode & 0o170000 == 0o040000


def is_below(path: bytes, place: bytes) -> bool:
    return path == place or path.startswith(place.rstrip(b"/") + b"/")
