"""Examples to train on: checked, then grouped by length into padded batches that bound memory."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from rtl_agent.backends.engine.contract import EngineError, Example, ModelInfo
from rtl_agent.backends.engine.losses import Loss

# Padded tokens in a batch. On one core 1,024 train 13 % more tokens a second than 2,048 at 1M parameters (5,209 to
# 4,613), 2 % more at 4.4M; 8,192 are slowest of all, for they fall out of the cache.
MAX_TOKENS = {"cpu": 1024, "cuda": 16_384}


@dataclass(frozen=True)
class Microbatch:
    """Rows of similar length. `arrays` have one row for each real position, without padding, in the order of `real`."""

    members: Sequence[int]  # where each row stands among the examples
    lengths: Sequence[int]
    tokens: Tensor  # (rows, longest)
    real: Tensor  # indices of real positions in the flattened rows
    targets: Tensor  # (positions, K)
    arrays: dict[str, Tensor]  # (positions, K)


def check(examples: Sequence[Example], loss: Loss, model: ModelInfo) -> None:
    if not examples:
        raise EngineError("There are no examples to train on.")
    for index, example in enumerate(examples):
        try:
            _check_one(example, loss, model)
        except EngineError as error:
            raise EngineError(f"Example {index} of {len(examples)}: {error}") from None


def _check_one(example: Example, loss: Loss, model: ModelInfo) -> None:
    length = len(example.tokens)
    if not length:
        raise EngineError("it has no tokens.")
    if length > model.context:
        raise EngineError(f"it has {length} tokens; the model's context is {model.context}.")
    _check_tokens("tokens", example.tokens, model.vocabulary)
    missing = [name for name in ("target_tokens", *loss.arrays) if name not in example.inputs]
    if missing:
        raise EngineError(
            f"the loss needs {missing[0]!r}; the example has {', '.join(sorted(example.inputs)) or 'none'}."
        )
    targets = example.inputs["target_tokens"]
    allowed = (1, 2) if loss.arrays == ("weights",) else (1,)
    if targets.ndim not in allowed or targets.shape[0] != length:
        raise EngineError(f"target_tokens has shape {targets.shape}; it should have {length} rows, like the tokens.")
    _check_tokens("target_tokens", targets, model.vocabulary)
    for name in loss.arrays:
        if example.inputs[name].shape != targets.shape:
            raise EngineError(f"{name} has shape {example.inputs[name].shape}; target_tokens has {targets.shape}.")
    for name in loss.optional:
        if name in example.inputs and example.inputs[name].shape != (length,):
            raise EngineError(f"{name} has shape {example.inputs[name].shape}; it should have ({length},).")
    given = [name for name in loss.optional if name in example.inputs]
    if given and len(given) < len(loss.optional):
        raise EngineError(f"it has {given[0]}, which the loss takes only together with all of {loss.optional}.")
    if "mask" in example.inputs and example.inputs["mask"].shape != (length,):
        raise EngineError(f"mask has shape {example.inputs['mask'].shape}; it should have ({length},).")


def _check_tokens(name: str, tokens: NDArray[np.generic], vocabulary: int) -> None:
    if not np.issubdtype(tokens.dtype, np.integer):
        raise EngineError(f"{name} are {tokens.dtype}, not integers.")
    ids = tokens.astype(np.int64)
    outside = ids[(ids < 0) | (ids >= vocabulary)]
    if outside.size:
        raise EngineError(f"{name} has token {outside.flat[0]}; the model's vocabulary ends at {vocabulary - 1}.")


def microbatches(
    examples: Sequence[Example],
    loss: Loss,
    device: torch.device,
    most_tokens: int | None = None,
    padded: Callable[[int], int] = lambda longest: longest,
) -> Iterator[Microbatch]:
    """By length, longest first, so that a batch that does not fit into memory fails at once. The order is fixed.

    `padded`: the length of all rows from that of the longest one.
    """
    most = MAX_TOKENS[device.type] if most_tokens is None else most_tokens
    order = sorted(range(len(examples)), key=lambda i: (-width(examples[i]), -len(examples[i].tokens), i))
    start = 0
    while start < len(order):
        first = examples[order[start]]
        rows = max(1, most // len(first.tokens))
        members = [i for i in order[start : start + rows] if width(examples[i]) == width(first)]
        yield pad([examples[i] for i in members], members, loss, device, padded)
        start += len(members)


def width(example: Example) -> int:
    targets = example.inputs["target_tokens"]
    return targets.shape[1] if targets.ndim == 2 else 1


def pad(
    rows: Sequence[Example], members: Sequence[int], loss: Loss, device: torch.device, padded: Callable[[int], int]
) -> Microbatch:
    lengths = [len(row.tokens) for row in rows]
    longest = padded(max(lengths))
    tokens = np.zeros((len(rows), longest), dtype=np.int64)
    for at, row in enumerate(rows):
        tokens[at, : lengths[at]] = row.tokens
    real = np.concatenate([np.arange(n) + at * longest for at, n in enumerate(lengths)])

    def flat(name: str, dtype: type[np.generic]) -> Tensor:
        parts = [row.inputs[name].reshape(n, -1).astype(dtype) for row, n in zip(rows, lengths, strict=True)]
        return torch.from_numpy(np.concatenate(parts)).to(device)

    arrays = {name: flat(name, np.float32) for name in loss.arrays}
    for name in loss.optional:
        if any(name in row.inputs for row in rows):  # a row without them has advantages of 0
            parts = [row.inputs.get(name, np.zeros(n)).reshape(n, 1) for row, n in zip(rows, lengths, strict=True)]
            arrays[name] = torch.from_numpy(np.concatenate(parts).astype(np.float32)).to(device)
    if any("mask" in row.inputs for row in rows):
        masks = [row.inputs.get("mask", np.ones(n)).reshape(n, 1) for row, n in zip(rows, lengths, strict=True)]
        arrays["mask"] = torch.from_numpy(np.concatenate(masks).astype(np.float32)).to(device)
    return Microbatch(
        members=members,
        lengths=lengths,
        tokens=torch.from_numpy(tokens).to(device),
        real=torch.from_numpy(real).to(device),
        targets=flat("target_tokens", np.int64),
        arrays=arrays,
    )
