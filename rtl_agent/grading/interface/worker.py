"""Read modules with pyslang: runs alone inside a box, reads in a forked child, answers over an inherited socket.

Only the standard library and pyslang are at hand here. A message is four bytes of length, big-endian, then JSON.
The text comes from a model: deep nesting, generate loops and macro bombs cost seconds and gigabytes, and a crash of
the C++ parser is possible. So reading is done in a process with limits, replaced when it fails: a request loses only
its own answer.
"""

import ctypes
import gc
import json
import os
import resource
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import pyslang
from pyslang import ast as slang
from pyslang import parsing, syntax

MOST_REQUESTS = 32  # of one reader
CPU_SECONDS = 3  # of one request
MEMORY_BYTES = 1 << 30
MAX_DIAGNOSTICS = 50
MAX_TEXT = 300  # characters of one message, name or value
MAX_NAMES = 5000  # names of one kind
MAX_MESSAGE = 64 << 20
SILENT = {"InvalidTopModule", "NewlineEOF"}  # the first is said by `module: null`, the second is a matter of taste
HEADERS = (".svh", ".vh")  # found by `include only, never compiled by themselves
PR_SET_DUMPABLE = 4
Answer = Callable[[Mapping[str, Any]], dict[str, Any]]
# What a test can reach as `dut.name`; types, functions and enum members are not among them.
HANDLE_KINDS = {
    "Variable", "Net", "Instance", "InstanceArray", "PrimitiveInstance", "GenerateBlock", "GenerateBlockArray",
    "UninstantiatedDef", "Genvar", "InterfacePort",
}  # fmt: skip


def kind_of(symbol: Any) -> str:
    return str(symbol.kind).rpartition(".")[2]


def clip(value: object) -> str:
    text = str(value).encode("utf-8", "replace").decode()
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 3] + "..."


def parse(files: Mapping[str, str]) -> tuple[Any, list[Any]]:
    """(source manager, syntax trees). Files are parsed apart, so that one missing `endmodule` hides no other file;
    macros of earlier files are Icarus's habit, so if one is missing here, all files are parsed as one unit."""
    manager = pyslang.SourceManager()
    buffers = {}
    for path, text in files.items():
        clean = text.encode("utf-8", "replace").decode()
        buffers[path] = manager.assignText(path, clean)
    units = [buffer for path, buffer in buffers.items() if not path.endswith(HEADERS)]
    trees = [syntax.SyntaxTree.fromBuffer(buffer, manager, options()) for buffer in units]
    unknown = any(str(d.code) == "DiagCode(UnknownDirective)" for tree in trees for d in tree.diagnostics)
    if unknown and len(units) > 1:
        trees = [syntax.SyntaxTree.fromBuffers(units, manager, options())]
    return manager, trees


def options(top: str | None = None) -> Any:
    compilation = slang.CompilationOptions()
    flags = slang.CompilationFlags
    compilation.flags = flags.AllowTopLevelIfacePorts | flags.AllowInvalidTop | flags.AllowHierarchicalConst
    if top is not None:
        compilation.topModules = {top}
    preprocessor = parsing.PreprocessorOptions()
    preprocessor.maxIncludeDepth = 64
    return pyslang.Bag([compilation, preprocessor])


def element_of(type_: Any) -> tuple[Any, list[str]]:
    """The type of one element, and the unpacked dimensions around it."""
    dims: list[str] = []
    while type_.isUnpackedArray and hasattr(type_.canonicalType, "elementType"):
        array = type_.canonicalType
        dims.append(str(getattr(array, "range", "[]")))
        type_ = array.elementType
    return type_, dims


def read_port(port: Any) -> dict[str, Any]:
    directions = {"In": "input", "Out": "output", "InOut": "inout", "Ref": "ref"}
    if not hasattr(port, "direction"):
        return {"name": clip(port.name), "direction": "interface", "width": 0, "signed": False, "dims": []}
    type_, dims = element_of(port.type)
    direction = directions.get(str(port.direction).rpartition(".")[2], "unknown")
    return {
        "name": clip(port.name),
        "direction": direction,
        "width": int(type_.bitWidth),  # 0 where a type is broken or has no fixed size
        "signed": bool(type_.isSigned),
        "dims": dims,
    }


def read_module(body: Any) -> dict[str, Any]:
    parameters: dict[str, Any] = {}
    names: set[str] = set()
    for member in body:
        kind = kind_of(member)
        if kind in ("Parameter", "TypeParameter"):
            value = getattr(member, "value", None)
            local = bool(getattr(member, "isLocalParam", False))
            parameters[clip(member.name)] = {"value": None if value is None else clip(value), "local": local}
        elif kind in HANDLE_KINDS and member.name:
            names.add(clip(member.name))
    ports = [read_port(port) for port in body.portList if port.name]
    known = {port["name"] for port in ports}
    return {
        "ports": ports[:MAX_NAMES],
        "parameters": dict(list(parameters.items())[:MAX_NAMES]),
        "internal": sorted(names - known)[:MAX_NAMES],
    }


def read_diagnostics(manager: Any, compilation: Any) -> list[dict[str, Any]]:
    engine = pyslang.DiagnosticEngine(manager)
    found: list[dict[str, Any]] = []
    for diagnostic in compilation.getAllDiagnostics():
        code = str(diagnostic.code).removeprefix("DiagCode(").removesuffix(")")
        place = manager.getFullyExpandedLoc(diagnostic.location)
        severity = str(engine.getSeverity(diagnostic.code, place)).rpartition(".")[2].lower()
        if severity == "ignored" or code in SILENT:
            continue
        found.append(
            {
                "file": clip(manager.getFileName(place)),
                "line": manager.getLineNumber(place),
                "column": manager.getColumnNumber(place),
                "severity": severity,
                "code": code,
                "message": clip(engine.formatMessage(diagnostic)),
            }
        )
        if len(found) > 20 * MAX_DIAGNOSTICS:
            break
    # Errors first: with 50 places, warnings must not push them out.
    found.sort(key=lambda item: item["severity"] not in ("error", "fatal"))
    return found[:MAX_DIAGNOSTICS]


def answer(request: Mapping[str, Any]) -> dict[str, Any]:
    manager, trees = parse(request["files"])
    compilation = slang.Compilation(options(request["top"]))
    for tree in trees:
        compilation.addSyntaxTree(tree)
    module = None
    for instance in compilation.getRoot().topInstances:
        if instance.name == request["top"]:
            module = read_module(instance.body)
    modules = sorted({clip(d.name) for d in compilation.getDefinitions() if str(d.definitionKind).endswith(".Module")})
    diagnostics = read_diagnostics(manager, compilation)
    return {"module": module, "modules": modules[:MAX_NAMES], "diagnostics": diagnostics}


def in_child(requests: int, replies: int, answer_one: Answer) -> NoReturn:
    """Answer one request after another until the worker hangs up."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    with os.fdopen(requests, "rb") as source:
        while size := int.from_bytes(source.read(4), "big"):
            request = json.loads(source.read(size))
            most = resource.getrlimit(resource.RLIMIT_CPU)[1]
            resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + CPU_SECONDS, most))
            try:
                reply = answer_one(request)
            except BaseException as error:
                reply = {"error": clip(f"{type(error).__name__}: {error}")}
            data = json.dumps(reply).encode()
            data = len(data).to_bytes(4, "big") + data
            while data:
                data = data[os.write(replies, data) :]
    os._exit(0)


class Reader:
    """A forked process that reads designs: a fork costs 4 ms of CPU, reading a small design a quarter of one."""

    def __init__(self, channel: socket.socket, answer_one: Answer) -> None:
        take, self._ask = os.pipe()
        self._hear, give = os.pipe()
        self._answered = 0
        self._pid = os.fork()
        if self._pid == 0:
            channel.close()  # whatever happens to the reader, it cannot answer for the worker
            os.close(self._ask)
            os.close(self._hear)
            in_child(take, give, answer_one)
        os.close(take)
        os.close(give)
        os.set_blocking(self._ask, False)

    @property
    def fresh(self) -> bool:
        return self._answered == 0

    @property
    def worn(self) -> bool:
        return self._answered >= MOST_REQUESTS

    def read(self, request: bytes, deadline: float) -> bytes:
        """The reply; Failed says what became of the reader."""
        self._answered += 1
        end = time.monotonic() + deadline
        waiting, reply = memoryview(len(request).to_bytes(4, "big") + request), bytearray()
        while len(reply) < 4 or len(reply) < 4 + int.from_bytes(reply[:4], "big"):
            asked = [self._ask] if waiting else []
            readable, writable, _ = select.select([self._hear], asked, [], max(0.0, end - time.monotonic()))
            if not readable and not writable:
                raise Failed(f"no answer within {deadline:g} s")
            if writable:
                waiting = waiting[self._write(waiting) :]
            if readable:
                chunk = os.read(self._hear, 1 << 20)
                if not chunk:
                    raise Failed(f"the parser was ended by {self._cause()}")
                reply += chunk
            if len(reply) > MAX_MESSAGE:
                raise Failed("the answer is too long")
        return bytes(reply[4:])

    def _write(self, data: memoryview) -> int:
        try:
            return os.write(self._ask, data)
        except BrokenPipeError:
            return len(data)  # reading will tell how it ended

    def _cause(self) -> str:
        code = os.waitstatus_to_exitcode(self._wait())
        cause = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"{cause} (limits: {CPU_SECONDS} CPU s, {MEMORY_BYTES >> 20} MiB)"

    def close(self) -> None:
        os.close(self._ask)
        os.close(self._hear)
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)
            self._wait()

    def _wait(self) -> int:
        pid, self._pid = self._pid, 0
        return os.waitpid(pid, 0)[1]


class Failed(Exception):
    """A reader died, hung or said too much."""


class Readers:
    """One reader at a time, replaced when it failed or is worn. What an earlier design left never costs a later one."""

    def __init__(self, channel: socket.socket, answer_one: Answer) -> None:
        self._channel, self._answer_one = channel, answer_one
        self._reader: Reader | None = None

    def answer(self, request: bytes, deadline: float) -> bytes:
        """The reply of a reader. One that failed but was not fresh may have suffered from its past: asked again."""
        while True:
            reader = self._reader = self._reader or Reader(self._channel, self._answer_one)
            fresh = reader.fresh
            try:
                reply = reader.read(request, deadline)
            except Failed as failure:
                self._replace()
                if fresh:
                    return json.dumps({"error": str(failure)}).encode()
                continue
            if reader.worn:
                self._replace()
            return reply

    def _replace(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._reader = None


def receive(channel: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = channel.recv(min(1 << 20, size - len(data)))
        if not chunk:
            sys.exit(0)
        data += chunk
    return data


def send(channel: socket.socket, data: bytes) -> None:
    channel.sendall(len(data).to_bytes(4, "big") + data)


def main(answer_one: Answer = answer) -> NoReturn:
    """Serve a socket. Another program that reads designs brings what it answers, and has these limits and readers."""
    channel = socket.socket(fileno=int(sys.argv[1]))
    # A child of the same uid may not attach to us with ptrace.
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
    gc.freeze()
    readers = Readers(channel, answer_one)
    send(channel, b'{"ready": true}')
    while True:
        size = int.from_bytes(receive(channel, 4), "big")
        if size > MAX_MESSAGE:
            sys.exit(f"request of {size} bytes")
        request = receive(channel, size)
        send(channel, readers.answer(request, float(json.loads(request)["deadline"])))


if __name__ == "__main__":
    main()
