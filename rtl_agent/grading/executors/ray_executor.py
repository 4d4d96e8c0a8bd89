"""Jobs on a Ray cluster. A node that dies costs a retry on another one, not a grade."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import suppress
from functools import partial

from rtl_agent.grading.executors.executor import ExecutorFault
from rtl_agent.grading.executors.ray_pool import Worker, WorkerPool
from rtl_agent.grading.executors.ray_worker import import_ray
from rtl_agent.grading.grade import Grade, Outcome
from rtl_agent.grading.job import GradeJob, error_grade
from rtl_agent.grading.simulation import SimulationMode
from rtl_agent.problems import CocotbVersion

_log = logging.getLogger(__name__)
_TRIES = 3
_STOP_SECONDS = 30.0  # a cancelled job ends its box in 0.1 s


class RayExecutor:
    """As many jobs at a time as the cluster has CPUs, or `jobs`. rtl-agent and its tools must be on every node."""

    def __init__(
        self,
        address: str | None = None,
        *,
        jobs: int | None = None,
        timeout_seconds: float = 120.0,
        path: SimulationMode = SimulationMode.AUTO,
        patience_seconds: float = 60.0,
    ) -> None:
        """`address` is the cluster's; None: $RAY_ADDRESS, or the one of this machine, or a new one just for us.

        A job waits for `patience_seconds` while the cluster has no node at all, then it is an error.
        """
        self._ray = import_ray()
        self._address = address
        self._make_pool = partial(
            WorkerPool,
            self._ray,
            most=jobs,
            timeout_seconds=timeout_seconds,
            path=path,
            patience_seconds=patience_seconds,
        )
        self._opening = asyncio.Lock()
        self._pool: WorkerPool | None = None
        self._stopping: set[asyncio.Task[None]] = set()
        self._connected_here = False

    async def fingerprint(self, cocotb_version: CocotbVersion) -> Mapping[str, str]:
        pool = await self._opened()
        if pool.fingerprints is None:
            pool.give_back(await pool.take())
        assert pool.fingerprints is not None
        return pool.fingerprints[cocotb_version]

    async def run(self, job: GradeJob) -> Grade:
        try:
            return await self._run(job)
        except ExecutorFault as fault:
            return error_grade(job, str(fault))

    async def _run(self, job: GradeJob) -> Grade:
        pool = await self._opened()
        tried: set[str] = set()
        grade = error_grade(job, "not tried")
        for number in range(1, _TRIES + 1):
            worker = await pool.take(avoid=tried)
            tried.add(worker.node)
            grade = await self._run_on(pool, worker, job)
            if grade.outcome is not Outcome.ERROR:
                break
            _log.warning("%s: try %d of %d: %s", job.problem.id, number, _TRIES, grade.reasons[0])
        return grade

    async def aclose(self) -> None:
        async with self._opening:
            if self._stopping:
                await asyncio.wait(self._stopping)
            if self._pool is not None:
                await self._pool.aclose()
                self._pool = None
            if self._connected_here:
                self._ray.shutdown()
                self._connected_here = False

    async def _opened(self) -> WorkerPool:
        async with self._opening:
            if self._pool is None:
                self._connect()
                self._pool = self._make_pool()
            return self._pool

    def _connect(self) -> None:
        if self._ray.is_initialized():
            return
        try:
            self._ray.init(self._address, include_dashboard=False, log_to_driver=False, logging_level="warning")
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise ExecutorFault(f"no Ray cluster at {self._address or 'the default address'}: {error}") from error
        self._connected_here = True

    async def _run_on(self, pool: WorkerPool, worker: Worker, job: GradeJob) -> Grade:
        try:
            reference = worker.actor.grade.remote(job)
        except self._ray.exceptions.RayError as error:
            return _lost(pool, worker, job, error)
        except Exception:  # a job that cannot be pickled
            pool.give_back(worker)
            raise
        answer = asyncio.wrap_future(reference.future())
        try:
            grade: Grade = await asyncio.shield(answer)
        except asyncio.CancelledError:
            stopping = asyncio.create_task(self._stop(pool, worker, reference, answer))
            self._stopping.add(stopping)
            stopping.add_done_callback(self._stopping.discard)
            with suppress(asyncio.CancelledError):  # cancelled twice: it goes on stopping without us
                await asyncio.shield(stopping)
            raise
        except self._ray.exceptions.RayTaskError as error:  # our own code failed there; the worker lives
            pool.give_back(worker)
            return error_grade(job, f"node {worker.node[:12]}: {error.cause!r}")
        except self._ray.exceptions.RayError as error:
            return _lost(pool, worker, job, error)
        pool.give_back(worker)
        return grade

    async def _stop(self, pool: WorkerPool, worker: Worker, reference: object, answer: "asyncio.Future[Grade]") -> None:
        """The job's box is gone before its worker gets another one; a worker that does not obey is ended."""
        self._ray.cancel(reference)
        done, _ = await asyncio.wait([answer], timeout=_STOP_SECONDS)
        if done and not isinstance(answer.exception(), self._ray.exceptions.RayActorError):
            pool.give_back(worker)
        else:
            pool.discard(worker)


def _lost(pool: WorkerPool, worker: Worker, job: GradeJob, error: Exception) -> Grade:
    pool.discard(worker)
    said = next(iter(str(error).strip().splitlines()), type(error).__name__)
    return error_grade(job, f"node {worker.node[:12]} was lost: {said}")
