"""Write docs/cocotb-versions.md: the signs of both cocotb generations, and the problems where signs of both meet.

RTL_AGENT_CVDP=<folder> python scripts/cocotb_versions.py
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rtl_agent.problems import CocotbVersion, Needs, Problem, read_problems
from rtl_agent.problems.cocotb_version import TABLE, Decision, Sign, Weight, decide

PAGE = Path(__file__).resolve().parent.parent / "docs" / "cocotb-versions.md"
BEGIN = "<!-- written by scripts/cocotb_versions.py from here on -->"
WEIGHTS = {Weight.ALL: "all", Weight.SOME: "some", Weight.HINT: "hint", Weight.NONE: "-"}


def signs() -> Iterator[str]:
    yield "## The signs"
    yield ""
    yield "| sign | in a harness | in 1.9.2 | in 2.0.1 | for | weight | reason |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for sign in sorted(TABLE, key=lambda sign: -sign.weight):
        cells = (sign.name, sign.what, sign.in_1, sign.in_2, sign.favours or "-", WEIGHTS[sign.weight], sign.reason)
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def meetings(problems: Sequence[Problem]) -> Iterator[str]:
    decisions = {problem.id: decide(problem.harness.files) for problem in problems}
    chosen = Counter(decision.cocotb_version.value for decision in decisions.values())
    yield "## CVDP's development part"
    yield ""
    yield f"{len(problems)} problems: " + ", ".join(f"{count} on {name}" for name, count in chosen.most_common()) + "."
    yield ""
    count = Counter(name for decision in decisions.values() for name in decision.signs)
    yield "| sign | problems |"
    yield "| --- | --- |"
    for name, number in count.most_common():
        yield f"| {name} | {number} |"
    both = {name: decision for name, decision in decisions.items() if _meet(decision)}
    yield ""
    mixed = sum(decision.mixed for decision in both.values())
    yield f"Signs of both generations meet in {len(both)}, in {mixed} of them with more than a hint on both sides."
    yield ""
    yield "| problem | for 1.9.2 | for 2.0.1 | decided | by |"
    yield "| --- | --- | --- | --- | --- |"
    for name, decision in sorted(both.items()):
        sides = [", ".join(map(_named, decision.favouring(cocotb_version))) for cocotb_version in CocotbVersion]
        yield f"| {name} | {sides[0]} | {sides[1]} | {decision.cocotb_version} | {decision.reason} |"


def _meet(decision: Decision) -> bool:
    return len({sign.favours for sign in TABLE if sign.name in decision.signs and sign.favours}) == 2


def _named(sign: Sign) -> str:
    return f"{sign.name} ({WEIGHTS[sign.weight]})"


def main() -> None:
    folder = os.environ.get("RTL_AGENT_CVDP")
    if not folder:
        raise SystemExit("RTL_AGENT_CVDP should name the folder of the CVDP JSONL files")
    problems = [problem for problem in read_problems(Path(folder)) if problem.needs is Needs.OPEN_TOOLS]
    own = PAGE.read_text().partition(BEGIN)[0]
    PAGE.write_text("\n".join([own + BEGIN, "", *signs(), "", *meetings(problems), ""]))


if __name__ == "__main__":
    main()
