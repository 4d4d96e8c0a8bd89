"""A fixed number of rows that decode together, with their keys and values. The hot loop of sampling.

Independence from neighbours, bit for bit, rests on shapes. Linear layers always see all rows, empty ones
too. Attention is one small product for each row, head and block of BLOCK positions, always of the same shape; the
longest row decides how many blocks there are, and a block beyond a row's end has weights of exactly 0 and adds exactly
0. Measured with MKL: neither the place of a row in a product nor the number of products in a call changes its bits.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from rtl_agent.backends.engine.qwen3.inference_model import InferenceLayer, InferenceModel, normed
from rtl_agent.backends.engine.qwen3.network import KeysValues, rotate

BLOCK = 64


@dataclass(frozen=True)
class Prefilled:
    """A prompt's keys and values by layer, (blocks, kv_heads, BLOCK, head_dim), and the logits after it."""

    keys: list[Tensor]
    values: list[Tensor]
    logits: Tensor
    length: int

    @property
    def numbers(self) -> int:
        return sum(part.numel() for part in (*self.keys, *self.values, self.logits))


def prefill(model: InferenceModel, prompt: Tensor) -> Prefilled:
    kept: list[KeysValues] = []
    hidden = model.hidden(prompt, kept)
    blocks = -(-len(prompt) // BLOCK)
    room = (0, 0, 0, blocks * BLOCK - len(prompt))

    def in_blocks(part: Tensor) -> Tensor:
        return F.pad(part[0], room).view(len(part[0]), blocks, BLOCK, -1).transpose(0, 1).contiguous()

    keys, values = [in_blocks(one.keys) for one in kept], [in_blocks(one.values) for one in kept]
    return Prefilled(keys, values, (hidden[-1:] @ model.head)[0], len(prompt))


@dataclass(frozen=True)
class _Step:
    """What all layers share in one step."""

    occupied: int  # rows from the first to the last that is in use
    blocks: int
    cos: Tensor
    sin: Tensor
    places: Tensor  # where each row's new keys and values go, by head, among all of a layer's
    bias: Tensor


class CachedDecoder:
    """`logits` has one row for each sequence: of its next token. Rows after the last occupied one cost little."""

    def __init__(self, model: InferenceModel, rows: int) -> None:
        self._model = model
        self._rows = rows
        config, device = model.config, model.base.device
        self.logits = torch.zeros(rows, config.vocabulary, device=device)
        self._mixed = torch.zeros(rows, config.heads * config.head_dim, device=device)
        self._blocks = 0
        # By layer, keys and values: (2, blocks, rows, kv_heads, BLOCK, head_dim).
        self._cache = [torch.empty(0, device=device) for _ in range(config.layers)]
        self._bias: NDArray[np.float32] = np.empty(
            0, dtype=np.float32
        )  # (blocks, rows, 1, 1, BLOCK): 0, or -inf for what is to come
        self._views: dict[int, tuple[Sequence[Tensor], Sequence[Tensor]]] = {}
        self._viewed = 0  # the rows they are for
        self._grow(1)

    def _grow(self, blocks: int) -> None:
        """Room for that many blocks; twice as much as before at least, so that copies stay rare."""
        config = self._model.config
        old, self._blocks = self._blocks, max(blocks, min(2 * self._blocks, -(-config.context // BLOCK)))
        shape = (2, self._blocks, self._rows, config.kv_heads, BLOCK, config.head_dim)
        self._views.clear()
        for index, part in enumerate(self._cache):
            # Zeros, not whatever was there: masked values count 0 times, and 0 times NaN is NaN.
            self._cache[index] = torch.zeros(shape, device=part.device)
            if old:
                self._cache[index][:, :old] = part
        bias = np.full((self._blocks, self._rows, 1, 1, BLOCK), -np.inf, dtype=np.float32)
        if old:
            bias[:old] = self._bias
        self._bias = bias

    def place(self, row: int, prompt: Prefilled) -> None:
        blocks = len(prompt.keys[0])
        if blocks > self._blocks:
            self._grow(blocks)
        for part, keys, values in zip(self._cache, prompt.keys, prompt.values, strict=True):
            part[0, :blocks, row] = keys
            part[1, :blocks, row] = values
        self._bias[:, row] = np.where(np.arange(self._blocks * BLOCK) < prompt.length, 0, -np.inf).reshape(
            self._blocks, 1, 1, BLOCK
        )
        self.logits[row] = prompt.logits

    def wipe(self, row: int) -> None:
        """After numbers that are not finite: the next sequence in this row must not meet them."""
        for part in self._cache:
            part[:, :, row] = 0

    def decode(self, tokens: NDArray[np.int64], positions: NDArray[np.int64], occupied: int) -> None:
        """Takes in each row's newest token at its position; empty rows say (0, 0)."""
        model = self._model
        blocks = int(positions.max()) // BLOCK + 1
        if blocks > self._blocks:
            self._grow(blocks)
        step = self._step(positions, occupied, blocks)
        x = F.embedding(torch.from_numpy(tokens).to(self.logits.device), model.embed)
        for index, one in enumerate(model.layers):
            x = torch.addmm(x, self._attend(one, index, normed(x, model.eps_of_width), step), one.out)
            gate, up = (normed(x, model.eps_of_width) @ one.gate_up).chunk(2, dim=-1)
            x = torch.addmm(x, F.silu(gate).mul_(up), one.down)
        self.logits = normed(x, model.eps_of_width) @ model.head

    def _step(self, positions: NDArray[np.int64], occupied: int, blocks: int) -> _Step:
        rope, kv, device = self._model.base.rope, self._model.config.kv_heads, self.logits.device
        rows, block, offset = np.arange(occupied), positions[:occupied] // BLOCK, positions[:occupied] % BLOCK
        self._bias[block, rows, 0, 0, offset] = 0
        # Keys of all heads, then values: they are as far apart as all keys of the layer take.
        first = (block * self._rows + rows) * kv * BLOCK + offset
        heads = np.arange(kv) * BLOCK
        apart = self._blocks * self._rows * kv * BLOCK
        places = (first[:, None] + np.concatenate((heads, heads + apart))).ravel()
        at = torch.from_numpy(positions).to(device)
        return _Step(
            occupied,
            blocks,
            F.embedding(at, rope.cos).unsqueeze(1),
            F.embedding(at, rope.sin).unsqueeze(1),
            torch.from_numpy(places).to(device),
            torch.from_numpy(self._bias[:blocks, :occupied]).to(device),
        )

    def _attend(self, one: InferenceLayer, index: int, h: Tensor, step: _Step) -> Tensor:
        config, rows = self._model.config, step.occupied
        heads, kv, size = config.heads, config.kv_heads, config.head_dim
        qkv = (h @ one.qkv).view(self._rows, heads + 2 * kv, size)
        qk = rotate(normed(qkv[:, : heads + kv], self._model.eps_of_head) * one.qk_norm, step.cos, step.sin)
        new = torch.cat((qk[:rows, heads:], qkv[:rows, heads + kv :]), dim=1)
        self._cache[index].view(-1, size).index_copy_(0, step.places, new.view(-1, size))
        keys, values = self._blocks_of(index, rows)
        queries = qk[:rows, :heads].reshape(rows * kv, heads // kv, size)
        scores = torch.empty(step.blocks, rows * kv, heads // kv, BLOCK, device=h.device)
        by_block = scores.unbind()
        for block in range(step.blocks):
            torch.bmm(queries, keys[block], out=by_block[block])
        weights = scores.view(step.blocks, rows, kv, heads // kv, BLOCK).add_(step.bias)
        weights.sub_(weights.amax(dim=(0, -1), keepdim=True)).exp_()
        mixed = torch.bmm(by_block[0], values[0])
        totals = scores.sum(dim=-1, keepdim=True).unbind()
        total = totals[0]
        for block in range(1, step.blocks):
            mixed.baddbmm_(by_block[block], values[block])
            # One after the other: torch's sum over five blocks and more takes an order that depends on the rows beside.
            total = total + totals[block]
        torch.div(mixed, total, out=self._mixed[:rows].view(rows * kv, heads // kv, size))
        return self._mixed

    def _blocks_of(self, index: int, rows: int) -> tuple[Sequence[Tensor], Sequence[Tensor]]:
        """A layer's keys and values as attention wants them. Kept: making them takes as long as the small products."""
        if rows != self._viewed:
            self._views.clear()
            self._viewed = rows
        if index not in self._views:
            part = self._cache[index][:, :, :rows].flatten(2, 3)
            self._views[index] = part[0].transpose(2, 3).unbind(), part[1].unbind()
        return self._views[index]
