"""Answers in OpenAI's shape: whole choices, and the pieces of a stream. `prompt_logprobs` is in vLLM's shape."""

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from rtl_agent.backends.engine.contract import ModelInfo, SampledSequence, SampledToken, Score
from rtl_agent.backends.server.openai_api.requests import ChatRequest, CompletionRequest, TextRequest
from rtl_agent.backends.server.openai_api.text import ModelTokenizer, TextStream, cut

Fields = dict[str, object]
LOWEST_LOGPROB = -9999.0  # JSON has no infinity


@dataclass(frozen=True)
class Prompt:
    """`score` is there if the request asks for the logprobs of the prompt's own tokens."""

    tokens: Sequence[int]
    text: str
    score: Score | None = None


@dataclass(frozen=True)
class TextToken:
    """A token with its place in the text. A prompt's first token has no logprob."""

    token: int
    logprob: float | None
    topk: Sequence[tuple[int, float]]
    offset: int


class ResponseFormat(Protocol):
    """How one of the two APIs writes choices; texts come cut at their stops."""

    prefix: str
    whole: str
    chunk: str

    def choice(self, index: int, prompt: Prompt, sample: SampledSequence | None, text: str) -> Fields: ...

    def opening(self, index: int, prompt: Prompt) -> Fields | None:
        """The first piece of a stream, before anything is sampled."""

    def piece(self, index: int, text: str, tokens: Sequence[TextToken], finish_reason: str | None) -> Fields: ...


def envelope(body: TextRequest, fmt: ResponseFormat) -> Fields:
    return {"id": f"{fmt.prefix}-{secrets.token_hex(12)}", "created": int(time.time()), "model": body.model}


def usage(prompt_tokens: int, completion_tokens: int) -> dict[str, int]:
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }


def answer_text(tokenizer: ModelTokenizer, sample: SampledSequence, model: ModelInfo, stops: Sequence[str]) -> str:
    """Without what ended it: an end token, or a stop."""
    tokens = list(sample.tokens)
    if tokens and sample.stop_reason == "stop" and tokens[-1] in model.end_tokens:
        tokens.pop()
    return cut(tokenizer.decode(tokens), stops)


class CompletionFormat:
    prefix, whole, chunk = "cmpl", "text_completion", "text_completion"

    def __init__(self, body: CompletionRequest, tokenizer: ModelTokenizer) -> None:
        self._body, self._tokenizer = body, tokenizer

    def choice(self, index: int, prompt: Prompt, sample: SampledSequence | None, text: str) -> Fields:
        body = self._body
        tokens: list[TextToken] = []
        if body.logprobs is not None:
            stream = TextStream(self._tokenizer.decode)
            if body.echo:
                tokens += _prompt_tokens(prompt, stream)
            tokens += _sampled_tokens(sample, stream) if sample else []
        fields: Fields = {
            "index": index,
            "text": prompt.text + text if body.echo else text,
            "logprobs": None if body.logprobs is None else self._logprobs(tokens),
            "finish_reason": sample.stop_reason if sample else "length",
            "prompt_logprobs": self._prompt_logprobs(prompt),
        }
        if body.return_token_ids:
            fields |= {"token_ids": list(sample.tokens) if sample else [], "prompt_token_ids": list(prompt.tokens)}
        return fields

    def opening(self, index: int, prompt: Prompt) -> Fields | None:
        if not self._body.echo:
            return None
        tokens = _prompt_tokens(prompt, TextStream(self._tokenizer.decode)) if self._body.logprobs is not None else []
        return self.piece(index, prompt.text, tokens, None)

    def piece(self, index: int, text: str, tokens: Sequence[TextToken], finish_reason: str | None) -> Fields:
        logprobs = self._logprobs(tokens) if self._body.logprobs is not None and tokens else None
        fields: Fields = {"index": index, "text": text, "logprobs": logprobs, "finish_reason": finish_reason}
        if self._body.return_token_ids:
            fields["token_ids"] = [each.token for each in tokens]
        return fields

    def _name(self, token: int) -> str:
        return f"token_id:{token}" if self._body.return_tokens_as_token_ids else self._tokenizer.decode([token])

    def _logprobs(self, tokens: Sequence[TextToken]) -> Fields:
        return {
            "tokens": [self._name(each.token) for each in tokens],
            "token_logprobs": [None if each.logprob is None else _finite(each.logprob) for each in tokens],
            "top_logprobs": [self._top(each) for each in tokens],
            "text_offset": [each.offset for each in tokens],
        }

    def _top(self, each: TextToken) -> Mapping[str, float] | None:
        if each.logprob is None:
            return None
        likeliest = list(each.topk)[: self._body.logprobs]
        if each.token not in dict(likeliest):
            likeliest.append((each.token, each.logprob))
        # The likelier one stays where two tokens have the same text, as pieces of characters have.
        return {self._name(token): _finite(logprob) for token, logprob in reversed(likeliest)}

    def _prompt_logprobs(self, prompt: Prompt) -> list[Fields | None] | None:
        k = self._body.prompt_logprobs
        if k is None or prompt.score is None:
            return None
        score = prompt.score
        rows: list[Fields | None] = []
        for at, (token, logprob) in enumerate(zip(prompt.tokens, score.logprobs, strict=True)):
            if logprob is None:
                rows.append(None)
                continue
            top = (score.topk[at] or ())[:k] if score.topk else ()
            entries: Fields = {str(one): self._entry(one, value, rank) for rank, (one, value) in enumerate(top, 1)}
            entries.setdefault(str(token), self._entry(token, logprob, score.ranks[at]))
            rows.append(entries)
        return rows

    def _entry(self, token: int, logprob: float, rank: int | None) -> Fields:
        return {"logprob": _finite(logprob), "rank": rank, "decoded_token": self._tokenizer.decode([token])}


class ChatFormat:
    prefix, whole, chunk = "chatcmpl", "chat.completion", "chat.completion.chunk"

    def __init__(self, body: ChatRequest, tokenizer: ModelTokenizer) -> None:
        self._body, self._tokenizer = body, tokenizer

    def choice(self, index: int, prompt: Prompt, sample: SampledSequence | None, text: str) -> Fields:
        tokens = _sampled_tokens(sample, TextStream(self._tokenizer.decode)) if sample else []
        fields: Fields = {
            "index": index,
            "message": {"role": "assistant", "content": text},
            "logprobs": self._logprobs(tokens),
            "finish_reason": sample.stop_reason if sample else "length",
        }
        if self._body.return_token_ids:
            fields |= {"token_ids": list(sample.tokens) if sample else [], "prompt_token_ids": list(prompt.tokens)}
        return fields

    def opening(self, index: int, prompt: Prompt) -> Fields | None:
        delta = {"role": "assistant", "content": ""}
        return {"index": index, "delta": delta, "logprobs": None, "finish_reason": None}

    def piece(self, index: int, text: str, tokens: Sequence[TextToken], finish_reason: str | None) -> Fields:
        delta = {"content": text} if text or finish_reason is None else {}
        fields: Fields = {
            "index": index,
            "delta": delta,
            "logprobs": self._logprobs(tokens) if tokens else None,
            "finish_reason": finish_reason,
        }
        if self._body.return_token_ids:
            fields["token_ids"] = [each.token for each in tokens]
        return fields

    def _logprobs(self, tokens: Sequence[TextToken]) -> Fields | None:
        if not self._body.logprobs:
            return None
        return {
            "content": [
                {
                    **self._entry(each.token, each.logprob or 0.0),
                    "top_logprobs": [self._entry(*pair) for pair in each.topk],
                }
                for each in tokens
            ],
            "refusal": None,
        }

    def _entry(self, token: int, logprob: float) -> Fields:
        text = self._tokenizer.decode([token])
        return {"token": text, "logprob": _finite(logprob), "bytes": list(text.encode(errors="replace"))}


def _prompt_tokens(prompt: Prompt, stream: TextStream) -> list[TextToken]:
    assert prompt.score is not None
    found = []
    for at, (token, logprob) in enumerate(zip(prompt.tokens, prompt.score.logprobs, strict=True)):
        topk = (prompt.score.topk[at] or ()) if prompt.score.topk else ()
        found.append(TextToken(token, logprob, topk, stream.length))
        stream.add(token)
    return found


def _sampled_tokens(sample: SampledSequence, stream: TextStream) -> list[TextToken]:
    found = []
    for at, (token, logprob) in enumerate(zip(sample.tokens, sample.logprobs, strict=True)):
        found.append(text_token(SampledToken(token, logprob, sample.topk[at] if sample.topk else ()), stream.length))
        stream.add(token)
    return found


def text_token(sampled: SampledToken, offset: int) -> TextToken:
    return TextToken(sampled.token, sampled.logprob, sampled.topk, offset)


def _finite(logprob: float) -> float:
    return max(logprob, LOWEST_LOGPROB)
