"""Train a model from scratch on questions and answers, in padded batches: resumable and seeded."""

import itertools
import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from rtl_agent.backends.engine.contract import Lora
from rtl_agent.backends.engine.qwen3.config import Qwen3Config
from rtl_agent.backends.engine.qwen3.network import BaseModel, hidden_states, rope_table
from rtl_agent.backends.engine.qwen3.parameters import Parameters
from rtl_agent.backends.engine.qwen3.weights import HEAD, Weights, random_weights, write_model
from rtl_agent.training.pretrain.material import Pair
from rtl_agent.training.pretrain.muon import MuonAdamW, Rates


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


@dataclass(frozen=True)
class Pretraining:
    """What is trained, and for how long."""

    tokens: int
    rows: int = 8  # 16 needed 1.25 times the CPU for the same loss, after 1.2M tokens of the student
    seed: int = 0
    warmup: float = 0.02  # share of the tokens
    decay: float = 0.6  # the last share of them, down to 0
    rates: Rates = field(default_factory=Rates)

    def scale(self, done: float) -> float:
        """The learning rate's share of its peak when this share of the tokens is done."""
        if done < self.warmup:
            return max(done / self.warmup, 0.01)
        return min(1.0, (1.0 - done) / self.decay)


@dataclass
class Progress:
    """Where a job stands."""

    step: int = 0
    tokens: int = 0
    loss: float = math.nan  # of the last steps, per answer token
    cpu_seconds: float = 0.0


def pretrain(
    job: Pretraining,
    config: Qwen3Config,
    pairs: Iterator[Pair],
    directory: Path,
    *,
    start: Weights | None = None,
    on_step: Callable[[Progress], None] = lambda progress: None,
    save_every: int = 200,
) -> Progress:
    """From random weights, or from `start`. They are in `directory` at the end, and every `save_every` steps."""
    torch.manual_seed(job.seed)
    parameters = _parameters(config, random_weights(config, job.seed) if start is None else start)
    weights = parameters.values
    optimizer = MuonAdamW(weights, job.rates)
    progress = _resume(directory, weights, optimizer)
    batches = batched(pairs, job.rows, seed=job.seed)
    for _ in range(progress.step):
        next(batches)  # what was learned from already
    loss_of = _loss(parameters)
    began, before = time.process_time(), progress.cpu_seconds
    while progress.tokens < job.tokens:
        batch = next(batches)
        loss = loss_of(batch)
        loss.backward()  # type: ignore[no-untyped-call]  # torch has no types for it
        optimizer.step(job.scale(progress.tokens / job.tokens))
        value = float(loss.detach())
        progress.step += 1
        progress.tokens += batch.tokens
        progress.loss = value if math.isnan(progress.loss) else 0.95 * progress.loss + 0.05 * value
        progress.cpu_seconds = before + time.process_time() - began
        if progress.step % save_every == 0:
            _save(directory, config, weights, optimizer, progress)
        on_step(progress)
    _save(directory, config, weights, optimizer, progress)
    return progress


def _parameters(config: Qwen3Config, weights: Weights) -> Parameters:
    cpu = torch.device("cpu")
    base = BaseModel("", Path(), config, weights, rope_table(config, cpu), cpu)
    return Parameters(base, Lora(rank=0))


def _loss(parameters: Parameters) -> Callable[[Batch], torch.Tensor]:
    """Mean cross-entropy of the answer's tokens; logits are made for these alone."""
    config, rope = parameters.base.config, parameters.base.rope

    def loss(batch: Batch) -> torch.Tensor:
        by = parameters
        hidden = hidden_states(config, rope, by.embedding, by.norm, by.fork, by.project, batch.inputs)
        wanted = batch.targets != -100
        return F.cross_entropy(parameters.project(HEAD, hidden[wanted]), batch.targets[wanted])

    return loss


def _save(
    directory: Path, config: Qwen3Config, weights: dict[str, torch.Tensor], optimizer: MuonAdamW, progress: Progress
) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    write_model(directory, config, {name: one.detach() for name, one in weights.items()})
    state: dict[str, Any] = {"optimizer": optimizer.state(), "progress": asdict(progress)}
    beside = directory / "state.partial"
    torch.save({**state, "weights": {name: one.detach() for name, one in weights.items()}}, beside)
    beside.replace(directory / "state.pt")


def _resume(directory: Path, weights: dict[str, torch.Tensor], optimizer: MuonAdamW) -> Progress:
    file = directory / "state.pt"
    if not file.exists():
        return Progress()
    state = torch.load(file, weights_only=True)
    with torch.no_grad():
        for name, one in state["weights"].items():
            weights[name].copy_(one)
    optimizer.restore(state["optimizer"])
    return Progress(**state["progress"])
