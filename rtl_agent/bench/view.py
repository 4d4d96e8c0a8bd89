"""The viewer over many rollouts: how long it takes to open a run, with and without indexes, to show one, and to search;
and its page in the browser, where there is one.

The command itself is started, and asked over HTTP, as a browser does it. The runs have the sizes of real ones: small
models write rollouts of 10 kB, large ones of 150 kB, most of which is tokens and logprobs.
"""

import http.client
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

from rtl_agent.bench.browser import NoBrowser
from rtl_agent.bench.page import PageTimes, measure_page
from rtl_agent.bench.report import Table
from rtl_agent.runs import RunWriter
from rtl_agent.runs.directory import rollout_path
from rtl_agent.runs.files import to_line, write_whole
from rtl_agent.runs.index import encode, index_of, index_path

SIZES = {"10 kB": (80, 60), "150 kB": (1900, 90)}  # sampled tokens, lines of text
PER_STEP = 32
DISTINCT = 48  # records that differ; the others are these with other problems and rewards
STARTS = 3  # of which the fastest counts: other work on a machine only adds
SHOWN = 40  # rollouts that are looked at
MOST_SECONDS = {"10 kB": 2.0, "150 kB": 3.0}
NOWHERE = "a text that no rollout holds"


@dataclass(frozen=True)
class Opened:
    """Seconds, of one run."""

    size: str
    rollouts: int
    bytes: int
    nothing: float  # until the command serves, with nothing to show
    indexed: float  # with the run
    not_indexed: float  # with the run, of which nobody has an index
    table: float  # the rows of the run: asked, answered, and read by the client
    table_bytes: int
    shown: tuple[float, ...]  # each of some rollouts
    shown_meanwhile: tuple[float, ...]  # while a search runs
    search: float  # for what is nowhere
    searched: int  # rollouts, before the search gave up
    common: float  # for what is everywhere
    memory_mib: float  # at its highest
    page: PageTimes | None  # in the browser; None where there is none

    @property
    def opening(self) -> float:
        return self.indexed - self.nothing + self.table

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "opening": self.opening}


def measure(folder: Path, rollouts: int, told: Callable[[], None] = lambda: None) -> list[Opened]:
    found = []
    for size, shape in SIZES.items():
        run = make_run(folder / size.replace(" ", ""), rollouts, *shape)
        told()
        found.append(_measure(folder, run, size, rollouts))
        told()
        for path in (run / "rollouts").iterdir():
            path.unlink()
    return found


def make_run(path: Path, rollouts: int, tokens: int, lines: int) -> Path:
    """As a run of training leaves it, an index beside every step."""
    draw = random.Random(f"{tokens} {lines}")
    kept = [_record(draw, tokens, lines) for _ in range(DISTINCT)]
    written = [to_line(record) for record in kept]
    with RunWriter.create(path, {"mode": "rl", "student": "rtl-agent/student", "seed": 1}, if_exists="raise") as run:
        for step in range(-(-rollouts // PER_STEP)):
            count = min(PER_STEP, rollouts - step * PER_STEP)
            records, texts = [], []
            for number in range(count):
                at, problem = draw.randrange(DISTINCT), f"rtl_bench_{(step * PER_STEP + number) // 4 % 200:04}"
                records.append({**kept[at], "problem_id": problem})
                texts.append(written[at].replace("rtl_bench_none", problem, 1).encode() + b"\n")
            file = rollout_path(path, "step", step)
            write_whole(file, b"".join(texts))
            write_whole(index_path(file), encode(index_of(records, texts, "step", step)))
            run.log_metrics(step, {"env/all/reward/total": draw.random(), "env/all/pass_rate": draw.random()})
    return path


def _record(draw: random.Random, tokens: int, lines: int) -> dict[str, Any]:
    ours = [-abs(draw.gauss(0, 0.3)) for _ in range(tokens)]
    theirs = [-abs(draw.gauss(0, 1.0)) for _ in range(tokens)]
    design = "".join(f"  assign out[{at}] = in[{at}] ^ mask[{draw.randrange(64)}];\n" for at in range(lines))
    tests = [{"name": f"test_{at}", "passed": draw.random() < 0.7, "message": "got 3, not 4"} for at in range(6)]
    passed = all(test["passed"] for test in tests)
    return {
        "problem_id": "rtl_bench_none",
        "family": "bench",
        "category": "cid003",
        "difficulty": "easy",
        "messages": [{"role": "user", "content": f"Write a design like this one:\n{design}"}],
        "prompt_tokens": [draw.randrange(150_000) for _ in range(tokens // 2)],
        "sampled_tokens": [draw.randrange(150_000) for _ in range(tokens)],
        "text": f"```verilog\nmodule bench;\n{design}endmodule\n```",
        "stop_reason": "stop",
        "reward": 1.4 if passed else 0.4,
        "grade": {"outcome": "passed" if passed else "failed", "tests": tests, "reasons": [] if passed else ["no"]},
        "sampled_logprobs": ours,
        "teacher_logprobs": theirs,
        "reverse_kl": [mine - other for mine, other in zip(ours, theirs, strict=True)],
        "rollout": draw.randrange(4),
    }


def _measure(folder: Path, run: Path, size: str, rollouts: int) -> Opened:
    (folder / "nothing").mkdir(exist_ok=True)
    whole = sum(path.stat().st_size for path in (run / "rollouts").glob("*.jsonl"))
    nothing, indexed = (
        min(_start(what, folder / "cache") for _ in range(STARTS)) for what in (folder / "nothing", run)
    )
    with served(run, folder / "cache") as (ask, url, _, process):
        began = time.perf_counter()
        table = ask(f"runs/{run.name}/index")
        json.loads(table)
        opened = time.perf_counter() - began
        rows = random.Random(1).sample(range(rollouts), min(SHOWN, rollouts))
        shown = tuple(_seconds(ask, f"runs/{run.name}/rollouts/{row}") for row in rows)
        common = _seconds(ask, f"runs/{run.name}/search?q=assign")
        search, searched, meanwhile = _search_and_look(ask, run.name, rows)
        page = _in_the_browser(url, run.name)
        memory = _peak_mib(process)
    for path in (run / "rollouts").glob("*.index"):
        path.unlink()
    not_indexed = _start(run, folder / "cache")
    return Opened(
        size, rollouts, whole, nothing, indexed, not_indexed, opened, len(table), shown, meanwhile, search, searched,
        common, memory, page,
    )  # fmt: skip


def _start(what: Path, cache: Path) -> float:
    with served(what, cache) as (_, _, seconds, _):
        return seconds


def _in_the_browser(url: str, run: str) -> PageTimes | None:
    try:
        return measure_page(url, run)
    except NoBrowser:
        return None


def _search_and_look(ask: "Ask", run: str, rows: list[int]) -> tuple[float, int, tuple[float, ...]]:
    """A search through everything, and rollouts that are looked at while it runs."""
    seconds: list[float] = []
    answers: list[Mapping[str, Any]] = []

    def search() -> None:
        began = time.perf_counter()
        answers.append(json.loads(ask(f"runs/{run}/search?q={NOWHERE.replace(' ', '%20')}")))
        seconds.append(time.perf_counter() - began)

    thread = Thread(target=search)
    thread.start()
    meanwhile = []
    for row in rows:
        if not thread.is_alive():
            break
        meanwhile.append(_seconds(ask, f"runs/{run}/rollouts/{row}"))
    thread.join()
    return seconds[0], answers[0]["searched"], tuple(meanwhile)


Ask = Callable[[str], bytes]


@contextmanager
def served(what: Path, cache: Path) -> Iterator[tuple[Ask, str, float, int]]:
    """The command over a run: how to ask it, its address, the seconds until it served, its process."""
    command = [sys.executable, "-m", "rtl_agent.cli.main", "view", str(what), "--port", "0"]
    surroundings = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=surroundings) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().decode().strip()
            address = urlsplit(url)
            seconds = time.perf_counter() - began

            def ask(path: str) -> bytes:
                connection = http.client.HTTPConnection(str(address.hostname), address.port, timeout=120)
                connection.request("GET", f"/api/{path}")
                answer = connection.getresponse()
                body = answer.read()
                assert answer.status == 200, body[:300]
                return body

            yield ask, url, seconds, process.pid
        finally:
            process.kill()


def _seconds(ask: Ask, path: str) -> float:
    began = time.perf_counter()
    ask(path)
    return time.perf_counter() - began


def _peak_mib(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM:"))


def view_table(results: list[Opened]) -> Table:
    heads = ("", *(f"{one.rollouts:,} of {one.size}" for one in results))

    def row(name: str, cell: Callable[[Opened], str]) -> tuple[str, ...]:
        return name, *(cell(one) for one in results)

    rows = [
        row("rollouts, MB", lambda one: f"{one.bytes / 1e6:,.0f}"),
        row("opening from the index, s", lambda one: f"{one.opening:.2f}"),
        row("of it the table: sent and parsed, s", lambda one: f"{one.table:.2f}"),
        row("the table, MB", lambda one: f"{one.table_bytes / 1e6:.1f}"),
        row("starting the command, nothing to show, s", lambda one: f"{one.nothing:.2f}"),
        row("first time without an index, s", lambda one: f"{one.not_indexed - one.nothing:.1f}"),
        row("one rollout, ms: median (most)", lambda one: _milliseconds(one.shown)),
        row("the same while a search runs", lambda one: _milliseconds(one.shown_meanwhile)),
        row("search for what is everywhere, s", lambda one: f"{one.common:.1f}"),
        row("search for what is nowhere, s", lambda one: f"{one.search:.1f} ({one.searched:,} rollouts read)"),
        row("memory of the server at its highest, MiB", lambda one: f"{one.memory_mib:.0f}"),
    ]
    paged = [one.page for one in results if one.page is not None]
    if len(paged) == len(results) and paged:
        for lines in zip(*(page.lines() for page in paged), strict=True):
            rows.append((lines[0][0], *(value for _, value in lines)))
    words = tuple(
        f"{one.rollouts:,} rollouts of {one.size} open in under {MOST_SECONDS[one.size]:g} s: "
        f"{'met' if one.opening < MOST_SECONDS[one.size] else 'not met'}."
        for one in results
    )
    if not paged:
        words += ("The page itself was not measured: there is no browser here.",)
    words += tuple(f"{one.size}: {sentence}" for one in results if one.page for sentence in one.page.words())
    return Table(heads, rows, words)


def _milliseconds(seconds: tuple[float, ...]) -> str:
    return f"{1000 * median(seconds):.0f} ({1000 * max(seconds):.0f})" if seconds else "the search was over"
