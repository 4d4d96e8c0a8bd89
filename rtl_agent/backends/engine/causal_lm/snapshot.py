"""A snapshot of any causal language model, as the shared queue asks for it."""

from collections.abc import Sequence

from rtl_agent.backends.engine.batched_snapshot import BatchedSnapshot
from rtl_agent.backends.engine.causal_lm.inference_model import InferenceModel, Prefilled
from rtl_agent.backends.engine.causal_lm.row_decoder import DenseBatch
from rtl_agent.backends.engine.contract import Score, ScoreRequest
from rtl_agent.backends.engine.sampling_batch import SamplingBatch
from rtl_agent.backends.engine.scheduler import Scheduler
from rtl_agent.backends.engine.token_sampling import TokenDecoder

SCORED_AT_ONCE = 2048  # tokens
ROWS = {"cpu": 32, "cuda": 128}
KEPT_PROMPTS = 1 << 27  # numbers; 256 MB in bfloat16, some 9,000 tokens of a 1.5B model


class _Sampled:
    def __init__(self, model: InferenceModel, kv_bytes: float) -> None:
        self._model, self._kv_bytes = model, kv_bytes
        info = model.base.info
        self.name, self.vocabulary, self.context = info.name, info.vocabulary, info.context

    @property
    def decoder(self) -> TokenDecoder:
        return self._model.base.decoder

    def prefill(self, prompt: Sequence[int]) -> Prefilled:
        return self._model.prefill(prompt)

    def score(self, requests: Sequence[ScoreRequest]) -> list[Score]:
        return self._model.score(requests)

    def joins(self, requests: Sequence[ScoreRequest], one: ScoreRequest) -> bool:
        """Those whose beginning is not asked about are scored behind what was read before, one by one."""
        wanted = [*requests, one]
        whole = all(request.last is None or request.last >= len(request.tokens) for request in wanted)
        return whole and sum(len(request.tokens) for request in wanted) <= SCORED_AT_ONCE

    def new_batch(self) -> SamplingBatch[Prefilled]:
        return DenseBatch(self._model, ROWS[self._model.base.device.type], self._kv_bytes)


class CausalLmSnapshot(BatchedSnapshot[Prefilled]):
    def __init__(self, model: InferenceModel, scheduler: Scheduler, kv_bytes: float) -> None:
        super().__init__(_Sampled(model, kv_bytes), scheduler, kept_prompts=KEPT_PROMPTS)
