"""`SyncGrader`: the grader for code that is not asyncio, or that has several event loops.

A `Grader` belongs to the event loop that it was first used in. This one has a loop of its own, in a thread of its own:
call it from any thread, from within any running loop, or in one `asyncio.run` after another. What takes a `Grader`,
such as an environment, is given its `grader`, which any loop may ask.
"""

import asyncio
import atexit
import threading
from collections.abc import Coroutine, Iterable
from concurrent.futures import Future
from types import TracebackType
from typing import Any, TypeVar

from rtl_agent.grading.grade import Grade
from rtl_agent.grading.grader import Grader, GraderStats
from rtl_agent.grading.submission import Submission
from rtl_agent.problems import Problem

T = TypeVar("T")


class SyncGrader:
    """Grades submissions, and waits for them.

    Args:
        **options: those of `Grader`: weights, jobs, timeout_seconds, path, executor, cache, extraction, ...

    Example:
        >>> import rtl_agent as ra
        >>> problem = ra.load_problems("bundled")[0]
        >>> with ra.SyncGrader(jobs=2) as grader:
        ...     grader.grade_reply(problem, "I would rather not.").outcome
        <Outcome.INVALID: 'invalid'>
    """

    def __init__(self, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="rtl-agent grader", daemon=True)
        self._thread.start()
        try:
            self._grader = self._wait(_made(options))
        except BaseException:
            self._stop()
            raise
        self._closed = False
        atexit.register(self.close)

    def grade_reply(self, problem: Problem, reply: str) -> Grade:
        """Judge what a model said."""
        return self._wait(self._open().grade_reply(problem, reply))

    def grade(self, problem: Problem, submission: Submission) -> Grade:
        """Judge files."""
        return self._wait(self._open().grade(problem, submission))

    def grade_replies(self, replies: Iterable[tuple[Problem, str]]) -> list[Grade]:
        """Judge many at once, `jobs` at a time; the grades are in the order of the replies."""
        grader = self._open()
        started = [self._start(grader.grade_reply(problem, reply)) for problem, reply in replies]
        return [one.result() for one in started]

    async def grade_reply_async(self, problem: Problem, reply: str) -> Grade:
        """The same for a coroutine, in whichever loop it runs."""
        return await self._open().grade_reply(problem, reply)

    async def grade_async(self, problem: Problem, submission: Submission) -> Grade:
        """Files, for a coroutine in whichever loop it runs."""
        return await self._open().grade(problem, submission)

    @property
    def grader(self) -> Grader:
        """The same as a `Grader`, for coroutines of any loop. It ends with this one."""
        return self._open()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """The result of a coroutine that runs beside the grader, in its loop: an episode, for code without a loop."""
        self._open()
        return self._wait(work)

    @property
    def stats(self) -> GraderStats:
        return self._grader.stats

    def close(self) -> None:
        """Ends every box. What is being graded ends with an error; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self.close)
        self._wait(self._grader.__aexit__(None, None, None))
        self._stop()

    def __enter__(self) -> "SyncGrader":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self) -> Grader:
        if self._closed:
            raise RuntimeError("the grader is closed")
        return self._grader

    def _start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("a SyncGrader cannot be asked from within its own work: it would wait for itself")
        waiting = self._start(work)
        try:
            return waiting.result()
        except BaseException:
            waiting.cancel()  # Ctrl-C while waiting ends the box as well
            raise

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class _AtHome(Grader):
    """Works in the loop that it was made in, whichever loop asks."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._home = asyncio.get_running_loop()

    async def grade(
        self,
        problem: Problem,
        submission: Submission,
        *,
        as_given: bool = False,
        only: tuple[str, ...] = (),
        output: bool = False,
        seed: int | None = None,
    ) -> Grade:
        work = super().grade(problem, submission, as_given=as_given, only=only, output=output, seed=seed)
        if asyncio.get_running_loop() is self._home:
            return await work
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._home))


async def _made(options: dict[str, Any]) -> Grader:
    """In the loop that it will belong to."""
    return _AtHome(**options)
