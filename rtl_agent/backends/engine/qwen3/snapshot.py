"""A snapshot of a Qwen3 model: how many rows it samples at once, and in how many batches."""

from collections.abc import Sequence

import torch

from rtl_agent.backends.engine.batched_snapshot import BatchedSnapshot
from rtl_agent.backends.engine.contract import Score, ScoreRequest
from rtl_agent.backends.engine.qwen3.inference_model import InferenceModel, score
from rtl_agent.backends.engine.qwen3.kv_cache import CachedDecoder, Prefilled, prefill
from rtl_agent.backends.engine.sampling_batch import SamplingBatch
from rtl_agent.backends.engine.scheduler import Scheduler
from rtl_agent.backends.engine.token_sampling import TokenDecoder

# Rows of a batch are a part of what a sequence yields (see kv_cache.py): changing them changes the last bits.
# 16 on a CPU: 32 rows take twice as long, and half of them would be empty when a group of 16 is sampled.
ROWS = {"cpu": 16, "cuda": 128}
BATCHES = 2


class _Sampled:
    """An inference model as a snapshot asks for it."""

    def __init__(self, model: InferenceModel) -> None:
        self._model = model
        self.name = model.base.name
        self.vocabulary, self.context = model.config.vocabulary, model.config.context

    @property
    def decoder(self) -> TokenDecoder:
        return self._model.base.decoder

    def prefill(self, prompt: Sequence[int]) -> Prefilled:
        return prefill(self._model, torch.tensor(prompt, device=self._model.base.device))

    def score(self, requests: Sequence[ScoreRequest]) -> list[Score]:
        return [score(self._model, request) for request in requests]

    def joins(self, requests: Sequence[ScoreRequest], one: ScoreRequest) -> bool:
        return False  # bits must not depend on neighbours

    def new_batch(self) -> SamplingBatch[Prefilled]:
        rows = ROWS[self._model.base.device.type]
        return SamplingBatch(CachedDecoder(self._model, rows), rows, self.vocabulary)


class Qwen3Snapshot(BatchedSnapshot[Prefilled]):
    def __init__(self, model: InferenceModel, scheduler: Scheduler) -> None:
        super().__init__(_Sampled(model), scheduler, BATCHES)
