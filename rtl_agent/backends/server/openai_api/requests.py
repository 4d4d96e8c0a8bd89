"""The bodies of OpenAI's API that this server reads, with the fields of vLLM's that a teacher or an evaluation needs.

Fields that are not known are ignored. Those that are known and would change the answer, but are not supported, are
refused: an answer that ignored them would look right.
"""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from rtl_agent.backends.engine.contract import ModelInfo, SampleRequest
from rtl_agent.backends.server.requests import Body
from rtl_agent.backends.server.sampling import request_seeds
from rtl_agent.web.errors import RequestError, bad_request

MOST_CHOICES = 128
MOST_LOGPROBS = 128
MOST_STOPS = 64
DEFAULT_COMPLETION_TOKENS = 16  # OpenAI's

# Values that mean "off", with which an unsupported field may be there.
UNSUPPORTED: dict[str, tuple[object, ...]] = {
    "presence_penalty": (None, 0, 0.0),
    "frequency_penalty": (None, 0, 0.0),
    "repetition_penalty": (None, 1, 1.0),
    "logit_bias": (None, {}),
    "suffix": (None, ""),
    "min_p": (None, 0, 0.0),
    "response_format": (None, {"type": "text"}),
    "use_beam_search": (None, False),
}


class StreamOptions(Body):
    model_config = ConfigDict(strict=True)

    include_usage: bool = False


class TextRequest(Body):
    """What completions and chat completions share."""

    model_config = ConfigDict(strict=True, extra="allow")

    model: str
    max_tokens: int | None = Field(None, ge=0)
    temperature: float | None = Field(None, ge=0)
    top_p: float | None = Field(None, gt=0, le=1)
    top_k: int | None = Field(None, ge=-1)
    seed: int | None = Field(None, ge=-(2**63), lt=2**63)
    n: int | None = Field(None, ge=1, le=MOST_CHOICES)
    stop: str | list[str] | None = None
    stop_token_ids: list[int] | None = Field(None, max_length=MOST_STOPS)
    ignore_eos: bool = False
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    return_token_ids: bool = False

    @property
    def choices(self) -> int:
        return self.n or 1

    @property
    def streams(self) -> bool:
        return bool(self.stream)

    @property
    def include_usage(self) -> bool:
        return self.stream_options is not None and self.stream_options.include_usage

    @property
    def sampled_topk(self) -> int:
        """How many alternatives to return for each sampled token."""
        return 0

    @property
    def stops(self) -> tuple[str, ...]:
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop or ())

    def check(self) -> None:
        """What the types alone cannot say."""
        for name, off in UNSUPPORTED.items():
            value = (self.model_extra or {}).get(name)
            if not any(value == each and isinstance(value, bool) == isinstance(each, bool) for each in off):
                raise bad_request(f"this server does not support `{name}`: leave it out", param=name)
        if self.stream_options is not None and not self.streams:
            raise bad_request("`stream_options` is for requests with `stream` set to true", param="stream_options")
        if "" in self.stops:
            raise bad_request("an empty text cannot be a stop", param="stop")
        if len(self.stops) > MOST_STOPS:
            raise bad_request(f"`stop` has {len(self.stops)} texts; at most {MOST_STOPS} are allowed", param="stop")


class CompletionRequest(TextRequest):
    prompt: Any
    echo: bool = False
    logprobs: int | None = Field(None, ge=0, le=MOST_LOGPROBS)
    prompt_logprobs: int | None = Field(None, ge=0, le=MOST_LOGPROBS)
    best_of: int | None = None
    add_special_tokens: bool = True
    return_tokens_as_token_ids: bool = False

    @property
    def sampled_topk(self) -> int:
        return self.logprobs or 0

    @property
    def scored_topk(self) -> int | None:
        """Alternatives for each prompt token; None if the prompt need not be scored."""
        wanted = [k for k in (self.prompt_logprobs, self.logprobs if self.echo else None) if k is not None]
        return max(wanted, default=None)

    def check(self) -> None:
        super().check()
        if self.best_of not in (None, self.choices):
            raise bad_request("this server does not support `best_of`: leave it out", param="best_of")
        if self.streams and self.prompt_logprobs is not None:
            raise bad_request("`prompt_logprobs` cannot be streamed: leave `stream` out", param="prompt_logprobs")

    def prompts(self) -> list[str | list[int]]:
        """A text, a list of texts, a list of token ids, or a list of such lists."""
        given = self.prompt
        if isinstance(given, str) or (isinstance(given, list) and given and _are_tokens(given)):
            given = [given]
        if not isinstance(given, list) or not all(isinstance(one, str) or _is_token_list(one) for one in given):
            raise bad_request(
                "`prompt` must be a text, a list of texts, a list of token ids, or a list of lists of token ids",
                param="prompt",
            )
        if not given or not all(given):
            raise bad_request("`prompt` is empty: it needs at least one token", param="prompt")
        if len(given) * self.choices > MOST_CHOICES:
            raise bad_request(
                f"{len(given)} prompts with n = {self.choices} make {len(given) * self.choices} choices; "
                f"one request may have at most {MOST_CHOICES}",
                param="prompt",
            )
        return given


def _are_tokens(values: list[Any]) -> bool:
    return all(isinstance(value, int) and not isinstance(value, bool) for value in values)


def _is_token_list(value: object) -> bool:
    return isinstance(value, list) and _are_tokens(value)


class ContentPart(Body):
    type: str
    text: str = ""


class ChatMessage(Body):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[ContentPart] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            if any(part.type != "text" for part in self.content):
                raise bad_request("a message has a part that is not text; only text is supported", param="messages")
            return "".join(part.text for part in self.content)
        return self.content or ""


class ChatRequest(TextRequest):
    messages: list[ChatMessage] = Field(min_length=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    logprobs: bool | None = None
    top_logprobs: int | None = Field(None, ge=0, le=MOST_LOGPROBS)
    tools: list[Any] | None = None
    functions: list[Any] | None = None

    @property
    def sampled_topk(self) -> int:
        return self.top_logprobs or 0

    def check(self) -> None:
        super().check()
        if self.tools or self.functions:
            raise bad_request(
                "this server does not parse tool calls: describe the tools in the messages, and leave `tools` out",
                param="tools",
            )
        if self.top_logprobs and not self.logprobs:
            raise bad_request("`top_logprobs` needs `logprobs` set to true", param="top_logprobs")
        if self.max_tokens == 0:
            raise bad_request("`max_tokens` must be at least 1", param="max_tokens")


def sample_requests(
    body: TextRequest, prompt: list[int], max_tokens: int | None, model: ModelInfo
) -> list[SampleRequest]:
    """One for each choice. None as `max_tokens` is as many as the context has room for."""
    room = model.context - len(prompt)
    wanted = max(room, 1) if max_tokens is None else max_tokens
    if wanted > room:
        raise too_long(len(prompt), wanted, model)
    if wanted == 0:
        return []
    ends = frozenset() if body.ignore_eos else model.end_tokens
    stop_ids = body.stop_token_ids or []
    return [
        SampleRequest(
            prompt=prompt,
            max_tokens=wanted,
            seed=seed,
            temperature=1.0 if body.temperature is None else body.temperature,
            top_p=1.0 if body.top_p is None else body.top_p,
            top_k=body.top_k or -1,
            stop_tokens=ends | frozenset(stop_ids),
            stop_texts=body.stops,
            topk_logprobs=body.sampled_topk,
        )
        for seed in request_seeds(body.seed, body.choices)
    ]


def too_long(prompt: int, wanted: int, model: ModelInfo) -> RequestError:
    return bad_request(
        f"a prompt of {prompt} tokens and an answer of {wanted} exceed the context of {model.name}, which is "
        f"{model.context} tokens",
        param="max_tokens" if prompt < model.context else None,
        code="context_length_exceeded",
    )
