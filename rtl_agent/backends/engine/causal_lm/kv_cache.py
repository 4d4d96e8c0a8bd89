"""Keys and values: of a prompt while it is read, and of rows that decode together."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from transformers.cache_utils import Cache

STEP = 64  # positions by which the rows' memory grows
LEAST_SHARED = 32  # a beginning that is shorter is read again: a pass over few tokens costs as much as over some more
KEPT_NUMBERS = 1 << 27  # 256 MB in bfloat16: beginnings of 17 sequences of 550 tokens of a 1.5B model


@dataclass(frozen=True)
class KeysValues:
    """Of one sequence, by layer: (kv_heads, length, head_dim)."""

    keys: Sequence[Tensor]
    values: Sequence[Tensor]

    def first(self, length: int) -> "KeysValues":
        """Of its first positions, in memory of their own."""
        cut = [[part[:, :length].clone() for part in parts] for parts in (self.keys, self.values)]
        return KeysValues(*cut)

    @property
    def numbers(self) -> int:
        return sum(part.numel() for part in (*self.keys, *self.values))


class PromptCache(Cache):
    """Keeps what each layer computes for one prompt, after a beginning (`read`) that was read before."""

    def __init__(self, read: KeysValues | None = None) -> None:
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []
        self.layers = []
        self._read = read
        self._length = 0 if read is None else read.keys[0].shape[1]

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[Tensor, Tensor]:
        if self._read is not None:
            key_states = torch.cat((self._read.keys[layer_idx][None], key_states), dim=2)
            value_states = torch.cat((self._read.values[layer_idx][None], value_states), dim=2)
        self.keys.append(key_states[0])
        self.values.append(value_states[0])
        return key_states, value_states

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self._length

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        return self._length + query_length, 0

    @property
    def is_sliding(self) -> list[bool]:
        return [False]

    @property
    def is_compileable(self) -> bool:
        return False


class Beginnings:
    """Of the sequences that were scored last, so that the next one need not be read from its start."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, ...], KeysValues] = OrderedDict()
        self._numbers = 0

    def longest(self, tokens: Sequence[int], most: int) -> tuple[KeysValues | None, int]:
        """The keys and values of the most tokens, at most `most`, with which a kept sequence begins as well."""
        best, best_length = None, 0
        wanted = np.asarray(tokens[:most])
        for kept in self._kept:
            both = min(len(kept), len(wanted))
            unlike = np.asarray(kept[:both]) != wanted[:both]
            length = int(unlike.argmax()) if unlike.any() else both
            if length > best_length:
                best, best_length = kept, length
        if best is None or best_length < LEAST_SHARED:
            return None, 0
        self._kept.move_to_end(best)
        found = self._kept[best]
        if best_length < len(best):
            found = KeysValues(
                [one[:, :best_length] for one in found.keys], [one[:, :best_length] for one in found.values]
            )
        return found, best_length

    def keep(self, tokens: Sequence[int], found: KeysValues) -> None:
        name = tuple(tokens)
        if name in self._kept:
            return
        self._kept[name] = found.first(len(name))
        self._numbers += self._kept[name].numbers
        while len(self._kept) > 1 and self._numbers > KEPT_NUMBERS:
            self._numbers -= self._kept.popitem(last=False)[1].numbers


class RowsCache(Cache):
    """By layer (rows, kv_heads, positions, head_dim), with room to grow. A step sets `rows`, `at` and `end` first."""

    def __init__(self, most_rows: int) -> None:
        self.layers = []
        self._most_rows = most_rows
        self._keys: list[Tensor] = []
        self._values: list[Tensor] = []
        self._room = (0, 0)  # rows, positions
        self.at = torch.empty(0, dtype=torch.int64)  # the new token's position in each row
        self.end = 0

    def place(self, row: int, keys: list[Tensor], values: list[Tensor]) -> None:
        length = keys[0].shape[1]
        if not self._keys:
            self._keys = [part.new_zeros(0, part.shape[0], 0, part.shape[2]) for part in keys]
            self._values = [part.new_zeros(0, part.shape[0], 0, part.shape[2]) for part in values]
        self.ensure(row + 1, length + 1)
        for kept, new in zip((*self._keys, *self._values), (*keys, *values), strict=True):
            kept[row, :, :length] = new

    def ensure(self, rows: int, positions: int) -> None:
        """Twice the rows and half as many positions again, so that copies stay rare."""
        have_rows, have = self._room
        if rows <= have_rows and positions <= have:
            return
        if rows > have_rows:
            rows = min(max(rows, 2 * have_rows), self._most_rows)
        if positions > have:
            positions = -(-max(positions, have + have // 2) // STEP) * STEP
        self._room = rows, positions = max(rows, have_rows), max(positions, have)
        for parts in (self._keys, self._values):
            for index, part in enumerate(parts):
                # Zeros, not whatever was there: masked values count 0 times, and 0 times NaN is NaN.
                grown = part.new_zeros(rows, part.shape[1], positions, part.shape[3])
                grown[:have_rows, :, :have] = part
                parts[index] = grown

    def move(self, source: int, target: int, length: int) -> None:
        for part in (*self._keys, *self._values):
            part[target, :, :length] = part[source, :, :length]

    def wipe(self, row: int) -> None:
        for part in (*self._keys, *self._values):
            part[row] = 0

    def update(
        self, key_states: Tensor, value_states: Tensor, layer_idx: int, *_: Any, **__: Any
    ) -> tuple[Tensor, Tensor]:
        count = len(key_states)
        rows = torch.arange(count, device=key_states.device)
        keys, values = self._keys[layer_idx], self._values[layer_idx]
        keys[rows, :, self.at] = key_states[:, :, 0]
        values[rows, :, self.at] = value_states[:, :, 0]
        return keys[:count, :, : self.end], values[:count, :, : self.end]

    @property
    def bytes_per_position(self) -> int:
        """Of one row."""
        return sum(part.shape[1] * part.shape[3] * part.element_size() for part in (*self._keys, *self._values))

    def get_seq_length(self, layer_idx: int = 0) -> int:
        return self.end - 1

    def get_mask_sizes(self, query_length: int, layer_idx: int) -> tuple[int, int]:
        return self.end, 0

    @property
    def is_sliding(self) -> list[bool]:
        return [False]

    @property
    def is_compileable(self) -> bool:
        return False
