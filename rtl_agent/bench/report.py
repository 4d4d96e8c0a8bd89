"""Results as tables: the same rows for the terminal and for the document."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rtl_agent.bench import real
from rtl_agent.bench.backend import LEAST, Speed
from rtl_agent.bench.grader import (
    COLD,
    COMPILE,
    EXACT,
    FAST,
    FLOOR,
    LEAST_GAIN,
    MOST_OVER_OWN,
    OWN,
    Measured,
)
from rtl_agent.bench.large_model import LEAST_LARGE, LONG, MOST_GB, LargeModel
from rtl_agent.bench.parts import Part
from rtl_agent.bench.sandboxes import PATHS, InSandbox, against
from rtl_agent.bench.service import Load
from rtl_agent.bench.soak import FLAT_MIB, Soak
from rtl_agent.bench.subjects import ARBITER, IN_WORDS
from rtl_agent.bench.throughput import Throughput


@dataclass(frozen=True)
class Table:
    heads: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    words: tuple[str, ...] = ()  # sentences below it

    def markdown(self) -> str:
        lines = [self.heads, tuple("---" for _ in self.heads), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def grader_tables(results: Sequence[Measured]) -> list[Table]:
    return [_cpu(results), _ratios(results), _first(results)]


def _cpu(results: Sequence[Measured]) -> Table:
    columns = (COLD, EXACT, FAST, OWN, COMPILE, FLOOR)

    def cell(result: Measured, name: str) -> str:
        ms = result.rounds.get(name)
        return f"{result.median(name):.0f} ({min(ms):.0f})" if ms else ""

    heads = ("CPU ms: median (least)", *columns)
    return Table(heads, [(IN_WORDS[r.problem], *(cell(r, name) for name in columns)) for r in results])


def _ratios(results: Sequence[Measured]) -> Table:
    pairs = ((COLD, EXACT), (COLD, FAST), (FAST, OWN), (FAST, FLOOR))

    def cell(result: Measured, pair: tuple[str, str]) -> str:
        return f"{result.ratio(*pair):.2f}" if pair in result.pairs() else ""

    heads = ("ratio: median over rounds", *(f"{over} : {under}" for over, under in pairs))
    rows = [(IN_WORDS[r.problem], *(cell(r, pair) for pair in pairs)) for r in results]
    return Table(heads, rows, tuple(targets(results)))


def parts_table(found: Sequence[Part]) -> Table:
    rows = [(one.name, f"{one.user_ms:.1f}", f"{one.system_ms:.1f}", f"{one.faults:.0f}") for one in found]
    total = sum(one.user_ms + one.system_ms for one in found)
    rows.append(("all", f"{sum(one.user_ms for one in found):.1f}", f"{sum(one.system_ms for one in found):.1f}", ""))
    copied = sum(one.faults for one in found)
    words = (
        f"{total:.0f} ms for a grade, whose processes touch {copied:.0f} pages first: a forked Python writes a "
        "reference count into nearly every page that it reads, and each such page is copied.",
    )
    return Table(("arbiter, CPU ms for each grade", "user", "system", "page faults"), rows, words)


def targets(results: Sequence[Measured]) -> list[str]:
    """What we hold ourselves to, and whether it is so."""
    said = []
    for result in results:
        if result.problem == ARBITER and {COLD, FAST, OWN} <= result.rounds.keys():
            gain, over = result.ratio(COLD, FAST), result.ratio(FAST, OWN)
            most = result.ratio(COLD, OWN)
            said.append(
                f"Arbiter, at least {LEAST_GAIN:g} times less CPU than as CVDP runs it: {_met(gain >= LEAST_GAIN)} "
                f"({gain:.1f}; without any cost of grading it would be {most:.1f})."
            )
            said.append(
                f"Arbiter, at most {MOST_OVER_OWN:g} times compiling and the harness's own Python: "
                f"{_met(over <= MOST_OVER_OWN)} ({over:.2f})."
            )
    return said


def _met(so: bool) -> str:
    return "met" if so else "not met"


def _first(results: Sequence[Measured]) -> Table:
    rows = []
    for result in results:
        used = (result.first.get(path) for path in (EXACT, FAST))
        pairs = ((f"{one.cpu * 1000:.0f}", f"{one.wall * 1000:.0f}") if one else ("", "") for one in used)
        rows.append((IN_WORDS[result.problem], *(text for pair in pairs for text in pair)))
    return Table(("first grade, ms", "exact, CPU", "exact, wall", "fast, CPU", "fast, wall"), rows)


def throughput_table(results: Sequence[Throughput]) -> Table:
    rows = []
    base = results[0]
    for one in results:
        memory = (f"{size:.0f}" if size else "" for size in (one.idle_mib, one.private_mib, one.busy_mib))
        gain = one.per_second / base.per_second
        rows.append(
            (
                *(one.path, str(one.jobs), f"{one.per_second:.2f}", f"{gain:.1f}", f"{one.cpu_ms:.0f}"),
                *(f"{1000 * seconds:.0f}" for seconds in (one.p50, one.p95)),
                *memory,
            ),
        )
    memory_heads = ("MiB per job, waiting", "of it private", "MiB per job, grading")
    return Table(("path", "jobs", "grades / s", "ratio", "CPU ms / grade", "p50, ms", "p95, ms", *memory_heads), rows)


def real_table(rows: Sequence[real.Real]) -> Table:
    """Sums over problems whose simulations all ended by themselves, by how many simulations they have."""
    ended = [row for row in rows if row.simulations and row.ended]
    groups = {
        "1 simulation": [row for row in ended if row.simulations == 1],
        "2 to 9": [row for row in ended if 2 <= row.simulations <= 9],
        "10 and more": [row for row in ended if row.simulations >= 10],
        "all": ended,
    }
    cells = []
    for name, group in groups.items():
        if not group:
            continue
        cold, fast = sum(row.cold for row in group), sum(row.fast for row in group)
        ratios = sorted(row.cold / max(row.fast, 0.001) for row in group)
        middle = f"{ratios[len(ratios) // 2]:.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f})"
        simulations = str(sum(row.simulations for row in group))
        cells.append((name, str(len(group)), simulations, f"{cold:.1f}", f"{fast:.1f}", f"{cold / fast:.2f}", middle))
    total = sum(row.cold for row in ended) / max(sum(row.fast for row in ended), 0.001)
    longest = sorted(ended, key=lambda row: -row.fast)[:5]
    said = (
        f"At least {real.LEAST_GAIN:g} times less CPU in sum: {_met(total >= real.LEAST_GAIN)} ({total:.2f}).",
        f"{len(rows)} problems give files; {sum(not row.simulations for row in rows)} of them do not compile with the "
        f"tests, so nothing was simulated; in {sum(not row.ended for row in rows)} a service did not end by itself.",
        f"{sum(row.path == 'exact' for row in ended)} of those in the table took the exact path.",
        "The longest, CPU s as CVDP runs it and fast: "
        + ", ".join(f"{row.id} {row.cold:.1f} and {row.fast:.1f}" for row in longest)
        + ".",
    )
    heads = ("problems with", "problems", "simulations", "as CVDP runs it, CPU s", "fast, CPU s", "ratio of sums")
    return Table((*heads, "median ratio (range)"), cells, said)


def backend_table(results: Sequence[Speed]) -> Table:
    rows = [
        (one.model, one.what, f"{one.server:,.0f}", f"{one.transformers:,.0f}", f"{one.ratio:.2f}") for one in results
    ]
    words = tuple(
        f"{one.model}, {one.what}, at least {LEAST[one.what]:g} times: {_met(one.ratio >= LEAST[one.what])}."
        for one in results
        if one.what in LEAST
    )
    return Table(("model", "", "our server, tokens / CPU s", "transformers", "ratio"), rows, words)


def large_table(result: LargeModel) -> Table:
    rows = [
        (
            one.what,
            f"{one.tokens / one.server.wall:,.1f}",
            f"{one.tokens / one.transformers.wall:,.1f}",
            f"{one.ratio:.2f}",
            f"{one.cpu_ratio:.2f}",
        )
        for one in result.compared
    ]
    words = (
        *(
            f"{one.what}, at least {LEAST_LARGE[one.what]:.2f} times: {_met(one.ratio >= LEAST_LARGE[one.what])}."
            for one in result.compared
        ),
        f"Peak memory of the server {result.peak_gb:.1f} GB, with LoRA 32 on sequences of {LONG:,} tokens; "
        f"under {MOST_GB:g} GB: {_met(result.peak_gb < MOST_GB)}.",
    )
    heads = (Path(result.model).name, "our server, tokens / s", "transformers and PEFT", "ratio", "by CPU time")
    return Table(heads, rows, words)


def soak_table(soak: Soak) -> Table:
    first, last = soak.samples[0], soak.samples[-1]
    outcomes = ", ".join(f"{count} {name}" for name, count in sorted(soak.outcomes.items()))
    kinds = ", ".join(f"{count} {name}" for name, count in sorted(soak.kinds.items()))
    left = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in soak.left.items() if count) or "nothing"
    rows = [
        ("submissions", kinds),
        ("outcomes", outcomes),
        ("`error` outcomes", str(soak.outcomes["error"])),
        ("verdicts other than expected", str(len(soak.unexpected))),
        ("host, MiB", _memory(first.host_mib, last.host_mib, soak.host_slope)),
        ("boxes, MiB", _memory(first.boxes_mib, last.boxes_mib, soak.boxes_slope)),
        ("left behind", left),
    ]
    words = (f"Flat is less than {FLAT_MIB:g} MiB for each 1,000 grades. As a whole: {_met(soak.good)}.",)
    return Table((f"{soak.grades:,} grades in a row", ""), rows, (*words, *soak.unexpected[:5]))


def service_table(load: Load) -> Table:
    outcomes = ", ".join(f"{count} {name}" for name, count in sorted(load.outcomes.items()))
    rows = [
        ("clients", f"{load.clients}; the server judges {load.jobs} at a time"),
        ("outcomes", outcomes),
        ("ends of the server in between", f"{load.kills} SIGKILL, {load.stops} SIGTERM"),
        ("jobs that were sent again", str(load.lost_connections)),
        ("answers of 429 and 503", f"{load.turned_away:,}"),
        ("lost", str(load.lost)),
        ("wrong", str(len(load.wrong))),
        ("double", f"{load.double} ({load.distinct:,} different submissions, {load.kept:,} grades in the cache)"),
        ("processes left behind", str(load.left)),
        ("grades a second, restarts included", f"{load.grades / load.seconds:.1f}"),
    ]
    words = (f"Nothing lost, wrong, double or left behind: {_met(load.good)}.", *load.wrong[:5])
    return Table((f"{load.grades:,} grades over HTTP", ""), rows, words)


def sandboxes_table(results: Sequence[InSandbox]) -> Table:
    base = against(results)
    heads = ["arbiter, ms for a grade: median (least)"]
    for path in PATHS:
        heads += [path, f"ratio to {base.sandbox}", f"first, {path}"]

    def cells(one: InSandbox) -> list[str]:
        found = []
        for path in PATHS:
            found += [f"{one.median(path):.0f} ({min(one.rounds[path]):.0f})", f"{one.ratio(path, base):.2f}"]
            found.append(f"{one.first[path]:.0f}")
        return found

    return Table(tuple(heads), [(one.sandbox, *cells(one)) for one in results])


def _memory(first: float, last: float, slope: float) -> str:
    return f"{first:.1f} at the first sample, {last:.1f} at the last; {slope:+.2f} for each 1,000 grades"
