"""Checks: boxes beside and after each other; what outlives a command and what must not."""

import asyncio
import json
import time
from pathlib import Path

from rtl_agent.sandbox.checks.common import box_of, expect, expect_equal, expect_output, python, shell
from rtl_agent.sandbox.checks.isolation import CALL, LIBC
from rtl_agent.sandbox.protocol import BoxSpec, Limits, Mount, Sandbox, SandboxError


async def check_boxes_do_not_share_files(sandbox: Sandbox) -> None:
    """Boxes open at once do not see each other's files."""
    async with box_of(sandbox, ipc=True) as one, box_of(sandbox, ipc=True) as two:
        for place in ("/code", "/tmp", "/dev/shm"):
            await shell(one, f"echo secret > {place}/file")
            expect_equal((await shell(two, f"ls -A {place}")).stdout, b"")


async def check_boxes_do_not_share_processes(sandbox: Sandbox) -> None:
    """Boxes open at once can neither see nor signal each other's processes."""
    async with box_of(sandbox, proc=True) as one, box_of(sandbox, proc=True) as two:
        running = asyncio.create_task(python(one, "import time; time.sleep(1); print('alive')"))
        await asyncio.sleep(0.3)
        seen = await shell(two, "cat /proc/*/cmdline; kill -9 -1")
        expect(b"alive" not in seen.stdout, seen)
        expect_equal((await running).stdout, b"alive\n")


async def check_boxes_do_not_share_sockets(sandbox: Sandbox) -> None:
    """Boxes open at once cannot connect to each other by an abstract address."""
    listen = "import socket, time; s = socket.socket(socket.AF_UNIX); s.bind('\\0x'); s.listen()"
    async with box_of(sandbox) as one, box_of(sandbox) as two:
        running = asyncio.create_task(python(one, f"{listen}; time.sleep(1); print('listened')"))
        await asyncio.sleep(0.3)
        expect(not (await python(two, "import socket; socket.socket(socket.AF_UNIX).connect('\\0x')")).ok, "connected")
        expect_equal((await running).stdout, b"listened\n")


# A pair of datagram sockets that is cut apart: each end is then a socket of its own, which may have an abstract name.
NAMED = """
import ctypes, socket
one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
ctypes.CDLL(None).connect(one.fileno(), bytes(16), 16)
one.settimeout(1.5)
one.bind("\\0rtl-agent-pair")
print(one.recv(9).decode())
"""
SENT = "import socket; socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'secret', '\\0rtl-agent-pair')"


async def check_boxes_do_not_share_pairs(sandbox: Sandbox) -> None:
    """What is said to the abstract name of a socket pair in one box is not heard in another, nor the other way."""
    for ipc in (False, True):
        async with box_of(sandbox, ipc=ipc) as one, box_of(sandbox, ipc=ipc) as two:
            heard = asyncio.create_task(python(one, NAMED))
            await asyncio.sleep(0.5)
            await python(two, SENT)
            expect(b"secret" not in (await heard).stdout, "a datagram came from the other box")


async def check_boxes_do_not_share_memory(sandbox: Sandbox) -> None:
    """System V shared memory of one box is not there in another."""
    make = "import ctypes; print(ctypes.CDLL(None).shmget(4711, 4096, {flags}))"
    async with box_of(sandbox, ipc=True) as one, box_of(sandbox, ipc=True) as two:
        expect((await python(one, make.format(flags=0o1666))).stdout.strip() != b"-1", "none can be made")
        expect_equal((await python(two, make.format(flags=0o666))).stdout.strip(), b"-1")


async def check_new_box_is_clean(sandbox: Sandbox) -> None:
    """A new box has nothing of an earlier one."""
    for _ in range(2):
        async with box_of(sandbox) as box:
            expect_equal(
                (await shell(box, "ls -A /code /tmp | grep -v :; echo x > /code/x; echo x > /tmp/x")).stdout.strip(),
                b"",
            )


async def check_boxes_run_at_once(sandbox: Sandbox) -> None:
    """Commands in different boxes run at the same time."""
    async with box_of(sandbox) as one, box_of(sandbox) as two:
        start = time.monotonic()
        await asyncio.gather(*(box.run(["sleep", "1"]) for box in (one, two)))
        expect(time.monotonic() - start < 1.9, "one after the other")


async def check_calls_to_one_box_queue(sandbox: Sandbox) -> None:
    """Calls to one box made at once are served one after another, each with its own answer."""
    async with box_of(sandbox) as box:
        results = await asyncio.gather(*(box.run(["echo", str(number)]) for number in range(10)))
        expect_equal([int(result.stdout) for result in results], list(range(10)))


async def check_box_ends_with_context(sandbox: Sandbox) -> None:
    """A box that was left refuses further calls."""
    async with box_of(sandbox) as box:
        pass
    try:
        await box.run(["true"])
    except SandboxError:
        return
    expect(False, "it still runs commands")


async def check_cancelling_a_command(sandbox: Sandbox) -> None:
    """Cancelling a call ends the command at once; the box can still be left, and others opened."""
    start = time.monotonic()
    async with box_of(sandbox) as box:
        running = asyncio.create_task(box.run(["sleep", "60"], limits=Limits(wall_seconds=60)))
        await asyncio.sleep(0.2)
        running.cancel()
        await asyncio.wait([running])
        expect(running.cancelled(), "not cancelled")
    expect(time.monotonic() - start < 10, "leaving took too long")
    async with box_of(sandbox) as box:
        expect((await box.run(["true"])).ok, "the next box does not work")


async def check_error_inside_context(sandbox: Sandbox) -> None:
    """An exception in the caller's own code comes out as it is."""
    try:
        async with box_of(sandbox):
            raise KeyError("mine")
    except KeyError:
        return
    expect(False, "the exception was lost")


async def check_missing_mount_source(sandbox: Sandbox) -> None:
    """A mount whose source is not there is a SandboxError that names it."""
    try:
        async with box_of(sandbox, mounts=[Mount(Path("/no/such/source"), "/x")]):
            pass
    except SandboxError as error:
        return expect("/no/such/source" in str(error), error)
    expect(False, "no error")


WRITABLE = ("/code", "/src", "/deep/down/here")
DEVICES = ("/dev/full", "/dev/null", "/dev/random", "/dev/urandom", "/dev/zero")  # what is written there is gone
TERMINALS = ("/dev/pts", "/dev/pts/ptmx")  # of a box with `ipc`: a filesystem of its own, in which modes can be changed

# Prints where anything at all could be made or changed. Below /usr, most of the walk, files are left out.
WALK = """
import ctypes, fcntl, json, os, socket, stat
libc = ctypes.CDLL(None, use_errno=True)

def make_file(path): os.close(os.open(path, os.O_CREAT | os.O_WRONLY)); os.unlink(path)
def make_directory(path): os.mkdir(path); os.rmdir(path)
def make_link(path): os.symlink("x", path); os.unlink(path)
def make_hard_link(path):
    os.link("/etc/passwd", path); os.unlink(path)
def make_fifo(path): os.mkfifo(path); os.unlink(path)
def make_socket(path):
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(path)
    os.unlink(path)
def change_mode(path): os.chmod(path, stat.S_IMODE(os.lstat(path).st_mode))
def change_times(path):
    found = os.lstat(path)
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
def touch(path): os.utime(path)
def change_owner(path): os.chown(path, os.getuid(), os.getgid())
def set_attribute(path): os.setxattr(path, b"user.rtl_agent", b"1"); os.removexattr(path, b"user.rtl_agent")
def set_flags(path):
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try: fcntl.ioctl(fd, 0x40086602, b"\\0" * 8)
    finally: os.close(fd)
def rename(path): os.rename(path, path + "x"); os.rename(path + "x", path)
def write(path):
    found = os.lstat(path).st_mode
    os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK | (0 if stat.S_ISCHR(found) else os.O_APPEND)))

def works(attempt, path):
    try: attempt(path)
    except OSError: return False
    return True

inside = (make_file, make_directory, make_link, make_hard_link, make_fifo, make_socket)
itself = (change_mode, change_times, touch, change_owner, set_attribute, set_flags, rename)
found = {"made": set(), "changed": set(), "directories": 0, "files": 0}
for directory, names, files in os.walk("/"):
    found["directories"] += 1
    usr = directory.startswith("/usr")
    for attempt in inside[:2] if usr else inside:
        if works(attempt, os.path.join(directory, "rtl_agent_walk")):
            found["made"].add(directory)
    for attempt in itself[:2] if usr else itself:
        if works(attempt, directory):
            found["changed"].add(directory)
    for path in () if usr else (os.path.join(directory, name) for name in files):
        found["files"] += 1
        if not os.path.islink(path) and any([works(attempt, path) for attempt in (write, *itself)]):
            found["changed"].add(path)
print(json.dumps({key: sorted(value) if isinstance(value, set) else value for key, value in found.items()}))
"""


async def check_writable_places(sandbox: Sandbox) -> None:
    """The places that a command can write to are just the declared ones, each empty and with its own mode."""
    for ipc in (False, True):
        places = BoxSpec(writable=WRITABLE, ipc=ipc).places
        async with box_of(sandbox, writable=WRITABLE, ipc=ipc, links={"/proc/self/exe": "/usr/bin/env"}) as box:
            result = await python(box, WALK, Limits(wall_seconds=60))
            expect(result.ok, result)
            found = json.loads(result.stdout)
            wanted = sorted(place.path for place in places)
            expect_equal(found["made"], wanted)
            changed = sorted({*wanted, *DEVICES, *(TERMINALS if ipc else ())})
            expect(set(found["changed"]) <= {*changed, "/dev/tty"}, set(found["changed"]) - set(changed))
            expect(found["directories"] > 100 and found["files"] > 5, "the walk did not get far")
            for place in places:
                look = f"import os; print(os.listdir({place.path!r}), oct(os.stat({place.path!r}).st_mode & 0o7777))"
                await expect_output(box, look, f"[] {place.mode:#o}")


async def check_only_files_stay(sandbox: Sandbox) -> None:
    """Without `ipc` nothing that is not a file can be made that a later process would find."""
    makes = {
        "shared memory": LIBC + CALL.format(call="libc.shmget(4711, 4096, 0o1666)"),
        "semaphores": LIBC + CALL.format(call="libc.semget(4711, 1, 0o1666)"),
        "a message queue": LIBC + CALL.format(call="libc.msgget(4711, 0o1666)"),
        "a POSIX message queue": LIBC + CALL.format(call="libc.mq_open(b'/mark', 0o102, 0o666, None)"),
        "POSIX shared memory": LIBC + CALL.format(call="libc.shm_open(b'/mark', 0o102, 0o666)"),
        "an attribute": "import os; os.setxattr('/code', b'user.mark', b'1')",
        "flags": "import fcntl, os; fcntl.ioctl(os.open('/code', 0), 0x40086602, b'\\x40' + b'\\0' * 7)",
        "a port": "import socket; socket.socket(socket.AF_INET).bind(('127.0.0.1', 4711))",
        "a terminal": "import os; os.open('/dev/ptmx', os.O_RDWR)",
        "a key": LIBC + CALL.format(call="libc.syscall({'x86_64': 248}.get(os.uname().machine, 217), 0, 0, 0, 0, -3)"),
    }
    async with box_of(sandbox) as box:
        for name, code in makes.items():
            guarded = f"try:\n    exec({code!r}, {{}})\nexcept OSError:\n    print('refused')"
            result = await python(box, guarded)
            expect_equal((name, result.stdout.strip()), (name, b"refused"))


async def check_processes_limit_only_themselves(sandbox: Sandbox) -> None:
    """Without `ipc` a process can neither limit nor schedule another: a warm one would hand it on to the next job."""
    child = "import os, resource, signal, time\nother = os.fork()\nif other == 0: time.sleep(20); os._exit(0)\n"
    calls = (
        "resource.prlimit({pid}, resource.RLIMIT_NOFILE, (100, 4096))",
        "os.setpriority(os.PRIO_PROCESS, {pid}, 19)",  # the lowest: whoever is niced may still go there
        "os.sched_setaffinity({pid}, os.sched_getaffinity(0))",
    )
    async with box_of(sandbox) as box:
        for call in calls:
            attempt = f"try:\n    {call.format(pid='other')}\nexcept OSError:\n    print('refused')\n"
            code = child + attempt + f"os.kill(other, signal.SIGKILL)\n{call.format(pid=0)}"
            await expect_output(box, code, "refused")


async def check_shells_have_what_they_want(sandbox: Sandbox) -> None:
    """With `ipc` there are shared memory, semaphores, terminals and loopback connections."""
    async with box_of(sandbox, ipc=True) as box:
        code = (
            "import multiprocessing, os, socket\n"
            "with multiprocessing.Lock(): pass\n"
            "os.openpty()\n"
            "a = socket.create_server(('127.0.0.1', 0)); socket.create_connection(a.getsockname(), 2)\n"
            "print('fine')"
        )
        await expect_output(box, code, "fine")
