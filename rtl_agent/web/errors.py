"""Requests that are refused: an HTTP status and a sentence for the person whose program asked."""

from collections.abc import Mapping


class RequestError(Exception):
    """`code` is a word that programs can compare; `param`, for OpenAI's clients, the field that is wrong."""

    def __init__(
        self,
        status: int,
        message: str,
        *,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status, self.param, self.code, self.headers = status, param, code, dict(headers or {})


def bad_request(message: str, *, param: str | None = None, code: str | None = None) -> RequestError:
    return RequestError(400, message, param=param, code=code)


def not_found(message: str, *, param: str | None = None, code: str | None = None) -> RequestError:
    return RequestError(404, message, param=param, code=code)
