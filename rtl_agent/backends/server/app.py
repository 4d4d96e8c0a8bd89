"""The HTTP application: API key, size limit, errors as sentences; and `serve`, which runs it until told to stop."""

import asyncio
import hmac
import logging
import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from aiohttp import web

from rtl_agent.backends.engine.contract import Engine, EngineError
from rtl_agent.backends.server.checkpoint_routes import CheckpointRoutes
from rtl_agent.backends.server.errors import RequestError
from rtl_agent.backends.server.http import Handler, Route, error_response
from rtl_agent.backends.server.openai_api.routes import OpenAIRoutes
from rtl_agent.backends.server.process import KEY_PREFIX
from rtl_agent.backends.server.service import Service
from rtl_agent.backends.server.sessions import SILENT_SECONDS
from rtl_agent.backends.server.tinker_routes import ClientRoutes, SamplingRoutes, TrainingRoutes

log = logging.getLogger(__name__)

MOST_BYTES = 256 * 1024 * 1024  # the SDK sends batches in pieces of about 5 MB
OPEN_PATHS = frozenset({"/api/v1/healthz"})


def application(routes: Sequence[Route], key: str) -> web.Application:
    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            if request.path not in OPEN_PATHS:
                _check_key(request, key)
            if (request.content_length or 0) > MOST_BYTES:
                raise _too_large()
            return await handler(request)
        except Exception as error:
            return error_response(request.path, _as_request_error(request, error))

    app = web.Application(middlewares=[guard], client_max_size=MOST_BYTES)
    for method, path, handler in routes:
        app.router.add_route(method, path if path.startswith("/") else f"/api/v1/{path}", handler)
    return app


def _check_key(request: web.Request, key: str) -> None:
    bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
    given = request.headers.get("X-API-Key", bearer)
    if not hmac.compare_digest(given.encode(errors="surrogateescape"), key.encode()):
        message = "the API key is missing or wrong: use the one that the server printed when it started"
        raise RequestError(401, message, code="invalid_api_key")


def _too_large() -> RequestError:
    return RequestError(413, f"the request is larger than {MOST_BYTES // 2**20} MB: send smaller batches")


def _as_request_error(request: web.Request, error: Exception) -> RequestError:
    match error:
        case RequestError():
            return error
        case EngineError():
            return RequestError(400, str(error))
        case web.HTTPRequestEntityTooLarge():
            return _too_large()
        case web.HTTPNotFound():
            return RequestError(404, f"this server has no endpoint {request.path}", code="unknown_url")
        case web.HTTPMethodNotAllowed():
            return RequestError(405, f"{request.path} does not accept {request.method}", code="method_not_supported")
        case web.HTTPException():
            return RequestError(error.status, error.reason)
    log.error("%s failed", request.path, exc_info=error)
    return RequestError(500, f"the server failed at {request.path}: {type(error).__name__}; its log has the details")


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
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    service = Service(engine, state, silent_seconds=silent_seconds)
    groups = (
        ClientRoutes(service),
        TrainingRoutes(service),
        SamplingRoutes(service),
        CheckpointRoutes(service),
        OpenAIRoutes(service),
    )
    app = application([route for group in groups for route in group.routes()], key)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    site = web.TCPSite(runner, host, port)
    sweeping = asyncio.create_task(service.sweep_forever())
    try:
        await site.start()
        bound = runner.addresses[0][1]
        log.info("listening on %s:%d", host, bound)
        ready(bound)
        await stop.wait()
    finally:
        sweeping.cancel()
        await runner.cleanup()
        service.close()
