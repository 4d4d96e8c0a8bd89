"""Rows that decode together. They lie without gaps, so that a step computes for running sequences only."""

import heapq
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rtl_agent.backends.engine.causal_lm.base_model import hidden_states
from rtl_agent.backends.engine.causal_lm.inference_model import InferenceModel, Prefilled
from rtl_agent.backends.engine.causal_lm.kv_cache import RowsCache
from rtl_agent.backends.engine.contract import EngineError
from rtl_agent.backends.engine.sampling_batch import SamplingBatch


class CausalLmDecoder:
    """`logits` has one row for each sequence: of its next token."""

    def __init__(self, model: InferenceModel, rows: int) -> None:
        self._model = model
        self.cache = RowsCache(rows)
        self.logits = torch.zeros(rows, model.base.info.vocabulary, device=model.base.device)
        config = model.model.config.get_text_config()
        self._window: int | None = getattr(config, "sliding_window", None)
        kinds = getattr(config, "layer_types", None)
        if kinds is not None and "sliding_attention" not in kinds:
            self._window = None
        self._by_kind = kinds is not None and self._window is not None

    def place(self, row: int, prompt: Prefilled) -> None:
        self.cache.place(row, prompt.keys, prompt.values)
        self.logits[row] = prompt.logits

    def wipe(self, row: int) -> None:
        self.cache.wipe(row)

    def move(self, source: int, target: int, length: int) -> None:
        self.cache.move(source, target, length)
        self.logits[target] = self.logits[source]

    def decode(self, tokens: NDArray[np.int64], positions: NDArray[np.int64], occupied: int) -> None:
        device = self.logits.device
        end = int(positions[:occupied].max()) + 1
        self.cache.ensure(occupied, end)
        at = torch.from_numpy(positions[:occupied]).to(device)
        self.cache.at, self.cache.end = at, end
        hidden = hidden_states(
            self._model.model,
            torch.from_numpy(tokens[:occupied]).to(device)[:, None],
            position_ids=at[:, None],
            attention_mask=self._mask(at, end),
            past_key_values=self.cache,
            use_cache=True,
        )
        self.logits[:occupied] = self._model.logits(hidden[:, 0])

    def _mask(self, at: Tensor, end: int) -> Any:
        """(rows, 1, 1, positions), added to the scores; for models whose layers differ, by the kind of layer."""
        back = at[:, None] - torch.arange(end, device=at.device)[None]
        full = self._added(back >= 0)
        if self._window is None:
            return full
        sliding = self._added((back >= 0) & (back < self._window))
        return {"full_attention": full, "sliding_attention": sliding} if self._by_kind else sliding

    def _added(self, seen: Tensor) -> Tensor:
        mask = torch.zeros(seen.shape, dtype=self._model.base.dtype, device=seen.device)
        return mask.masked_fill_(~seen, torch.finfo(mask.dtype).min)[:, None, None]


@torch.inference_mode()
def check_decoding(model: InferenceModel) -> None:
    """Token by token must give what the whole sequence gives: an architecture may use caches that we do not know of."""
    tokens = [one % model.base.info.vocabulary for one in (5, 3, 7, 4, 6, 9)]
    try:
        wanted = model.prefill(tokens).logits
        decoder = CausalLmDecoder(model, 2)
        for row, length in enumerate((4, 1)):
            decoder.place(row, model.prefill(tokens[:length]))
        for step in range(5):
            at = np.array([min(4 + step, 5), 1 + step])
            decoder.decode(np.array([tokens[one] for one in at]), at, 2)
    except Exception as error:  # an architecture that calls a cache in ways of its own
        line = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise EngineError(
            f"The transformers engine cannot decode {model.base.info.architecture!r} models: {line}"
        ) from None
    if (decoder.logits[1] - wanted).abs().max() > 0.1 * wanted.abs().max() + 1e-3:
        raise EngineError(
            f"The transformers engine does not run {model.base.info.architecture!r} models: token by token they give "
            "other logits than in one piece."
        )


class DenseBatch(SamplingBatch[Prefilled]):
    """`most_bytes`: of keys and values; rows wait outside when those inside could grow beyond it."""

    def __init__(self, model: InferenceModel, rows: int, most_bytes: float) -> None:
        self._rows = CausalLmDecoder(model, rows)
        self._most_bytes = most_bytes
        super().__init__(self._rows, rows, model.base.info.vocabulary)

    @property
    def full(self) -> bool:
        if not self._free:
            return True
        longest = max((len(one.request.prompt) + one.request.max_tokens for one in self._sequences.values()), default=0)
        return (len(self._sequences) + 1) * longest * self._rows.cache.bytes_per_position > self._most_bytes

    def _settle(self) -> None:
        while self._sequences and self._free and self._free[0] < (last := max(self._sequences)):
            row = heapq.heappop(self._free)
            sequence = self._sequences.pop(last)
            self._sequences[row] = sequence
            self._rows.move(last, row, int(self._positions[last]))
            self._sampler.set_options(row, sequence.request)
            for array in (self._newest, self._positions, self._drawn):
                array[row], array[last] = array[last], 0
            heapq.heappush(self._free, last)
