"""Files that a harness wrote or copied out of /src, closed like /src itself while a tool works on the design.

A harness may put its vectors, its expected values or a copy of itself into the run directory or /tmp, before a
simulation or during it. RTL has the same user's rights there. So what the harness's Python left in these places has
no permissions while an HDL tool runs, but for

* files that the tool's command names, or a compiler's before it (a parameter), and what these files name in turn;
* names that the specification, a given file or a testbench speaks of: the design is meant to read them;
* Verilog text, for compilers; what the tools wrote themselves (waves, netlists, compiled designs).

A simulator's Python writes files without permissions too, and opens them by taking them off for that moment: RTL does
not run meanwhile.
"""

import builtins
import io
import os
import stat
import subprocess
import weakref
from contextlib import contextmanager, suppress

PLACES = ("/code", "/tmp", "/rundir")
_GIVEN = ("/code/docs", "/code/rtl", "/code/verif")  # nothing is written there once the design is in place
OWN = "RTL_AGENT_OWN"  # files of the harness outside of /src
NAMED = "RTL_AGENT_NAMED"  # names of files that a design may read by its specification
VERILOG = (".v", ".sv", ".vh", ".svh", ".inc")
_COMPILERS = ("iverilog", "verilator", "yosys")
_SIMULATOR = "vvp"
_RUNNERS = (
    "cmds.f",
    "cocotb_iverilog_dump.v",
    "cocotb_iverilog_dump.f",
)  # what cocotb's runner writes for the compiler
_RESULTS = "COCOTB_RESULTS_FILE"
_MOST_TEXT = 1 << 20
_WRITES = os.O_WRONLY | os.O_RDWR

_of_tools = {}  # path -> inode of what a tool wrote
_before = None  # path -> inode of what was there when a tool started
_streams = weakref.WeakSet()  # that a simulator's Python opened for writing
_said = []  # commands of compilers: they may hand a design the name of a file


def to_close(words):
    """The files that nobody may open while this command runs, and those of the harness that stay readable to it."""
    global _before
    programs = {os.path.basename(word) for word in words.split()}
    simulates = _SIMULATOR in programs
    if not (simulates or programs & set(_COMPILERS)) or any(name.startswith("python") for name in programs):
        return [], []  # not a tool that reads a design, or a script of the harness around one
    if not simulates:
        _said.append(words)
    found = dict(_regular_files())
    if _before is None:
        _before = found
    # What came while another tool runs may be that tool's, and a thread of the harness about to read it.
    written = [path for path, inode in found.items() if _of_tools.get(path) != inode and _before.get(path) == inode]
    texts = [*_said, words]
    needed = set()
    names = set(os.environ.get(NAMED, "").split("/"))
    while texts:
        text = texts.pop()
        more = [path for path in written if path not in needed and _is_named(text, path)]
        needed.update(more)
        texts += [_text(path) for path in more]
    needed |= {path for path in written if os.path.basename(path) in names}
    if not simulates:
        needed |= {path for path in written if path.endswith(VERILOG)}
    readable = [path for path in needed if os.path.basename(path) not in _RUNNERS and not path.endswith(".vvp")]
    return [path for path in written if path not in needed], readable


def tools_ended():
    """What is new now is the tools', but for what a simulator's Python wrote, which gets its permissions back."""
    global _before
    if _before is None:
        return
    for path, inode in _regular_files():
        if stat.S_IMODE(os.lstat(path).st_mode) == 0:
            os.chmod(path, 0o644)
        elif _before.get(path) != inode:
            _of_tools[path] = inode
    _before = None


def modules():
    """Python that the harness wrote: a simulator imports it from memory."""
    return [path for path, inode in _regular_files() if path.endswith(".py") and _of_tools.get(path) != inode]


def _regular_files():
    """Those of this user; directories that are mounted, and links, are left out."""
    for path in (path for path in os.environ.get(OWN, "").split(os.pathsep) if path):
        if os.path.isfile(path):
            yield path, os.lstat(path).st_ino
    own = os.getuid()
    todo = list(PLACES)
    while todo:
        with suppress(OSError), os.scandir(todo.pop()) as entries:  # os.walk took three times as long
            for entry in entries:
                with suppress(OSError):
                    if entry.is_dir(follow_symlinks=False):
                        if entry.path not in _GIVEN:
                            todo.append(entry.path)
                    elif entry.is_file(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == own:
                        yield entry.path, entry.inode()


def _is_named(text, path):
    """By its path, or by its name as a word of its own."""
    name = os.path.basename(path)
    start = text.find(name)
    while start >= 0:
        end = start + len(name)
        if not _goes_on(text[start - 1 : start], ".-") and not (
            _goes_on(text[end : end + 1], "-") or (text[end : end + 1] == "." and _goes_on(text[end + 1 : end + 2], ""))
        ):
            return True
        start = text.find(name, start + 1)
    return False


def _goes_on(character, more):
    """A letter, a digit, `_` or one more; "" is none. A pattern for each name would have to be compiled."""
    return bool(character) and (character.isalnum() or character in "_" + more)


def _text(path):
    try:
        with open(path, "rb") as stream:
            return stream.read(_MOST_TEXT).decode("latin-1")
    except OSError:
        return ""


def open_what_is_closed(lock):
    """In the harness's own Python, where another thread may have a tool at work."""
    plain_open = io.open

    def open_(file, *rest, **options):
        if not _is_closed(file):
            return plain_open(file, *rest, **options)
        with lock, _permitted(file):
            return plain_open(file, *rest, **options)

    builtins.open = io.open = open_


def hide_from_design():
    """In a simulator's Python: what it writes cannot be opened by name but from here."""
    plain_open, plain_os_open = io.open, os.open
    start, ended = subprocess.Popen.__init__, subprocess.Popen._handle_exitstatus
    hidden, alive = set(), set()

    def open_(file, mode="r", *rest, **options):
        with _permitted(file):
            stream = plain_open(file, mode, *rest, **options)
        if set(mode) & set("wax+"):
            _streams.add(stream)
        if set(mode) & set("wax+") and not alive:
            _hide(stream.fileno(), file, hidden)
        return stream

    def os_open(path, flags, *rest, **options):
        with _permitted(path):
            descriptor = plain_os_open(path, flags, *rest, **options)
        if flags & _WRITES and not alive:
            _hide(descriptor, path, hidden)
        return descriptor

    def start_with_files(self, *rest, **options):
        """A model that tests ask may read what they wrote for it."""
        alive.add(self)
        for path in hidden:
            with suppress(OSError):
                os.chmod(path, 0o644)
        try:
            start(self, *rest, **options)
        except BaseException:
            gone(self)
            raise

    def noticed_end(self, *rest, **options):
        ended(self, *rest, **options)
        gone(self)

    def gone(process):
        alive.discard(process)
        for path in () if alive else hidden:
            with suppress(OSError):
                os.chmod(path, 0)

    builtins.open = io.open = open_
    os.open = os_open
    subprocess.Popen.__init__ = start_with_files
    subprocess.Popen._handle_exitstatus = noticed_end


def open_files():
    """Whether the simulator's Python has files open that it writes: what is in their buffers is not written yet."""
    return any(not stream.closed for stream in _streams)


@contextmanager
def _permitted(file):
    """A file that was closed is open for this moment."""
    closed = _is_closed(file)
    if closed:
        os.chmod(file, 0o600)
    try:
        yield
    finally:
        if closed:
            with suppress(OSError):
                os.chmod(file, 0)


def _is_closed(file):
    if isinstance(file, (str, bytes, os.PathLike)):
        with suppress(OSError, ValueError):
            found = os.stat(file)
            return stat.S_ISREG(found.st_mode) and not found.st_mode & 0o777 and found.st_uid == os.getuid()
    return False


def _hide(descriptor, file, hidden):
    if not isinstance(file, (str, bytes, os.PathLike)):
        return
    path = os.path.realpath(os.fsdecode(file))
    if path == os.path.realpath(os.environ.get(_RESULTS, "results.xml")):
        return  # tests say nothing in it before the last of them has ended
    names = os.environ.get(NAMED, "").split("/")
    if path.startswith(tuple(f"{place}/" for place in PLACES)) and os.path.basename(path) not in names:
        with suppress(OSError):
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                os.fchmod(descriptor, 0)
                hidden.add(path)
