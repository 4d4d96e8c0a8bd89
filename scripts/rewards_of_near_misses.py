"""Which reward tells near misses of one problem apart; writes docs/rewards/near_misses.json.

    python scripts/rewards_of_near_misses.py [--jobs 2]

Only near misses that compile and fail. A pair of one problem that earns the same would teach nothing in a group of
answers: by `staged` that is every pair.
"""

import argparse
import asyncio
import itertools
import json
from collections import defaultdict
from pathlib import Path
from statistics import fmean

from rtl_agent.grading import PRESETS, Grade, Grader, Outcome, StageName, submit
from rtl_agent.problems import load_near_misses, load_problems

OUT = Path(__file__).resolve().parent.parent / "docs" / "rewards" / "near_misses.json"


async def grades(jobs: int) -> dict[str, list[Grade]]:
    problems = {problem.id: problem for problem in load_problems("bundled")}
    found: dict[str, list[Grade]] = defaultdict(list)
    async with Grader(jobs=jobs, weights=PRESETS["dense"]) as grader:
        for name, problem in problems.items():
            own = [miss for miss in load_near_misses() if miss.problem_id == name]
            files = [{**(problem.reference or {}), **miss.files} for miss in own]
            found[name] = await asyncio.gather(*(grader.grade(problem, submit(problem, one)) for one in files))
            print(name, [round(grade.reward.parts.get("tests", 0.0), 3) for grade in found[name]], flush=True)
    return found


def told_apart(values: list[list[float]]) -> float:
    """The share of pairs of one problem that differ by more than rounding."""
    pairs = [abs(a - b) > 1e-6 for own in values for a, b in itertools.combinations(own, 2)]
    return round(fmean(map(float, pairs)), 4)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2)
    found = asyncio.run(grades(parser.parse_args().jobs))
    kept = {
        name: [one for one in own if one.outcome is Outcome.FAILED and one.stage(StageName.SYNTAX).passed]
        for name, own in found.items()
    }
    graded = [[one.stage(StageName.TESTS).score for one in own] for own in kept.values()]
    dense = [[one.progress.score if one.progress else 0.0 for one in own] for own in kept.values()]
    result = {
        "near_misses": sum(map(len, kept.values())),
        "problems": len(kept),
        "graded": told_apart(graded),
        "dense": told_apart(dense),
        "beyond_tests": round(
            fmean(bool(one.progress and one.progress.beyond_tests) for own in kept.values() for one in own), 4
        ),
    }
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
