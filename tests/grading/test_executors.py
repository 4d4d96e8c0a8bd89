"""What every executor must do, on boxes of this process, on a grade server and on a Ray cluster of two nodes; and what
each does alone. More of the grade server's is in tests/service."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest

from rtl_agent.grading import Grade, Grader, Outcome, Reward, SimulationMode, submit
from rtl_agent.grading.executors import Executor, ExecutorFault, GradeJob, HttpExecutor, LocalExecutor, RayExecutor
from rtl_agent.grading.executors.checks import check_executor
from rtl_agent.grading.grader import GraderStats
from rtl_agent.problems import CocotbVersion, Problem, Service
from rtl_agent.sandbox import Box, BoxSpec, BubblewrapSandbox, SandboxError
from tests.grading.processes import ancestors, cgroups, command_name, descendants, named, open_files
from tests.grading.ray_cluster import TwoNodes, two_nodes
from tests.grading.test_grader import ENV, INVERTER, WIRE, plain, problem_with
from tests.service.served import KEY, serving

HUNG = INVERTER.replace("assign", "initial forever #0 ;\n  assign")
BROKEN = "module dut(input a, output y);\n  oops\nendmodule\n"
Make = Callable[..., AbstractAsyncContextManager[Executor]]


@pytest.fixture(scope="module")
def cluster() -> Iterator[TwoNodes]:
    with two_nodes() as nodes:
        yield nodes


@pytest.fixture(params=["local", "http", pytest.param("ray", marks=pytest.mark.slow)])
def make(request: pytest.FixtureRequest) -> Make:
    """Makes an executor that runs two jobs at a time."""
    nodes: TwoNodes | None = request.getfixturevalue("cluster") if request.param == "ray" else None

    @asynccontextmanager
    async def on_a_server(**options: Any) -> AsyncIterator[Executor]:
        async with serving(accepts_problems=True) as url, aclosing(HttpExecutor(url, key=KEY, **options)) as executor:
            yield executor

    @asynccontextmanager
    async def made(**options: object) -> AsyncIterator[Executor]:
        executor = RayExecutor(nodes.address, **options) if nodes else LocalExecutor(jobs=2, **options)  # type: ignore[arg-type]
        try:
            yield executor
        finally:
            await executor.aclose()

    return on_a_server if request.param == "http" else made


def job(text: str, problem: Problem | None = None, number: int = 0) -> GradeJob:
    problem = problem or plain()
    return GradeJob(problem, submit(problem, {"rtl/dut.sv": f"// {number}\n{text}"}), 7)


def judged(grade: Grade) -> Grade:
    """All that must not depend on where and when."""
    return replace(grade, timings={}, log="")


async def until(condition: Callable[[], object], seconds: float = 120.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110  (other processes)
            await asyncio.sleep(0.02)


async def test_the_grade_is_the_same_everywhere(make: Make) -> None:
    jobs = [job(text) for text in (INVERTER, WIRE, BROKEN)]
    async with make() as executor:
        grades = await asyncio.gather(*(executor.run(one) for one in jobs))
        fingerprint = await executor.fingerprint(CocotbVersion.V2)
    here = LocalExecutor(jobs=1)
    try:
        expected = [await here.run(one) for one in jobs]
        assert fingerprint == await here.fingerprint(CocotbVersion.V2)
    finally:
        await here.aclose()
    assert [judged(grade) for grade in grades] == [judged(grade) for grade in expected]
    assert [grade.outcome for grade in grades] == [Outcome.PASSED, Outcome.FAILED, Outcome.FAILED]


async def test_answers_come_to_who_asked(make: Make) -> None:
    texts = [(INVERTER, WIRE, BROKEN)[number % 3] for number in range(9)]
    async with make() as executor:
        grades = await asyncio.gather(*(executor.run(job(text, None, n)) for n, text in enumerate(texts)))
    assert [grade.outcome is Outcome.PASSED for grade in grades] == [text is INVERTER for text in texts]


async def test_without_simulation_nothing_is_simulated(make: Make) -> None:
    async with make() as executor:
        grade = await executor.run(replace(job(WIRE), simulate=False))
    assert (grade.simulations, grade.stages[-1].passed) == ((), None)


async def test_a_fault_of_ours_is_an_error_and_the_next_job_is_none(make: Make) -> None:
    silent = problem_with(dict(plain().harness.files), Service("direct", ("true", "pytest"), ENV, False))
    async with make() as executor:
        grade = await executor.run(job(INVERTER, silent))
        assert grade.outcome is Outcome.ERROR
        assert "did not start" in grade.reasons[0]
        assert (await executor.run(job(INVERTER))).outcome is Outcome.PASSED


async def test_a_cancelled_job_ends_its_box_and_nothing_else(make: Make) -> None:
    me = os.getpid()
    async with make(path=SimulationMode.EXACT) as executor:
        assert (await executor.run(job(INVERTER))).outcome is Outcome.PASSED
        hung = asyncio.create_task(executor.run(job(HUNG)))
        other = asyncio.create_task(executor.run(job(WIRE)))
        assert (await other).outcome is Outcome.FAILED
        await until(lambda: named("vvp", me))
        hung.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hung
        assert not named("vvp", me)
        grades = await asyncio.gather(*(executor.run(job(INVERTER, None, number)) for number in range(2)))
        assert [grade.outcome for grade in grades] == [Outcome.PASSED] * 2
        owners = descendants(me) | {me}
    await until(lambda: not named("bwrap", me) and not cgroups(*owners), 10)


async def test_no_more_simulations_at_once_than_turns(make: Make) -> None:
    most = 0
    async with make(path=SimulationMode.EXACT) as executor:
        batch = asyncio.gather(*(executor.run(job(INVERTER, None, number)) for number in range(6)))
        while not batch.done():
            most = max(most, len(named("vvp", os.getpid())))
            await asyncio.sleep(0.01)
        assert [grade.outcome for grade in await batch] == [Outcome.PASSED] * 6
    assert 1 <= most <= 2


async def test_closing_while_jobs_run_leaves_nothing(make: Make) -> None:
    me = os.getpid()
    async with make(path=SimulationMode.EXACT) as executor:
        tasks = [asyncio.create_task(executor.run(job(HUNG, None, number))) for number in range(4)]
        await until(lambda: named("vvp", me))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        owners = descendants(me) | {me}
    await until(lambda: not named("bwrap", me) and not cgroups(*owners), 10)


# Ray alone.


@pytest.mark.slow
async def test_a_node_that_dies_costs_a_retry_and_no_grade(cluster: TwoNodes, caplog: pytest.LogCaptureFixture) -> None:
    """A third node joins a batch under way, takes jobs, and is killed with one in its hands."""
    executor = RayExecutor(cluster.address, path=SimulationMode.EXACT)
    texts = [INVERTER if number % 2 else WIRE for number in range(16)]
    try:
        assert (await executor.run(job(INVERTER))).outcome is Outcome.PASSED
        batch = asyncio.gather(*(executor.run(job(text, None, n)) for n, text in enumerate(texts)))
        third = cluster.add()
        raylet = third.all_processes["raylet"][0].process.pid
        await until(lambda: named("vvp", raylet))
        assert not batch.done()
        cluster.kill(third)
        grades = await asyncio.wait_for(batch, 300)
    finally:
        await executor.aclose()
    assert [grade.outcome for grade in grades] == [
        Outcome.PASSED if text is INVERTER else Outcome.FAILED for text in texts
    ]
    assert caplog.text.count("was lost") == 1


@pytest.mark.slow
async def test_a_job_whose_retries_are_used_up_is_an_error(cluster: TwoNodes) -> None:
    """Whoever simulates is killed, each time. The workers come back, and the next job is graded."""
    executor, killed = RayExecutor(cluster.address, path=SimulationMode.EXACT), set()

    async def kill_workers() -> None:
        while True:
            for pid in named("vvp", os.getpid()):
                for parent in ancestors(pid):
                    if command_name(parent).startswith("ray::") and parent not in killed:
                        killed.add(parent)
                        with suppress(ProcessLookupError):
                            os.kill(parent, signal.SIGKILL)
            await asyncio.sleep(0.01)

    killer = asyncio.create_task(kill_workers())
    try:
        grade = await executor.run(job(HUNG))
        killer.cancel()
        assert grade.outcome is Outcome.ERROR
        assert "was lost" in grade.reasons[0]
        assert len(killed) == 3
        assert (await executor.run(job(INVERTER))).outcome is Outcome.PASSED
    finally:
        killer.cancel()
        await executor.aclose()


@pytest.mark.slow
async def test_a_grader_on_ray(cluster: TwoNodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", cluster.address)
    problem = plain()
    async with Grader(executor="ray", jobs=1) as grader:
        submission = submit(problem, {"rtl/dut.sv": INVERTER})
        grades = await asyncio.gather(*(grader.grade(problem, submission) for _ in range(3)))
    assert [grade.reward.total for grade in grades] == [1.4] * 3
    assert grader.stats == GraderStats(misses=1, joins=2)


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ExecutorFault, match=r"pip install 'rtl-agent\[ray\]'"):
        Grader(executor="ray")


# The grader above any executor, here on boxes of this process.


class CountingSandbox:
    """Real boxes, counted."""

    name = "counting"

    def __init__(self) -> None:
        self.opened = self.open_now = 0
        self._real = BubblewrapSandbox(8)

    @asynccontextmanager
    async def open(self, spec: BoxSpec, *, pass_fds: Sequence[int] = ()) -> AsyncIterator[Box]:
        async with self._real.open(spec, pass_fds=pass_fds) as box:
            self.opened += 1
            self.open_now += 1
            try:
                yield box
            finally:
                self.open_now -= 1


async def test_identical_submissions_under_way_are_judged_once() -> None:
    problem = plain()
    boxes: list[int] = []
    for copies in (1, 5):
        sandbox = CountingSandbox()
        async with Grader(jobs=4, path=SimulationMode.EXACT, sandbox=sandbox) as grader:
            submission = submit(problem, {"rtl/dut.sv": INVERTER})
            grades = await asyncio.gather(*(grader.grade(problem, submission) for _ in range(copies)))
            assert grader.stats == GraderStats(misses=1, joins=copies - 1)
        assert {grade.outcome for grade in grades} == {Outcome.PASSED}
        boxes.append(sandbox.opened)
    assert boxes[0] == boxes[1]


async def test_one_of_two_can_be_cancelled_and_both() -> None:
    problem, sandbox = plain(), CountingSandbox()
    async with Grader(jobs=2, path=SimulationMode.EXACT, sandbox=sandbox) as grader:
        first, second = (
            asyncio.create_task(grader.grade(problem, submit(problem, {"rtl/dut.sv": INVERTER}))) for _ in range(2)
        )
        await until(lambda: sandbox.opened == 2)  # the interface checker's, and the job's
        first.cancel()
        assert (await second).outcome is Outcome.PASSED
        assert first.cancelled()
        hung = [asyncio.create_task(grader.grade(problem, submit(problem, {"rtl/dut.sv": HUNG}))) for _ in range(2)]
        await until(lambda: named("vvp", os.getpid()))
        for task in hung:
            task.cancel()
        await asyncio.gather(*hung, return_exceptions=True)
        assert not named("vvp", os.getpid())
        assert sandbox.open_now == 1
        # A run that was cancelled is not there to be joined.
        assert (await grader.grade(problem, submit(problem, {"rtl/dut.sv": INVERTER}))).outcome is Outcome.PASSED
    assert sandbox.open_now == 0


class LateCaller(CountingSandbox):
    """Somebody calls when a box of it begins to be closed."""

    def __init__(self, call: Callable[[], Coroutine[None, None, object]]) -> None:
        super().__init__()
        self._call, self.calls = call, list[asyncio.Task[object]]()

    @asynccontextmanager
    async def open(self, spec: BoxSpec, *, pass_fds: Sequence[int] = ()) -> AsyncIterator[Box]:
        async with super().open(spec, pass_fds=pass_fds) as box:
            try:
                yield box
            finally:
                self.calls.append(asyncio.create_task(self._call()))


async def test_a_grader_that_closes_opens_no_box_for_those_who_come_late() -> None:
    """Nobody would close it: episodes that go on when another one has failed would leave boxes behind."""
    problem = plain()

    async def late() -> object:
        return await grader.grade(problem, submit(problem, {"rtl/dut.sv": WIRE}))

    sandbox = LateCaller(late)
    async with Grader(jobs=1, path=SimulationMode.FAST, sandbox=sandbox) as grader:
        await grader.grade(problem, submit(problem, {"rtl/dut.sv": INVERTER}))
        opened = sandbox.opened
        assert (opened, sandbox.calls) == (2, [])  # the interface checker's, and the warm one
    said = await asyncio.gather(*sandbox.calls, late(), return_exceptions=True)
    assert [str(error) for error in said] == ["the grader is closed"] * 3
    assert (sandbox.opened, sandbox.open_now) == (opened, 0)


async def test_two_thousand_wait_without_files_or_boxes_and_can_be_cancelled() -> None:
    problem, sandbox = plain(), CountingSandbox()
    async with Grader(jobs=2, path=SimulationMode.EXACT, sandbox=sandbox) as grader:
        # Two at once: a slot's lock file stays open once it was needed.
        first = [submit(problem, {"rtl/dut.sv": text}) for text in (INVERTER, WIRE)]
        await asyncio.gather(*(grader.grade(problem, submission) for submission in first))
        before, most, most_boxes = open_files(), 0, 0
        submissions = [submit(problem, {"rtl/dut.sv": f"// {number}\n{HUNG}"}) for number in range(2000)]
        tasks = [asyncio.create_task(grader.grade(problem, submission)) for submission in submissions]
        for _ in range(100):
            await asyncio.sleep(0.02)
            most, most_boxes = max(most, open_files()), max(most_boxes, sandbox.open_now)
        assert most_boxes == 3  # two jobs and the interface checker
        assert most < before + 40
        for task in tasks:
            task.cancel()
        ended = await asyncio.gather(*tasks, return_exceptions=True)
        assert all(isinstance(end, asyncio.CancelledError) for end in ended)
        await until(lambda: sandbox.open_now <= 1)
        assert open_files() <= before
    assert not named("bwrap", os.getpid())
    assert not cgroups(os.getpid())


async def test_two_thousand_that_fail_at_once_leave_no_file_open() -> None:
    class NoRoom:
        name = "no room"

        @asynccontextmanager
        async def open(self, spec: BoxSpec, *, pass_fds: Sequence[int] = ()) -> AsyncIterator[Box]:
            raise SandboxError("no room")
            yield  # pragma: no cover

    problem = plain()
    async with Grader(jobs=2, sandbox=NoRoom()) as grader:
        before = open_files()
        submissions = [submit(problem, {"rtl/dut.sv": f"// {number}\n{INVERTER}"}) for number in range(2000)]
        grades = await asyncio.gather(*(grader.grade(problem, submission) for submission in submissions))
        assert {grade.outcome for grade in grades} == {Outcome.ERROR}
        assert open_files() <= before + 1


def test_an_unknown_executor_is_named() -> None:
    with pytest.raises(ValueError, match="no executor named 'slurm'; choose from local, ray"):
        Grader(executor="slurm")


async def test_the_suite_for_executors_of_ones_own_is_passed_by_ours(make: Make) -> None:
    async with make() as executor:
        assert await check_executor(executor) == []


async def test_the_suite_finds_an_executor_that_pays(make: Make) -> None:
    class Generous:
        def __init__(self, inner: Executor) -> None:
            self.inner, self.fingerprint, self.aclose = inner, inner.fingerprint, inner.aclose

        async def run(self, job: GradeJob) -> Grade:
            grade = await self.inner.run(job)
            return replace(grade, outcome=Outcome.PASSED, reward=Reward({"tests": 1.0}, 1.0, 1.0))

    async with make() as executor:
        faults = await check_executor(Generous(executor))
    assert {fault.partition(":")[0] for fault in faults} == {
        "grades_right_and_wrong",
        "leaves_the_reward_to_the_grader",
    }
