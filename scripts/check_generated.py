"""Grade generated references, their near misses and their habitual answers; write down what passed and what failed.

    python scripts/check_generated.py --count 1000 [--minutes 20] [--write]

Every reference must pass and every near miss that is not equivalent must fail; anything else is printed and the exit
code is 1. `--write` puts the numbers into docs/generated.md; `--json` prints them.
"""

import argparse
import asyncio
import json
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from rtl_agent.grading import Grade, Grader, Outcome, SimulationMode, submit
from rtl_agent.problems.generate import (
    HELD_OUT_WHOLE,
    TRAINED,
    Instance,
    as_problem,
    habitual_answer,
    instances,
    mutants,
)

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "generated.md"
BEGIN, END = "<!-- check -->", "<!-- end of check -->"


@dataclass
class Tally:
    """One family's numbers."""

    instances: int = 0
    references_passed: int = 0
    habits_passed: int = 0
    mutants: int = 0
    mutants_failed: int = 0
    equivalent: int = 0
    cpu_ms: list[float] = field(default_factory=list)


@dataclass
class Report:
    families: dict[str, Tally] = field(default_factory=lambda: {name: Tally() for name in (*TRAINED, *HELD_OUT_WHOLE)})
    kinds: dict[str, int] = field(default_factory=dict)  # near misses by name; asdict cannot copy a Counter
    equivalent: dict[str, int] = field(default_factory=dict)
    surprises: list[str] = field(default_factory=list)

    def total(self) -> Tally:
        tallies = self.families.values()
        sums = {name: sum(getattr(tally, name) for tally in tallies) for name in list(asdict(Tally()))[:-1]}
        return Tally(**sums, cpu_ms=[cpu for tally in tallies for cpu in tally.cpu_ms])


def chosen(count: int, seed: int) -> list[Instance]:
    """Half of them from the training side, half held out, the families that are held out whole among these."""
    train = instances(seed, count // 2)
    held_out = instances(seed, count - len(train), families=(*TRAINED, *HELD_OUT_WHOLE), split="held-out")
    return [one for at in range(len(held_out)) for one in (*train[at : at + 1], held_out[at])]


async def check(instance: Instance, grader: Grader, report: Report) -> None:
    problem, family = as_problem(instance), instance.spec.family
    tally = report.families[family]

    async def grade(design: str) -> Grade:
        return await grader.grade(problem, submit(problem, {instance.target: design}))

    wrong = mutants(instance)
    reference, habit, *grades = await asyncio.gather(
        grade(instance.reference), grade(habitual_answer(instance)), *(grade(mutant.design) for mutant in wrong)
    )
    tally.instances += 1
    tally.references_passed += reference.outcome is Outcome.PASSED
    tally.habits_passed += habit.outcome is Outcome.PASSED
    tally.cpu_ms.append(1000 * reference.timings["cpu"])
    if reference.outcome is not Outcome.PASSED:
        report.surprises.append(f"{problem.id}: reference {reference.outcome}: {reference.reasons[:1]}")
    for mutant, judged in zip(wrong, grades, strict=True):
        if mutant.may_be_equivalent:
            tally.equivalent += 1
            key = f"{family}: {mutant.name}"
            report.equivalent[key] = report.equivalent.get(key, 0) + 1
            expected = Outcome.PASSED
        else:
            tally.mutants += 1
            tally.mutants_failed += judged.outcome is Outcome.FAILED
            report.kinds[mutant.name] = report.kinds.get(mutant.name, 0) + 1
            expected = Outcome.FAILED
        if judged.outcome is not expected:
            report.surprises.append(f"{problem.id}: {mutant.name} {judged.outcome}, {instance.spec.choices}")


async def run(found: list[Instance], jobs: int, minutes: float) -> Report:
    report = Report()
    until = time.monotonic() + 60 * minutes
    columns = TextColumn("checking"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=len(found))
        async with Grader(jobs=jobs, path=SimulationMode.FAST) as grader:
            for instance in found:
                if time.monotonic() > until:
                    break
                await check(instance, grader, report)
                progress.advance(task)
    return report


def as_markdown(report: Report, command: str) -> str:
    total = report.total()
    columns = "family, instances, references passed, near misses, of them failed, equivalent, habitual passed, CPU ms"
    head = f"| {columns.replace(', ', ' | ')} |"
    rows = [
        f"| {name} | {tally.instances} | {tally.references_passed} | {tally.mutants} | {tally.mutants_failed} "
        f"| {tally.equivalent} | {tally.habits_passed} | {median(tally.cpu_ms or [0]):.0f} |"
        for name, tally in (*report.families.items(), ("**all**", total))
    ]
    kinds = ", ".join(f"{name} {count}" for name, count in sorted(report.kinds.items()))
    equivalent = ", ".join(f"{name} {count}" for name, count in sorted(report.equivalent.items())) or "none"
    surprises = "\n".join(f"* {line}" for line in report.surprises) or "* none"
    return (
        f"    {command}\n\n{head}\n|{' --- |' * 8}\n" + "\n".join(rows) + "\n\n"
        "CPU ms is the median of the boxes' CPU for a reference on the fast path.\n\n"
        f"Near misses by kind: {kinds}.\n\nEquivalent, and graded as passed: {equivalent}.\n\n"
        f"References that did not pass, near misses that did not fail:\n\n{surprises}\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=600.0, help="stop after so many and report what was done")
    parser.add_argument("--write", action="store_true", help="put the numbers into docs/generated.md")
    parser.add_argument("--json", action="store_true", help="print the numbers for programs")
    given = parser.parse_args()
    report = asyncio.run(run(chosen(given.count, given.seed), given.jobs, given.minutes))
    command = f"python scripts/check_generated.py --count {given.count} --seed {given.seed} --minutes {given.minutes:g}"
    text = as_markdown(report, command)
    if given.write:
        before, _, rest = DOCUMENT.read_text().partition(BEGIN)
        DOCUMENT.write_text(f"{before}{BEGIN}\n{text}{END}{rest.partition(END)[2]}")
    print(json.dumps(asdict(report), indent=2) if given.json else text)
    return 1 if report.surprises else 0


if __name__ == "__main__":
    sys.exit(main())
