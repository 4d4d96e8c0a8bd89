"""A fixed number of rows that decode together, with their keys and values. The hot loop of sampling.

Independence from neighbours, bit for bit, rests on shapes. Every matrix product has the same shape whatever the other
rows do: linear layers see all rows of the tile, empty ones too; attention is a batch of products over blocks of BLOCK
positions, and only the number of blocks grows with the longest row. A block beyond a row's end has weights of exactly 0
and adds exactly 0. Measured with MKL: the place of a row among the rows of a product does not change its bits.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from rtl_agent.backends.engine.frozen import FrozenLayer, FrozenModel
from rtl_agent.backends.engine.network import KeysValues, rotate

BLOCK = 128


@dataclass(frozen=True)
class Prefilled:
    """A prompt's keys (blocks, kv_heads, head_dim, BLOCK) and values (blocks, kv_heads, BLOCK, head_dim) by layer."""

    keys: list[Tensor]
    values: list[Tensor]
    logits: Tensor
    length: int

    @property
    def numbers(self) -> int:
        return sum(part.numel() for part in (*self.keys, *self.values, self.logits))


def prefill(model: FrozenModel, prompt: Tensor) -> Prefilled:
    kept: list[KeysValues] = []
    hidden = model.hidden(prompt, kept)
    blocks = -(-len(prompt) // BLOCK)
    room = (0, 0, 0, blocks * BLOCK - len(prompt))

    def in_blocks(part: Tensor) -> Tensor:
        return F.pad(part[0], room).view(len(part[0]), blocks, BLOCK, -1).transpose(0, 1)

    return Prefilled(
        keys=[in_blocks(one.keys).transpose(2, 3).contiguous() for one in kept],
        values=[in_blocks(one.values).contiguous() for one in kept],
        logits=F.linear(hidden[-1:], model.head)[0],
        length=len(prompt),
    )


class Tile:
    """`logits` has one row for each sequence: of its next token."""

    def __init__(self, model: FrozenModel, rows: int) -> None:
        self._model = model
        self._rows = rows
        config, device = model.config, model.base.device
        self.logits = torch.zeros(rows, config.vocabulary, device=device)
        self._row_indices = torch.arange(rows, device=device)
        self._blocks = 0
        empty = (0, rows, config.kv_heads, 0, 0)
        self._keys = [torch.empty(empty, device=device) for _ in range(config.layers)]
        self._values = list(self._keys)
        self._grow(1)

    def _grow(self, blocks: int) -> None:
        """Room for that many blocks; twice as much as before at least, so that copies stay rare."""
        config = self._model.config
        old, self._blocks = self._blocks, max(blocks, min(2 * self._blocks, -(-config.context // BLOCK)))
        start = (self._blocks, self._rows, config.kv_heads)
        for parts, shape in ((self._keys, (config.head_dim, BLOCK)), (self._values, (BLOCK, config.head_dim))):
            for index, part in enumerate(parts):
                # Zeros, not whatever was there: masked values count 0 times, and 0 times NaN is NaN.
                grown = torch.zeros(*start, *shape, device=part.device)
                if old:
                    grown[:old] = part
                parts[index] = grown

    def place(self, row: int, prompt: Prefilled) -> None:
        blocks = len(prompt.keys[0])
        if blocks > self._blocks:
            self._grow(blocks)
        for index in range(len(self._keys)):
            self._keys[index][:blocks, row] = prompt.keys[index]
            self._values[index][:blocks, row] = prompt.values[index]
        self.logits[row] = prompt.logits

    def wipe(self, row: int) -> None:
        """After numbers that are not finite: the next sequence in this row must not meet them."""
        for part in (*self._keys, *self._values):
            part[:, row] = 0

    def decode(self, tokens: NDArray[np.int64], positions: NDArray[np.int64]) -> None:
        """Takes in each row's newest token at its position; empty rows say (0, 0)."""
        model = self._model
        blocks = int(positions.max()) // BLOCK + 1
        if blocks > self._blocks:
            self._grow(blocks)
        at = torch.from_numpy(positions).to(self.logits.device)
        places = torch.arange(blocks * BLOCK, device=at.device).view(blocks, 1, BLOCK)
        hidden_future = torch.zeros(blocks, self._rows, BLOCK, device=at.device)
        hidden_future.masked_fill_(places > at.view(1, -1, 1), float("-inf"))
        step = _Step(
            rope_cos=model.base.rope.cos[at].unsqueeze(1),
            rope_sin=model.base.rope.sin[at].unsqueeze(1),
            block=at // BLOCK,
            offset=at % BLOCK,
            blocks=blocks,
            bias=hidden_future.view(blocks, self._rows, 1, 1, BLOCK),
        )
        x = F.embedding(torch.from_numpy(tokens).to(at.device), model.embed)
        eps = model.config.norm_eps
        for index, one in enumerate(model.layers):
            h = F.rms_norm(x, one.input_norm.shape, one.input_norm, eps)
            x = x + F.linear(self._attend(one, index, h, step), one.out)
            h = F.rms_norm(x, one.post_norm.shape, one.post_norm, eps)
            gate, up = F.linear(h, one.gate_up).chunk(2, dim=-1)
            x = x + F.linear(F.silu(gate) * up, one.down)
        x = F.rms_norm(x, model.norm.shape, model.norm, eps)
        self.logits = F.linear(x, model.head)

    def _attend(self, one: FrozenLayer, index: int, h: Tensor, step: "_Step") -> Tensor:
        config, rows, blocks = self._model.config, self._rows, step.blocks
        heads, kv, size = config.heads, config.kv_heads, config.head_dim
        qkv = F.linear(h, one.qkv).view(rows, heads + 2 * kv, size)
        qk = F.rms_norm(qkv[:, : heads + kv], (size,), None, config.norm_eps) * one.qk_norm
        qk = rotate(qk, step.rope_cos, step.rope_sin)
        self._keys[index][step.block, self._row_indices, :, :, step.offset] = qk[:, heads:]
        self._values[index][step.block, self._row_indices, :, step.offset] = qkv[:, heads + kv :]
        products = blocks * rows * kv
        queries = qk[:, :heads].reshape(1, rows * kv, heads // kv, size).expand(blocks, -1, -1, -1)
        keys = self._keys[index][:blocks].view(products, size, BLOCK)
        values = self._values[index][:blocks].view(products, BLOCK, size)
        scores = torch.bmm(queries.reshape(products, heads // kv, size), keys)
        by_block = scores.view(blocks, rows, kv, heads // kv, BLOCK).add_(step.bias)
        by_block.sub_(by_block.amax(dim=(0, -1), keepdim=True)).exp_()
        total = by_block.sum(dim=-1).sum(dim=0)
        mixed = torch.bmm(scores, values).view(blocks, rows, kv, heads // kv, size).sum(dim=0)
        return (mixed / total.unsqueeze(-1)).view(rows, heads * size)


@dataclass(frozen=True)
class _Step:
    """What all layers share in one step."""

    rope_cos: Tensor
    rope_sin: Tensor
    block: Tensor
    offset: Tensor
    blocks: int
    bias: Tensor
