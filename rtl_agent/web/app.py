"""An aiohttp application that is guarded: API key, Host header, size limit, errors as sentences; and listening."""

import asyncio
import logging
import signal
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from rtl_agent.web.errors import RequestError
from rtl_agent.web.rules import same_key

log = logging.getLogger(__name__)

IDLE_SECONDS = 75.0  # a connection that sends no whole request for so long is closed; aiohttp's own limit is an hour

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
Route = tuple[str, str, Handler]
"""Method, path, handler."""

# A peer whose machine is gone sends no end: after 30 + 3 x 10 s of silence the kernel closes the connection.
_KEEPALIVE = ((socket.TCP_KEEPIDLE, 30), (socket.TCP_KEEPINTVL, 10), (socket.TCP_KEEPCNT, 3))


@dataclass(frozen=True)
class Guard:
    """Who is let in, how much a request may hold, and how an error is told.

    `hosts` are the Host headers that are answered, as a set that may be filled once the port is known; None: any.
    `translate` turns an application's own exceptions into refusals; None for one that nobody foresaw.
    """

    key: str
    most_bytes: int
    respond: Callable[[web.Request, RequestError], web.Response]
    where_is_key: str = "use the one that the server printed when it started"
    too_large: str = "send smaller batches"
    open_paths: Collection[str] = field(default_factory=frozenset)
    hosts: Collection[str] | None = None
    translate: Callable[[Exception], RequestError | None] = lambda error: None
    observe: Callable[[web.Request, int], None] = lambda request, status: None


def application(routes: Sequence[Route], guard: Guard) -> web.Application:
    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            _check_host(request, guard)
            if request.path not in guard.open_paths:
                _check_key(request, guard)
            if (request.content_length or 0) > guard.most_bytes:
                raise _too_large(guard)
            response = await handler(request)
        except Exception as error:
            response = guard.respond(request, _as_request_error(request, error, guard))
        guard.observe(request, response.status)
        return response

    app = web.Application(middlewares=[guarded], client_max_size=guard.most_bytes)
    for method, path, handler in routes:
        app.router.add_route(method, path, handler)
    return app


def _check_host(request: web.Request, guard: Guard) -> None:
    if guard.hosts is not None and request.headers.get("Host", "") not in guard.hosts:
        raise RequestError(403, f"this server does not answer to the name in the Host header: use {min(guard.hosts)}")


def _check_key(request: web.Request, guard: Guard) -> None:
    bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
    given = request.headers.get("X-API-Key", bearer)
    if not same_key(given, guard.key):
        message = f"the API key is missing or wrong: {guard.where_is_key}"
        raise RequestError(401, message, code="invalid_api_key", headers={"WWW-Authenticate": "Bearer"})


def _too_large(guard: Guard) -> RequestError:
    return RequestError(413, f"the request is larger than {guard.most_bytes / 2**20:g} MB: {guard.too_large}")


def _as_request_error(request: web.Request, error: Exception, guard: Guard) -> RequestError:
    if (known := guard.translate(error)) is not None:
        return known
    match error:
        case RequestError():
            return error
        case web.HTTPRequestEntityTooLarge():
            return _too_large(guard)
        case web.HTTPNotFound():
            return RequestError(404, f"this server has no endpoint {request.path}", code="unknown_url")
        case web.HTTPMethodNotAllowed():
            allowed = {"Allow": ", ".join(sorted(error.allowed_methods))}
            message = f"{request.path} does not accept {request.method}"
            return RequestError(405, message, code="method_not_supported", headers=allowed)
        case web.HTTPException():
            return RequestError(error.status, error.reason)
    log.error("%s failed", request.path, exc_info=error)
    return RequestError(500, f"the server failed at {request.path}: {type(error).__name__}; its log has the details")


@asynccontextmanager
async def listening(
    app: web.Application,
    host: str,
    port: int,
    *,
    shutdown_timeout: float,
    handler_cancellation: bool = False,
    idle_seconds: float = IDLE_SECONDS,
) -> AsyncIterator[int]:
    """Serves inside the block and yields the port; port 0 takes a free one. With `handler_cancellation` a handler is
    cancelled when its client is gone."""
    runner = web.AppRunner(
        app,
        access_log=None,
        shutdown_timeout=shutdown_timeout,
        handler_cancellation=handler_cancellation,
        keepalive_timeout=idle_seconds,
    )
    await runner.setup()
    try:
        sockets = [_watched(one) for one in await _sockets(host, port)]
        for one in sockets:
            await web.SockSite(runner, one).start()
        bound: int = runner.addresses[0][1]
        log.info("listening on %s:%d", host, bound)
        yield bound
    finally:
        await runner.cleanup()


async def _sockets(host: str, port: int) -> Iterable[socket.socket]:
    """One for each address of the name, all on one port."""
    found = await asyncio.get_running_loop().getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE | socket.AI_ADDRCONFIG
    )
    (family, _, _, _, address), *others = dict.fromkeys(found)
    first = socket.create_server(address[:2], family=family)
    if port == 0 or not others:
        return [first]
    return [first, *(socket.create_server(at[:2], family=of) for of, _, _, _, at in others)]


def _watched(one: socket.socket) -> socket.socket:
    one.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEPALIVE:
        one.setsockopt(socket.IPPROTO_TCP, option, value)  # accepted connections inherit it
    return one


def set_on_signals(stop: asyncio.Event) -> None:
    """SIGINT and SIGTERM set the event; elsewhere than in the main thread signals are somebody else's."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
