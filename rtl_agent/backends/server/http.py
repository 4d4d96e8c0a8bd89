"""The HTTP side: key, size limit, errors as sentences. What an endpoint does is in the *_routes modules."""

import hmac
import logging
from collections.abc import Awaitable, Callable, Mapping

from aiohttp import web

from rtl_agent.backends.engine.contract import EngineError
from rtl_agent.backends.server.promises import Promise
from rtl_agent.backends.server.refused import Refused

log = logging.getLogger(__name__)

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

MOST_BYTES = 256 * 1024 * 1024  # the SDK sends batches in pieces of about 5 MB
OPEN_PATHS = frozenset({"/api/v1/healthz"})


def content(fields: Mapping[str, object], status: int = 200) -> web.Response:
    return web.json_response(fields, status=status)


def promised(promise: Promise) -> web.Response:
    fields: dict[str, object] = {"request_id": promise.request_id}
    if promise.sequence_ids:
        fields["sample_sequence_ids"] = list(promise.sequence_ids)
    return content(fields)


def _sentence(status: int, sentence: str) -> web.Response:
    return content({"error": sentence, "category": "server" if status >= 500 else "user"}, status=status)


def _too_large() -> web.Response:
    return _sentence(413, f"the request is larger than {MOST_BYTES // 2**20} MB: send smaller batches")


def application(routes: list[tuple[str, str, Handler]], key: str) -> web.Application:
    @web.middleware
    async def guard(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path not in OPEN_PATHS:
            bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
            given = request.headers.get("X-API-Key", bearer)
            if not hmac.compare_digest(given.encode(), key.encode()):
                return _sentence(401, "the API key is missing or wrong: use the one the server printed at its start")
        if (request.content_length or 0) > MOST_BYTES:
            return _too_large()
        try:
            return await handler(request)
        except Refused as refused:
            return _sentence(refused.status, str(refused))
        except EngineError as error:
            return _sentence(400, str(error))
        except web.HTTPRequestEntityTooLarge:
            return _too_large()
        except web.HTTPNotFound:
            return _sentence(404, f"this server has no endpoint {request.path}")
        except web.HTTPMethodNotAllowed:
            return _sentence(405, f"{request.method} is not how {request.path} is asked")
        except web.HTTPException as error:
            return _sentence(error.status, error.reason)
        except Exception as error:
            log.exception("%s failed", request.path)
            return _sentence(500, f"the server failed at {request.path}: {type(error).__name__}; its log has more")

    app = web.Application(middlewares=[guard], client_max_size=MOST_BYTES)
    for method, path, handler in routes:
        app.router.add_route(method, path if path.startswith("/") else f"/api/v1/{path}", handler)
    return app
