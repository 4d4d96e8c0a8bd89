"""Clients' sessions, which live as long as their heartbeat, and the sampling sessions that belong to them."""

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from rtl_agent.backends.engine.contract import EngineError, Snapshot
from rtl_agent.web.errors import RequestError, not_found

SILENT_SECONDS = 300.0  # the SDK sends a heartbeat every 10 s


@dataclass(eq=False)
class ClientSession:
    id: str
    user_metadata: Mapping[str, str] | None = None
    display_name: str | None = None
    heard_at: float = field(default_factory=time.monotonic)


class Sessions:
    def __init__(self, silent_seconds: float = SILENT_SECONDS) -> None:
        self._sessions: dict[str, ClientSession] = {}
        self._finished: set[str] = set()
        self._silent_seconds = silent_seconds

    def create(self, user_metadata: Mapping[str, str] | None, display_name: str | None) -> ClientSession:
        session = ClientSession(str(uuid.uuid4()), user_metadata, display_name)
        self._sessions[session.id] = session
        return session

    def hear(self, session_id: str) -> ClientSession:
        """The session, known to be alive now."""
        if session_id in self._finished:
            raise RequestError(410, f"session {session_id} has ended: its client closed it or was silent for too long")
        session = self._sessions.get(session_id)
        if session is None:
            raise not_found(
                f"this server has no session {session_id}: the server was restarted, or it is another one. "
                "Create a new ServiceClient and load the last checkpoint."
            )
        session.heard_at = time.monotonic()
        return session

    def was_known(self, session_id: str) -> bool:
        return session_id in self._sessions or session_id in self._finished

    def ids(self) -> list[str]:
        return list(self._sessions)

    def finish(self, session_id: str) -> None:
        if self._sessions.pop(session_id, None):
            self._finished.add(session_id)

    def silent(self, now: float) -> list[str]:
        return [s.id for s in self._sessions.values() if now - s.heard_at > self._silent_seconds]


# The SDK never says that a sampling client is no longer needed, and a trainer makes one at each step. Of a client's
# samplers so many stay in memory, those used last.
KEPT = 8


@dataclass(eq=False)
class SamplingSession:
    """`load` is absent where weights are nowhere but in memory: such a sampler, once freed, is gone."""

    id: str
    session_id: str
    base: str
    model_path: str | None = None
    load: Callable[[], Snapshot] | None = None
    snapshot: Snapshot | None = None
    in_use: int = 0
    used_at: float = field(default_factory=time.monotonic)
    loading: asyncio.Lock = field(default_factory=asyncio.Lock)


class SamplingSessions:
    def __init__(self, kept: int = KEPT) -> None:
        self._samplers: dict[str, SamplingSession] = {}
        self._kept = kept
        self._loader = ThreadPoolExecutor(1, thread_name_prefix="loader")

    def add(self, sampler: SamplingSession) -> None:
        self._samplers[sampler.id] = sampler
        self._free_old(sampler.session_id)

    def get(self, sampler_id: str) -> SamplingSession:
        sampler = self._samplers.get(sampler_id)
        if sampler is None:
            raise not_found(
                f"this server has no sampler {sampler_id}: the server was restarted, or the client's session "
                "has ended. Create a new sampling client from a saved path."
            )
        return sampler

    def find(self, sampler_id: str) -> SamplingSession | None:
        return self._samplers.get(sampler_id)

    def of_session(self, session_id: str) -> list[SamplingSession]:
        return [sampler for sampler in self._samplers.values() if sampler.session_id == session_id]

    @asynccontextmanager
    async def use(self, sampler: SamplingSession) -> AsyncIterator[Snapshot]:
        sampler.in_use += 1
        try:
            yield await self.open(sampler)
        finally:
            sampler.in_use -= 1
            sampler.used_at = time.monotonic()

    async def open(self, sampler: SamplingSession) -> Snapshot:
        async with sampler.loading:
            if sampler.snapshot is None:
                if sampler.load is None:
                    raise EngineError(
                        f"sampler {sampler.id} was freed: only the last {self._kept} samplers that a client used are "
                        "kept. Save weights by name with save_weights_for_sampler to sample from them at any time."
                    )
                loop = asyncio.get_running_loop()
                sampler.snapshot = await loop.run_in_executor(self._loader, sampler.load)
                self._free_old(sampler.session_id)
            return sampler.snapshot

    def _free_old(self, session_id: str) -> None:
        loaded = [sampler for sampler in self.of_session(session_id) if sampler.snapshot is not None]
        loaded.sort(key=lambda sampler: sampler.used_at, reverse=True)
        for sampler in loaded[self._kept :]:
            if not sampler.in_use:
                _free(sampler)

    def forget(self, sampler: SamplingSession) -> None:
        """Unless it is loaded, or its owner is another by now."""
        if sampler.snapshot is None and self._samplers.get(sampler.id) is sampler:
            del self._samplers[sampler.id]

    def drop_session(self, session_id: str) -> None:
        for sampler in self.of_session(session_id):
            del self._samplers[sampler.id]
            _free(sampler)

    def loaded(self) -> int:
        return sum(sampler.snapshot is not None for sampler in self._samplers.values())

    def close(self) -> None:
        for session_id in {sampler.session_id for sampler in self._samplers.values()}:
            self.drop_session(session_id)
        self._loader.shutdown(wait=False, cancel_futures=True)


def _free(sampler: SamplingSession) -> None:
    if sampler.snapshot is not None:
        sampler.snapshot.close()
        sampler.snapshot = None
