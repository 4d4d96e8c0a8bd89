"""Examples that begin alike, in one row: what they share is computed once, forward and back.

The answers of a group stand behind one prompt, which is longer than most of them. The row has the shared beginning and
then each example's own end; a mask lets an end see the beginning and itself, and positions count as if it stood alone.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rtl_agent.backends.engine.causal_lm.base_model import BaseModel, hidden_states
from rtl_agent.backends.engine.causal_lm.kv_cache import LEAST_SHARED
from rtl_agent.backends.engine.contract import Example
from rtl_agent.backends.engine.losses import Loss
from rtl_agent.backends.engine.microbatches import Microbatch, pad, width


@dataclass(frozen=True)
class Row:
    """`seen`: (1, 1, positions, positions), true where a position is attended to. `same`: of each real position of each
    example the first one with the same token, context and targets."""

    positions: Tensor
    seen: Tensor
    same: Tensor


def groups(examples: Sequence[Example], most_tokens: int) -> Iterator[list[int]]:
    """Examples that are computed in one row, as their places; one that begins like no other is alone."""
    order = sorted(range(len(examples)), key=lambda at: (width(examples[at]), examples[at].tokens.tolist()))
    alike = [0] * (len(order) + 1)  # of each and the one before it; the last has none after it
    for place in range(1, len(order)):
        one, other = examples[order[place - 1]], examples[order[place]]
        alike[place] = common(one.tokens, other.tokens) if width(one) == width(other) else 0
    members: list[int] = []
    shared = total = 0
    for place, at in enumerate(order):
        begins, length = alike[place], len(examples[at].tokens)
        joint = min(shared, begins) if len(members) > 1 else begins
        # Two of one group are not parted for what one of them has in common with another group.
        fits = LEAST_SHARED <= joint and 2 * joint >= max(alike[place + 1] if not members[1:] else 0, shared)
        grown = total + length - joint + (len(members) - 1) * (shared - joint if len(members) > 1 else 0)
        if members and fits and grown <= most_tokens:
            members.append(at)
            shared, total = joint, grown
            continue
        if members:
            yield members
        members, shared, total = [at], 0, length
    if members:
        yield members


def common(one: Any, other: Any) -> int:
    """With how many equal tokens two sequences begin."""
    both = min(len(one), len(other))
    unlike = one[:both] != other[:both]
    return int(unlike.argmax()) if unlike.any() else both


def in_one_row(
    examples: Sequence[Example], members: Sequence[int], loss: Loss, device: torch.device, multiple: int
) -> tuple[Microbatch, Row]:
    rows = [examples[at] for at in members]
    shared = min(common(rows[0].tokens, one.tokens) for one in rows[1:])
    lengths = [len(one.tokens) for one in rows]
    total = -(-(shared + sum(length - shared for length in lengths)) // multiple) * multiple
    tokens, positions = np.zeros(total, np.int64), np.zeros(total, np.int64)
    owner = np.full(total, len(rows) + 1)  # 0: the beginning; what is behind the last end is nobody's
    tokens[:shared], positions[:shared], owner[:shared] = rows[0].tokens[:shared], np.arange(shared), 0
    real, start = [], shared
    for number, (one, length) in enumerate(zip(rows, lengths, strict=True), 1):
        place = slice(start, start + length - shared)
        tokens[place], positions[place], owner[place] = one.tokens[shared:], np.arange(shared, length), number
        real += [np.arange(shared), np.arange(place.start, place.stop)]
        start = place.stop
    places = np.concatenate(real)
    seen = np.tril((owner[None, :] == 0) | (owner[None, :] == owner[:, None]))
    batch = pad(rows, members, loss, device, lambda longest: longest)
    what = np.concatenate([places[:, None], batch.targets.cpu().numpy()], axis=1)
    _, first, inverse = np.unique(what, axis=0, return_index=True, return_inverse=True)
    row = Row(
        torch.from_numpy(positions)[None].to(device),
        torch.from_numpy(seen)[None, None].to(device),
        torch.from_numpy(first[inverse.reshape(-1)]).to(device),
    )
    found = replace(
        batch, tokens=torch.from_numpy(tokens)[None].to(device), real=torch.from_numpy(places).to(device)
    )
    return found, row


@torch.inference_mode()
def can_share(base: BaseModel) -> bool:
    """Whether this architecture takes positions and a mask as they come: two ends in one row must give what they give
    alone. Layers that see a window of positions would need a mask of their own."""
    config = base.model.config.get_text_config()
    kinds = getattr(config, "layer_types", None)
    if getattr(config, "sliding_window", None) is not None and (kinds is None or "sliding_attention" in kinds):
        return False
    begin, ends = [5, 3, 7], ([4, 6, 9], [8, 2])
    tokens = torch.tensor([*begin, *ends[0], *ends[1]], device=base.device)[None] % base.info.vocabulary
    owner = torch.tensor([0, 0, 0, 1, 1, 1, 2, 2], device=base.device)
    seen = ((owner[None] == 0) | (owner[None] == owner[:, None])).tril()[None, None]
    positions = torch.tensor([0, 1, 2, 3, 4, 5, 3, 4], device=base.device)[None]
    try:
        packed = hidden_states(base.model, tokens, attention_mask=seen, position_ids=positions, use_cache=False)[0]
        alone = [
            hidden_states(base.model, tokens[:, places], use_cache=False)[0]
            for places in ([0, 1, 2, 3, 4, 5], [0, 1, 2, 6, 7])
        ]
    except Exception:  # an architecture that takes masks or positions in ways of its own
        return False
    wanted = torch.cat((alone[0], alone[1][3:])).float()
    return bool((packed.float() - wanted).abs().max() <= 0.05 * wanted.abs().max())
