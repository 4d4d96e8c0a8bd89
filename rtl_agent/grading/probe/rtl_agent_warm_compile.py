"""Compiles equal sources once in a job: a harness that repeats a random test builds the same design each time.

Only in a job's process on the fast path, and only where nothing but the command, the environment and the text of the
named files can decide what the compiler writes: no includes, no libraries, no files of the harness. Text is compared,
not times. What the compiler printed is printed again.
"""

import os
import re
import subprocess

import rtl_agent_probe

_MOST_BYTES = 64 << 20  # of compiled designs that are kept
_SOURCES = (".v", ".sv")
_JOINED = ("-D", "-I", "-P", "-W", "-g", "-s")  # options with their value in the same word
_APART = ("-D", "-I", "-P", "-s")  # and in the next one
_LOOKS_ELSEWHERE = re.compile(rb"`\s*include|``")  # pasted tokens may become a directive
_TIMESCALE = re.compile(r"(\+timescale\+[\w/ ]*\s*)*")
_CHANGING = "PYTEST_CURRENT_TEST"

_RUNNERS_MODULE = "/cocotb_iverilog_dump.v"  # with waves, cocotb's runner writes and compiles this beside the design

runner_dumps = {}  # compiled design -> how many calls of $dumpfile and $dumpvars in it are the runner's
icarus = None  # rtl_agent_warm_icarus.WarmIcarus, where there is one
_kept = {}  # what was compiled -> (text of the compiled design, its mode, what was printed)


def run(start, args, options):
    """As `start`, which is subprocess.run, without `check`."""
    _count_dumps(args, options)
    key = _what_decides(args, options)
    if key not in _kept:
        return _compile(start, args, options, key)
    rtl_agent_probe.count_child()
    compiled = _compiled(args, options)
    text, mode, printed = _kept[key]
    with open(compiled, "wb") as stream:
        stream.write(text)
        os.fchmod(stream.fileno(), mode)
    _print(printed, options)
    return subprocess.CompletedProcess(args, 0)


def _count_dumps(args, options):
    """Before the design runs: it could write that file."""
    if "-o" not in args[:-1]:
        return
    cwd = os.path.abspath(options.get("cwd") or ".")
    compiled = os.path.join(cwd, args[args.index("-o") + 1])
    runner_dumps.pop(compiled, None)
    if str(args[-1]).endswith(_RUNNERS_MODULE):
        with open(os.path.join(cwd, args[-1]), "rb") as stream:
            runner_dumps[compiled] = stream.read().count(b"$dump")


def _compiled(args, options):
    return os.path.join(options.get("cwd") or ".", args[args.index("-o") + 1])


def _compile(start, args, options, key):
    """By the warm compiler where it can, which has nothing to say about a design that does not compile."""
    if not _is_plain(options):
        return start(args, **options)
    printed = os.memfd_create("printed")
    try:
        if icarus is not None and icarus.run(args, options, printed):
            rtl_agent_probe.count_child()
            done = subprocess.CompletedProcess(args, 0)
        else:
            os.ftruncate(printed, 0)
            os.lseek(printed, 0, os.SEEK_SET)
            done = start(args, **{**options, "stdout": printed, "stderr": subprocess.STDOUT})
        said = os.pread(printed, os.fstat(printed).st_size, 0)
    finally:
        os.close(printed)
    _print(said, options)
    if key and done.returncode == 0 and sum(len(text) for text, _, _ in _kept.values()) < _MOST_BYTES:
        with open(_compiled(args, options), "rb") as stream:
            _kept[key] = (stream.read(), os.fstat(stream.fileno()).st_mode & 0o7777, said)
    return done


def _print(said, options):
    stream = options.get("stdout")
    target = 1 if stream is None else stream if isinstance(stream, int) else stream.fileno()
    while said:
        said = said[os.write(target, said) :]


def _what_decides(args, options):
    """Command, environment, and text of the files; None where something else may decide as well."""
    if not _is_plain(options) or not all(isinstance(word, str) and "`" not in word for word in args):
        return None
    files = _files_of(args)
    if files is None:
        return None
    cwd = os.path.abspath(options.get("cwd") or ".")
    texts = []
    for path, kind in files:
        try:
            with open(os.path.join(cwd, path), "rb") as stream:
                text = stream.read()
        except OSError:
            return None
        known = not _LOOKS_ELSEWHERE.search(text) if kind == "source" else _TIMESCALE.fullmatch(text.decode("latin-1"))
        if not known:
            return None
        texts.append(text)
    env = options.get("env") or os.environ
    chosen = tuple(sorted((name, value) for name, value in env.items() if name != _CHANGING))
    return (tuple(args), cwd, chosen, tuple(texts))


def _is_plain(options):
    """As cocotb's runner starts a compiler: to its own output, or to a log file."""
    known = set(options) <= {"cwd", "env", "stdout", "stderr"}
    stdout, stderr = options.get("stdout"), options.get("stderr")
    if stdout is None:
        return known and stderr is None
    return known and stderr == subprocess.STDOUT and stdout not in (subprocess.PIPE, subprocess.DEVNULL)


def _files_of(args):
    """The files that a command names, each a source or a list of options; None where it has other options."""
    words, files, written = iter(args[1:]), [], False
    for word in words:
        if word in ("-o", "-f", *_APART):
            value = next(words, None)
            if value is None:
                return None
            if word == "-f":
                files.append((value, "options"))
            written = written or word == "-o"
        elif word.startswith("-"):
            if not word.startswith(_JOINED):
                return None
        elif word.endswith(_SOURCES):
            files.append((word, "source"))
        else:
            return None
    harness = any("/src" in path for path, _ in files)
    return files if files and written and not harness else None
