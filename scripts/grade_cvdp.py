"""Grade CVDP's open problems with a comment-only file and with their context as given; write the table in docs/.

    RTL_AGENT_CVDP=<folder> python scripts/grade_cvdp.py [--jobs N] [--timeout S] [--resume FILE] [--write]

Every submission is graded on both paths, exact and fast, and every difference between them is listed.

No outcome may be `error`: whatever a harness does, the grader must come to a verdict. The table also counts the
problems whose cocotb tests really started, by cocotb_version: a harness that never starts fails everything.
Each finished problem is a line of the JSONL named by --resume, so that an interrupted run goes on where it was.
"""

import argparse
import asyncio
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

from rich.progress import Progress

from rtl_agent.grading import Grade, Grader, SimulationMode, validate_problem
from rtl_agent.problems import Needs, Problem, read_problems

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs" / "cvdp-dev.md"


def as_row(problem: Problem, trial: str, grade: Grade) -> dict[str, Any]:
    return {
        "id": problem.id,
        "path": grade.path,
        "path_reason": grade.path_reason,
        "tests": [(test.service, test.item, test.name, test.passed, test.message) for test in grade.tests],
        "kind": problem.kind,
        "cocotb_version": problem.harness.cocotb_version,
        "trial": trial,
        "outcome": grade.outcome,
        "simulations": len(grade.simulations),
        "reasons": list(grade.reasons[:3]),
        "seconds": round(grade.timings.get("total", 0.0), 2),
        "cpu": round(grade.timings.get("cpu", 0.0), 2),
        "log": grade.log[-1500:],
        "tools": dict(grade.tools),
    }


async def grade_problems(problems: Sequence[Problem], jobs: int, timeout: float, log: Path) -> None:
    async with AsyncExitStack() as stack:
        graders = [
            await stack.enter_async_context(Grader(jobs=1, timeout_seconds=timeout, path=path))
            for path in (SimulationMode.EXACT, SimulationMode.AUTO)
            for _ in range(jobs)
        ]
        pairs: asyncio.Queue[tuple[Grader, Grader]] = asyncio.Queue()
        for pair in zip(graders[:jobs], graders[jobs:], strict=True):
            pairs.put_nowait(pair)
        progress = stack.enter_context(Progress())
        stream = stack.enter_context(log.open("a"))
        bar = progress.add_task("grading", total=len(problems))

        async def one(problem: Problem) -> None:
            pair = await pairs.get()
            rows = []
            for grader in pair:
                found = await validate_problem(grader, problem)
                trials = {"reference": found.reference, "empty": found.empty, "given": found.given}
                own = [as_row(problem, trial, grade) for trial, grade in trials.items() if grade is not None]
                rows += [{**row, "doubts": list(found.doubts)} for row in own]
            pairs.put_nowait(pair)
            stream.write("".join(json.dumps(row) + "\n" for row in rows))
            stream.flush()
            progress.advance(bar)

        await asyncio.gather(*(one(problem) for problem in problems))


def differences(rows: Sequence[dict[str, Any]], timeout: float) -> Iterator[str]:
    """Where the two paths do not give the same outcome, the same tests and the same words.

    Of a message the first line counts: pytest's account of a comparison below it may hold addresses in memory.
    """
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        tests = [(*test[:4], (test[4] or "").partition("\n")[0]) for test in row["tests"]]
        found.setdefault((row["id"], row["trial"]), []).append({**row, "tests": tests})
    for (name, trial), (exact, fast) in found.items():
        for field in ("outcome", "tests"):
            if exact[field] != fast[field] and max(exact["seconds"], fast["seconds"]) >= timeout:
                yield f"{name}, {trial}: the time limit ended one path, or both, in the middle of the tests"
                break
            if exact[field] != fast[field]:
                first = next(
                    (pair for pair in zip(exact["tests"], fast["tests"], strict=False) if pair[0] != pair[1]), ""
                )
                yield f"{name}, {trial}: {field}: {exact['reasons'][:1]} against {fast['reasons'][:1]} {first}"
                break


def table(both: Sequence[dict[str, Any]], timeout: float) -> str:
    rows = [row for row in both if row["path_reason"] == "asked for"]
    fast = [row for row in both if row["path"] == "fast"]
    lines = [
        "# CVDP, development part: what the grader makes of it",
        "",
        "Made by `scripts/grade_cvdp.py --write`. Every open-tool problem is given a file with only a comment and,",
        "where there is one, its context as given; both go past extraction, so that every service runs. Time limit",
        f"for a service: {timeout:g} s.",
        "",
        "| trial | passed | failed | invalid | error | cocotb started, 2.0.1 | cocotb started, 1.9.2 |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for trial in ("reference", "empty", "given"):
        own = [row for row in rows if row["trial"] == trial]
        if not own:
            continue
        outcomes = Counter(row["outcome"] for row in own)
        cells = [str(outcomes.get(outcome, 0)) for outcome in ("passed", "failed", "invalid", "error")]
        for cocotb_version in ("2.0.1", "1.9.2"):
            of_flavour = [row for row in own if row["cocotb_version"] == cocotb_version]
            started = sum(row["simulations"] > 0 for row in of_flavour)
            cells.append(f"{started} of {len(of_flavour)}")
        lines.append(f"| {trial} | {' | '.join(cells)} |")
    unlike = list(differences(both, timeout))
    twice = {(row["id"], row["trial"]) for row in fast}
    spent = [sum(row["cpu"] for row in part if (row["id"], row["trial"]) in twice) for part in (rows, fast)]
    lines += [
        "",
        f"On the fast path: {len(fast)} of {len(rows)} submissions, with {spent[0] / max(spent[1], 1e-9):.1f} times "
        f"less CPU time; {len(unlike)} differences in outcome, tests or messages.",
        "",
        *(f"* {line[:400]}" for line in unlike),
    ]
    problems = {row["id"]: row for row in rows}
    doubts = {name: row["doubts"] for name, row in problems.items() if row["doubts"]}
    lines += ["", f"{len(problems)} problems; tools: {tools(rows)}.", ""]
    lines += [f"## Problems that a trainer should not trust: {len(doubts)}", ""]
    lines += [f"* {name}: {'; '.join(said)}" for name, said in sorted(doubts.items())]
    silent = [row for row in rows if row["trial"] == "given" and row["simulations"] == 0]
    lines += ["", f"## Given files whose cocotb tests did not start: {len(silent)}", ""]
    lines += [f"* {row['id']}: {(*row['reasons'], '')[0][:160]}" for row in sorted(silent, key=lambda row: row["id"])]
    return "\n".join(lines) + "\n"


def tools(rows: Sequence[dict[str, Any]]) -> str:
    found: dict[str, set[str]] = {}
    for row in rows:
        for name, version in row["tools"].items():
            found.setdefault(name, set()).add(version)
    return ", ".join(f"{name} {' and '.join(sorted(versions))}" for name, versions in sorted(found.items()))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--timeout", type=float, default=120.0)
    parser.add_argument("--resume", type=Path, default=Path("runs/grade_cvdp.jsonl"))
    parser.add_argument("--only", default="", help="only problems whose id contains this")
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.relative_to(ROOT)}")
    options = parser.parse_args()
    folder = os.environ.get("RTL_AGENT_CVDP")
    if not folder:
        raise SystemExit("RTL_AGENT_CVDP should name the folder of the CVDP JSONL files")
    options.resume.parent.mkdir(parents=True, exist_ok=True)
    done = [json.loads(line) for line in options.resume.read_text().splitlines()] if options.resume.exists() else []
    known = {row["id"] for row in done}
    found = [problem for problem in read_problems(Path(folder)) if problem.needs is Needs.OPEN_TOOLS]
    todo = [problem for problem in found if problem.id not in known and options.only in problem.id]
    print(f"{len(todo)} problems to grade, {len(known)} done before")
    asyncio.run(grade_problems(todo, options.jobs, options.timeout, options.resume))
    rows = [json.loads(line) for line in options.resume.read_text().splitlines()]
    text = table(rows, options.timeout)
    print(text)
    if options.write:
        TABLE.write_text(text)
    return 1 if any(row["outcome"] == "error" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
