"""Requests that are refused: an HTTP status and a sentence for the person whose program asked."""


class RequestError(Exception):
    """`param` and `code` are for OpenAI's clients: the field that is wrong, and a word that programs can compare."""

    def __init__(self, status: int, message: str, *, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.param, self.code = status, param, code


def bad_request(message: str, *, param: str | None = None, code: str | None = None) -> RequestError:
    return RequestError(400, message, param=param, code=code)


def not_found(message: str, *, param: str | None = None, code: str | None = None) -> RequestError:
    return RequestError(404, message, param=param, code=code)
