"""Netlist mode: the harness's compiler gets the netlist that Yosys builds, in place of the files that Yosys read.

The grader runs a simulating service a second time with RTL_AGENT_NETLIST in its environment: JSON with the text of the
synthesis service's own script and the inner names that the tests look at. The files are read as that script reads them,
with the parameters of the build, and pass through what `synth` does before it maps to gates.

Gates are what was counted, and take their time: the tests of CVDP's AES key expansion take 5 s with the source, 10 with
words, over 100 with gates. So only where words leave open what a gate decides (an unknown constant, a division, an
index that may be too large) the first build, and the one that was synthesised, get gates: the script to its end. Where
gates take too long the plan asks for words once more, with all that decided (`unknown`): as 0, and as 1.
After a few sets of parameters, only the one that is synthesised gets a netlist; the rest is compiled as before.
"""

import contextlib
import glob
import json
import os
import re
import tempfile
import time

import rtl_agent_probe_netlist_text

PLAN = "RTL_AGENT_NETLIST"
_WITH_VALUE = ("-o", "-s", "-f", "-c", "-y", "-Y", "-l", "-m", "-M", "-t", "-T", "-B", "-N", "-p", "-W", "-v")
_WORDS = ("proc", "opt", "fsm", "opt", "wreduce", "peepopt", "memory -nomap", "opt -full -undriven")
# Flip-flops start at 0, as hardware starts at something: in a netlist X would never go away.
_DEFINED = "setundef -zero -init"
_DECIDED = ("chtype -set $shift t:$shiftx", "techmap t:$div t:$mod t:$divfloor t:$modfloor t:$pow")
_MOST = 4  # sets of parameters beside the one that is synthesised; Yosys 0.40 takes 0.3 s and more for each
# What is X in a simulation of words, and something in gates.
_OPEN = {"$div", "$mod", "$divfloor", "$modfloor", "$pow", "$shiftx", "$bmux", "$demux"}
_SAMPLED = ("D", "E", "EN")  # inputs of a flip-flop that it looks at when its clock rises
_SCALE = re.compile(r"^\s*`timescale[^\n/]+/[^\n/]+", re.MULTILINE)


class Netlists:
    """One of a job: what was built stays for the next build with the same parameters."""

    def __init__(self, plan):
        self._lines = [line.strip() for line in plan["script"].splitlines()]
        self._names, self._late, self._gates = plan["names"], plan["late"], plan["gates"]
        self._unknown, self._pair = plan["unknown"], plan["pair"]
        self._ports, self._macros = plan["ports"], plan["macros"]
        self._kept = {}  # (top, parameters, defines, includes) -> path, or None where Yosys could not build it
        self._directory = None
        self._defaults = None  # parameters of the top, as they are synthesised

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
        if key not in self._kept and len(self._kept) >= _MOST and not self._is_synthesised(wanted):
            return args
        if key not in self._kept:
            self._kept[key] = self._build(wanted, design, cwd, run, send, item)
        if self._kept[key] is None:
            return args
        others = [path for path in wanted.sources if path not in design]
        roots = ["-s", rtl_agent_probe_netlist_text.PAIR] if self._pair else []
        return [*wanted.options, *roots, self._kept[key], *others]

    def _build(self, wanted, design, cwd, run, send, item):
        self._directory = self._directory or tempfile.mkdtemp(prefix="netlist")
        target = os.path.join(self._directory, f"netlist{len(self._kept)}.v")
        started = time.monotonic()
        said = self._run_yosys(self._script(wanted, target, _words(self._unknown)), target, run)
        self._learn_defaults(wanted.top)
        first = not any(self._kept.values())
        gates = False
        if not said and self._gates and (first or self._is_synthesised(wanted)) and _leaves_open(target):
            rest = [line for line in self._lines[self._last_read() + 1 :] if not _command(line).startswith("write_")]
            gates = not self._run_yosys(self._script(wanted, f"{target}.gates", rest), f"{target}.gates", run)
            if not gates:  # Yosys cannot map this build
                said = self._run_yosys(self._script(wanted, target, _words("zero")), target, run)
        if not said:
            self._adapt(f"{target}.gates" if gates else target, target, wanted, _scale(design))
        if not said and self._pair:
            said = self._add_source(wanted, design, cwd, target, run)
        took = round(time.monotonic() - started, 3)
        loop = gates and _has_loop(f"{target}.gates.json")
        unlike = "" if said else self._other_ports(wanted.top, target)
        said = said or unlike
        send("netlist", built=not said, said=said, unlike=bool(unlike), gates=gates, loop=loop, seconds=took, item=item)
        return None if said else target

    def _run_yosys(self, lines, target, run):
        """What Yosys had to say against it; "" when it has written the netlist."""
        script = f"{target}.ys"
        with open(script, "w") as stream:
            stream.write("\n".join(lines) + "\n")
        # In the directory in which the synthesis service runs: a design must not be able to tell the two apart.
        done = run(["yosys", "-Q", "-T", "-s", script], capture_output=True)
        words = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()
        errors = [line for line in words if "ERROR" in line]
        return "" if done.returncode == 0 else (errors or words[-1:] or ["Yosys failed"])[0]

    def _other_ports(self, top, target):
        """Ports of the given design that tests look at and that this one has inside, or the other way round."""
        with open(f"{target}.json") as stream:
            found = json.load(stream)["modules"].get(top, {}).get("ports", {})
        wanted = self._ports.get(top, {}).items()
        other = [name for name, way in wanted if found.get(name, {}).get("direction") != way]
        return f"{', '.join(other)} of the given module is not that port any more" if other else ""

    def _learn_defaults(self, top):
        with contextlib.suppress(OSError, ValueError), open(self._defaults_file()) as stream:
            module = json.load(stream)["modules"].get(top, {})
            self._defaults = module.get("parameter_default_values", {})

    def _defaults_file(self):
        return os.path.join(self._directory, "defaults.json")

    def _is_synthesised(self, wanted):
        """Whether these are the parameters that the synthesis service's script leaves as they are."""
        known = self._defaults or {}
        return all(name in known and _number(known[name]) == _given(value) for name, value in wanted.parameters)

    def _last_read(self):
        return max((i for i, line in enumerate(self._lines) if _command(line).startswith("read")), default=-1)

    def _add_source(self, wanted, design, cwd, target, run):
        """The design as it was written, beside its netlist and with the same inputs: for names that this has lost."""
        given = [*(f"-D{one}" for one in wanted.defines), *(f"-I{one}" for one in wanted.includes)]
        done = run(
            ["iverilog", "-g2012", "-E", "-o", f"{target}.source", *given, *design], cwd=cwd, capture_output=True
        )
        if done.returncode:
            return "the design cannot be preprocessed again"
        with open(f"{target}.json") as stream:
            ports = json.load(stream)["modules"].get(wanted.top, {}).get("ports", {})
        with open(f"{target}.source", errors="replace") as stream:
            text = rtl_agent_probe_netlist_text.source_beside(stream.read(), wanted.top, ports, wanted.parameters)
        with open(target, "a") as stream:
            stream.write(text)
        return ""

    def _adapt(self, source, target, wanted, scale):
        top = wanted.top
        with open(f"{source}.json") as stream:
            module = json.load(stream)["modules"].get(top, {})
        with open(source) as stream:
            netlist = rtl_agent_probe_netlist_text.Netlist(stream.read(), module, top, self._names)
        with open(target, "w") as stream:
            stream.write(netlist.simulated(scale, late=self._late))

    def _script(self, wanted, target, passes):
        # As the synthesis service reads the files: what only the simulator's build is told, it is not told here either.
        known = (one for one in wanted.defines if one.partition("=")[0] in self._macros)
        yield from (f"verilog_defaults -add -D{definition}" for definition in known)
        yield from self._lines[: self._last_read() + 1]
        if wanted.parameters and self._defaults is None:
            yield from ("design -save rtl_agent_read", "proc", f"write_json {self._defaults_file()}")
            yield "design -load rtl_agent_read"
        values = " ".join(f"-set {name} {_decodable(value)}" for name, value in wanted.parameters)
        if values:
            yield f"chparam {values} {wanted.top}"
        yield from (f"setattr -set keep 1 w:{name}" for name in self._names)
        yield f"hierarchy -check -top {wanted.top}"
        yield from ("proc", "flatten") if self._late or self._pair else ()
        yield from passes
        yield f"write_json {target}.json"
        yield _DEFINED
        yield f"write_verilog -noattr {target}"


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
                name, _, value = word.partition(".")[2].partition("=")
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


def _words(unknown):
    """The passes up to words; with what gates would decide decided as 0 or 1, where gates are not asked."""
    return (*_WORDS, *_DECIDED, f"setundef -undriven -{unknown}") if unknown else _WORDS


def _command(line):
    return line.split()[0] if line.split() else ""


def _leaves_open(target):
    with open(f"{target}.json") as stream:
        modules = json.load(stream)["modules"].values()
    cells = [cell for module in modules for cell in module["cells"].values()]
    return any(cell["type"] in _OPEN or _is_open_memory(cell) or _takes_unknown(cell) for cell in cells)


def _has_loop(path):
    """Whether something drives itself without a clock in between: it may change for ever in one moment.

    A flip-flop follows its clock and its asynchronous inputs, everything else all of its inputs.
    """
    with open(path) as stream:
        modules = json.load(stream)["modules"].values()
    return any(rtl_agent_probe_netlist_text.is_cyclic(_followers(module)) for module in modules)


def _followers(module):
    """Net -> nets that change at once when it does."""
    found = {}
    for cell in module["cells"].values():
        directions = cell.get("port_directions", {})
        clocked = "DFF" in cell["type"].upper()
        outputs = [net for port, nets in cell["connections"].items() if directions.get(port) != "input" for net in nets]
        for port, nets in cell["connections"].items():
            if directions.get(port) != "output" and not (clocked and port in _SAMPLED):
                for net in nets:
                    found.setdefault(net, []).extend(outputs)
    return found


def _is_open_memory(cell):
    """Not every address has a word."""
    size = int(cell["parameters"].get("SIZE", "1"), 2) if cell["type"].startswith("$mem") else 1
    return size & (size - 1) != 0


def _takes_unknown(cell):
    return not cell["type"].startswith("$mem") and any("x" in bits for bits in cell["connections"].values())


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


def _number(bits):
    """What JSON says of a parameter, as a number where it is one."""
    return int(bits, 2) if bits and not bits.strip("01") else bits


def _given(value):
    """What a command line says of a parameter."""
    return int(value) & 0xFFFFFFFF if value.lstrip("-").isdigit() else value.strip('"')


def _decodable(value):
    """chparam cannot decode a minus sign."""
    return f"32'b{int(value) & 0xFFFFFFFF:032b}" if value.startswith("-") and value[1:].isdigit() else value


def make():
    """None where the grader did not ask for netlists."""
    plan = os.environ.get(PLAN)
    return Netlists(json.loads(plan)) if plan else None
