"""Netlist mode: the harness's compiler gets the netlist that Yosys builds, in place of the files that Yosys read.

The grader runs a simulating service a second time with RTL_AGENT_NETLIST in its environment: JSON with the text of the
synthesis service's own script, the module that it synthesises, and the inner names that the tests look at. The script's
whole netlist is built for the first set of parameters and for the one that the synthesis service measures, which has
none; for other sets the netlist as it is after `proc`, which takes 10 to 250 ms where a whole one takes 1 to 30 s.
"""

import glob
import json
import os
import shlex
import shutil
import tempfile
import time

PLAN = "RTL_AGENT_NETLIST"
_WITH_VALUE = ("-o", "-s", "-f", "-c", "-y", "-Y", "-l", "-m", "-M", "-t", "-T", "-B", "-N", "-p", "-W", "-v")
_AFTER_PROC = ("proc", "opt_clean")
# Flip-flops start at 0, as hardware starts at something: X in a netlist of gates would never go away.
_DEFINED = ("setundef -zero -init",)


class Netlists:
    """One of a job: what was built stays for the next build with the same parameters."""

    def __init__(self, plan):
        self._lines = [line.strip() for line in plan["script"].splitlines()]
        self._top, self._names, self._whole = plan["top"], plan["names"], plan["whole"]
        self._kept = {}  # (top, parameters, defines, includes) -> path, or None where Yosys could not build it
        self._directory = None
        self._built_whole = False

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
            self._kept[key] = self._build(wanted, cwd, run, send, item)
        if self._kept[key] is None:
            return args
        others = [path for path in wanted.sources if path not in design]
        return [*wanted.options, self._kept[key], *others]

    def _build(self, wanted, cwd, run, send, item):
        self._directory = self._directory or tempfile.mkdtemp(prefix="netlist")
        target = os.path.join(self._directory, f"netlist{len(self._kept)}.v")
        whole = self._whole and (not wanted.parameters or not self._built_whole)
        script = target.replace(".v", ".ys")
        with open(script, "w") as stream:
            stream.write("\n".join(self._script(wanted, target, whole)) + "\n")
        started = time.monotonic()
        done = run(["yosys", "-Q", "-T", "-s", script], cwd=cwd, capture_output=True)
        words = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()
        built = done.returncode == 0 and _finish(target, wanted.top)
        errors = [line for line in words if line.startswith("ERROR")]
        said = "" if built else (errors or words[-1:] or ["Yosys failed"])[0]
        took = round(time.monotonic() - started, 3)
        send("netlist", built=built, whole=whole, said=said, seconds=took, item=item)
        self._built_whole |= whole and built
        return target if built else None

    def _script(self, wanted, target, whole):
        last = max((i for i, line in enumerate(self._lines) if _command(line).startswith("read")), default=-1)
        yield from (f"verilog_defaults -add -I{shlex.quote(path)}" for path in wanted.includes)
        yield from (f"verilog_defaults -add -D{definition}" for definition in wanted.defines)
        yield from self._lines[: last + 1]
        values = " ".join(f"-set {name} {_decodable(value)}" for name, value in wanted.parameters)
        if values:
            yield f"chparam {values} {wanted.top}"
        yield from (f"setattr -set keep 1 w:{name}" for name in self._names)
        if whole and wanted.top == self._top:
            yield from (line for line in self._lines[last + 1 :] if not _command(line).startswith("write_"))
        else:
            yield f"hierarchy -check -top {wanted.top}"
            yield from _AFTER_PROC
        yield from _DEFINED
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


def _finish(target, top):
    """Give the netlist's top its parameters back, which tests read; whether there is a netlist of it at all."""
    with open(f"{target}.json") as stream:
        module = json.load(stream)["modules"].get(top)
    if module is None:
        return True  # the top is a wrapper that was not synthesised, and the compiler has it
    values = [f"  parameter {name} = {_literal(value)};" for name, value in _parameters(module)]
    with open(target) as stream, open(f"{target}.new", "w") as changed:
        for line in stream:
            changed.write(line)
            if line.startswith(f"module {top}(") and values:
                changed.write("\n".join(values) + "\n")
                values = []
    shutil.move(f"{target}.new", target)
    return True


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
