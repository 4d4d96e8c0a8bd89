"""One grader for any thread and any event loop."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

from rtl_agent.grading import GraderOptions, Outcome, SyncGrader, shared_grader, submit
from rtl_agent.problems import Problem

ARBITER = "rtl_fixed_priority_arbiter_0002"


@pytest.fixture(scope="module")
def grader() -> Iterator[SyncGrader]:
    with SyncGrader(jobs=2) as grader:
        yield grader


def reply(problem: Problem, note: str = "") -> str:
    assert problem.reference is not None
    (text,) = problem.reference.values()
    return f"```systemverilog\n// {note}\n{text}\n```"


def test_it_is_called_without_any_loop(grader: SyncGrader, bundled: dict[str, Problem]) -> None:
    problem = bundled[ARBITER]
    assert problem.reference is not None
    assert grader.grade_reply(problem, reply(problem)).outcome is Outcome.PASSED
    assert grader.grade(problem, submit(problem, problem.reference)).outcome is Outcome.PASSED


def test_it_serves_one_loop_after_another(grader: SyncGrader, bundled: dict[str, Problem]) -> None:
    for number in range(2):
        grade = asyncio.run(grader.grade_reply_async(bundled[ARBITER], reply(bundled[ARBITER], f"loop {number}")))
        assert grade.outcome is Outcome.PASSED


def test_what_takes_a_grader_is_given_one_that_any_loop_may_ask(
    grader: SyncGrader, bundled: dict[str, Problem]
) -> None:
    problem = bundled[ARBITER]
    for number in range(2):
        passed = asyncio.run(grader.grader.grade_reply(problem, reply(problem, f"grader, loop {number}")))
        failed = asyncio.run(grader.grade_async(problem, submit(problem, {problem.targets[0]: f"// loop {number}"})))
        assert (passed.outcome, failed.outcome) == (Outcome.PASSED, Outcome.FAILED)


def test_a_coroutine_can_be_run_beside_it(grader: SyncGrader, bundled: dict[str, Problem]) -> None:
    async def twice() -> list[Outcome]:
        grades = await asyncio.gather(*(grader.grader.grade_reply(bundled[ARBITER], "no code") for _ in range(2)))
        return [grade.outcome for grade in grades]

    assert grader.run(twice()) == [Outcome.INVALID] * 2


def test_a_process_has_one_grader_for_equal_options() -> None:
    assert shared_grader(GraderOptions(jobs=1)) is shared_grader(GraderOptions(jobs=1))
    assert shared_grader(GraderOptions(jobs=1)) is not shared_grader(GraderOptions(jobs=1, reward="binary"))


async def test_it_can_be_called_from_within_a_running_loop(grader: SyncGrader, bundled: dict[str, Problem]) -> None:
    assert grader.grade_reply(bundled[ARBITER], "no code").outcome is Outcome.INVALID


def test_many_threads_share_it(grader: SyncGrader, bundled: dict[str, Problem]) -> None:
    outcomes: dict[int, Outcome] = {}

    def work(number: int) -> None:
        outcomes[number] = grader.grade_reply(bundled[ARBITER], reply(bundled[ARBITER], f"thread {number}")).outcome

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == dict.fromkeys(range(4), Outcome.PASSED)


def test_grades_come_in_the_order_of_the_replies(grader: SyncGrader, bundled: dict[str, Problem]) -> None:
    problem = bundled[ARBITER]
    grades = grader.grade_replies([(problem, "nothing"), (problem, reply(problem, "one")), (problem, "nothing")])
    assert [grade.outcome for grade in grades] == [Outcome.INVALID, Outcome.PASSED, Outcome.INVALID]


def test_what_cannot_be_made_leaves_no_thread() -> None:
    before = threading.active_count()
    with pytest.raises(ValueError, match="slurm"):
        SyncGrader(executor="slurm")
    assert threading.active_count() == before


def test_a_closed_one_says_so(bundled: dict[str, Problem]) -> None:
    grader = SyncGrader(jobs=1)
    grader.close()
    grader.close()
    with pytest.raises(RuntimeError, match="the grader is closed"):
        grader.grade_reply(bundled[ARBITER], "text")
