"""The init of a box without namespaces: makes the box's root directory, enters it, gives up every right, then serves.

It is started as the container's root. When it says that it is ready it has a root directory with nothing of the
container's, no capability, and three numbers for a user: the box's uid as the effective one, with which it may end the
box's processes and owns their files, and twice a uid that nobody else has, so that they may not end it.
"""

# ruff: noqa: PTH101, PTH103  (pathlib would add 9 ms of CPU to every box)

import marshal
import os
import time
from collections.abc import Sequence

from rtl_agent.sandbox._inside.command import CpuCounter, kill_all
from rtl_agent.sandbox._inside.container import drop_bounding_set, drop_capabilities, filter_calls
from rtl_agent.sandbox._inside.main import Service, prctl, settle
from rtl_agent.sandbox._inside.program import Program, close_all_but
from rtl_agent.sandbox._inside.room import Room
from rtl_agent.sandbox._inside.tree import Part, Slot, empty, look, make_tree, take_slot
from rtl_agent.sandbox._inside.wire import Wire

LOCKS = b"/run/rtl-agent"
KEEPERS = 1000  # between a box's uid and its init's own
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
SIGKILL = 9
LOOK_AGAIN = 0.05


class Order:
    """What the host wants: where boxes are made, which uids may be taken, and what is to be in this one."""

    home: bytes  # of the boxes' directories
    uids: tuple[int, int]  # from the first, below the second
    parts: list[tuple[bytes, bytes]]  # where in the box, where here
    places: list[tuple[bytes, int]]  # directories that commands may write to, with their modes
    links: list[tuple[bytes, bytes]]
    files: list[tuple[bytes, bytes]]  # with their content
    devices: list[bytes]
    left_out: list[bytes]  # of parts
    disk_bytes: int
    rules: bytes  # the filter of system calls

    def __init__(self, data: bytes) -> None:
        for name, value in marshal.loads(data):  # noqa: S302  (from the host, which started us)
            setattr(self, name, value)


def main(arguments: Sequence[str]) -> None:
    host, owner = map(int, arguments[:2])
    passed = [int(fd) for fd in arguments[2].split()]
    wire = Wire(host, owner)
    try:
        become_root()
        score = open_score()
        close_all_but({host, owner, *([score] if score >= 0 else []), *passed})
        for fd in (host, owner, *passed):
            os.set_inheritable(fd, False)
        order = Order(wire.receive_frame()[0])
        slot, parts = find_slot(order)
        end_leftovers(slot.uid)
        room = make_root(slot, parts, order)
        give_up(slot.uid, order.rules)
    except Exception as error:
        wire.reply([b"fault", f"{type(error).__name__}: {error}".encode()])
        os._exit(1)
    places = [path for path, _ in order.places]
    wire.leave = lambda: leave(places)
    Program.identify = staticmethod(lambda: identify(slot.uid))
    Service(wire, (), CpuCounter(()), score, room).serve()


def become_root() -> None:
    """Where an ordinary user starts it, it has the rights of its program file."""
    if os.geteuid() != 0:
        os.setresgid(0, 0, 0)
        os.setresuid(0, 0, 0)


def open_score() -> int:
    """Our own readiness to be killed for want of memory, lower than that of commands; -1 where it cannot be set."""
    try:
        fd = os.open(b"/proc/self/oom_score_adj", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return -1
    try:
        os.pwrite(fd, b"1000", 0)
        os.pwrite(fd, b"500", 0)
    except OSError:
        os.close(fd)
        return -1
    return fd


def find_slot(order: Order) -> tuple[Slot, list[Part]]:
    make_private(order.home)
    try:  # one place for the whole container, wherever its boxes are
        make_private(locks := LOCKS)
    except OSError:
        locks = order.home
    parts = [(target, source, look(source)) for target, source in order.parts]
    container = os.stat(b"/proc/self/ns/pid").st_ino  # noqa: PTH116
    while (slot := take_slot(order.home, locks, turned(range(*order.uids), container), parts)) is None:
        time.sleep(LOOK_AGAIN)
    return slot, parts


def turned(uids: Sequence[int], container: int) -> Sequence[int]:
    """Each container begins with other ones: the kernel counts a uid's processes in all of them together."""
    first = container * 0x9E3779B1 % len(uids)
    return [*uids[first:], *uids[:first]]


def make_private(place: bytes) -> None:
    os.makedirs(place, 0o711, exist_ok=True)
    status = os.lstat(place)
    if status.st_mode & 0o170000 != 0o040000 or status.st_uid != 0 or status.st_mode & 0o022:
        raise OSError(f"{os.fsdecode(place)} is not a directory that only root can write: remove it")


def end_leftovers(uid: int) -> None:
    """Of an init that was killed, by the kernel for want of memory, say: its processes would be the next box's."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid + KEEPERS, uid, uid + KEEPERS)
            if 0 not in os.getresuid():  # or else it would be everybody's processes
                os.kill(-1, SIGKILL)
        except ProcessLookupError:
            pass
        finally:
            os._exit(0)
    os.waitpid(pid, 0)


def make_root(slot: Slot, parts: Sequence[Part], order: Order) -> Room:
    """Make the box's tree, and that our root directory."""
    make_tree(slot, parts, order.places, order.links, order.files, order.devices, order.left_out)
    os.chroot(slot.root)
    os.chdir("/")
    return Room([path for path, _ in order.places], order.disk_bytes)


def give_up(uid: int, rules: bytes) -> None:
    """Every right, for good, and then the filter."""
    drop_bounding_set()
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid + KEEPERS, uid, uid + KEEPERS)
    drop_capabilities()
    if prctl(PR_SET_CHILD_SUBREAPER, 1):
        raise OSError("orphans cannot be adopted")
    filter_calls(rules)
    settle()


def identify(uid: int) -> None:
    """In a command, before its program: the box's user and nobody else; dead when the init is."""
    os.setresuid(uid, uid, uid)
    if prctl(PR_SET_PDEATHSIG, SIGKILL) or os.getresuid() != (uid, uid, uid) or os.getresgid() != (uid, uid, uid):
        raise OSError("the command could not become the box's user")


def leave(places: Sequence[bytes]) -> None:
    """There is no pid namespace that would end with us."""
    kill_all(0)
    for place in places:
        try:
            os.chmod(place, 0o700)
            empty(place)
        except OSError:
            pass  # what root mounted inside is not ours; the next init clears the rest
    os._exit(0)
