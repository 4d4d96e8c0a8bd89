"""Netlist mode: the harness's compiler gets the netlist that Yosys builds, in place of the files that Yosys read.

The grader runs a simulating service a second time with RTL_AGENT_NETLIST in its environment: JSON with the text of the
synthesis service's own script and the inner names that the tests look at. The files are read as that script reads them,
with the parameters of the build, and pass through what `synth` does before it maps to gates. Gates would say no more,
and take their time: the tests of CVDP's AES key expansion take 5 s with the source, 10 with words, above 100 with gates.
"""

import glob
import json
import os
import re
import shlex
import tempfile
import time

PLAN = "RTL_AGENT_NETLIST"
_WITH_VALUE = ("-o", "-s", "-f", "-c", "-y", "-Y", "-l", "-m", "-M", "-t", "-T", "-B", "-N", "-p", "-W", "-v")
_WORDS = ("proc", "opt", "fsm", "opt", "wreduce", "peepopt", "memory -nomap", "opt -full -undriven")
# Flip-flops start at 0, as hardware starts at something: in a netlist X would never go away.
_DEFINED = "setundef -zero -init"


_EDGE = re.compile(r"\s*always @\(((?:pos|neg)edge [^;]*)\)\s*$")
_WIRE = re.compile(r"  wire (?:signed )?(\[[^\]]*\] )?(\w+);$")
_SCALE = re.compile(r"^\s*`timescale[^\n/]+/[^\n/]+", re.MULTILINE)
_SIGNAL = re.compile(r"(pos|neg)edge (\\\S+|[^\s,]+)")


class Netlists:
    """One of a job: what was built stays for the next build with the same parameters."""

    def __init__(self, plan):
        self._lines = [line.strip() for line in plan["script"].splitlines()]
        self._names, self._late = plan["names"], plan["late"]
        self._kept = {}  # (top, parameters, defines, includes) -> path, or None where Yosys could not build it
        self._directory = None

    def in_place_of_sources(self, args, options, run, send, item):
        """The compiler's command with the netlist for the design."""
        wanted = _Build(args)
        cwd = options.get("cwd") or os.getcwd()
        read = _files_read(self._lines)  # the design's files were not there yet when the harness was collected
        design = [path for path in wanted.sources if os.path.realpath(os.path.join(cwd, path)) in read]
        if not design:
            send("netlist", built=False, said="the harness compiles none of the files that it synthesises", item=item)
            return args
        key = wanted.key
        if key not in self._kept:
            self._kept[key] = self._build(wanted, design, cwd, run, send, item)
        if self._kept[key] is None:
            return args
        others = [path for path in wanted.sources if path not in design]
        return [*wanted.options, self._kept[key], *others]

    def _build(self, wanted, design, cwd, run, send, item):
        self._directory = self._directory or tempfile.mkdtemp(prefix="netlist")
        target = os.path.join(self._directory, f"netlist{len(self._kept)}.v")
        script = target.replace(".v", ".ys")
        with open(script, "w") as stream:
            stream.write("\n".join(self._script(wanted, target)) + "\n")
        started = time.monotonic()
        done = run(["yosys", "-Q", "-T", "-s", script], cwd=cwd, capture_output=True)
        words = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()
        built = done.returncode == 0
        if built:
            _finish(target, wanted.top, _scale(design), late=self._late)
        errors = [line for line in words if line.startswith("ERROR")]
        said = "" if built else (errors or words[-1:] or ["Yosys failed"])[0]
        took = round(time.monotonic() - started, 3)
        send("netlist", built=built, said=said, seconds=took, item=item)
        return target if built else None

    def _script(self, wanted, target):
        last = max((i for i, line in enumerate(self._lines) if _command(line).startswith("read")), default=-1)
        yield from (f"verilog_defaults -add -I{shlex.quote(path)}" for path in wanted.includes)
        yield from (f"verilog_defaults -add -D{definition}" for definition in wanted.defines)
        yield from self._lines[: last + 1]
        values = " ".join(f"-set {name} {_decodable(value)}" for name, value in wanted.parameters)
        if values:
            yield f"chparam {values} {wanted.top}"
        yield from (f"setattr -set keep 1 w:{name}" for name in self._names)
        yield f"hierarchy -check -top {wanted.top}"
        yield from ("proc", "flatten") if self._late else ()
        yield from _WORDS
        yield _DEFINED
        yield f"write_verilog -noattr {target}"
        yield f"write_json {target}.json"


class _Build:
    """An iverilog command taken apart."""

    def __init__(self, args):
        self.options, self.sources, self.parameters, self.defines, self.includes = [args[0]], [], [], [], []
        self.top = ""
        words = iter(args[1:])
        for word in words:
            if word in ("-P", "-D", "-I"):
                word += next(words, "")
            if word.startswith("-P"):
                top, _, rest = word[2:].partition(".")
                name, _, value = rest.partition("=")
                self.parameters.append((name, value))
                continue
            if word.startswith("-D"):
                self.defines.append(word[2:])
            elif word.startswith("-I"):
                self.includes.append(word[2:])
            elif word in _WITH_VALUE:
                value = next(words, "")
                if word == "-s" and not self.top:
                    self.top = value
                self.options += [word, value]
                continue
            elif not word.startswith(("-", "+")):
                self.sources.append(word)
                continue
            self.options.append(word)
        self.key = (self.top, tuple(self.parameters), tuple(self.defines), tuple(self.includes))


def _command(line):
    return line.split()[0] if line.split() else ""


def _files_read(lines):
    """The files that the script's read commands name, as they are now."""
    words = [word for line in lines if _command(line).startswith("read") for word in line.rstrip(";").split()[1:]]
    found = [path for word in words if not word.startswith("-") for path in glob.glob(word.strip('"'))]
    return {os.path.realpath(path) for path in found}


def _scale(design):
    """The first time scale that the design's files set: a test's `Timer` may need its precision."""
    for path in design:
        with open(path, errors="replace") as stream:
            found = _SCALE.search(stream.read())
        if found:
            return f"{found.group().strip()}\n"
    return ""


def _finish(target, top, scale, *, late):
    """Make a netlist behave as its source does in a simulation.

    * Its top gets its parameters back, which tests read, and the source's time scale.
    * Flip-flops look at their inputs when these have settled: a test that changes an input in the very moment of the
      edge is read by a process of the source, which holds the logic before the flip-flop; in a netlist that logic takes
      its turn later.
    * Data inputs that no test drives yet are 0: `case` and `if` of the source take X for no, gates hand it on.

    `late` is the other timing that hardware may have: a clock that the design makes itself comes after the flip-flops of
    the clock that it is made from, and without the spikes that last no time.
    """
    with open(f"{target}.json") as stream:
        module = json.load(stream)["modules"].get(top, {})  # a wrapper that was not synthesised is not in it
    inputs = {name: len(port["bits"]) for name, port in module.get("ports", {}).items() if port["direction"] == "input"}
    values = [f"  parameter {name} = {_literal(value)};\n" for name, value in _parameters(module)]
    with open(target) as stream:
        lines = list(stream)
    edges = [found.group(1) for found in map(_EDGE.match, lines) if found]
    clocks = {name for found in edges for _, name in _SIGNAL.findall(found)}
    data = {name for name, width in inputs.items() if name not in clocks and (width > 1 or late)}
    uses = re.compile(rf"(?<![\\.'\w$])(?:{'|'.join(data) or '(?!)'})(?![\w$])")
    inside = False
    with open(target, "w") as changed:
        changed.write(scale)
        for number, line in enumerate(lines):
            inside = line.startswith(f"module {top}(") if line.startswith("module ") else inside
            edge, wire = _EDGE.match(line), _WIRE.match(line)
            if edge and late and not {name for _, name in _SIGNAL.findall(edge.group(1))} <= set(inputs):
                line = _later(edge.group(1), f"rtl_agent_turn_{number}")
            elif edge:
                line = f"{line.rstrip()} #0\n"
            elif inside and wire and wire.group(2) in data:
                line += _without_x(*wire.groups())
            elif inside and line.startswith(("  assign ", "    ")):
                line = uses.sub(r"rtl_agent_of_\g<0>", line)
            changed.write(line)
            if line.startswith(f"module {top}("):
                changed.write("".join(values))


def _without_x(width, name):
    """A wire that is 0 as long as an input is not known."""
    return f"  wire {width or ''}rtl_agent_of_{name} = ^{name} === 1'bx ? 0 : {name};\n"


def _later(edges, turn):
    """The head of a process that runs when flip-flops have changed, if what woke it up is still so."""
    active = " || ".join(f"{name} {'===' if edge == 'pos' else '!=='} 1'b1" for edge, name in _SIGNAL.findall(edges))
    return f"reg {turn} = 0; always @({edges}) {turn} <= ~{turn}; always @({turn}) #0 if ({active})\n"


def _parameters(module):
    taken = set(module.get("ports", {})) | set(module.get("netnames", {}))
    given = module.get("parameter_default_values", {})
    return [(name, value) for name, value in given.items() if name.isidentifier() and name not in taken]


def _decodable(value):
    """chparam cannot decode a minus sign."""
    return f"32'b{int(value) & 0xFFFFFFFF:032b}" if value.startswith("-") and value[1:].isdigit() else value


def _literal(value):
    """JSON has vectors as strings of bits, and other strings as they are, with a blank where they look like bits."""
    if not isinstance(value, str):
        return str(value)
    if value and not value.strip("01xz"):
        signed = "s" if len(value) == 32 else ""  # an integer without a range
        return f"{len(value)}'{signed}b{value}"
    return json.dumps(value.removesuffix(" "))


def make():
    """None where the grader did not ask for netlists."""
    plan = os.environ.get(PLAN)
    return Netlists(json.loads(plan)) if plan else None
