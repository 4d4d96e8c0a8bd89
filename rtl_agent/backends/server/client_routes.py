"""Endpoints of a client's life: flags, capabilities, session, heartbeat, futures."""

from aiohttp import web

from rtl_agent.backends.server.answer import JSON
from rtl_agent.backends.server.http import Handler, content
from rtl_agent.backends.server.refused import Refused, not_found
from rtl_agent.backends.server.requests import CreateSession, RetrieveFuture, SessionOnly, read
from rtl_agent.backends.server.service import Service

# With parallel chunks the SDK sends the first chunk of a batch last.
FLAGS = {"parallel_fwdbwd_chunks": False, "pjwt_auth_enabled": False}
CHANGING_FLAGS = {"sample_cancel_enabled": True}


class ClientRoutes:
    def __init__(self, service: Service) -> None:
        self._service = service

    def routes(self) -> list[tuple[str, str, Handler]]:
        return [
            ("POST", "client/config", self.flags),
            ("POST", "client/dynamic_config", self.changing_flags),
            ("GET", "healthz", self.health),
            ("GET", "get_server_capabilities", self.capabilities),
            ("POST", "create_session", self.create_session),
            ("POST", "session_heartbeat", self.heartbeat),
            ("GET", "sessions", self.sessions),
            ("GET", "sessions/{session}", self.session),
            ("POST", "sessions/{session}/finish", self.finish),
            ("POST", "telemetry", self.telemetry),
            ("POST", "retrieve_future", self.retrieve),
            ("POST", "cancel_future", self.cancel),
        ]

    async def flags(self, request: web.Request) -> web.Response:
        return content(FLAGS)

    async def changing_flags(self, request: web.Request) -> web.Response:
        return content(CHANGING_FLAGS)

    async def health(self, request: web.Request) -> web.Response:
        return content({"status": "ok"})

    async def telemetry(self, request: web.Request) -> web.Response:
        return content({"status": "accepted"})

    async def capabilities(self, request: web.Request) -> web.Response:
        models = [
            {"model_name": info.name, "max_context_length": info.context, "trainable": True, "sampleable": True}
            for info in self._service.engine.models()
        ]
        return content({"supported_models": models})

    async def create_session(self, request: web.Request) -> web.Response:
        body = read(await request.read(), CreateSession)
        metadata = {key: str(value) for key, value in (body.user_metadata or {}).items()}
        session = self._service.sessions.create(metadata, body.display_name)
        return content({"type": "create_session", "session_id": session.id})

    async def heartbeat(self, request: web.Request) -> web.Response:
        self._service.sessions.hear(read(await request.read(), SessionOnly).session_id)
        return content({"type": "session_heartbeat"})

    async def sessions(self, request: web.Request) -> web.Response:
        return content({"sessions": self._service.sessions.ids()})

    async def session(self, request: web.Request) -> web.Response:
        session = self._service.sessions.hear(request.match_info["session"])
        runs = [run.id for run in self._service.runs.values() if run.session_id == session.id]
        samplers = [sampler.id for sampler in self._service.samplers.of_session(session.id)]
        return content(
            {
                "training_run_ids": runs,
                "sampler_ids": samplers,
                "user_metadata": session.user_metadata,
                "display_name": session.display_name,
            }
        )

    async def finish(self, request: web.Request) -> web.Response:
        session = self._service.sessions.hear(request.match_info["session"])
        self._service.end_session(session.id)
        return content({})

    async def retrieve(self, request: web.Request) -> web.Response:
        request_id = read(await request.read(), RetrieveFuture).request_id
        promise = self._service.promises.find(request_id)
        if promise is None:
            if self._service.sessions.was_known(request_id.split(":")[0]):
                raise Refused(410, f"the result of {request_id} was retrieved before, cancelled or kept for too long")
            raise not_found(
                f"this server has no request {request_id}: the server was started anew and what it computed is gone. "
                "Make a new ServiceClient and load the last checkpoint."
            )
        self._service.sessions.hear(promise.session_id)
        answer = await self._service.promises.wait(promise)
        if answer is None:
            return content({"type": "try_again", "request_id": request_id, "queue_state": "active"}, status=408)
        return web.Response(body=answer.body, content_type=answer.content_type)

    async def cancel(self, request: web.Request) -> web.Response:
        self._service.promises.cancel(read(await request.read(), RetrieveFuture).request_id)
        return web.Response(body=b"{}", content_type=JSON)
