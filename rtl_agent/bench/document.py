"""docs/benchmarks.md: a section for each benchmark, replaced by the run that measured it anew."""

import re
from collections.abc import Sequence
from pathlib import Path

from rtl_agent.bench.report import Table

PLACE = Path("docs/benchmarks.md")
SECTIONS = (
    "grader",
    "real",
    "throughput",
    "soak",
    "service",
    "sandboxes",
    "backend",
    "large",
    "overlap",
    "ahead",
    "view",
)
TITLES = {
    "grader": "CPU for each grade",
    "real": "CPU over CVDP's development part",
    "throughput": "Throughput, latency and memory",
    "soak": "Thousands of grades in a row",
    "service": "A grade server under load",
    "sandboxes": "A grade in each sandbox",
    "backend": "Sampling and training on our own server",
    "large": "Models of other architectures and sizes",
    "overlap": "Sampling ahead of training, on a server that only waits",
    "ahead": "Sampling ahead of training, on the embedded server",
    "view": "Runs in the browser",
}
_HEAD = """\
# Benchmarks

Every table was written by the command above it. Variants alternate within one run, each round beginning with another
one, so compare numbers of one table, and ratios rather than milliseconds: on a busy machine all of them grow.
"""
_EXPLAINED = {
    "grader": """\
CPU is user + system time.

* **as CVDP runs it**: the service's command of the compose file, `pytest` started from nothing, in a box that is open
  before and without our probe. Only the command's own processes count; starting a container is left out.
* **exact**, **fast**: a whole `Grader.grade`: interface, syntax, tests, verdict. Counted is this process and everything
  below it: the sandbox's processes, boxes that open and close, warm processes that stay, and what they forked. The fast
  path's boxes are open before; its first grade, which starts them, is in a table of its own.
* **own**: what no grader can save: the compiler's CPU, the harness's own function that builds and starts the
  simulation (without what it starts), and the simulator's CPU from the start of the first cocotb test
  to the end of the last, measured inside a cold run of the same harness. Importing and collecting are left out.
  **compile** is the compiler's part of it.
* **floor**: `iverilog` and `vvp` with the arbiter's tests written in Verilog, cycle for cycle; no Python.

Every submission has a comment of its own, so nothing comes from a cache.""",
    "real": """\
Every problem that open tools can judge and that gives at least one of the files it asks for, with just these files, and
the services that simulate: what Verilator and Yosys take is theirs, whoever starts them.
**As CVDP runs it**: the commands of its compose file, from nothing, in a box that is open before and without our probe;
only the CPU of the commands counts. **Fast**: a whole `Grader.grade` with everything below it, as above, when boxes are
warm. Most of these files are not what the problem asks for, so most grades are `failed`; all tests run either way.""",
    "throughput": """\
p50 and p95 are wall times of a grade from the moment it was asked for, so with more jobs than cores they hold waiting.

The arbiter on the fast path, as many grades at a time as there are jobs, no cache. Memory is the proportional set size
of every process below the grader's (warm harness, warm simulator, the sandbox's own, the one interface checker),
divided by jobs; a page that several share counts once.""",
    "soak": """\
The fast path, memory sampled every 100 grades while nothing runs. Each submission has an outcome that it must get.
Left behind is what the process has more of than after its first few grades: processes, open files, cgroups, mounts,
files in the directory for temporary files.""",
    "service": """\
`rtl-agent grade-server` on loopback, asked by clients of which each has connections of its own, through
`HttpExecutor`. The submissions are those of the table above (its slow and hostile ones included), a tenth of them sent
twice by different clients. In between the server is killed (SIGKILL) or stopped (SIGTERM) and started again on the same
port. Lost is what has no grade, or an `error`; wrong what has another outcome than it must, or another text's grade;
double what was judged although its grade was in the cache, by the servers' counters, each read just before its end.""",
    "sandboxes": """\
One grade at a time, wall time: what a daemon does is not counted as our CPU. On the exact path each grade has a new
box, on the fast path a warm one. Sandboxes take turns within a round, and ratios are medians over rounds. The first
grade starts boxes, and makes an image or a root directory where there is none yet. [sandbox.md](sandbox.md) says what
each is.""",
    "backend": """\
Tokens for each CPU second of one thread, 16 sequences in groups of 4, prompts of 120 tokens and answers of 200: sampled
ones, and whole sequences where they are scored or trained on. Our side goes through the SDK, and the CPU of server and
client both count. The other side is transformers' `generate`, a forward pass, and a plain training loop of all
weights.""",
    "large": """\
The transformers engine: tokens a second on all cores, 8 sequences in two groups, prompts of 200 tokens and answers of
40: sampled ones (reading the prompts included), and whole sequences where they are scored or trained on. Our side goes
through the SDK, and the CPU of server and client both count. The other side is transformers' `generate` on a
model without an adapter, a forward pass, and a training loop with PEFT on two sequences at a time, in the same type of
numbers; it runs after the server has ended.""",
    "overlap": """\
Whole runs of `rtl-agent train rl`, 4 problems with 4 rollouts a step, against our own Tinker server over an engine that
waits instead of computing: the SDK, the wire, snapshots and the order of training calls are real. The times are those
of the second seed experiment: 44 s to sample, 1 s to grade, which the simulated sampler waits for as well, 31 s to
train. Any number of answers are sampled side by side. [training.md](training.md#sampling-ahead) has the options.""",
    "ahead": """\
The same run of `rtl-agent train distill` (the small student, forward KL to the small teacher) on-policy and one step
ahead, by turns. One server process samples on one thread and trains on another; grading has processes of its own.""",
    "view": """\
`rtl-agent view` over runs made up for it, 32 rollouts in a step, asked over HTTP. Opening is what the command takes to
serve more than with nothing to show, and then to send the table of all rollouts. Files were just written, so they are
in the page cache. A search gives up after ten seconds, and says so.""",
}


def write_section(name: str, command: str, where: str, tables: Sequence[Table], place: Path = PLACE) -> None:
    """Put this section in, in the order of SECTIONS; the others, and what is written below them, stay as they are."""
    old = place.read_text() if place.exists() else ""
    sections = {found: text for found in SECTIONS if (text := _find(old, found))}
    parts = [f"## {TITLES[name]}", f"    {command}", f"{where}", _EXPLAINED[name]]
    for table in tables:
        parts.append(table.markdown())
        if table.words:
            parts.append("\n".join(f"* {sentence}" for sentence in table.words))
    sections[name] = "\n\n".join(parts)
    whole = [_HEAD.strip(), *(_marked(each, sections[each]) for each in SECTIONS if each in sections)]
    ends = [old.rfind(end) + len(end) for end in map(_end, SECTIONS) if end in old]
    below = old[max(ends, default=len(old)) :].strip()
    place.write_text("\n\n".join([*whole, below] if below else whole) + "\n")


def _marked(name: str, text: str) -> str:
    return f"<!-- {name} -->\n{text}\n{_end(name)}"


def _end(name: str) -> str:
    return f"<!-- end of {name} -->"


def _find(text: str, name: str) -> str:
    found = re.search(rf"<!-- {name} -->\n(.*?)\n{_end(name)}", text, re.DOTALL)
    return found[1] if found else ""
