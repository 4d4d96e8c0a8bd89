"""Sequences that begin alike, in one row: what they share is computed once, forward and back.

The answers of a group stand behind one prompt, which is longer than most of them. The row has the shared beginning and
then each sequence's own end; a mask lets an end see the beginning and itself, and positions count as if it stood alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rtl_agent.backends.engine.causal_lm.kv_cache import LEAST_SHARED
from rtl_agent.backends.engine.contract import Ints


@dataclass(frozen=True)
class SharedRow:
    """`places`: of each sequence's positions in the row. `seen`: (1, 1, positions, positions), true where a position is
    attended to."""

    tokens: Tensor
    positions: Tensor
    seen: Tensor
    places: Sequence[Ints]

    @property
    def placed(self) -> dict[str, Tensor]:
        """As transformers' models take it."""
        return {"attention_mask": self.seen, "position_ids": self.positions}


def in_one_row(sequences: Sequence[Sequence[int]], device: torch.device, multiple: int = 1) -> SharedRow:
    """`multiple`: of positions in the row."""
    arrays = [np.asarray(one, np.int64) for one in sequences]
    shared = min(common(arrays[0], one) for one in arrays[1:])
    total = -(-(shared + sum(len(one) - shared for one in arrays)) // multiple) * multiple
    tokens, positions = np.zeros(total, np.int64), np.zeros(total, np.int64)
    owner = np.full(total, len(arrays) + 1)  # 0: the beginning; what is behind the last end is nobody's
    tokens[:shared], positions[:shared], owner[:shared] = arrays[0][:shared], np.arange(shared), 0
    places, start = [], shared
    for number, one in enumerate(arrays, 1):
        end = slice(start, start + len(one) - shared)
        tokens[end], positions[end], owner[end] = one[shared:], np.arange(shared, len(one)), number
        places.append(np.concatenate((np.arange(shared), np.arange(end.start, end.stop))))
        start = end.stop
    seen = np.tril((owner[None, :] == 0) | (owner[None, :] == owner[:, None]))
    return SharedRow(
        torch.from_numpy(tokens)[None].to(device),
        torch.from_numpy(positions)[None].to(device),
        torch.from_numpy(seen)[None, None].to(device),
        places,
    )


def groups(sequences: Sequence[Sequence[int]], most_tokens: float = float("inf")) -> Iterator[list[int]]:
    """Which sequences are computed in one row, as their places; one that begins like no other is alone."""
    arrays = [np.asarray(one, np.int64) for one in sequences]
    order = sorted(range(len(arrays)), key=lambda at: arrays[at].tolist())
    alike = [0] * (len(order) + 1)  # of each and the one before it; the last has none after it
    for place in range(1, len(order)):
        alike[place] = common(arrays[order[place - 1]], arrays[order[place]])
    members: list[int] = []
    shared = total = 0
    for place, at in enumerate(order):
        length, joint = len(arrays[at]), alike[place]
        if len(members) > 1:
            joint = min(shared, joint)
        # Two of one group are not parted for what one of them has in common with another group.
        own = max(alike[place + 1], shared if len(members) > 1 else 0)
        grown = total + length - joint + (len(members) - 1) * (shared - joint)
        if members and joint >= LEAST_SHARED and own <= 2 * joint and grown <= most_tokens:
            members.append(at)
            shared, total = joint, grown
            continue
        if members:
            yield members
        members, shared, total = [at], 0, length
    if members:
        yield members


def common(one: Any, other: Any) -> int:
    """With how many equal tokens two arrays begin."""
    both = min(len(one), len(other))
    unlike = one[:both] != other[:both]
    return int(unlike.argmax()) if unlike.any() else both
