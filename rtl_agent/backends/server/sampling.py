"""One sample request of the Tinker API: what the engine is asked for, and the protobuf payload."""

import asyncio
import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from tinker.proto import tinker_public_pb2 as pb

from rtl_agent.backends.engine.contract import (
    EngineError,
    ModelInfo,
    SampledSequence,
    SampleRequest,
    Score,
    ScoreRequest,
    Snapshot,
)
from rtl_agent.backends.server import requests
from rtl_agent.backends.server.futures import PROTOBUF, Payload

NO_LOGPROB = -99999.0  # the SDK's mark for a place of a top-k matrix that holds nothing


async def sample(body: requests.SampleBody, snapshot: Snapshot, model: ModelInfo) -> Payload:
    asked = _sample_requests(body, model)
    return _payload(body, *await sample_and_score(snapshot, asked, _score_request(body, asked)))


async def sample_and_score(
    snapshot: Snapshot, asked: Sequence[SampleRequest], score: ScoreRequest | None
) -> tuple[list[SampledSequence], Score | None]:
    """Samples after a prompt and, if `score`, the prompt's own logprobs. One token after it needs no second pass."""
    one_token = len(asked) == 1 and asked[0].max_tokens == 1 and not asked[0].topk_logprobs
    if score and one_token:
        scored = await asyncio.wrap_future(snapshot.score(replace(score, then=asked[0])))
        return [scored.then or await _sampled(snapshot, asked[0])], scored
    scoring = asyncio.wrap_future(snapshot.score(score)) if score else None
    samples = await asyncio.gather(*[_sampled(snapshot, request) for request in asked])
    return samples, await scoring if scoring else None


async def _sampled(snapshot: Snapshot, request: SampleRequest) -> SampledSequence:
    return await asyncio.wrap_future(snapshot.sample(request))


def _sample_requests(body: requests.SampleBody, model: ModelInfo) -> list[SampleRequest]:
    if body.target_prompt_logprobs is not None or body.prompt_alt_tokens_k:
        raise EngineError("target_prompt_logprobs and prompt_alt_tokens_k are not supported; topk_prompt_logprobs is")
    prompt = _prompt(body.prompt, model)
    fields = body.sampling_params
    room = model.context - len(prompt)
    max_tokens = room if fields.max_tokens is None else fields.max_tokens
    # compute_logprobs asks for one token that nobody reads: a prompt may then fill the whole context.
    if max_tokens > room and not (body.prompt_logprobs and max_tokens == 1 and room == 0):
        raise EngineError(
            f"a prompt of {len(prompt)} tokens and max_tokens {max_tokens} exceed the context of {model.name}, "
            f"which is {model.context}"
        )
    tokens, texts = _stops(fields.stop, model)
    return [
        SampleRequest(
            prompt=prompt,
            max_tokens=max_tokens,
            seed=seed,
            temperature=fields.temperature,
            top_k=fields.top_k,
            top_p=fields.top_p,
            stop_tokens=tokens,
            stop_texts=texts,
            topk_logprobs=body.topk_sample_logprobs,
        )
        for seed in request_seeds(fields.seed, body.num_samples)
    ]


def request_seeds(seed: int | None, count: int) -> list[int]:
    """One for each sample of a request: they differ, and the same request with the same seed repeats them."""
    base = secrets.randbits(62) if seed is None else seed
    words = (hashlib.blake2b(f"{base}/{index}".encode(), digest_size=7) for index in range(count))
    return [int.from_bytes(word.digest(), "big") for word in words]


def _prompt(prompt: requests.Prompt, model: ModelInfo) -> list[int]:
    if any(chunk.type != "encoded_text" for chunk in prompt.chunks):
        raise EngineError("the prompt has an image or audio chunk; only text is supported")
    tokens = [token for chunk in prompt.chunks for token in chunk.tokens]
    if not tokens:
        raise EngineError("the prompt is empty: it needs at least one token")
    check_prompt_tokens(tokens, model)
    return tokens


def check_prompt_tokens(tokens: Sequence[int], model: ModelInfo) -> None:
    """In plain Python: a JSON body may have integers that no array holds."""
    wrong = next((token for token in tokens if not 0 <= token < model.vocabulary), None)
    if wrong is not None:
        raise EngineError(f"the prompt has token {wrong}; the vocabulary of {model.name} has {model.vocabulary} tokens")


def _stops(stop: str | list[int] | list[str] | None, model: ModelInfo) -> tuple[frozenset[int], tuple[str, ...]]:
    """No stop at all means the model's own end tokens; an empty list means none, not even those."""
    if stop is None:
        return model.end_tokens, ()
    if isinstance(stop, str):
        stop = [stop]
    texts = tuple(text for text in stop if isinstance(text, str))
    if "" in texts:
        raise EngineError("an empty text cannot be a stop")
    return frozenset(token for token in stop if isinstance(token, int)), texts


def _score_request(body: requests.SampleBody, asked: Sequence[SampleRequest]) -> ScoreRequest | None:
    if not body.prompt_logprobs and not body.topk_prompt_logprobs:
        return None
    prompt, last = asked[0].prompt, body.prompt_logprobs_last_n
    if last is not None and last > len(prompt) - 1:
        raise EngineError(f"prompt_logprobs_last_n is {last}; this prompt has {len(prompt) - 1} logprobs")
    return ScoreRequest(prompt, body.topk_prompt_logprobs, last)


def _payload(body: requests.SampleBody, samples: Sequence[SampledSequence], score: Score | None) -> Payload:
    response = pb.SampleResponse()
    for one in samples:
        sequence = response.sequences.add(
            stop_reason=pb.STOP_REASON_STOP if one.stop_reason == "stop" else pb.STOP_REASON_LENGTH,
            tokens=np.asarray(one.tokens, "<i4").tobytes(),
            logprobs=np.asarray(one.logprobs, "<f4").tobytes(),
        )
        if body.topk_sample_logprobs:
            sequence.topk_sampled_logprobs.CopyFrom(_top(one.topk, body.topk_sample_logprobs))
    if score is not None:
        before = sum(len(chunk.tokens) for chunk in body.prompt.chunks) - len(score.logprobs)
        if body.prompt_logprobs:
            logprobs = [np.nan] * before + [np.nan if value is None else value for value in score.logprobs]
            response.prompt_logprobs = np.asarray(logprobs, "<f4").tobytes()
        if body.topk_prompt_logprobs:
            rows = [None] * before + list(score.topk)
            response.topk_prompt_logprobs.CopyFrom(_top(rows, body.topk_prompt_logprobs))
    return Payload(response.SerializeToString(), PROTOBUF)


def _top(rows: Sequence[Sequence[tuple[int, float]] | None], k: int) -> pb.TopkLogprobs:
    tokens = np.zeros((len(rows), k), "<i4")
    logprobs = np.full((len(rows), k), NO_LOGPROB, "<f4")
    for index, row in enumerate(rows):
        for place, (token, logprob) in enumerate((row or ())[:k]):
            tokens[index, place], logprobs[index, place] = token, logprob
    return pb.TopkLogprobs(token_ids=tokens.tobytes(), logprobs=logprobs.tobytes(), k=k, length=len(rows))
