"""One chat completion in OpenAI's form: messages -> tokens by the model's own template, samples -> text."""

import asyncio
import hashlib
import secrets
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from rtl_agent.backends.engine.contract import EngineError, ModelInfo, SampledSequence, SampleRequest, Snapshot
from rtl_agent.backends.models import model_directory
from rtl_agent.backends.server.errors import bad_request
from rtl_agent.backends.server.requests import Body

MOST_CHOICES = 128


class Part(Body):
    type: str
    text: str = ""


class ChatMessage(Body):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[Part] | None = None

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            if any(part.type != "text" for part in self.content):
                raise bad_request("a message has a part that is not text; this server takes text only")
            return "".join(part.text for part in self.content)
        return self.content or ""


class ChatRequest(Body):
    model: str
    messages: list[ChatMessage] = Field(min_length=1)
    max_tokens: int | None = Field(None, ge=1)
    max_completion_tokens: int | None = Field(None, ge=1)
    temperature: float = Field(1.0, ge=0)
    top_p: float = Field(1.0, gt=0, le=1)
    seed: int | None = None
    n: int = Field(1, ge=1, le=MOST_CHOICES)
    stop: str | list[str] | None = None
    stream: bool = False
    tools: list[Any] | None = None


async def complete(body: ChatRequest, snapshot: Snapshot, model: ModelInfo) -> dict[str, object]:
    """What OpenAI's endpoint would answer."""
    if body.stream:
        raise bad_request("this server does not stream: leave `stream` out")
    if body.tools:
        raise bad_request("this server reads no tool calls: tell the tools in the messages, and leave `tools` out")
    tokenizer = await asyncio.to_thread(_tokenizer, model_directory(model.name))
    prompt = _prompt(tokenizer, body.messages)
    asked = _requests(body, prompt, model)
    samples = await asyncio.gather(*(asyncio.wrap_future(snapshot.sample(request)) for request in asked))
    stops = asked[0].stop_texts
    spent = sum(len(one.tokens) for one in samples)
    return {
        "id": f"chatcmpl-{secrets.token_hex(12)}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.model,
        "choices": [
            {
                "index": index,
                "message": {"role": "assistant", "content": _said(tokenizer, one, model, stops)},
                "finish_reason": one.stop_reason,
            }
            for index, one in enumerate(samples)
        ],
        "usage": {"prompt_tokens": len(prompt), "completion_tokens": spent, "total_tokens": len(prompt) + spent},
    }


def _requests(body: ChatRequest, prompt: list[int], model: ModelInfo) -> list[SampleRequest]:
    room = model.context - len(prompt)
    wanted = body.max_completion_tokens or body.max_tokens or room
    if wanted > room or room < 1:
        raise EngineError(
            f"a prompt of {len(prompt)} tokens and an answer of {wanted} exceed the context of {model.name}, which is "
            f"{model.context}"
        )
    seed = secrets.randbits(62) if body.seed is None else body.seed
    stops = [body.stop] if isinstance(body.stop, str) else body.stop or []
    if "" in stops:
        raise bad_request("an empty text cannot be a stop")
    return [
        SampleRequest(
            prompt=prompt,
            max_tokens=wanted,
            seed=int.from_bytes(hashlib.blake2b(f"{seed}/{index}".encode(), digest_size=7).digest(), "big"),
            temperature=body.temperature,
            top_p=body.top_p,
            stop_tokens=model.end_tokens,
            stop_texts=tuple(stops),
        )
        for index in range(body.n)
    ]


@cache
def _tokenizer(directory: Path) -> Any:
    from transformers import AutoTokenizer  # seconds to import

    return AutoTokenizer.from_pretrained(str(directory), local_files_only=True)


def _prompt(tokenizer: Any, messages: Sequence[ChatMessage]) -> list[int]:
    if not tokenizer.chat_template:
        raise bad_request(
            "this model has no chat template in its tokenizer_config.json: it cannot be asked by messages"
        )
    conversation = [{"role": message.role, "content": message.text} for message in messages]
    try:
        text = tokenizer.apply_chat_template(conversation, add_generation_prompt=True, tokenize=False)
    except Exception as error:  # a template may refuse an order of roles, by whatever exception
        raise bad_request(f"the model's chat template refuses these messages: {error}") from error
    tokens: list[int] = tokenizer.encode(text, add_special_tokens=False)
    return tokens


def _said(tokenizer: Any, sample: SampledSequence, model: ModelInfo, stops: Sequence[str]) -> str:
    """Without what ended it: an end token, or a text to stop at."""
    tokens = list(sample.tokens)
    if tokens and tokens[-1] in model.end_tokens:
        tokens.pop()
    text = str(tokenizer.decode(tokens, skip_special_tokens=False))
    found = [at for stop in stops if (at := text.find(stop)) >= 0]
    return text[: min(found)] if found else text
