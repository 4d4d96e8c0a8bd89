"""Icarus' compiler without its driver: a warm preprocessor and a warm compiler, told what `iverilog` would tell them.

`iverilog` writes what its options say into files and has a shell start `ivlpp ... | ivl ...`: five programs are loaded
and linked for each design, which takes as long as compiling a small one. Here the two that work are held before their
main function (toolchain/vpi/warm_tool.c) and fork for each command. What the driver writes is not known here: it is
asked once, for a specimen, and a command's words are put in the places of the specimen's.

Only for a command as cocotb's runner makes it, and only where it succeeds: everything else is left to the driver.
"""

import os
import re
import resource
import shlex
import socket
import struct
import subprocess
import threading
import time
from contextlib import suppress

import rtl_agent_probe_seal

_FOLDER = "/tmp/warm-up"
_FD, _LIBRARIES = "RTL_AGENT_WARM_FD", "RTL_AGENT_WARM_LIBRARIES"  # for warm_tool.c
_LIMITS = 16  # kinds of limits that Linux has
_REQUEST = struct.Struct(f"4I{2 * _LIMITS}Q")
_ANSWER = struct.Struct("iid")
_UNSIGNED = (1 << 64) - 1
_TEMPORARY = ("TMP", "TMPDIR", "TEMP")  # where the driver would have its files
_OF_THE_TOOLS = ("LD_", "IVERILOG")  # beginnings of variables that choose other libraries, files, modules
_OTHER_FILES = (".sft", ".vpi", ".vhd", ".vhdl")  # that are not Verilog to the driver
_LINES = {  # of an option's value in the driver's files; `-f` is read here
    "-o": "out:{}\n",
    "-s": "root:{}\n",
    "-f": "{}",
    "-P": "defparam:{}\n",
    "-D": "D:{}\n",
    "-I": "I:{}\n",
}
_TIMESCALE = re.compile(r"\+timescale\+(\w+/\w+)\n?")


class UnknownDriver(Exception):
    """It is not one whose words can be put together."""


class WarmIcarus:
    """Both programs; as `iverilog` where they can."""

    def __init__(self, library):
        self._driver = Driver()
        self._path = os.environ.get("PATH")
        self._preprocessor = _Program(self._driver.preprocessor, library, ())
        self._compiler = _Program(self._driver.compiler, library, self._driver.libraries)
        self._turn = threading.Lock()
        self.owner = None  # the process of the job: what its harness forks has the driver

    def run(self, args, options, output):
        """Whether the command compiled a design; what was printed is in the file `output`."""
        env, cwd = options.get("env") or os.environ, os.path.abspath(options.get("cwd") or ".")
        places = self._places(args, env, cwd) if os.getpid() == self.owner else None
        if places is None or not self._turn.acquire(blocking=False):
            return False
        try:
            with rtl_agent_probe_seal.closed(" ".join(args), cwd):
                return self._compile(places, env, cwd, output)
        except OSError:  # a request that is too long, say
            self.sync()
            return False
        finally:
            self._turn.release()

    def _places(self, args, env, cwd):
        """What stands in this command for the words of the specimen; None where it is not plain."""
        if env.get("PATH") != self._path or any(name in _TEMPORARY or name.startswith(_OF_THE_TOOLS) for name in env):
            return None
        words = words_of(args)
        if words is None:
            return None
        timescale = ""
        if words["-f"]:
            with suppress(OSError, ValueError), open(os.path.join(cwd, words["-f"])) as stream:
                timescale = _TIMESCALE.fullmatch(stream.read())
            if not timescale:
                return None
            timescale = f"timescale:{timescale[1]}\n"
        return {**words, "-f": timescale}

    def _compile(self, places, env, cwd, output):
        names = {name: f"/tmp/ivrl{name}{time.monotonic_ns():x}" for name in FILES}
        try:
            texts, (preprocess, compile_) = self._driver.written({**places, **names})
            for name, text in texts.items():
                with open(names[name], "x") as stream:
                    stream.write(text)
            read, write = os.pipe()
            try:
                self._preprocessor.start(preprocess, cwd, env, (0, write, output))
                self._compiler.start(compile_, cwd, env, (read, output, output))
            finally:
                os.close(read)
                os.close(write)
            self._preprocessor.wait()
            return self._compiler.wait() == 0
        finally:
            for path in names.values():
                with suppress(OSError):
                    os.unlink(path)

    def sync(self):
        """End what still runs; the CPU seconds used since the last time, None where a program is gone."""
        used = [self._preprocessor.sync(), self._compiler.sync()]
        return None if None in used else sum(used)


FILES = ("sources", "defines", "macros", "configuration")  # that the driver writes


def words_of(args):
    """The words of a plain command, as they stand in the driver's files; None where it has other options."""
    if args[0] != "iverilog" or not all(
        isinstance(word, str) and word and not set(word) & {"\n", "\0"} for word in args
    ):
        return None
    found = {"-o": "", "-s": "", "-f": "", "-P": "", "-D": "", "files": ""}
    words, known = iter(args[1:]), False
    for word in words:
        option, line = word[:2], _LINES.get(word[:2])
        if line is not None:
            value = word[2:] or next(words, "")
            if not value or (option in ("-o", "-f") and found[option]):
                return None
            found["-D" if option == "-I" else option] += line.format(value)
        elif word == "-g2012":
            known = True
        elif option[0] == "-" or word.lower().endswith(_OTHER_FILES):
            return None
        else:
            found["files"] += f"{word}\n"
    return found if known and found["-o"] and found["files"] else None


class Driver:
    """What `iverilog` writes and starts, as for a specimen, with the words of another command in their places."""

    def __init__(self):
        included, source, options, out = (f"{_FOLDER}/{name}" for name in ("included", "top.v", "top.f", "top.vvp"))
        os.makedirs(included, exist_ok=True)
        with open(source, "w") as stream:
            stream.write("module rtl_agent_top; parameter W = 1; endmodule\n")
        with open(options, "w") as stream:
            stream.write("+timescale+1ns/1ps\n")
        chosen = ["-s", "rtl_agent_top", "-g2012", "-Drtl_agent_name=7", f"-I{included}", "-Prtl_agent_top.W=9"]
        command = ["iverilog", "-o", out, *chosen, "-f", options, source]
        places = {**words_of(command), "-f": "timescale:1ns/1ps\n"}
        configuration = f"{_FOLDER}/configuration"
        said = subprocess.run(
            [*command, "-v"],  # prints what it starts
            env={**os.environ, "IVERILOG_ICONFIG": configuration},  # keeps its files
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        ).stdout
        found = re.search(r"^translate: (.*?) *\| *(.*)$", said, re.MULTILINE)
        if not found:
            raise UnknownDriver(said)
        commands = [[word for word in shlex.split(part) if word != "-v"] for part in found.groups()]
        files = {word[:2]: word[2:] for word in commands[0][1:]}
        names = dict(zip(FILES, (files.get("-f"), files.get("-F"), files.get("-p"), configuration), strict=True))
        if not all(names.values()):
            raise UnknownDriver(said)
        texts = {}
        for name, path in names.items():
            with open(path) as stream:
                texts[name] = stream.read() if name != "macros" else ""  # the preprocessor writes it
            os.unlink(path)
        self.preprocessor, self.compiler = (command[0] for command in commands)
        modules = re.findall(r"^module:(.*)$", texts["configuration"], re.MULTILINE)
        self.libraries = (f"{os.path.dirname(self.compiler)}/vvp.tgt", *modules)
        places |= names
        self._texts = {name: _with_places(text, places) for name, text in texts.items()}
        self._commands = [[_with_places(word, places) for word in command] for command in commands]
        lines = [piece for text in self._texts.values() for piece in text[1::2] if piece not in names]
        if sorted(lines) != sorted(set(places) - set(names)):
            raise UnknownDriver(f"not each option is found once: {lines}")

    def written(self, places):
        """Its files by their names in FILES, and the words of both commands."""
        texts = {name: _filled(text, places) for name, text in self._texts.items()}
        return texts, [[_filled(word, places) for word in command] for command in self._commands]


def _with_places(text, places):
    """Pieces: the odd ones name what stands there."""
    for name in sorted(places, key=lambda name: -len(places[name])):  # one may be the beginning of another
        text = text.replace(places[name], f"\0{name}\0")
    return text.split("\0")


def _filled(pieces, places):
    return "".join(places[piece] if number % 2 else piece for number, piece in enumerate(pieces))


class _Program:
    """One of the two, held before its main function."""

    def __init__(self, path, library, libraries):
        self._link, far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        variables = {_FD: str(far.fileno()), _LIBRARIES: ":".join(libraries), "LD_PRELOAD": library}
        self._process = subprocess.Popen(
            [path],
            env={**os.environ, **variables},
            pass_fds=(far.fileno(),),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
        )
        far.close()
        self._cpu_seconds = 0.0
        if self._answer() is None:
            raise UnknownDriver(f"{path} cannot be kept warm")

    def start(self, words, cwd, env, descriptors):
        mask = os.umask(0)
        os.umask(mask)
        limits = [value & _UNSIGNED for kind in range(_LIMITS) for value in resource.getrlimit(kind)]
        variables = [f"{name}={value}" for name, value in env.items()]
        head = _REQUEST.pack(len(words), len(variables), mask, _LIMITS, *limits)
        strings = "\0".join([cwd, *words, *variables, ""])
        socket.send_fds(self._link, [head + os.fsencode(strings)], descriptors)

    def wait(self):
        """How it ended, as wait has it."""
        answer = self._answer()
        if answer is None:
            raise OSError("a warm compiler is gone")
        return answer[0]

    def sync(self):
        with suppress(OSError):
            self._link.send(b"sync")
            while answer := self._answer():
                if answer[0] == -1:
                    before, self._cpu_seconds = self._cpu_seconds, answer[2]
                    return self._cpu_seconds - before
        return None

    def _answer(self):
        data = self._link.recv(_ANSWER.size)
        return _ANSWER.unpack(data) if len(data) == _ANSWER.size else None
