"""What a server asks of an engine: plain data in, plain data out. Arrays are numpy, positions are tokens.

An engine call computes in the caller's thread and returns when done. The server calls training methods from one thread,
in submission order; `sample` and `score` come from another thread at the same time and see only immutable snapshots.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
StopReason = Literal["stop", "length"]
LossName = Literal["cross_entropy", "importance_sampling", "ppo", "cispo", "dro"]


class EngineError(Exception):
    """What was asked cannot be done; the message is for the person who asked."""


class UnknownModel(EngineError):
    """There is no model or checkpoint of that name."""


@dataclass(frozen=True)
class ModelInfo:
    """What a base model is. `vocabulary` counts rows of the embedding; `context` is the most positions.

    `end_tokens` (eos_token_id of the model's configuration) stop a sample whose request names no stop at all.
    `tolerance` is how far two computations of one logprob may differ, by the sampler and by the trainer for one: what
    the precision allows. `exact`: a sample is the same to the bit whoever shares its batch.
    """

    name: str
    vocabulary: int
    context: int
    parameters: int
    end_tokens: frozenset[int] = frozenset()
    architecture: str = "unknown"
    tolerance: float = 1e-4
    exact: bool = False


@dataclass(frozen=True)
class Lora:
    """What is trained. rank 0 trains every weight: for small models, on this server only."""

    rank: int = 32
    seed: int = 0
    mlp: bool = True
    attention: bool = True
    unembed: bool = True


@dataclass(frozen=True)
class Adam:
    learning_rate: float
    beta1: float = 0.9
    beta2: float = 0.95
    eps: float = 1e-12
    weight_decay: float = 0.0
    grad_clip_norm: float = 0.0  # 0: not clipped


@dataclass(frozen=True)
class Example:
    """One sequence to train on. `tokens` are N inputs; every array in `inputs` has N rows.

    cross_entropy: target_tokens (N,) or (N, K), weights of the same shape; with logprobs and advantages of (N,) beside
    them, the first target of each position is also trained on as by cispo. The others: target_tokens, logprobs (of the
    sampler), advantages, each (N,); a `mask` of (N,) may be there and is 1 where absent.
    """

    tokens: Ints
    inputs: Mapping[str, NDArray[np.generic]]


@dataclass(frozen=True)
class ForwardBackwardOutput:
    """A forward (and backward) pass. `logprobs`: (N,) or (N, K) for each example, in order. Losses are token sums."""

    logprobs: Sequence[Floats]
    loss_sum: float
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class SampleRequest:
    """One sequence to sample. What it yields depends on the snapshot and on this alone, never on its neighbours: to the
    bit if the model is `exact`, otherwise as far as rounding allows."""

    prompt: Sequence[int]
    max_tokens: int
    seed: int
    temperature: float = 1.0
    top_k: int = -1
    top_p: float = 1.0
    stop_tokens: frozenset[int] = frozenset()
    stop_texts: tuple[str, ...] = ()
    topk_logprobs: int = 0  # of each sampled position, from the untempered distribution


@dataclass(frozen=True)
class SampledToken:
    """One token as soon as it is sampled, for those who stream."""

    token: int
    logprob: float
    topk: Sequence[tuple[int, float]] = ()


OnToken = Callable[[SampledToken], None]


@dataclass(frozen=True)
class SampledSequence:
    """Logprobs are those of temperature 1 over the whole vocabulary, as the trainer computes them."""

    tokens: Sequence[int]
    logprobs: Sequence[float]
    stop_reason: StopReason
    topk: Sequence[Sequence[tuple[int, float]]] = ()


@dataclass(frozen=True)
class ScoreRequest:
    """Logprobs of a prompt's own tokens. `last` limits the answer to the last tokens; None means all.

    `then`: also sample one token after the prompt, from the same forward pass. The SDK's compute_logprobs asks for
    both, and a second pass over the prompt would double a teacher's work. Only its sampling options count, not its
    prompt. `ranks`: also the rank of each token among the whole vocabulary, 1 for the most likely.
    """

    tokens: Sequence[int]
    topk: int = 0
    last: int | None = None
    then: SampleRequest | None = None
    ranks: bool = False


@dataclass(frozen=True)
class Score:
    """One entry for each token asked for; the very first token of a prompt has None."""

    logprobs: Sequence[float | None]
    topk: Sequence[Sequence[tuple[int, float]] | None] = ()
    then: SampledSequence | None = None  # None: the engine leaves it to `Snapshot.sample`
    ranks: Sequence[int | None] = ()


class Snapshot(Protocol):
    """Weights that no longer change, to sample from. Freed by `close`; sampling after that is an EngineError."""

    base: str

    def sample(self, request: SampleRequest, on_token: OnToken | None = None) -> "Future[SampledSequence]":
        """Queued at once; runs together with whatever else is queued. A bad request is a future that has failed.

        Cancelling the future ends the sample, at its next token if it is running. `on_token` is called from a thread
        of the engine's for every token in order, all of them before the future is done; it returns at once and never
        raises. An engine that samples in larger steps may call it late.
        """

    def score(self, request: ScoreRequest) -> "Future[Score]":
        """Like `sample`, for the tokens of the prompt itself."""

    def close(self) -> None: ...


class TrainedModel(Protocol):
    """Weights that change. Calls come from one thread at a time, in order."""

    base: str
    lora: Lora

    def forward_backward(
        self, examples: Sequence[Example], loss: LossName, config: Mapping[str, float], *, forward_only: bool = False
    ) -> ForwardBackwardOutput:
        """Gradients add up until `step`. config: ppo and cispo clip_low_threshold, clip_high_threshold; dro beta."""

    def step(self, adam: Adam) -> Mapping[str, float]:
        """One optimiser step on what has added up; then the gradients are zero."""

    def snapshot(self) -> Snapshot: ...

    def save(self, directory: Path, *, optimizer: bool) -> None:
        """Complete or not at all: into a directory beside it, renamed when done."""

    def load(self, directory: Path, *, optimizer: bool) -> None: ...

    def close(self) -> None: ...


class Engine(Protocol):
    """Base models by name, loaded once. A name is a directory in Hugging Face's layout or one of our own models."""

    def models(self) -> Sequence[ModelInfo]: ...

    def create(self, base: str, lora: Lora) -> TrainedModel: ...

    def base_snapshot(self, base: str) -> Snapshot: ...

    def load_snapshot(self, base: str, directory: Path) -> Snapshot:
        """From what `TrainedModel.save` wrote."""

    def close(self) -> None: ...
