"""The HTTP application: API key, size limit, errors as sentences; and `serve`, which runs it until told to stop."""

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from aiohttp import web

from rtl_agent.backends.engine.contract import Engine, EngineError
from rtl_agent.backends.server.checkpoint_routes import CheckpointRoutes
from rtl_agent.backends.server.http import error_response
from rtl_agent.backends.server.openai_api.routes import OpenAIRoutes
from rtl_agent.backends.server.process import KEY_PREFIX
from rtl_agent.backends.server.service import Service
from rtl_agent.backends.server.sessions import SILENT_SECONDS
from rtl_agent.backends.server.tinker_routes import ClientRoutes, SamplingRoutes, TrainingRoutes
from rtl_agent.web.app import Guard, Route, listening, set_on_signals
from rtl_agent.web.app import application as guarded_application
from rtl_agent.web.errors import RequestError

MOST_BYTES = 256 * 1024 * 1024  # the SDK sends batches in pieces of about 5 MB
OPEN_PATHS = frozenset({"/api/v1/healthz"})


def application(routes: Sequence[Route], key: str) -> web.Application:
    guard = Guard(
        key,
        MOST_BYTES,
        respond=lambda request, error: error_response(request.path, error),
        open_paths=OPEN_PATHS,
        translate=lambda error: RequestError(400, str(error)) if isinstance(error, EngineError) else None,
    )
    at_root = [(method, path if path.startswith("/") else f"/api/v1/{path}", run) for method, path, run in routes]
    return guarded_application(at_root, guard)


async def serve(
    engine: Engine,
    *,
    key: str,
    state: Path,
    host: str = "127.0.0.1",
    port: int = 0,
    ready: Callable[[int], None] = lambda port: None,
    stop: asyncio.Event | None = None,
    silent_seconds: float = SILENT_SECONDS,
) -> None:
    """Until `stop`, SIGINT or SIGTERM. Port 0 takes a free one; `ready` is told which."""
    if not key.startswith(KEY_PREFIX):
        raise ValueError(f"a key must start with {KEY_PREFIX}: the SDK refuses any other")
    stop = stop or asyncio.Event()
    set_on_signals(stop)
    service = Service(engine, state, silent_seconds=silent_seconds)
    groups = (
        ClientRoutes(service),
        TrainingRoutes(service),
        SamplingRoutes(service),
        CheckpointRoutes(service),
        OpenAIRoutes(service),
    )
    app = application([route for group in groups for route in group.routes()], key)
    sweeping = asyncio.create_task(service.sweep_forever())
    try:
        async with listening(app, host, port, shutdown_timeout=1.0) as bound:
            ready(bound)
            await stop.wait()
    finally:
        sweeping.cancel()
        service.close()
