"""HTTP responses: JSON content, a future that was created, and errors in the shape of the API that was called."""

from collections.abc import Mapping

from aiohttp import web

from rtl_agent.backends.server.futures import RequestFuture
from rtl_agent.web.errors import RequestError

OPENAI_PREFIX = "/v1/"


def content(fields: Mapping[str, object], status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
    return web.json_response(fields, status=status, headers=headers)


def future_created(future: RequestFuture) -> web.Response:
    fields: dict[str, object] = {"request_id": future.request_id}
    if future.sequence_ids:
        fields["sample_sequence_ids"] = list(future.sequence_ids)
    return content(fields)


def error_response(path: str, error: RequestError) -> web.Response:
    """Tinker's shape under /api/v1, OpenAI's under /v1: each client reads its own."""
    if path.startswith(OPENAI_PREFIX):
        return content({"error": openai_error(error)}, error.status, error.headers)
    category = "server" if error.status >= 500 else "user"
    return content({"error": str(error), "category": category}, error.status, error.headers)


def openai_error(error: RequestError) -> dict[str, object]:
    kind = "server_error" if error.status >= 500 else "invalid_request_error"
    return {"message": str(error), "type": kind, "param": error.param, "code": error.code}
