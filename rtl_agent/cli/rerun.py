"""`rtl-agent rerun DIR`: what `grade --keep` kept, run again; the `run.sh` there calls it."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from rtl_agent.cli import console
from rtl_agent.cli.console import AsJson
from rtl_agent.cli.grade_view import coloured, escape, print_grade, print_output
from rtl_agent.cli.keep import Kept, NotKept, read_kept
from rtl_agent.cli.options_by_hand import Only, Verbose, names_no_test, patterns
from rtl_agent.grading import Grade, Grader, Outcome, TestResult


def rerun(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder that `rtl-agent grade --keep` wrote for one answer.")
    ],
    only: Only = None,
    everything: Annotated[bool, typer.Option("--all", help="Run the whole harness, not only what failed.")] = False,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Run the tests that failed again, in the sandbox and with the seed of the grade, and say which ones end otherwise.

    You may change the files in code/ and harness/ before. Exit code 0: all that ran passed; 1: some failed; 2: bad
    usage or input; 3: an internal error.
    """
    if only and everything:
        raise typer.BadParameter("give -k or --all, not both", param_hint="--all")
    kept = read_kept(directory)
    if kept.changed:
        console.say_warning(f"not as it was graded: {', '.join(kept.changed)}")
    asked = patterns(only) or (() if everything else failed_items(kept.grade))
    graded = asyncio.run(_grade_again(kept, asked, verbose))
    if names_no_test(graded):
        raise NotKept("; ".join(graded.reasons))
    if as_json:
        console.print_json(graded.to_json())
    else:
        print_grade(graded, kept.submission.workspace(kept.problem))
        if verbose:
            print_output(graded)
        _say_what_differs(kept, graded)
    raise typer.Exit(
        {Outcome.PASSED: console.ALL_PASSED, Outcome.ERROR: console.OUR_FAULT}.get(graded.outcome, console.SOME_FAILED)
    )


def failed_items(grade: Grade) -> tuple[str, ...]:
    """Patterns of the pytest items that failed. None where no item did: then everything runs again."""
    failed = (test.name for test in grade.tests if not test.item and test.passed is False)
    return tuple(f"={name}" for name in dict.fromkeys(failed))


async def _grade_again(kept: Kept, only: Sequence[str], verbose: bool) -> Grade:
    async with Grader(jobs=1, timeout_seconds=kept.timeout_seconds) as grader:
        return await grader.grade(
            kept.problem, kept.submission, as_given=True, only=tuple(only), output=verbose, seed=kept.grade.seed
        )


def _say_what_differs(kept: Kept, now: Grade) -> None:
    """Every test that ran, against what the grade said of it."""
    if now.tools and kept.grade.tools and now.tools != kept.grade.tools:
        then, here = (", ".join(f"{name} {one}" for name, one in grade.tools.items()) for grade in (kept.grade, now))
        console.say_warning(f"the tools are others than those of the grade: {here}; then: {then}")
    differing = list(differences(kept.grade, now))
    for line in differing:
        console.out.print(escape(line), highlight=False, soft_wrap=True)
    if not differing:
        what = "Every test that ran ended" if now.tests else f"It is {coloured(now.outcome)},"
        console.out.print(f"{what} as in the grade.", highlight=False)


def differences(then: Grade, now: Grade) -> Iterator[str]:
    """What ended otherwise, in words; a test that fails at another time or with other words did."""
    before = _by_name(then.tests)
    for key, test in _by_name(now.tests).items():
        old = before.get(key)
        if old is None:
            yield f"{test.name}: was not in the grade"
        elif old.passed != test.passed:
            yield f"{test.name}: {_ended(test)} now, {_ended(old)} in the grade"
        elif (old.message, old.time_ns) != (test.message, test.time_ns):
            yield f"{test.name}: {_ended(test)} as in the grade, but at another time or with other words"
    if not now.only and then.outcome is not now.outcome:
        yield f"the outcome is {now.outcome.value} now, and was {then.outcome.value}"


def _by_name(tests: Sequence[TestResult]) -> dict[tuple[str, ...], TestResult]:
    """A harness may run a test of one name several times in one item: they are counted."""
    found: dict[tuple[str, ...], TestResult] = {}
    for test in tests:
        number = 0
        while (key := (test.service, test.item, test.name, str(number))) in found:
            number += 1
        found[key] = test
    return found


def _ended(test: TestResult) -> str:
    return {True: "passed", False: "failed", None: "skipped"}[test.passed]
