"""The workers of a Ray cluster: one actor for each CPU of each node, started, lent out, and replaced when they die."""

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from rtl_agent.grading.executors.executor import ExecutorFault
from rtl_agent.grading.executors.ray_worker import Fingerprints, RayWorker
from rtl_agent.grading.simulation import SimulationMode

_log = logging.getLogger(__name__)
_SURVEY_SECONDS = 2.0
_CLOSE_SECONDS = 20.0
_STARTS = 2  # on a node before it is given up


@dataclass(eq=False)
class Worker:
    actor: Any  # Ray's handles have no types of their own
    node: str


class WorkerPool:
    """Every node has to have the same tools: a grade must not depend on where it was made."""

    def __init__(
        self,
        ray: ModuleType,
        *,
        most: int | None,
        timeout_seconds: float,
        path: SimulationMode,
        patience_seconds: float,
    ) -> None:
        self.fingerprints: Fingerprints | None = None
        self._ray = ray
        self._most, self._patience = most, patience_seconds
        self._arguments = (timeout_seconds, path.value)
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._starting: dict[asyncio.Task[None], str] = {}
        self._failed_starts: Counter[str] = Counter()
        self._fault = "the cluster has no node with a CPU"
        self._changed = asyncio.Event()
        # One of those who wait is woken at a time, in order; who avoids a node must not hold up who does not care.
        self._first_tries, self._retries = asyncio.Lock(), asyncio.Lock()
        self._surveying = asyncio.create_task(self._survey_for_ever())

    async def aclose(self) -> None:
        ending = [self._surveying, *self._starting]
        for task in ending:
            task.cancel()
        await asyncio.gather(*ending, return_exceptions=True)
        workers = [*self._idle, *self._busy]
        self._idle, self._busy = [], set()
        await asyncio.gather(*(self._end(worker) for worker in workers))

    async def take(self, avoid: Collection[str] = ()) -> Worker:
        """An idle worker; not on a node to be avoided while there are others. ExecutorFault when nobody will come."""
        async with self._retries if avoid else self._first_tries:
            nobody_since = time.monotonic()
            while (worker := self._pick(avoid)) is None:
                if self._busy or self._idle or self._starting:
                    nobody_since = time.monotonic()
                elif time.monotonic() - nobody_since > self._patience:
                    raise ExecutorFault(f"no node took the job within {self._patience:g} s: {self._fault}")
                self._changed.clear()
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), _SURVEY_SECONDS)
            self._idle.remove(worker)
            self._busy.add(worker)
            return worker

    def give_back(self, worker: Worker) -> None:
        if worker in self._busy:
            self._busy.remove(worker)
            self._idle.append(worker)
            self._changed.set()

    def discard(self, worker: Worker) -> None:
        """It died, or cannot be trusted to be idle. The next survey replaces it where its node still lives."""
        self._busy.discard(worker)
        if worker in self._idle:
            self._idle.remove(worker)
        self._kill(worker.actor)
        self._changed.set()

    def _pick(self, avoid: Collection[str]) -> Worker | None:
        liked = [worker for worker in self._idle if worker.node not in avoid]
        if liked:
            return liked[0]
        others = [worker for worker in self._busy if worker.node not in avoid]
        coming = [node for node in self._starting.values() if node not in avoid]
        return self._idle[0] if self._idle and not others and not coming else None

    async def _survey_for_ever(self) -> None:
        while True:
            try:
                self._survey(await asyncio.to_thread(self._ray.nodes))
            except Exception as error:  # the cluster's head may be away for a moment
                self._fault = f"the cluster does not answer: {error}"
                _log.warning("Ray: %s", self._fault)
            await asyncio.sleep(_SURVEY_SECONDS)

    def _survey(self, nodes: list[dict[str, Any]]) -> None:
        cpus = {node["NodeID"]: int(node["Resources"].get("CPU", 0)) for node in nodes if node["Alive"]}
        for worker in [worker for worker in self._idle if worker.node not in cpus]:
            self.discard(worker)
        have = Counter([worker.node for worker in (*self._idle, *self._busy)] + list(self._starting.values()))
        for node, count in cpus.items():
            if self._failed_starts[node] >= _STARTS:
                continue
            for _ in range(count - have[node]):
                if self._most is None or have.total() < self._most:
                    have[node] += 1
                    task = asyncio.create_task(self._start(node))
                    self._starting[task] = node
                    task.add_done_callback(self._started)

    def _started(self, task: asyncio.Task[None]) -> None:
        self._starting.pop(task, None)
        self._changed.set()
        if not task.cancelled() and (error := task.exception()):
            _log.warning("Ray: a worker did not start: %s", error)

    async def _start(self, node: str) -> None:
        """Waits for as long as others hold the node's CPUs."""
        affinity = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
        options = {"num_cpus": 1, "max_restarts": 0, "max_task_retries": 0, "scheduling_strategy": affinity}
        actor = self._ray.remote(**options)(RayWorker).remote(*self._arguments)
        try:
            found = await actor.open.remote()
            if self.fingerprints is None and not isinstance(found, str):
                self.fingerprints = found
            if found != self.fingerprints:
                why = found if isinstance(found, str) else f"its tools are {found}, but others have {self.fingerprints}"
                raise ExecutorFault(f"node {node[:12]} cannot grade: {why}")
        except BaseException as error:
            if isinstance(error, Exception):
                self._failed_starts[node] += 1
                self._fault = str(error)
            self._kill(actor)
            raise
        self._idle.append(Worker(actor, node))

    async def _end(self, worker: Worker) -> None:
        with suppress(Exception):  # a dead one has nothing to close
            await asyncio.wait_for(worker.actor.close.remote(), _CLOSE_SECONDS)
        self._kill(worker.actor)

    def _kill(self, actor: Any) -> None:
        with suppress(Exception):
            self._ray.kill(actor)
