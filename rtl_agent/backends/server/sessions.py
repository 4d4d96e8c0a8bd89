"""Clients: each has a session that lives as long as its heartbeat."""

import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from rtl_agent.backends.server.refused import Refused, not_found

SILENT_SECONDS = 300.0  # the SDK sends a heartbeat every 10 s


@dataclass(eq=False)
class Session:
    id: str
    user_metadata: Mapping[str, str] | None = None
    display_name: str | None = None
    heard_at: float = field(default_factory=time.monotonic)


class Sessions:
    def __init__(self, silent_seconds: float = SILENT_SECONDS) -> None:
        self._sessions: dict[str, Session] = {}
        self._finished: set[str] = set()
        self._silent_seconds = silent_seconds

    def create(self, user_metadata: Mapping[str, str] | None, display_name: str | None) -> Session:
        session = Session(str(uuid.uuid4()), user_metadata, display_name)
        self._sessions[session.id] = session
        return session

    def hear(self, session_id: str) -> Session:
        """The session, known to be alive now."""
        if session_id in self._finished:
            raise Refused(410, f"session {session_id} has ended: its client closed it or was silent for too long")
        session = self._sessions.get(session_id)
        if session is None:
            raise not_found(
                f"this server knows no session {session_id}: the server was started anew, or it is another one. "
                "Make a new ServiceClient and load the last checkpoint."
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
