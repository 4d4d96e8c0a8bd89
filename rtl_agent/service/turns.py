"""Who is let in, who waits for a turn, and who is sent away; and an executor whose jobs take turns."""

import asyncio
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rtl_agent.grading import Grade
from rtl_agent.grading.executors import Executor, GradeJob
from rtl_agent.problems import CocotbVersion
from rtl_agent.web.errors import RequestError

_LONGEST_WAIT = 60  # seconds that a client is told to stay away
_RECENT = 0.1  # weight of the newest grade in the mean time of one


class Turns:
    """`jobs` at a time are judged, `waiting` more are let in. Everyone who is let in leaves through `admitted`."""

    def __init__(self, jobs: int, waiting: int) -> None:
        self.jobs, self.waiting = jobs, waiting
        self.inside = self.running = 0
        self.stopping = False
        self._turns = asyncio.Semaphore(jobs)
        self._seconds = 1.0  # of a grade, recently
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def most(self) -> int:
        return self.jobs + self.waiting

    @contextmanager
    def admitted(self) -> Iterator[Callable[[int], None]]:
        """One job, from before its request is read until its answer is made. Yields what lets in more of them."""
        count = 0

        def more(jobs: int) -> None:
            nonlocal count
            self._check(count + jobs, jobs)
            count += jobs
            self.inside += jobs
            self._empty.clear()

        more(1)
        try:
            yield more
        finally:
            self.inside -= count
            if self.inside == 0:
                self._empty.set()

    def _check(self, together: int, more: int) -> None:
        if self.stopping:
            raise stops()
        if together > self.most:
            raise RequestError(413, f"{together} submissions in one request: this server takes {self.most} at most")
        if self.inside + more > self.most:
            seconds = self.inside * self._seconds / self.jobs
            wait = {"Retry-After": str(max(1, min(_LONGEST_WAIT, math.ceil(seconds))))}
            raise RequestError(429, f"{self.inside} jobs are waiting: try again later", code="full", headers=wait)

    @contextmanager
    def _judging(self) -> Iterator[None]:
        started = asyncio.get_running_loop().time()
        self.running += 1
        try:
            yield
            took = asyncio.get_running_loop().time() - started
            self._seconds += _RECENT * (took - self._seconds)
        finally:
            self.running -= 1

    async def judge(self, executor: Executor, job: GradeJob) -> Grade:
        async with self._turns:
            with self._judging():
                return await executor.run(job)

    async def until_empty(self) -> None:
        await self._empty.wait()


def stops() -> RequestError:
    return RequestError(503, "this server is stopping: try again later", code="stopping", headers={"Retry-After": "5"})


class InTurn:
    """An executor over another one, whose jobs share turns with those of others."""

    def __init__(self, inner: Executor, turns: Turns, judged: Callable[[Grade], None]) -> None:
        self._inner, self._turns, self._judged = inner, turns, judged

    async def fingerprint(self, cocotb_version: CocotbVersion) -> Mapping[str, str]:
        return await self._inner.fingerprint(cocotb_version)

    async def run(self, job: GradeJob) -> Grade:
        grade = await self._turns.judge(self._inner, job)
        self._judged(grade)
        return grade

    async def aclose(self) -> None:
        await self._inner.aclose()
