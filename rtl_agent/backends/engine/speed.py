"""How fast the engine samples and trains, against transformers on the same weights, in tokens per CPU second.

Rounds alternate between the two, and the medians are compared: the other work of a machine changes both alike.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from transformers import GenerationConfig, Qwen3ForCausalLM

from rtl_agent.backends.engine.contract import Adam, Example, Ints, Lora, SampleRequest, ScoreRequest
from rtl_agent.backends.engine.torch_engine import TorchEngine
from rtl_agent.backends.models import OWN, model_directory


@dataclass(frozen=True)
class Load:
    """What is asked for in each round. A group shares a prompt, as in reinforcement learning; 1: all differ."""

    sequences: int = 16
    group: int = 1
    prompt: int = 120
    answer: int = 200
    rounds: int = 3


@dataclass(frozen=True)
class Speed:
    """Tokens per CPU second: sampled ones, trained ones (prompt too), scored ones."""

    what: str
    model: str
    engine: float
    transformers: float

    @property
    def ratio(self) -> float:
        return self.engine / self.transformers


def measure(models: Sequence[str] = OWN, load: Load | None = None) -> list[Speed]:
    """One thread on both sides."""
    return [speed for name in models for speed in _of_model(name, load or Load())]


def _of_model(name: str, load: Load) -> list[Speed]:
    engine = TorchEngine((name,))
    try:
        theirs = Qwen3ForCausalLM.from_pretrained(model_directory(name), dtype=torch.float32)
        rng = np.random.default_rng(0)
        prompts = rng.integers(0, theirs.config.vocab_size, (load.sequences // load.group, load.prompt))
        prompts = prompts.repeat(load.group, axis=0)
        whole = rng.integers(0, theirs.config.vocab_size, (load.sequences, load.prompt + load.answer))
        sampled, all_tokens = load.sequences * load.answer, whole.size
        return [
            _compare(
                "sample", name, sampled, _sample(engine, name, prompts, load), _generate(theirs, prompts, load), load
            ),
            _compare("score", name, all_tokens, _score(engine, name, whole), _forward(theirs, whole), load),
            _compare("train all weights", name, all_tokens, _train(engine, name, whole, 0), _loop(theirs, whole), load),
            _compare("train LoRA 32", name, all_tokens, _train(engine, name, whole, 32), _loop(theirs, whole), load),
        ]
    finally:
        engine.close()


def _compare(
    what: str, model: str, tokens: int, ours: Callable[[], None], theirs: Callable[[], None], load: Load
) -> Speed:
    seconds: dict[int, list[float]] = {0: [], 1: []}
    for turn in range(load.rounds + 1):
        for side, run in enumerate((ours, theirs)):
            start = time.process_time()
            run()
            if turn:  # the first warms caches and allocators up
                seconds[side].append(time.process_time() - start)
    return Speed(what, model, tokens / statistics.median(seconds[0]), tokens / statistics.median(seconds[1]))


def _sample(engine: TorchEngine, name: str, prompts: Ints, load: Load) -> Callable[[], None]:
    snapshot = engine.base_snapshot(name)
    seeds = iter(range(10**9))

    def run() -> None:
        # New prompts each time, as they are to generate(): nothing may come from the kept ones.
        changed = (prompts + next(seeds)) % prompts.max()
        requests = [SampleRequest(prompt.tolist(), load.answer, seed=next(seeds)) for prompt in changed]
        for future in [snapshot.sample(request) for request in requests]:
            future.result()

    return run


def _generate(model: Qwen3ForCausalLM, prompts: Ints, load: Load) -> Callable[[], None]:
    tokens = torch.from_numpy(prompts)
    # No end token: every sequence has its full length on both sides.
    length = {"max_new_tokens": load.answer, "min_new_tokens": load.answer, "pad_token_id": 0}
    how = GenerationConfig(**length, do_sample=True, top_k=0)  # type: ignore[no-untyped-call]

    def run() -> None:
        with torch.inference_mode():
            model.generate(tokens, how, attention_mask=torch.ones_like(tokens))  # type: ignore[misc]  # its mixin's types

    return run


def _score(engine: TorchEngine, name: str, whole: Ints) -> Callable[[], None]:
    snapshot = engine.base_snapshot(name)

    def run() -> None:
        for future in [snapshot.score(ScoreRequest(row.tolist())) for row in whole]:
            future.result()

    return run


def _forward(model: Qwen3ForCausalLM, whole: Ints) -> Callable[[], None]:
    tokens = torch.from_numpy(whole)

    def run() -> None:
        with torch.inference_mode():
            model(tokens).logits[:, :-1].log_softmax(-1).gather(-1, tokens[:, 1:, None]).tolist()

    return run


def _train(engine: TorchEngine, name: str, whole: Ints, rank: int) -> Callable[[], None]:
    model = engine.create(name, Lora(rank=rank))
    ones = np.ones(whole.shape[1] - 1, dtype=np.float32)
    examples = [Example(row[:-1], {"target_tokens": row[1:], "weights": ones}) for row in whole]

    def run() -> None:
        model.forward_backward(examples, "cross_entropy", {})
        model.step(Adam(1e-4))

    return run


def _loop(model: Qwen3ForCausalLM, whole: Ints) -> Callable[[], None]:
    """As somebody would write it: batches of eight, all weights, torch's own AdamW."""
    tokens = torch.from_numpy(whole)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)

    def run() -> None:
        for rows in torch.split(tokens, 8):
            logits = model(rows[:, :-1]).logits
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten(), reduction="sum")
            loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it so
        optimizer.step()
        optimizer.zero_grad()

    return run
