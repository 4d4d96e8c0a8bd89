"""Audit the sets that docs/audit/ is about, a JSON for each problem as it ends; make the tables from the files.

    python scripts/audit_problems.py bundled generated [--minutes 20]   audits what is not there yet
    RTL_AGENT_CVDP=<folder> python scripts/audit_problems.py cvdp       the development part of CVDP
    RTL_AGENT_CVDP=<folder> python scripts/audit_problems.py --siblings looks for right designs of CVDP's problems
    python scripts/audit_problems.py --tables                           the pages, and the shipped table of trust

Stopped at any moment, the same command goes on. Of CVDP's problems only facts and verdicts are kept: no sentence that a
harness or a tool said.

Hardly any of CVDP's problems comes with a right design. But problems of one family are often steps of one design: what
one gives to be changed is what another asks for. --siblings grades such files, and keeps in docs/audit/cvdp-right.json
which problem gives files that pass another one's tests; `cvdp` then takes them as right designs.
"""

import argparse
import asyncio
import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from rtl_agent.audit import AUDIT_VERSION, AuditOptions, Trust, TrustGrade, TrustTable, audit_all, read_audits
from rtl_agent.audit.audit import TRIVIAL
from rtl_agent.audit.store import SHIPPED, by_family
from rtl_agent.grading import GradeCache, Grader, Outcome, default_cache_path, submit
from rtl_agent.problems import Needs, Problem, load_problems, read_problems
from rtl_agent.problems.generate import HELD_OUT_WHOLE, TRAINED
from rtl_agent.problems.problem import family_of

ROOT = Path(__file__).resolve().parent.parent
AUDITS, PAGE = ROOT / "docs" / "audit", ROOT / "docs" / "audit.md"
SIBLINGS = AUDITS / "cvdp-right.json"
BEGIN, END = "<!-- tables -->", "<!-- end of tables -->"
SETS = {"bundled": "The bundled set", "generated": "The generated families", "cvdp": "CVDP, development part"}
PER_FAMILY = 2
WRITTEN = (
    "Made from the files in docs/audit/{name}/ by `python scripts/audit_problems.py --tables`. "
    "[How good are a problem's tests?](../audit.md) says what the columns mean."
)
Audit = Mapping[str, Any]
# The least that shows a fault first.
ORDER = ("a file with only a comment", "the files as they were given", *TRIVIAL.values())


def problems_of(name: str) -> list[Problem]:
    if name == "bundled":
        return load_problems("bundled")
    if name == "generated":
        families = (*TRAINED, *HELD_OUT_WHOLE)
        return [one for family in families for one in load_problems(f"generated:{family},count={PER_FAMILY}")]
    found = [one for one in read_problems(cvdp_folder()) if one.needs is Needs.OPEN_TOOLS]
    # Those with a right design first: of them everything can be known. Then those that were never audited.
    return sorted(found, key=lambda one: (one.reference is None, (AUDITS / name / f"{one.id}.json").exists(), one.id))


def cvdp_folder() -> Path:
    folder = os.environ.get("RTL_AGENT_CVDP")
    if not folder:
        raise SystemExit("RTL_AGENT_CVDP should name the folder of the CVDP JSONL files")
    return Path(folder)


def files_of_family(problem: Problem, others: Sequence[Problem]) -> dict[str, Mapping[str, str]]:
    """Problem -> the targets of this problem as that one of the same family gives them; each text once."""
    found: dict[str, Mapping[str, str]] = {}
    for other in others:
        shown = {**other.context, **(other.reference or {})}
        if other.id != problem.id and other.family == problem.family and all(path in shown for path in problem.targets):
            files = {path: shown[path] for path in problem.targets}
            if files and all(map(str.strip, files.values())) and files not in (problem.given, *found.values()):
                found[other.id] = files
    return found


async def find_siblings(jobs: int | None, timeout: float) -> None:
    """Problem -> the first of its family that gives a right design of it, in a file; those that are in it stay."""
    every = read_problems(cvdp_folder())
    found: dict[str, str | None] = json.loads(SIBLINGS.read_text()) if SIBLINGS.exists() else {}
    with GradeCache(default_cache_path()) as cache:
        async with Grader(jobs=jobs, timeout_seconds=timeout, cache=cache) as grader:

            async def one(problem: Problem) -> None:
                passing = None
                for name, files in files_of_family(problem, every).items():
                    grade = await grader.grade(problem, submit(problem, files), as_given=True)
                    if grade.outcome is Outcome.PASSED:
                        passing = name
                        break
                found[problem.id] = passing
                SIBLINGS.write_text(json.dumps(dict(sorted(found.items())), indent=0) + "\n")
                print(f"siblings: {len(found)}, {sum(map(bool, found.values()))} have a right design", flush=True)

            await asyncio.gather(*(one(problem) for problem in problems_of("cvdp") if problem.id not in found))


def answers_of(name: str, problems: Sequence[Problem]) -> dict[str, list[Mapping[str, str]]]:
    if name != "cvdp" or not SIBLINGS.exists():
        return {}
    right = json.loads(SIBLINGS.read_text())
    every = read_problems(cvdp_folder())
    known = {one.id: right[one.id] for one in problems if right.get(one.id)}
    return {one.id: [files_of_family(one, every)[known[one.id]]] for one in problems if one.id in known}


def silent(folder: Path) -> None:
    """Take out what tools and harnesses said, in words that may be a problem's."""
    unsaid = "said in the audit, not kept"
    for path in folder.glob("*.json"):
        found = json.loads(path.read_text())
        right = [{**one, "note": unsaid if one["note"] else ""} for one in found["right"]]
        kept = {**found, "names_inside_note": "", "right": right, "errors": [unsaid for _ in found["errors"]]}
        if "could not be read" in found["trivial_note"]:
            kept["trivial_note"] = "the interface could not be read"
        if kept != found:
            lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in kept.items())
            path.write_text(f"{{\n{lines}\n}}\n")


def with_right_design(audits: Sequence[Audit]) -> list[str]:
    heads = ("problem", "trust", "mutants noticed", "interval", "equivalent", "undecided", "unobserved outputs")
    lines = []
    for one in audits:
        score, told = one["score"], ["-"] * 4
        if score is not None and score["score"] is not None:
            of = score["killed"] + score["survived"] + score["undecided"]
            interval = f"{100 * score['low']:.0f} to {100 * score['high']:.0f} %"
            told = [f"{score['killed']} of {of}", interval, str(score["equivalent"]), str(score["undecided"])]
        seeds = f"{one['failed_seeds']} of {one['seeds']}" if one["seeds"] else "-"
        lines.append((one["id"], one["trust"], *told, names(blind(one)), seeds, cpu(one), "; ".join(one["reasons"])))
    return table((*heads, "seeds failed", "CPU s", "why"), lines)


def without_right_design(audits: Sequence[Audit]) -> list[str]:
    """What can be known all the same."""
    heads = ("problem", "trust", "ports from", "what passes and tells nothing", "outputs that tests have no name for")
    lines = [
        (
            one["id"],
            one["trust"],
            one["interface"] or "unknown",
            ", ".join(passing(one)) or "-",
            names(one["unmentioned"]),
            names(one["unnamed"]),
            str(one["checks"]),
            cpu(one),
        )
        for one in audits
    ]
    return table((*heads, "names that the specification does not give", "asserts and raises", "CPU s"), lines)


def table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    rows = [" | ".join(cell.replace("|", "\\|") for cell in line) for line in (heads, ["---"] * len(heads), *lines)]
    return [f"| {row} |" for row in rows]


def names(found: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in found) or "-"


def cpu(one: Audit) -> str:
    return "-" if one["cpu_seconds"] is None else f"{one['cpu_seconds']:.2f}"


def blind(one: Audit) -> list[str]:
    """Outputs that may be anything."""
    return [name for name, at in one["outputs"].items() if at and set(at.values()) == {"passed"}]


def passing(one: Audit) -> list[str]:
    """The designs that tell nothing and pass, the least first."""
    return [name for name in ORDER if one["trivial"].get(name) == "passed"]


def shortest(one: Audit) -> str:
    """The least that shows that a problem is unsound."""
    if passing(one):
        return passing(one)[0]
    known = [name for name, outcome in one["near_misses"].items() if outcome == "passed"]
    survived = [mutant for design in one["right"] for mutant in design["mutants"] if mutant["fate"] == "survived"]
    if known:
        return f"the known wrong answer {known[0]}"
    if one["unnamed"]:
        return f"a right design without {names(one['unnamed'][:3])} in it"
    if one["names_inside"] not in ("", "passed"):
        return "the right design with other names inside"
    if survived:
        return f"the right design with one mistake: {survived[0]['operator']}, line {survived[0]['line']}"
    if one["failed_seeds"]:
        return "the right design, with another seed"
    return "none of those that were tried"


def noticed(audits: Sequence[Audit]) -> str:
    scored = [one["score"] for one in audits if one["score"] and one["score"]["score"] is not None]
    killed = sum(score["killed"] for score in scored)
    wrong = sum(score["killed"] + score["survived"] + score["undecided"] for score in scored)
    return f"{killed} of {wrong} ({100 * killed / wrong:.1f} %)" if wrong else "-"


def page_of(title: str, name: str, audits: Sequence[Audit]) -> str:
    known = [one for one in audits if one["right"]]
    others = [one for one in audits if not one["right"]]
    parts = [f"# {title}", "", WRITTEN.format(name=name), ""]
    if known:
        parts += [f"## With a right design: {len(known)}", "", *with_right_design(known), ""]
    if others:
        parts += [f"## Without a right design: {len(others)}", "", *without_right_design(others), ""]
    return "\n".join(parts)


def summary(sets: Mapping[str, Sequence[Audit]]) -> str:
    lines = []
    for name, audits in sets.items():
        grades = Counter(one["trust"] for one in audits)
        known = sum(1 for one in audits if one["right"])
        current = sum(1 for one in audits if one["audit"] == AUDIT_VERSION)
        counts = (str(len(audits)), str(current), str(known), *(str(grades[grade.value]) for grade in TrustGrade))
        counts = (*counts, noticed(audits))
        lines.append((f"[{SETS[name]}](audit/{name}.md)", *counts))
    marks = (grade.value for grade in TrustGrade)
    heads = ("set", "problems", "by this version", "with a right design", *marks, "wrong mutants noticed")
    unsound = [
        (one["id"], one["trust"], shortest(one), one["reasons"][0])
        for audits in sets.values()
        for one in audits
        if one["trust"] in "DEF"
    ]
    parts = [*table(heads, lines), "", "### Problems that are unsound", ""]
    parts += table(("problem", "trust", "the shortest design that shows it", "the gravest reason"), unsound)
    return "\n".join([*parts, ""])


def write_tables() -> None:
    sets = {name: read_audits(AUDITS / name) for name in SETS if (AUDITS / name).is_dir()}
    for name, audits in sets.items():
        (AUDITS / f"{name}.md").write_text(page_of(SETS[name], name, audits))
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n\n{summary(sets)}\n{END}{rest.partition(END)[2]}")
    lines = [Trust.from_json(found) for found in sets["bundled"]]
    generated = [Trust.from_json(found) for found in sets["generated"]]
    families = {line.problem_id: family_of(line.problem_id) for line in generated}
    TrustTable([*lines, *by_family(generated, families)]).write(ROOT / "rtl_agent" / "audit" / SHIPPED)


def run(name: str, given: argparse.Namespace) -> None:
    problems = [one for one in problems_of(name) if given.only in one.id]
    out, numbers = AUDITS / name, count(1)

    def told() -> None:
        if name == "cvdp":
            silent(out)
        print(f"{name}: {next(numbers)} of {len(problems)}", flush=True)

    work = audit_all(
        problems,
        AuditOptions(),
        out=out,
        answers=answers_of(name, problems),
        jobs=given.jobs,
        timeout=given.timeout,
        minutes=given.minutes,
        told=told,
    )
    asyncio.run(work)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", choices=[*SETS, []])
    parser.add_argument("--minutes", type=float, help="begin no problem after so many")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--only", default="", help="only problems whose id contains this")
    parser.add_argument("--siblings", action="store_true", help="look for right designs of CVDP's problems")
    parser.add_argument("--tables", action="store_true", help="make the tables from the files")
    given = parser.parse_args()
    if given.siblings:
        asyncio.run(find_siblings(given.jobs, given.timeout))
    for name in given.sets:
        run(name, given)
    if given.tables:
        write_tables()


if __name__ == "__main__":
    main()
