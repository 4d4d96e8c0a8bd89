"""`Grader`: a problem and a submission -> `Grade`. asyncio in front, an executor behind, a cache between them."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Generic, TypeVar

from rtl_agent.grading.cache import GradeCache
from rtl_agent.grading.cache_key import GRADER, GradeKeys
from rtl_agent.grading.executors import LOCAL, Executor, ExecutorFault, GradeJob, LocalExecutor, find_executor
from rtl_agent.grading.extract import extract
from rtl_agent.grading.grade import Grade, Outcome, Reward, Stage, StageName
from rtl_agent.grading.job import error_grade, job_seed
from rtl_agent.grading.progress import progress_of
from rtl_agent.grading.reward import STAGED, RewardWeights, reward
from rtl_agent.grading.simulation import SimulationMode
from rtl_agent.grading.submission import DEFAULT_EXTRACTION, Extraction, Submission, submit
from rtl_agent.problems import NEEDS_IN_WORDS, Needs, Problem
from rtl_agent.sandbox import Sandbox
from rtl_agent.toolchain import Toolchain

T = TypeVar("T")


@dataclass(eq=False)
class _Run(Generic[T]):
    task: asyncio.Task[T]
    waiting: int = 0


class SingleFlight(Generic[T]):
    """Identical work in progress is done once: later callers wait for the same run, by its key.

    A run continues while anybody waits for it, and is cancelled when the last one is gone.
    """

    def __init__(self) -> None:
        self._running: dict[str, _Run[T]] = {}
        self._tasks: set[asyncio.Task[T]] = set()  # those that are being cancelled, too

    def __contains__(self, key: str) -> bool:
        return key in self._running

    async def share(self, key: str, work: Callable[[], Coroutine[None, None, T]]) -> T:
        """Join the run of this key, or start it."""
        run = self._running.get(key) or self._start(key, work())
        run.waiting += 1
        try:
            return await asyncio.shield(run.task)
        finally:
            run.waiting -= 1
            if run.waiting == 0 and not run.task.done():
                self._forget(key, run)  # who comes now must not join a run that is being cancelled
                run.task.cancel()
                await asyncio.wait([run.task])  # its box is gone when the caller learns of the end

    async def aclose(self) -> None:
        """Cancel what is under way, and see it end."""
        for task in self._tasks:
            task.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _start(self, key: str, work: Coroutine[None, None, T]) -> _Run[T]:
        run = self._running[key] = _Run(asyncio.create_task(work))
        self._tasks.add(run.task)
        run.task.add_done_callback(self._tasks.discard)
        run.task.add_done_callback(lambda _: self._forget(key, run))
        return run

    def _forget(self, key: str, run: _Run[T]) -> None:
        if self._running.get(key) is run:
            del self._running[key]


_LOCAL_ONLY = "a sandbox or a toolchain can be chosen for the local executor only"


class CannotGrade(Exception):
    """The problem needs what is not here: another simulator, or a judge of prose."""


@dataclass(frozen=True)
class GraderStats:
    """Where grades came from since the grader was made. Invalid submissions are not looked up and count nowhere."""

    hits: int = 0  # from the cache
    misses: int = 0  # judged
    joins: int = 0  # shared the run of an identical submission that was being judged


class Grader:
    """Grades any number of submissions at once, `jobs` of them at a time. For asyncio; see `SyncGrader` for other code.

    Args:
        weights: what each stage of a grade earns; `parse_weights` reads them from text.
        jobs: grades at a time; None for one for each core.
        timeout_seconds: maximum seconds of each service of a harness.
        path: how designs are simulated: exactly as CVDP does, in warm simulators, or the faster one where possible.
        sandbox: where commands run; None for the one of this machine (`local` executor only).
        toolchain: the tools; None for those of this machine (`local` executor only).
        executor: the name of an executor, the address of a grade server (`http://HOST:PORT`), or one that you made;
            yours may serve several graders and stays open after this one. `timeout_seconds` and `path` must be those
            that it was made with: they are part of cache keys.
        cache: grades that were made before; None keeps nothing. It stays open after the grader.
        extraction: how files are read from a reply. Files that are handed in are taken as they are.

    Example:
        >>> import asyncio
        >>> import rtl_agent as ra
        >>> async def outcomes(replies):
        ...     problem = ra.load_problems("bundled")[0]
        ...     async with ra.Grader(jobs=2) as grader:
        ...         grades = await asyncio.gather(*(grader.grade_reply(problem, reply) for reply in replies))
        ...     return [grade.outcome.value for grade in grades]
        >>> asyncio.run(outcomes(["I would rather not.", ""]))
        ['invalid', 'invalid']
    """

    def __init__(
        self,
        *,
        weights: RewardWeights = STAGED,
        jobs: int | None = None,
        timeout_seconds: float = 120.0,
        path: SimulationMode = SimulationMode.AUTO,
        sandbox: Sandbox | None = None,
        toolchain: Toolchain | None = None,
        executor: str | Executor = LOCAL,
        cache: GradeCache | None = None,
        extraction: Extraction = DEFAULT_EXTRACTION,
    ) -> None:
        self._weights = weights
        self.extraction = extraction
        self._own: Executor | None = None
        if isinstance(executor, str):
            self._own = executor = self._make(executor, jobs, timeout_seconds, path, sandbox, toolchain)
        elif sandbox or toolchain:
            raise ValueError(_LOCAL_ONLY)
        self._executor = executor
        self._cache = cache or GradeCache(None)
        self._keys = GradeKeys(timeout_seconds=timeout_seconds, path=path)
        self._single_flight: SingleFlight[Grade] = SingleFlight()
        self._stats = GraderStats()
        self._closed = False

    @staticmethod
    def _make(
        name: str,
        jobs: int | None,
        timeout_seconds: float,
        path: SimulationMode,
        sandbox: Sandbox | None,
        toolchain: Toolchain | None,
    ) -> Executor:
        if sandbox or toolchain:
            if name != LOCAL:
                raise ValueError(_LOCAL_ONLY)
            return LocalExecutor(
                jobs=jobs, timeout_seconds=timeout_seconds, path=path, sandbox=sandbox, toolchain=toolchain
            )
        return find_executor(name)(jobs=jobs, timeout_seconds=timeout_seconds, path=path)

    async def __aenter__(self) -> "Grader":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        await self._single_flight.aclose()
        if self._own is not None:
            await self._own.aclose()

    @property
    def stats(self) -> GraderStats:
        return self._stats

    async def grade_reply(self, problem: Problem, reply: str) -> Grade:
        """Judge what a model said."""
        return await self.grade(problem, extract(problem, reply, self.extraction))

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
        """Judge files.

        Args:
            problem: what was asked.
            submission: the files.
            as_given: judge targets that were left as they were given, too; else they are invalid.
            only: patterns of the tests to judge (`grading/partial.py`); such a grade is partial, and earns no reward.
            output: keep what the tools printed in the grade's `log`.
            seed: of the stimulus, in place of the submission's own.
        """
        if problem.needs is not Needs.OPEN_TOOLS:
            raise CannotGrade(f"{problem.id} needs {NEEDS_IN_WORDS[problem.needs]}")
        if submission.unusable is not None:
            return self._invalid(problem, submission, submission.unusable)
        if not as_given and not submission.changes(problem):
            return self._invalid(problem, submission, "every file is exactly as it was given")
        # Without a simulation a grade knows less: such a job has a key of its own.
        terms = tuple(name for name, _ in self._weights.terms)
        seed = job_seed(problem, submission) if seed is None else seed
        simulate = self._weights.tests != 0 or bool(only)
        counted = self._weights.dense and simulate and not only and not output
        job = GradeJob(problem, submission, seed, terms, simulate, only, output, counted)
        try:
            fingerprint = await self._executor.fingerprint(problem.harness.cocotb_version)
        except ExecutorFault as fault:
            return self._finished(error_grade(job, str(fault)), submission)
        if job.is_by_hand:
            return self._finished(await self._executor.run(job), submission)
        grade = await self._look_up(self._keys.key(job, fingerprint), job)
        if counted and grade.outcome is Outcome.FAILED:
            grade = await self._with_progress(job, grade, fingerprint)
        return self._finished(grade, submission)

    async def run_job(self, job: GradeJob) -> Grade:
        """The grade of a job that somebody else's grader made, its reward left empty: from whoever has it."""
        if job.is_by_hand:
            return await self._executor.run(job)
        fingerprint = await self._executor.fingerprint(job.problem.harness.cocotb_version)
        grade = await self._look_up(self._keys.key(job, fingerprint), job)
        return replace(grade, stages=_with_notes(grade.stages, job.submission))

    async def tools(self, problems: Iterable[Problem]) -> Sequence[Mapping[str, str]]:
        """The versions of the tools that judge these, for each cocotb generation among them, wherever that is.

        Raises:
            ExecutorFault: nobody can: there is no server, no tool, or the key is wrong. The message says which.
        """
        versions = sorted({problem.harness.cocotb_version for problem in problems})
        found = [await self._executor.fingerprint(version) for version in versions]
        return [{name: text for name, text in one.items() if name != GRADER} for one in found]

    async def _with_progress(self, job: GradeJob, grade: Grade, fingerprint: Mapping[str, str]) -> Grade:
        """How far a failed design came, against the reference's grade, which is looked up or made once."""
        problem, right = job.problem, None
        if problem.reference is not None and any(test.checks for test in grade.tests):
            reference = submit(problem, problem.reference)
            known = replace(job, submission=reference, seed=job_seed(problem, reference), terms=())
            right = await self._look_up(self._keys.key(known, fingerprint), known)
            if right.outcome is Outcome.ERROR:  # without it the same design would earn something else
                return error_grade(job, f"the reference could not be judged: {'; '.join(right.reasons)}")
        return replace(grade, progress=progress_of(grade, right, len(problem.harness.services)))

    async def _look_up(self, key: str, job: GradeJob) -> Grade:
        """From whoever has it: the cache, a run under way, or a new run."""
        if self._closed:  # whatever box a run opened now, nobody would close
            raise RuntimeError("the grader is closed")
        if key in self._single_flight:
            self._stats = replace(self._stats, joins=self._stats.joins + 1)
        elif (kept := self._cache.get(key)) is not None:
            self._stats = replace(self._stats, hits=self._stats.hits + 1)
            return kept
        else:
            self._stats = replace(self._stats, misses=self._stats.misses + 1)
        return await self._single_flight.share(key, lambda: self._run(key, job))

    async def _run(self, key: str, job: GradeJob) -> Grade:
        grade = await self._executor.run(job)
        if self._cache.path is not None:
            await asyncio.to_thread(self._cache.put, key, grade)  # it may wait for other processes
        return grade

    def _finished(self, grade: Grade, submission: Submission) -> Grade:
        """What differs between callers that share a grade: their weights, how the files were read, and what was refused
        beside them."""
        stages = _with_notes(grade.stages, submission)
        earned = Reward({}, 0.0, 0.0) if grade.only else self._reward(grade, stages)
        return replace(grade, stages=stages, reward=earned, extraction=str(submission.extraction or ""))

    def _reward(self, grade: Grade, stages: tuple[Stage, ...]) -> Reward:
        return reward(grade.outcome, stages, self._weights, grade.terms, grade.progress)

    def _invalid(self, problem: Problem, submission: Submission, reason: str) -> Grade:
        stages = (Stage(StageName.FORMAT, False, notes=(reason, *submission.refused)),)
        earned = reward(Outcome.INVALID, stages, self._weights)
        reasons = (reason, *submission.refused)
        read = str(submission.extraction or "")
        return Grade(problem.id, Outcome.INVALID, stages, reward=earned, reasons=reasons, extraction=read)


def _with_notes(stages: tuple[Stage, ...], submission: Submission) -> tuple[Stage, ...]:
    """What was refused beside the files: it differs between callers that share a grade."""
    return tuple(
        replace(stage, notes=submission.refused) if stage.name is StageName.FORMAT else stage for stage in stages
    )
