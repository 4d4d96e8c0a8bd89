"""A model behind an OpenAI-compatible endpoint: messages in, text out. Its key goes into one header, nowhere else."""

import asyncio
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx

from rtl_agent.envs.episode import EpisodeFailed
from rtl_agent.evaluation.settings import EvaluationError, ModelGone
from rtl_agent.prompts import Message, as_dicts

log = logging.getLogger(__name__)

TRIES = 6  # with pauses of 1, 2, 4, 8 and 16 s: half a minute of overload is outlived
LONGEST_PAUSE = 60.0
HOPELESS = (401, 403, 404)  # no other problem will fare better
WORTH_ANOTHER_TRY = (408, 409, 425, 429, 500, 502, 503, 504)
# What some endpoints refuse: the parameter, and the one to send in its place, "" for none.
OTHERWISE = {"max_tokens": "max_completion_tokens", "seed": "", "temperature": ""}
REFUSAL_WORDS = ("support", "unrecogni", "unknown", "not permitted", "not allowed", "unexpected")


# How endpoints (OpenAI, vLLM, llama.cpp, ours) say that messages and answer together are too long.
TOO_LONG = re.compile(r"\bcontext|too long|too many tokens|token count", re.I)
REFUSED = (400, 413, 422)


class ConversationTooLong(EpisodeFailed):
    """The endpoint takes no conversation of this length. Of several turns, that is their end and no fault of ours."""


@dataclass(frozen=True)
class EndpointReply:
    text: str
    stop_reason: str  # "stop" or "length"
    usage: Mapping[str, int]  # prompt and answer in tokens; 0 where the endpoint does not count
    not_sent: tuple[str, ...] = ()  # parameters that it had refused


@dataclass
class Endpoint:
    """Chat completions, one answer at a time, not streamed."""

    base_url: str = field(repr=False)
    model: str
    key: str = field(default="", repr=False)
    timeout_seconds: float = 600.0
    pause_seconds: float = 1.0
    given_up: list[str] = field(default_factory=list)
    """Parameters that the endpoint refused and that are no longer sent."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.base_url)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            shown = self.base_url.rpartition("@")[2].partition("?")[0]  # a password may stand before, a key behind
            raise EvaluationError(f"--base-url {shown!r} is not a URL: give one such as http://localhost:8000/v1")
        headers = {"Authorization": f"Bearer {self.key}"} if self.key else {}
        self._client = httpx.AsyncClient(headers=headers, timeout=httpx.Timeout(self.timeout_seconds, connect=20.0))
        self._url = urlunsplit(parts._replace(path=f"{parts.path.rstrip('/')}/chat/completions"))
        self._renamed: dict[str, str] = {}

    @property
    def shown_url(self) -> str:
        """Without what may be a secret: a password before the host, a query."""
        parts = urlsplit(self.base_url)
        return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="")).rstrip("/")

    async def ask(
        self, messages: Sequence[Message], *, temperature: float, max_tokens: int, seed: int
    ) -> EndpointReply:
        """EpisodeFailed where only this answer cannot be had; ModelGone or EvaluationError where none can."""
        wanted = {"temperature": temperature, "max_tokens": max_tokens, "seed": seed}
        for attempt in range(TRIES):
            without = tuple(self.given_up)  # now: by the time of the answer others may have been refused more
            sent = {self._renamed.get(name, name): value for name, value in wanted.items() if name not in without}
            body = {"model": self.model, "messages": as_dicts(messages), "stream": False, **sent}
            try:
                answer = await self._client.post(self._url, json=body)
            except httpx.TimeoutException:
                fault = f"{self.shown_url} did not answer within {self.timeout_seconds:g} s"
                if attempt + 1 == TRIES:
                    raise EpisodeFailed(fault) from None
            except (httpx.HTTPError, OSError) as error:
                fault = f"{self.shown_url} cannot be reached: {self._clean(str(error) or type(error).__name__)}"
                if attempt + 1 == TRIES:
                    raise ModelGone(f"{fault}. Graded answers are kept: the same command resumes") from None
            else:
                if answer.status_code == 200:
                    return self._reply(answer, without)
                fault = self._fault(answer)
                if answer.status_code in (400, 422) and self._adapt(fault, sent):
                    continue
                if answer.status_code in REFUSED and TOO_LONG.search(fault):
                    raise ConversationTooLong(fault)
                if answer.status_code not in WORTH_ANOTHER_TRY or attempt + 1 == TRIES:
                    raise EpisodeFailed(fault)
                await asyncio.sleep(_pause(answer, self.pause_seconds * 2**attempt))
                continue
            log.warning("%s; trying again", fault)
            await asyncio.sleep(min(LONGEST_PAUSE, self.pause_seconds * 2**attempt))
        raise EpisodeFailed(f"{self.shown_url} refused one parameter after the other")

    async def aclose(self) -> None:
        await self._client.aclose()

    def _reply(self, answer: httpx.Response, not_sent: Sequence[str]) -> EndpointReply:
        try:
            content = answer.json()
            choice = content["choices"][0]
            text = choice["message"].get("content") or ""
        except (ValueError, KeyError, IndexError, TypeError, AttributeError):
            raise EvaluationError(
                f"{self.shown_url} is not an OpenAI-compatible endpoint: its answer has no choices[0].message"
            ) from None
        counted = content.get("usage") or {}
        usage = {"prompt": int(counted.get("prompt_tokens") or 0), "answer": int(counted.get("completion_tokens") or 0)}
        stop_reason = "length" if choice.get("finish_reason") == "length" else "stop"
        return EndpointReply(str(text), stop_reason, usage, tuple(not_sent))

    def _fault(self, answer: httpx.Response) -> str:
        fault = f"{self.shown_url} answered {answer.status_code}: {self._clean(_sentence(answer))}"
        if answer.status_code in (401, 403):
            raise EvaluationError(f"{fault}. Name the variable that holds the key with --api-key-env")
        if answer.status_code in HOPELESS:
            raise EvaluationError(f"{fault}. Are --base-url (it usually ends in /v1) and --model right?")
        return fault

    def _adapt(self, fault: str, sent: Mapping[str, object]) -> bool:
        """Send a refused parameter otherwise, or no more: newer models take neither max_tokens nor a temperature."""
        if not any(word in fault.lower() for word in REFUSAL_WORDS):
            return False
        for name, other in OTHERWISE.items():
            used = other if other and other in sent else name
            if used not in sent or not any(f"{mark}{used}{mark}" in fault for mark in "'\"`"):
                continue
            if name not in self.given_up and self._renamed.get(name, name) == used:  # else another answer was first
                if other and used == name:
                    self._renamed[name] = other
                else:
                    self.given_up.append(name)
                log.warning("%s; %s", fault, f"sending {other} instead" if name in self._renamed else "not sent again")
            return True
        return False

    def _clean(self, text: str) -> str:
        """Endpoints quote keys in their errors."""
        return (text.replace(self.key, "(key)") if self.key else text)[:500]


def _sentence(answer: httpx.Response) -> str:
    try:
        content: Any = answer.json()
        error = content.get("error", content) if isinstance(content, dict) else content
        return str(error.get("message", error) if isinstance(error, dict) else error)
    except ValueError:
        return next(iter(answer.text.strip().splitlines()), answer.reason_phrase)


def _pause(answer: httpx.Response, otherwise: float) -> float:
    try:
        wished = float(answer.headers.get("Retry-After", ""))
    except ValueError:
        wished = otherwise
    return max(0.0, min(LONGEST_PAUSE, wished))
