"""What every executor must do: a conformance suite for one of your own.

    async with aclosing(MyExecutor()) as executor:
        for fault in await check_executor(executor):
            print(fault)

It grades designs of the bundled set, so it needs the tools on whichever machine the executor uses.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

from rtl_agent.grading.executors.executor import Executor
from rtl_agent.grading.grade import Grade, Outcome
from rtl_agent.grading.job import GradeJob, job_seed
from rtl_agent.grading.submission import submit
from rtl_agent.problems import Problem, load_problems

_PROBLEM = "rtl_fixed_priority_arbiter_0002"
_BROKEN = "module locking_arbiter (input clk);\n  oops\nendmodule\n"


def _job(number: int = 0, text: str | None = None) -> GradeJob:
    problem = next(one for one in load_problems("bundled") if one.id == _PROBLEM)
    return _job_of(problem, number, text)


def _job_of(problem: Problem, number: int, text: str | None) -> GradeJob:
    assert problem.reference is not None
    (path,) = problem.targets
    submission = submit(problem, {path: f"// {number}\n{text or problem.reference[path]}"})
    return GradeJob(problem, submission, job_seed(problem, submission))


def _judged(grade: Grade) -> Grade:
    """All that must not depend on where and when."""
    return replace(grade, timings={}, log="")


async def grades_right_and_wrong(executor: Executor) -> AsyncIterator[str]:
    """A right design passes, a broken one fails, each for the caller who asked."""
    jobs = [_job(number, None if number % 2 == 0 else _BROKEN) for number in range(4)]
    grades = await asyncio.gather(*(executor.run(job) for job in jobs))
    for number, grade in enumerate(grades):
        wanted = Outcome.PASSED if number % 2 == 0 else Outcome.FAILED
        if grade.outcome is not wanted:
            yield f"job {number} is {grade.outcome}, not {wanted}: {'; '.join(grade.reasons)}"


async def repeats(executor: Executor) -> AsyncIterator[str]:
    """The same job gets the same grade."""
    first, second = await executor.run(_job(10)), await executor.run(_job(10))
    if _judged(first) != _judged(second):
        yield "the same job got two different grades"


async def leaves_the_reward_to_the_grader(executor: Executor) -> AsyncIterator[str]:
    grade = await executor.run(_job(20))
    if grade.reward.parts or grade.reward.total:
        yield f"a grade came back with a reward of {grade.reward.total}"


async def obeys_simulate(executor: Executor) -> AsyncIterator[str]:
    """Without simulation there are no tests, and so no verdict on them."""
    grade = await executor.run(replace(_job(30), simulate=False))
    if grade.simulations or grade.stages[-1].passed is not None:
        yield "a job with simulate=False was simulated"


async def tells_its_tools(executor: Executor) -> AsyncIterator[str]:
    """The cache's keys rest on it."""
    version = _job().problem.harness.cocotb_version
    first, second = await executor.fingerprint(version), await executor.fingerprint(version)
    if first != second:
        yield "two fingerprints of the same tools differ"
    for name in ("iverilog", "cocotb", "rtl-agent"):
        if name not in first:
            yield f"the fingerprint does not name {name}"


async def survives_a_cancelled_job(executor: Executor) -> AsyncIterator[str]:
    task = asyncio.create_task(executor.run(_job(40)))
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    grade = await executor.run(_job(41))
    if grade.outcome is not Outcome.PASSED:
        yield f"after a cancelled job the next one is {grade.outcome}"


Check = Callable[[Executor], AsyncIterator[str]]
CHECKS: tuple[Check, ...] = (
    grades_right_and_wrong,
    repeats,
    leaves_the_reward_to_the_grader,
    obeys_simulate,
    tells_its_tools,
    survives_a_cancelled_job,
)


async def check_executor(executor: Executor) -> list[str]:
    """What is wrong with an executor, a sentence each; [] for one that conforms."""
    return [f"{check.__name__}: {fault}" for check in CHECKS async for fault in check(executor)]
