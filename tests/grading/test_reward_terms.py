"""Reward terms of one's own: what they see, what they are worth, and what a broken one does."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import pytest

from rtl_agent.grading import (
    REWARD_TERMS,
    Grader,
    JudgedSubmission,
    Outcome,
    check_reward_term,
    parse_weights,
    submit,
)
from rtl_agent.problems import Problem

ALU = "rtl_barrel_shifter_0001"


@contextmanager
def term(name: str, function: Callable[[JudgedSubmission], Awaitable[float]]) -> Iterator[None]:
    REWARD_TERMS.register(name)(function)
    try:
        yield
    finally:
        REWARD_TERMS.unregister(name)


async def lines(judged: JudgedSubmission) -> float:
    """How many lines the design has, as counted by a tool in a box."""
    done = await judged.run(["wc", "-l", *judged.submission.files])
    return float(done.stdout.split()[0])


async def half(judged: JudgedSubmission) -> float:
    return 0.5


async def broken(judged: JudgedSubmission) -> float:
    raise KeyError("no such thing")


async def no_number(judged: JudgedSubmission) -> float:
    return float("nan")


async def test_a_term_counts_by_its_weight_and_stands_in_the_grade(bundled: dict[str, Problem]) -> None:
    problem = bundled[ALU]
    assert problem.reference is not None
    with term("half", half):
        async with Grader(jobs=1, weights=parse_weights("staged,half=-0.2")) as grader:
            grade = await grader.grade(problem, submit(problem, problem.reference))
            invalid = await grader.grade_reply(problem, "no code")
    assert grade.terms == {"half": 0.5}
    assert grade.reward.parts["half"] == -0.1
    assert (grade.reward.total, grade.reward.maximum) == (1.3, 1.4)
    assert invalid.reward.total == 0.0


async def test_a_term_runs_tools_on_the_design_and_sees_no_harness(bundled: dict[str, Problem]) -> None:
    problem = bundled[ALU]
    assert problem.reference is not None
    seen: list[bytes] = []

    async def looks(judged: JudgedSubmission) -> float:
        await check_reward_term(lines, [judged])
        seen.append((await judged.run(["find", "/code", "/src", "-type", "f"])).stdout)
        return await lines(judged)

    with term("looks", looks):
        async with Grader(jobs=1, weights=parse_weights("staged,looks=0.001")) as grader:
            grade = await grader.grade(problem, submit(problem, problem.reference))
    (text,) = problem.reference.values()
    assert grade.terms == {"looks": float(text.count("\n"))}
    assert seen[0].decode().split() == [f"/code/{path}" for path in {**problem.context, **problem.reference}]


@pytest.mark.parametrize("function", [broken, no_number])
async def test_a_broken_term_is_our_fault_and_not_the_designs(
    bundled: dict[str, Problem], function: Callable[[JudgedSubmission], Awaitable[float]]
) -> None:
    problem = bundled[ALU]
    assert problem.reference is not None
    with term("odd", function):
        async with Grader(jobs=1, weights=parse_weights("staged,odd=1")) as grader:
            grade = await grader.grade(problem, submit(problem, problem.reference))
    assert grade.outcome is Outcome.ERROR
    assert "the reward term 'odd'" in grade.reasons[0]


def test_a_term_that_nobody_has_registered_is_named() -> None:
    with term("latches", half), pytest.raises(ValueError, match=r"that name \(did you mean latches\?\)"):
        parse_weights("staged,latch=-0.2")


@pytest.mark.parametrize("text", ["staged,tests", "staged,tests=much", "tests=-1", "tests=inf", "unknown=1"])
def test_what_is_not_a_weight_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"weight"):
        parse_weights(text)


def test_a_preset_can_be_changed_in_one_weight() -> None:
    weights = parse_weights("graded,tests=2")
    assert (weights.interface, weights.tests, weights.partial) == (0.2, 2.0, True)
