"""Keeps a design from reading the harness: while a tool works on the design, nothing of /src can be opened by name.

A compiler follows `include, a simulator runs $fopen and $readmemh, and both have the rights of the harness's own user.
So the directory has no permissions at all while any process that the harness started is alive; the harness's Python,
which owns it, opens it again when none is. Files that a tool's command names (a list of waivers, a synthesis script, a
testbench among the sources) stay readable to that tool, and are reported. RTL cannot change modes.

A simulator's Python runs while the directory is closed. It gets the harness's files beforehand, as an image in memory
that has no name (`image`), imports its modules from there, and `open` finds the other files there too. Its output has
no name either while it runs.
"""

import builtins
import io
import marshal
import os
import stat
import subprocess
import threading
from contextlib import contextmanager

import rtl_agent_probe
import rtl_agent_probe_written

HARNESS = "/src"
KEPT = "RTL_AGENT_KEPT"  # files that a design which was given reads while it is simulated
IMAGE = "RTL_AGENT_IMAGE"  # the descriptor of the image, for a simulator
_SOURCES = (".v", ".sv", ".vh", ".svh", ".inc")

lock = threading.RLock()  # a harness may start processes from several threads
_open_modes = {}  # path -> mode of what is closed at the moment
_content = {}  # path -> what the harness's files held when they were last open
_alive = set()  # processes that the harness started and that have not ended
_no_design = False  # what is started has no design in it: the harness's own simulations


def watch_processes():
    """Close the harness before any process starts, open it when the last one has ended."""
    start, ended, system = subprocess.Popen.__init__, subprocess.Popen._handle_exitstatus, os.system

    def closed_start(self, args, *rest, **options):
        if _no_design:
            start(self, args, *rest, **options)
            return
        with lock:
            close(_words(args), options.get("cwd"))
            _alive.add(self)
        try:
            start(self, args, *rest, **options)
        except BaseException:
            _gone(self)
            raise

    def noticed_end(self, *rest, **options):
        ended(self, *rest, **options)
        _gone(self)

    def closed_system(command):
        with closed(command):
            return system(command)

    subprocess.Popen.__init__ = closed_start
    subprocess.Popen._handle_exitstatus = noticed_end
    os.system = closed_system
    rtl_agent_probe_written.open_what_is_closed(lock)


def _gone(process):
    with lock:
        _alive.discard(process)
        if not _alive:
            reopen()
            rtl_agent_probe_written.tools_ended()


@contextmanager
def without_design():
    """What is started meanwhile may read the harness: no design is among the files that it works on."""
    global _no_design
    _no_design = True
    try:
        yield
    finally:
        _no_design = False


def is_without_design():
    return _no_design


@contextmanager
def closed(words, cwd=None):
    """For a tool that is not started by `subprocess`: a warm simulator, a shell."""
    token = object()
    with lock:
        close(words, cwd)
        _alive.add(token)
    try:
        yield
    finally:
        _gone(token)


@contextmanager
def output_without_name(options):
    """A log file that a harness has for a simulator is filled when it has ended: tests say there what they expect.

    A design could open it by name while it runs, to read what was just written, or to write what is read afterwards.
    """
    options, files = dict(options), {}
    for name in ("stdout", "stderr"):
        stream = options.get(name)
        target = stream.fileno() if hasattr(stream, "fileno") else stream
        if isinstance(target, int) and target >= 0 and stat.S_ISREG(os.fstat(target).st_mode):
            files[target] = files.get(target) or os.memfd_create(name)
            options[name] = files[target]
    try:
        yield options
    finally:
        for target, memory in files.items():
            os.ftruncate(target, os.lseek(target, 0, os.SEEK_CUR))
            size, sent = os.fstat(memory).st_size, 0
            while sent < size and (count := os.sendfile(target, memory, sent, size - sent)):
                sent += count
            os.close(memory)


def _words(args):
    return args if isinstance(args, str) else " ".join(os.fsdecode(word) for word in args if not isinstance(word, int))


def close(words, cwd=None):
    """Take every permission from the harness, and what it wrote, but for the files that these words name."""
    _close_harness(words, cwd)
    shut, readable = rtl_agent_probe_written.to_close(words)
    for path in shut:
        _set_mode(path, 0)
    for path in readable:  # another process may have closed it
        if path in _open_modes:
            os.chmod(path, _open_modes.pop(path))
        rtl_agent_probe.send("readable", path=path, item=rtl_agent_probe.current_item)


def _close_harness(words, cwd):
    if not os.path.isdir(HARNESS):
        return
    if is_closed() and not _speaks_of_files(words, cwd):
        return  # another process is at work, and may read nothing in between either
    reopen()
    if not _content and threading.active_count() > 1:
        _remember()  # another thread may need it while this one's process runs
    named = _named(words, cwd) if _speaks_of_files(words, cwd) else ()
    for path in named:
        rtl_agent_probe.send("readable", path=path, item=rtl_agent_probe.current_item)
    if not named:
        _set_mode(HARNESS, 0)
        return
    parents = {os.path.dirname(path) for path in named}
    parents |= {above for path in named for above in _above(path)}
    for directory, _, names in os.walk(HARNESS, topdown=False):
        for path in (os.path.join(directory, name) for name in names):
            if path not in named and not os.path.islink(path):
                _set_mode(path, 0)
        # Verilator lists the directory of a file that it is given.
        _set_mode(directory, 0o555 if directory in parents or directory == HARNESS else 0)


def _above(path):
    while path != HARNESS and path != "/":
        path = os.path.dirname(path)
        yield path


def reopen():
    """Every mode as it was; directories first, or what is in them cannot be reached."""
    for path in sorted(_open_modes):
        try:
            os.chmod(path, _open_modes[path])
        except FileNotFoundError:  # a simulator's Python, or a tool, has put another in its place
            if path.startswith(HARNESS):
                raise
    _open_modes.clear()


def is_closed():
    return HARNESS in _open_modes


def _set_mode(path, mode):
    _open_modes.setdefault(path, os.stat(path).st_mode & 0o7777)
    os.chmod(path, mode)


def _named(words, cwd):
    """Files of the harness that a command names, and those that these name in turn."""
    files = {path: None for path in _files() if not path.endswith((".py", ".env"))}
    wanted = {path for path in os.environ.get(KEPT, "").split(os.pathsep) if path in files}
    inside = os.path.abspath(cwd or ".")
    wanted |= {path for path in files if _mentions(words, path, inside)}
    if f"-I{HARNESS}" in words or f"-I {HARNESS}" in words:
        wanted |= {path for path in files if path.endswith(_SOURCES)}
    todo = list(wanted)
    while todo:
        text = _read(todo.pop()).decode("latin-1")
        more = {path for path in files if path not in wanted and _mentions(text, path, inside)}
        wanted |= more
        todo += more
    return wanted


def _speaks_of_files(words, cwd):
    return HARNESS in words or bool(os.environ.get(KEPT)) or os.path.abspath(cwd or ".").startswith(HARNESS)


def _mentions(text, path, cwd):
    return path in text or (path.startswith(cwd + "/") and os.path.relpath(path, cwd) in text.split())


def _files():
    for directory, below, names in os.walk(HARNESS):
        below[:] = [name for name in below if name not in (".pytest_cache", "__pycache__")]
        for name in names:
            yield os.path.join(directory, name)


def _read(path):
    try:
        with open(path, "rb") as stream:
            return stream.read()
    except OSError:
        return b""


def _remember():
    global _content
    _content = {path: _read(path) for path in (*_files(), *rtl_agent_probe_written.modules())}


def image():
    """A descriptor that holds every file of the harness, for a simulator that starts while they are closed."""
    if not is_closed():
        _remember()
    descriptor = os.memfd_create("harness")
    os.set_inheritable(descriptor, True)
    with open(os.dup(descriptor), "wb") as stream:
        stream.write(marshal.dumps(_content))
    return descriptor


def read_image(descriptor):
    """Path -> content, and the descriptor is closed."""
    with open(descriptor, "rb") as stream:
        stream.seek(0)
        return marshal.loads(stream.read())  # noqa: S302 - the harness's own process wrote it


def open_from(files):
    """Let `open` find these files in memory, in a simulator's Python; only for reading."""
    original = io.open

    def open_(file, mode="r", buffering=-1, encoding=None, errors=None, newline=None, closefd=True, opener=None):
        data = files.get(os.fspath(file)) if isinstance(file, (str, os.PathLike)) else None
        if data is None or not set(mode) <= set("rbt"):
            return original(file, mode, buffering, encoding, errors, newline, closefd, opener)
        stream = io.BytesIO(data)
        return stream if "b" in mode else io.TextIOWrapper(stream, encoding, errors, newline)

    builtins.open = io.open = open_
