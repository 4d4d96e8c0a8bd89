"""SGLang, by its own /generate: its /v1/completions gives no logprobs of a prompt that could be told from others.

    meta_info.input_token_logprobs   [[logprob, token id, text or None], ...] from logprob_start_len on
    meta_info.input_top_logprobs     [None or [[logprob, token id, text], ...], ...]

The first of these rows has no logprob: what comes before it is in the cache, which keeps no logits. So scoring begins
one token earlier than what is needed, and the rest of the prompt is taken from the cache.
"""

from typing import Any

from rtl_agent.teachers.scorer import Scores, ScoringError, TopK
from rtl_agent.teachers.servers.model import Asked, Sampled, ServedModel, top_k


class SglangModel(ServedModel):
    kind = "SGLang"
    suffix = True

    async def _score(self, tokens: list[int], topk: int, first: int) -> Scores:
        start = max(first - 1, 0)
        body = {
            "input_ids": tokens,
            "sampling_params": {"max_new_tokens": 1, "temperature": 1.0},
            "return_logprob": True,
            "logprob_start_len": start,
            "top_logprobs_num": topk,
        }
        told = self._meta(await self.endpoint.post("/generate", body, own=True))
        rows = told.get("input_token_logprobs")
        if not isinstance(rows, list):
            raise self.without_scores("its answer has no input_token_logprobs")
        if len(rows) != len(tokens) - start:
            raise ScoringError(f"{self.name} gave {len(rows)} logprobs for the last {len(tokens) - start} tokens")
        logprobs = [None] * start + [self._value(start + at, tokens[start + at], row) for at, row in enumerate(rows)]
        top: tuple[TopK | None, ...] = ()
        if topk:
            likeliest = told.get("input_top_logprobs")
            top = (*[None] * start, *map(self._top_of(topk), likeliest or ()))
        return Scores(tuple(logprobs), top)

    def _value(self, at: int, token: int, row: Any) -> float | None:
        try:
            logprob, stands_there = row[0], int(row[1])
            value = None if logprob is None else float(logprob)
        except (IndexError, TypeError, ValueError):
            raise ScoringError(f"{self.name} gave no logprob at position {at}, but {str(row)[:80]}") from None
        if stands_there != token:
            raise ScoringError(
                f"{self.name} scored token {stands_there} at position {at}, where token {token} stands: its scores are "
                "of another text, or shifted"
            )
        return value

    def _top_of(self, topk: int) -> Any:
        def of(row: Any) -> TopK | None:
            return top_k([(int(one[1]), float(one[0])) for one in row], topk) if row else None

        return of

    def _meta(self, answer: Any) -> dict[str, Any]:
        one = answer[0] if isinstance(answer, list) and answer else answer
        found = one.get("meta_info") if isinstance(one, dict) else None
        if not isinstance(found, dict):
            raise ScoringError(f"{self.name} gave an answer without meta_info: it is not SGLang")
        return found

    async def _sample(self, prompt: list[int], asked: Asked) -> Sampled:
        params = {
            "max_new_tokens": asked.max_tokens,
            "temperature": asked.temperature,
            "stop": list(asked.stop_texts),
            "stop_token_ids": list(asked.stop),
            "sampling_seed": asked.seed,
        }
        answer = await self.endpoint.post("/generate", {"input_ids": prompt, "sampling_params": params}, own=True)
        meta = self._meta(answer)
        ids = (answer[0] if isinstance(answer, list) else answer).get("output_ids")
        if not isinstance(ids, list):
            raise ScoringError(f"{self.name} does not tell the tokens that it samples")
        reason = meta.get("finish_reason") or {}
        return Sampled(tuple(int(one) for one in ids), reason.get("type") != "length")

    async def _encode(self, text: str) -> list[int]:
        body = {"model": self.model, "prompt": text, "add_special_tokens": False}
        answer = await self.endpoint.post("/tokenize", body, own=True)
        return [int(one) for one in answer["tokens"]]
