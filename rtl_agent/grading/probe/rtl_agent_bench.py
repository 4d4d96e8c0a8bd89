"""Judges a design by a Verilog bench that prints its verdict, in simulations that the design is not in.

Three kinds of simulation, each a process of its own, one after the other:

1. The bench with the reference, which says what the inputs are, and that the bench works here.
2. The design alone, driven with these inputs. No bench, no reference, no expected value is in its process or on a disk
   that it can read; what it prints, writes, forces or ends is its own. Its outputs are a table of bits and times.
3. The bench with a player in the design's place, which gives the outputs of that table. What is printed here was
   printed by the bench.

A bench that waits for the design gives it other inputs than the reference: then 2 and 3 are repeated with these until
they agree, each time on more of the beginning than before: of what a design does, nothing depends on what comes later.
"""

import json
import os
import re
import shutil
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass

import rtl_agent_bench_text as verilog
import rtl_agent_bench_tree as tree
import rtl_agent_probe
import rtl_agent_probe_seal

MOST_ROUNDS = 400
MOST_TIME = 16  # times as long as the bench takes with the reference
MOST_BYTES = 48 << 20  # of a table of answers; a file in a box has 64 MiB
_SAID = 1500
_OVERWRITTEN = "the design wrote over the record of its own outputs"


class NotJudged(Exception):
    """The bench does not work here: with the set's own reference, too."""


class _Wrong(Exception):
    """The design is not right, and what shows it."""


@dataclass(frozen=True)
class Verdict:
    passed: bool
    said: str = ""  # by the bench, of a design that is not right


def judge(about):
    """Whether the bench takes the design for right."""
    with open(about) as stream:
        plan = json.load(stream)
    sources = os.environ["VERILOG_SOURCES"].split()
    try:
        _judge(plan, sources)
    except _Wrong as wrong:
        return Verdict(False, str(wrong))
    except (NotJudged, tree.Unsuitable) as fault:
        rtl_agent_probe.send("not-judged", reason=str(fault))
        raise
    return Verdict(True)


def _judge(plan, sources):
    with rtl_agent_probe_seal.without_design():
        trusted = _Trusted(plan)
        said, inputs = trusted.with_reference()
    design = _Design(trusted.bench, sources, plan.get("defaults", ""))
    most, patience = MOST_TIME * (inputs.end + 1), inputs.end // 8 + 1
    for _ in range(MOST_ROUNDS):
        answers = design.answers(inputs)
        with rtl_agent_probe_seal.without_design():
            said, found = trusted.with_answers(answers, inputs, patience)
        foreseen = found.lines == inputs.lines[: len(found.lines)]
        if foreseen and not found.limited and found.end <= inputs.end:
            break  # the bench gave the design what the design was given, and came to its end
        if not found.differs and found.limited:
            if inputs.end >= most:
                raise _Wrong(_words("the bench does not come to its end with this design", said))
            patience *= 2
        inputs = found
    else:
        raise _Wrong(f"the bench and the design did not come to an end in {MOST_ROUNDS} rounds")
    if not trusted.passes(said):
        raise _Wrong(_words("the bench's verdict", said))


class _Inputs:
    """What a bench gave the design: a line for each change, and when it ended."""

    def __init__(self, path):
        with open(path) as stream:
            lines = stream.read().splitlines()
        self.lines = [line for line in lines if line[:1].isdigit()]
        ends = {line.split()[0]: int(line.split()[1]) for line in lines if not line[:1].isdigit()}
        if not self.lines or "end" not in ends:
            raise NotJudged("the bench ended before the design's inputs were known")
        self.text = "".join(f"{line}\n" for line in self.lines)
        self.differs, self.limited = "differs" in ends, "limit" in ends
        self.end = ends["end"]


class _Trusted:
    """The bench's own simulations. Their compiled forms are kept here, and on no disk while the design runs."""

    def __init__(self, plan):
        self._plan = plan
        reference = plan["reference"]
        self.bench = tree.read(
            plan["bench"],
            reference,
            plan["module"],
            reference_module=plan.get("reference_module", ""),
            top=plan.get("top", ""),
            defaults=plan.get("defaults", ""),
        )
        texts = [*self.bench.texts, self.bench.reference]
        if plan.get("compares"):
            texts.append(verilog.compared(self.bench, plan["reference_module"]))
        self._recording = self._compile([*texts, verilog.recorder(self.bench)])
        self._playing = self._compile([*texts, verilog.player(self.bench)])

    def with_reference(self):
        said, inputs = self._run(self._recording)
        if not self.passes(said):
            raise NotJudged(_words("the set's own reference does not pass its bench", said))
        return said, inputs

    def with_answers(self, answers, inputs, patience):
        """Whatever goes wrong now comes of these answers: with the reference's own the bench has worked."""
        files = {"answers": answers, "foreseen": inputs.text}
        words = [f"+rtl_agent_end={inputs.end}", f"+rtl_agent_patience={patience}"]
        try:
            return self._run(self._playing, files, words)
        except NotJudged as fault:
            raise _Wrong(str(fault)) from fault

    def passes(self, said):
        """As the set's own scripts read it."""
        fails = any(re.search(pattern, said, re.MULTILINE) for pattern in self._plan.get("fails", []))
        return not fails and re.search(self._plan["passes"], said, re.MULTILINE) is not None

    def _compile(self, texts):
        with _directory() as place:
            defaults = self._plan.get("defaults", "")
            names = []
            for at, text in enumerate(texts):
                names.append(f"{at}.sv")
                _write(f"{place}/{at}.sv", defaults + text + "\n")
            roots = [word for top in self.bench.tops for word in ("-s", top)]
            words = ["iverilog", "-g2012", *roots, "-o", "bench.vvp", *names]
            done = subprocess.run(words, cwd=place, capture_output=True, check=False)
            if done.returncode:
                raise NotJudged(_words("the bench does not compile here", _text(done.stderr)))
            with open(f"{place}/bench.vvp", "rb") as stream:
                return stream.read()

    def _run(self, compiled, files=None, words=()):
        """What the bench printed, and the inputs that it gave. In a new directory: a design cannot make one."""
        with _directory() as place:
            _write(f"{place}/bench.vvp", compiled)
            for name, text in {**self._plan.get("data", {}), **(files or {})}.items():
                _write(f"{place}/{os.path.basename(name)}", text)
            words = ["vvp", "-n", "bench.vvp", "-none", *words]
            done = subprocess.run(words, cwd=place, capture_output=True, check=False)
            if done.returncode < 0:
                raise NotJudged(f"the bench's simulation was ended by signal {-done.returncode}")
            return _text(done.stdout), _Inputs(f"{place}/inputs")


class _Design:
    """The design, compiled with a driver and nothing else."""

    def __init__(self, bench, sources, defaults):
        self._bench, self._sources, self._defaults = bench, sources, defaults
        self._driver = None

    def answers(self, inputs):
        """The design's outputs, checked line by line: whatever it is, it can write to any file."""
        self._compile(verilog.driver(self._bench, inputs.lines[0].split()[1]))
        _write("inputs", inputs.text)
        with suppress(OSError):
            os.unlink("answers")
        # Not as `vvp`: this is no simulation of cocotb's, and is handed no channel.
        words = ["/usr/bin/env", "vvp", "-n", "design.vvp", "-none", f"+rtl_agent_end={inputs.end}"]
        done = subprocess.run(words, check=False)
        _hold(done.returncode == 0, f"the design's simulation ended with {done.returncode}")
        try:
            _hold(os.path.getsize("answers") <= MOST_BYTES, "the design's outputs change without end")
            with open("answers", "rb") as stream:
                lines = stream.read().decode("latin-1").splitlines()
        except OSError:
            lines = []
        _hold(lines and lines[-1] == "end", "the design ended its own simulation")
        return _table(lines[:-1], inputs, sum(port.width for port in self._bench.outputs))

    def _compile(self, driver):
        if driver == self._driver:
            return
        self._driver = driver
        _write("driver.sv", driver)
        _write("defaults.sv", self._defaults)
        sources = [*(["defaults.sv"] if self._defaults else []), *self._sources, "driver.sv"]
        words = ["iverilog", "-g2012", "-s", verilog.DRIVER, "-o", "design.vvp", *sources]
        done = subprocess.run(words, check=False)
        _hold(done.returncode == 0, "it does not compile")


def _table(lines, inputs, width):
    """Lines for the player. Of several in one moment the last one counts."""
    moments = [int(line.split()[0]) for line in inputs.lines]
    form = re.compile(rf"([0-9]{{1,9}}) ([0-9]{{1,18}}) ([01]) ([01xzXZ]{{{width}}})")
    table = {}
    last = (-1, -1, -1)
    for line in lines:
        match = form.fullmatch(line)
        _hold(match is not None and int(match[1]) < len(moments), _OVERWRITTEN)
        at, later, phase = int(match[1]), int(match[2]) - moments[int(match[1])], int(match[3])
        phase = 0 if later else phase
        _hold((at, later, phase) >= last and later >= 0, _OVERWRITTEN)
        last = (at, later, phase)
        table[last] = match[4]
    return "".join(f"{at} {later} {phase} {bits}\n" for (at, later, phase), bits in table.items())


def _hold(condition, otherwise):
    if not condition:
        raise _Wrong(otherwise)


class _directory:
    """A new directory below the current one, gone afterwards."""

    def __enter__(self):
        self._path = tempfile.mkdtemp(dir=os.getcwd())
        return self._path

    def __exit__(self, *error):
        shutil.rmtree(self._path)


def _write(path, data):
    """A file that is there already was a design's: this one is new."""
    if os.path.lexists(path):
        os.unlink(path)
    with open(path, "xb") as stream:
        stream.write(data if isinstance(data, bytes) else data.encode())


def _text(data):
    return data.decode(errors="replace")


def _words(what, said):
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return f"{what}: " + "; ".join(lines[-12:])[-_SAID:] if lines else f"{what}: it printed nothing"
