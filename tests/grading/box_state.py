"""Harness files that tell what a process finds in its box, and that leave whatever can be left there."""

from rtl_agent.problems import CocotbVersion, Problem, Service
from tests.grading.test_grader import CHECKS, ENV, RUNNER, problem_with

# `told` is one line: a mark, who speaks, and everything that a process could find out about the box and itself.
STATE = r'''
import base64, builtins, ctypes, json, locale, os, random, resource, select, signal, socket, stat, sys, threading, zlib

PLACES = ("/code", "/src", "/rundir", "/tmp")
libc = ctypes.CDLL(None, use_errno=True)
KINDS = {stat.S_IFREG: "file", stat.S_IFDIR: "directory", stat.S_IFLNK: "link", stat.S_IFCHR: "device",
         stat.S_IFIFO: "pipe", stat.S_IFSOCK: "socket"}

def kind(found):
    return KINDS[stat.S_IFMT(found.st_mode)]

def told(who):
    packed = base64.b85encode(zlib.compress(json.dumps(state()).encode(), 9)).decode() 
    return f"\nSTATE {who} {packed} "

def state():
    return {
        "environment": dict(os.environ),
        "files": files(),
        "mount roots": [[p, oct(os.stat(p).st_mode), os.stat(p).st_uid, attributes(p)] for p in ("/", "/dev", *PLACES)],
        "devices": {name: kind(os.lstat("/dev/" + name)) for name in sorted(os.listdir("/dev"))},
        "room": [[p, os.statvfs(p).f_blocks, os.statvfs(p).f_files] for p in PLACES],
        "used": [[p, *used(p)] for p in PLACES],
        "directory": os.getcwd(),
        "umask": umask(),
        "limits": {name: resource.getrlimit(getattr(resource, name)) for name in dir(resource) if "RLIMIT_" in name},
        "signals": [str(signal.getsignal(number)) for number in range(1, 32)],
        "blocked": sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))),
        "priority": [os.getpriority(os.PRIO_PROCESS, 0), sorted(os.sched_getaffinity(0)), os.sched_getscheduler(0)],
        "timer": signal.getitimer(signal.ITIMER_REAL),
        "identity": [os.getuid(), os.getgid(), os.getgroups(), os.uname().nodename],
        "session": [os.getsid(0) == os.getpgrp(), has_terminal()],
        "descriptors": descriptors(),
        "input": standard_input(),
        "IPC": ipc(),
        "processes": processes(),
        "threads": threading.active_count(),
        "path": sys.path,
        "arguments": [str(one) for one in sys.argv],
        "flags": str(sys.flags),
        "locale": [locale.setlocale(locale.LC_ALL), sys.getfilesystemencoding(), sys.stdout.encoding],
        "random": random.random(),
        "marks": [name for name in vars(builtins) if "rtl_mark" in name] + [m for m in sys.modules if "rtl_mark" in m],
    }

def files():
    found = []
    for place in PLACES:
        for directory, names, others in os.walk(place):
            for name in sorted(names + others):
                path = os.path.join(directory, name)
                status = os.lstat(path)
                found.append([path, kind(status), oct(stat.S_IMODE(status.st_mode))])
    return sorted(found)

def attributes(path):
    try: return os.listxattr(path)
    except OSError: return []

def used(place):
    found = os.statvfs(place)
    return found.f_files - found.f_ffree, found.f_blocks - found.f_bfree

def umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask

def has_terminal():
    try: os.close(os.open("/dev/tty", os.O_RDWR))
    except OSError: return False
    return True

def descriptors():
    found = {}
    for number in range(1024):
        try: found[number] = kind(os.fstat(number))
        except OSError: continue
    return found

def standard_input():
    ready = select.select([0], [], [], 0)[0]
    return [os.isatty(0), bool(ready), os.read(0, 100).decode() if ready else None]

def ipc():
    found = {}
    for name, call in (("shm", lambda: libc.shmget(4711, 0, 0)), ("sem", lambda: libc.semget(4711, 0, 0)),
                       ("msg", lambda: libc.msgget(4711, 0)), ("mq", lambda: libc.mq_open(b"/rtl_mark", 0)),
                       ("posix shm", lambda: libc.shm_open(b"/rtl_mark", 0, 0))):
        found[name] = call()
    for address in ("\0rtl_mark", "/tmp/rtl_mark.socket"):
        with socket.socket(socket.AF_UNIX) as one:
            found[repr(address)] = one.connect_ex(address) != 0
    return found

def processes():
    """How many there are whose number is small enough to have been there before this job, and how many of this one."""
    return sum(alive(pid) for pid in range(2, os.getpid()))

def alive(pid):
    try: os.kill(pid, 0)
    except ProcessLookupError: return False
    except PermissionError: return True
    return True
'''

# `leave` does everything that could matter to a later job; what is refused is passed over.
MARKS = r'''
import builtins, ctypes, fcntl, os, random, resource, signal, socket, sys, time, types
from contextlib import suppress

libc = ctypes.CDLL(None)

def leave():
    left = 0
    for directory, names, others in os.walk("/"):
        if directory.startswith(("/usr", "/opt")):
            names.clear()
            continue
        left += in_directory(directory)
    assert left > 20, "nothing could be left"
    ipc()
    start_daemons()
    on_others()
    on_myself()
    for place in ("/code", "/src", "/rundir", "/tmp"):
        with suppress(OSError): os.setxattr(place, b"user.rtl_mark", b"1")
        with suppress(OSError): fcntl.ioctl(os.open(place, os.O_RDONLY), 0x40086602, b"\x40" + b"\0" * 7)
        with suppress(OSError): os.utime(place, (1, 1))
        os.chmod(place, {"/tmp": 0o700, "/src": 0o777, "/rundir": 0o000, "/code": 0o1777}[place])

def in_directory(directory):
    left = 0
    def at(name): return os.path.join(directory, "rtl_mark" + name)
    for make in (
        lambda: os.close(os.open(at(".py"), os.O_CREAT | os.O_WRONLY, 0o400)),
        lambda: os.mkdir(at(".directory")),
        lambda: os.close(os.open(at(".directory/.inner"), os.O_CREAT | os.O_WRONLY)),
        lambda: os.symlink("/tmp", at(".link")),
        lambda: os.symlink(at(".nowhere"), at(".loose")),
        lambda: os.mkfifo(at(".fifo")),
        lambda: socket.socket(socket.AF_UNIX).bind(at(".bound")),
        lambda: os.link(at(".py"), at(".hard")),
        lambda: os.mkdir(at(".locked"), 0o000),
        lambda: os.chmod(at(".directory"), 0o100),
        lambda: os.truncate(os.path.join(directory, "x"), 0),
    ):
        with suppress(OSError):
            make()
            left += 1
    return left

def ipc():
    libc.shmget(4711, 4096, 0o1666), libc.semget(4711, 1, 0o1666), libc.msgget(4711, 0o1666)
    libc.mq_open(b"/rtl_mark", 0o102, 0o666, None), libc.shm_open(b"/rtl_mark", 0o102, 0o666)

def start_daemons():
    """In sessions of their own: a listener, one that holds a deleted file of 30 MB, one that forks without end."""
    for work in (listen, hold, spawn):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                with suppress(BaseException): work()
                os._exit(0)
            os._exit(0)
        os.wait()
    time.sleep(0.2)

def listen():
    for address in ("\0rtl_mark", "/tmp/rtl_mark.socket"):
        one = socket.socket(socket.AF_UNIX)
        one.bind(address)
        one.listen()
        globals()[repr(address)] = one
    for number in range(1, 32):
        with suppress(OSError, ValueError): signal.signal(number, signal.SIG_IGN)
    time.sleep(600)

def hold():
    os.chdir("/rundir")
    stream = open("/rundir/rtl_mark.held", "wb")
    stream.write(b"x" * 30_000_000)
    os.unlink("/rundir/rtl_mark.held")
    time.sleep(600)

def spawn():
    for _ in range(60):
        if os.fork() == 0:
            os.setsid()
            time.sleep(0.02)
        else:
            time.sleep(0.02)
            os._exit(0)
    time.sleep(600)

def on_others():
    for pid in range(2, os.getpid()):
        for act in (
            lambda: resource.prlimit(pid, resource.RLIMIT_NOFILE, (200, 4096)),
            lambda: resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0)),
            lambda: os.setpriority(os.PRIO_PROCESS, pid, 3),
            lambda: os.sched_setaffinity(pid, {min(os.sched_getaffinity(0))}),
            lambda: os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0)),
        ):
            with suppress(OSError, ValueError): act()

def on_myself():
    os.umask(0o777)
    os.chdir("/tmp")
    os.environ["rtl_mark"] = "1"
    os.nice(1)
    for number in (signal.SIGUSR1, signal.SIGCHLD, signal.SIGPIPE, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
    signal.setitimer(signal.ITIMER_REAL, 500)
    resource.setrlimit(resource.RLIMIT_NOFILE, (500, 500))
    builtins.rtl_mark = True
    sys.modules["rtl_mark"] = types.ModuleType("rtl_mark")
    sys.path.append("/tmp/rtl_mark")
    random.random = lambda: 0.5
    os.listdir = lambda path=".": []
'''
# Of a log 6,000 characters are kept: everybody else is to be quiet.
COMMAND = ("pytest", "-s", "--tb=no", "-q", "-W", "ignore", "-o", "cache_dir=/code/rundir/.c", "/src/test_runner.py")
SERVICE = Service("direct", COMMAND, {**ENV, "COCOTB_LOG_LEVEL": "CRITICAL"}, False)


def telling(cocotb_version: CocotbVersion, *, session: bool = False) -> Problem:
    """Both processes of its harness tell what they find; a fixture makes it one that needs a pytest session."""
    fixture = "import pytest\n@pytest.fixture\ndef width():\n    return 1\n" if session else ""
    runner = RUNNER + fixture + f"def test_dut({'width' if session else ''}):\n    from state import told\n"
    runner += "    said = told('harness')\n"
    runner += "    try:\n        run()\n    finally:\n        print(said, flush=True)\n"
    tell = "    from state import told\n    print(told('simulator'), flush=True)\n"
    checks = CHECKS.replace("    for value in", f"{tell}    for value in")
    files = {"src/test_runner.py": runner, "src/checks.py": checks, "src/state.py": STATE}
    return problem_with(files, SERVICE, cocotb_version=cocotb_version)


def leaving(cocotb_version: CocotbVersion, *, in_simulator: bool) -> Problem:
    """One of its processes leaves whatever it can."""
    leave = "    from marks import leave\n    leave()\n    print('LEFT', flush=True)\n"
    indented = leave.replace("    ", " " * 8)
    runner = RUNNER + "def test_dut():\n    run()\n"
    if not in_simulator:
        runner = RUNNER + f"def test_dut():\n    try:\n        run()\n    finally:\n{indented}"
    checks = CHECKS.replace("    for value in", f"{leave}    for value in") if in_simulator else CHECKS
    files = {"src/test_runner.py": runner, "src/checks.py": checks, "src/marks.py": MARKS}
    return problem_with(files, SERVICE, cocotb_version=cocotb_version)
