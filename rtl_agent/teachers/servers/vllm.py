"""vLLM, and whatever answers in its shape, as `rtl-agent serve` does: `prompt_logprobs` of /v1/completions.

A row for each token of the prompt, None for the first: {"1234": {"logprob": -0.5, "rank": 1, "decoded_token": "x"},
...} by token id, the k likeliest and the token that stands there. vLLM computes the whole prompt again for it, whatever
its prefix cache holds, so there is nothing to gain by asking for the end of a sequence only.
"""

from collections.abc import Mapping
from typing import Any

from rtl_agent.teachers.scorer import Scores, ScoringError, TopK
from rtl_agent.teachers.servers.model import Asked, Sampled, ServedModel, first_choice, top_k

_BY_ID = "token_id:"  # how vLLM writes a token if asked not to decode it


class VllmModel(ServedModel):
    kind = "vLLM"

    async def _score(self, tokens: list[int], topk: int, first: int) -> Scores:
        body = {"model": self.model, "prompt": tokens, "max_tokens": 1, "temperature": 1.0, "seed": 0}
        # Not 0, which asks for the given token alone: vLLM takes it, others that copy its API do not.
        answer = await self.endpoint.post("/completions", {**body, "prompt_logprobs": max(1, topk)})
        rows = first_choice(answer, self.name).get("prompt_logprobs")
        if not isinstance(rows, list):
            raise self.without_scores("its answer has no prompt_logprobs")
        if len(rows) != len(tokens):
            raise ScoringError(f"{self.name} gave {len(rows)} prompt_logprobs for {len(tokens)} tokens")
        read = [self._row(at, token, row) for at, (token, row) in enumerate(zip(tokens, rows, strict=True))]
        logprobs = tuple(None if row is None else row[token] for token, row in zip(tokens, read, strict=True))
        top: tuple[TopK | None, ...] = ()
        if topk:
            top = tuple(None if row is None else top_k(list(row.items()), topk) for row in read)
        return Scores(logprobs, top)

    def _row(self, at: int, token: int, row: Any) -> Mapping[int, float] | None:
        if row is None and at == 0:
            return None
        try:
            found = {int(one): float(entry["logprob"]) for one, entry in row.items()}
        except (AttributeError, KeyError, TypeError, ValueError):
            raise ScoringError(f"{self.name} gave no logprobs at position {at}, but {str(row)[:80]}") from None
        if token not in found:
            raise ScoringError(
                f"{self.name} has no logprob of token {token}, which stands at position {at}: its scores are of "
                "another text, or shifted"
            )
        return found

    async def _sample(self, prompt: list[int], asked: Asked) -> Sampled:
        body = {
            "model": self.model,
            "prompt": prompt,
            "max_tokens": asked.max_tokens,
            "temperature": asked.temperature,
            "seed": asked.seed,
            "stop": list(asked.stop_texts),
            "stop_token_ids": list(asked.stop),
            "return_token_ids": True,  # since 0.10.2; older ones write them into the logprobs
            "logprobs": 0,
            "return_tokens_as_token_ids": True,
        }
        choice = first_choice(await self.endpoint.post("/completions", body), self.name)
        return Sampled(self._sampled_tokens(choice), choice.get("finish_reason") != "length")

    def _sampled_tokens(self, choice: Mapping[str, Any]) -> tuple[int, ...]:
        ids = choice.get("token_ids")
        if not isinstance(ids, list):
            ids = [str(one).removeprefix(_BY_ID) for one in (choice.get("logprobs") or {}).get("tokens") or ()]
        try:
            return tuple(int(one) for one in ids)
        except ValueError:
            raise ScoringError(f"{self.name} does not tell the tokens that it samples") from None

    async def _encode(self, text: str) -> list[int]:
        body = {"model": self.model, "prompt": text, "add_special_tokens": False}
        answer = await self.endpoint.post("/tokenize", body, own=True)
        return [int(one) for one in answer["tokens"]]


class CompatibleModel(VllmModel):
    """A server that names itself otherwise: asked as vLLM is."""

    kind = "the server"
