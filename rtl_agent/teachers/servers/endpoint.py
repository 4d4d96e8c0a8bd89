"""A server over HTTP: its key goes into one header, its faults become sentences that say which server said what."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx

from rtl_agent.teachers.scorer import TOO_LONG, ScoringError, TooLong, Unreachable

LATER = (408, 425, 429, 500, 502, 503, 504)  # the same request may be answered another time
REFUSED = (400, 413, 422)
ANSWER_SECONDS = 600.0  # a long queue on a busy server, then thousands of tokens
CONNECT_SECONDS = 10.0
AT_A_TIME = 64  # connections: more requests wait here, not on the server


class NotFound(ScoringError):
    """The server has nothing at this path, or no such model."""


@dataclass
class Endpoint:
    """`url` is the base of OpenAI's API, http://host:port/v1; a server's own paths are beside it, without /v1."""

    url: str = field(repr=False)
    key: str = field(default="", repr=False)
    answer_seconds: float = ANSWER_SECONDS

    def __post_init__(self) -> None:
        try:
            parts = urlsplit(self.url)
            is_server = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except ValueError as error:  # not quoted: it may hold a password, and nobody knows where
            raise ScoringError(f"the server's URL cannot be read: {error}") from None
        if not is_server:
            raise ScoringError(
                f"{self.shown_url} is not the URL of a server: give one such as http://localhost:8000/v1"
            )
        path = parts.path.rstrip("/") or "/v1"
        self._base = urlunsplit(parts._replace(path=path))
        self._root = urlunsplit(parts._replace(path=path.removesuffix("/v1")))
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        # No limit on waiting for a free connection: how long the queue is, is not the server's fault.
        timeout = httpx.Timeout(self.answer_seconds, connect=CONNECT_SECONDS, pool=None)
        try:
            self._client = httpx.AsyncClient(
                headers=headers, timeout=timeout, limits=httpx.Limits(max_connections=AT_A_TIME)
            )
        except ValueError:  # httpx quotes the header
            raise ScoringError(f"the key for {self.shown_url} has characters that no HTTP header can carry") from None

    @property
    def shown_url(self) -> str:
        """Without what may be a secret: a password before the host, a query."""
        parts = urlsplit(self.url)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="")).rstrip("/")

    async def get(self, path: str, *, own: bool = False) -> Any:
        """`own`: a path of the server's own, beside OpenAI's API."""
        return await self._ask("GET", path, None, own)

    async def post(self, path: str, body: Mapping[str, object], *, own: bool = False) -> Any:
        """Unreachable where it may be answered later, TooLong where the sequence is, ScoringError where none can be."""
        return await self._ask("POST", path, body, own)

    async def aclose(self) -> None:
        await self._client.aclose()

    async def _ask(self, method: str, path: str, body: Mapping[str, object] | None, own: bool) -> Any:
        url = f"{self._root if own else self._base}{path}"
        try:
            answer = await self._client.request(method, url, json=body)
        except httpx.TimeoutException:
            raise Unreachable(f"{self.shown_url} did not answer in time") from None
        except httpx.InvalidURL as error:
            raise ScoringError(f"{self.shown_url} is not the URL of a server ({error})") from None
        except (httpx.HTTPError, OSError) as error:
            why = self._clean(str(error) or type(error).__name__)
            raise Unreachable(f"{self.shown_url} cannot be reached ({why})") from None
        if answer.status_code == 200:
            try:
                return answer.json()
            except (ValueError, RecursionError):
                raise ScoringError(f"{self.shown_url}{path} answered with something that is not JSON") from None
        raise self._fault(answer, path)

    def _fault(self, answer: httpx.Response, path: str) -> ScoringError:
        said = f"{self.shown_url} answered {answer.status_code} to {path}: {self._clean(_sentence(answer))}"
        if answer.status_code in (401, 403):
            return ScoringError(f"{said}. Name the variable that holds its key with teacher_api_key_env")
        if answer.status_code == 404:
            return NotFound(said)
        if answer.status_code in REFUSED and TOO_LONG.search(said):
            return TooLong(said)
        if answer.status_code in LATER:
            return Unreachable(said, _wished_pause(answer))
        return ScoringError(said)

    def _clean(self, text: str) -> str:
        """Servers quote keys in their errors."""
        return (text.replace(self.key, "(key)") if self.key else text)[:500]


def _sentence(answer: httpx.Response) -> str:
    try:
        content: Any = answer.json()
    except (ValueError, RecursionError):
        return next(iter(answer.text.strip().splitlines()), answer.reason_phrase)
    if isinstance(content, dict):
        error = content.get("error", content)
        content = error.get("message", error) if isinstance(error, dict) else error
    return str(content)


def _wished_pause(answer: httpx.Response) -> float:
    try:
        return max(0.0, float(answer.headers.get("Retry-After", "0")))
    except ValueError:  # a date
        return 0.0
