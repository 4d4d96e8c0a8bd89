"""llama.cpp's own server, which gives no logprobs of a prompt: `echo` with `logprobs` has those of the answer alone.

It does give the logprob of every token that it writes, before any bias or sampler: so it is made to write the text, a
token at a time, by a bias that leaves it no choice. That is exact, and slow: a request for each token, whose prompt is
in the slot's cache. Enough for a small teacher on one's own machine; score the answer only (`first`), not the prompt.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rtl_agent.teachers.scorer import Scores, ScoringError, TopK
from rtl_agent.teachers.servers.model import Asked, Sampled, ServedModel, top_k

NO_CHOICE = 10_000.0  # added to one logit: all others together have no chance
# The likeliest token, and no sampler that would look at earlier ones.
_GREEDY: Mapping[str, object] = {"samplers": ["top_k"], "top_k": 1, "cache_prompt": True}


@dataclass(frozen=True)
class LlamaCppModel(ServedModel):
    slots: int = 1  # sequences that the server works on at a time: more would throw each other out of its cache
    _free: asyncio.Semaphore = field(init=False, repr=False, compare=False)

    kind = "llama.cpp"
    suffix = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "_free", asyncio.Semaphore(max(1, self.slots)))

    async def _score(self, tokens: list[int], topk: int, first: int) -> Scores:
        start = max(first, 1)
        logprobs: list[float | None] = [None] * min(start, len(tokens))
        top: list[TopK | None] = [None] * len(logprobs)
        async with self._free:
            for at in range(start, len(tokens)):
                row = await self._forced(tokens[:at], tokens[at], topk, at)
                logprobs.append(float(row["logprob"]))
                pairs = [(int(one["id"]), float(one["logprob"])) for one in row.get("top_logprobs") or ()]
                top.append(top_k(pairs, topk) if topk else None)
        return Scores(tuple(logprobs), tuple(top) if topk else ())

    async def _forced(self, before: list[int], token: int, topk: int, at: int) -> Mapping[str, Any]:
        body = {"prompt": before, "n_predict": 1, "n_probs": max(1, topk), "logit_bias": [[token, NO_CHOICE]]}
        answer = await self.endpoint.post("/completion", {**_GREEDY, **body}, own=True)
        try:
            row: Mapping[str, Any] = answer["completion_probabilities"][0]
            written = int(row["id"])
            float(row["logprob"])
        except (KeyError, IndexError, TypeError, ValueError):
            raise self.without_scores("its answer has no completion_probabilities with ids and logprobs") from None
        if written != token:
            raise ScoringError(f"{self.name} wrote token {written} at position {at}, though it had to write {token}")
        return row

    async def _sample(self, prompt: list[int], asked: Asked) -> Sampled:
        body = {
            "prompt": prompt,
            "n_predict": asked.max_tokens,
            "temperature": asked.temperature,
            "seed": asked.seed,
            "samplers": ["temperature"],
            "stop": list(asked.stop_texts),
            "return_tokens": True,
            "cache_prompt": True,
        }
        async with self._free:
            answer = await self.endpoint.post("/completion", body, own=True)
        tokens = answer.get("tokens") if isinstance(answer, dict) else None
        if not isinstance(tokens, list):
            raise ScoringError(f"{self.name} does not tell the tokens that it samples")
        return Sampled(tuple(int(one) for one in tokens), answer.get("stop_type") != "limit")

    async def _encode(self, text: str) -> list[int]:
        body = {"content": text, "add_special": False, "parse_special": False}
        answer = await self.endpoint.post("/tokenize", body, own=True)
        return [int(one) for one in answer["tokens"]]
