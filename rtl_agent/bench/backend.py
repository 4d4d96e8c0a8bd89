"""How fast our own server samples and trains through the SDK, against transformers on the same weights.

Tokens for each CPU second; the CPU of server and client both count. Rounds alternate between the two sides.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

from rtl_agent.bench.meter import Meter

SAMPLE, SCORE, TRAIN, TRAIN_LORA = "sample", "score", "train, all weights", "train, LoRA 32"
LEAST = {SAMPLE: 2.0, TRAIN: 1.0}  # what we hold ourselves to, times transformers


@dataclass(frozen=True)
class Load:
    """What is asked for in each round, in groups as a run has them."""

    sequences: int = 16
    group: int = 4  # sequences with the same prompt
    prompt: int = 120
    answer: int = 200


@dataclass(frozen=True)
class Speed:
    """Tokens for each CPU second on both sides."""

    model: str
    what: str
    server: float
    transformers: float

    @property
    def ratio(self) -> float:
        return self.server / self.transformers

    def to_json(self) -> dict[str, object]:
        return {**self.__dict__, "ratio": self.ratio}


def measure(
    models: Sequence[str], rounds: int, load: Load | None = None, on_step: Callable[[], None] = lambda: None
) -> list[Speed]:
    """One thread on both sides. The first round of each pair warms up and does not count."""
    found = []
    for model in models:
        with _sides(model, load or Load()) as pairs:
            for what, tokens, ours, theirs in pairs:
                spent: tuple[list[float], list[float]] = ([], [])
                for turn in range(rounds + 1):
                    for side, work in enumerate((ours, theirs)):
                        meter = Meter()
                        work()
                        if turn:
                            spent[side].append(meter.stop().cpu)
                    on_step()
                found.append(Speed(model, what, tokens / median(spent[0]), tokens / median(spent[1])))
    return found


Work = Callable[[], None]


@contextmanager
def _sides(model: str, load: Load) -> Iterator[list[tuple[str, int, Work, Work]]]:
    """(what, tokens, through the SDK, with transformers)"""
    import numpy as np
    import torch
    from transformers import Qwen3ForCausalLM

    from rtl_agent.backends.connect import connect
    from rtl_agent.backends.models import model_directory

    torch.set_num_threads(1)
    theirs = Qwen3ForCausalLM.from_pretrained(model_directory(model), dtype=torch.float32)
    random = np.random.default_rng(0)
    whole = random.integers(0, theirs.config.vocab_size, (load.sequences, load.prompt + load.answer))
    whole[:, : load.prompt] = np.repeat(whole[:: load.group, : load.prompt], load.group, axis=0)
    with connect("embedded", models=[model], threads=1) as connection:
        service = connection.service
        sampler = service.create_sampling_client(base_model=model)
        yield [
            (
                SAMPLE,
                load.sequences * load.answer,
                sample(sampler, whole[:, : load.prompt], load),
                generate(theirs, whole[:, : load.prompt], load),
            ),
            (SCORE, whole.size, score(sampler, whole), forward(theirs, whole)),
            (TRAIN, whole.size, train(service, model, whole, rank=0), _loop(theirs, whole)),
            (TRAIN_LORA, whole.size, train(service, model, whole, rank=32), _loop(theirs, whole)),
        ]


def sample(sampler: Any, prompts: Any, load: Load) -> Work:
    import tinker

    seeds = iter(range(1, 1 << 30))

    def work() -> None:
        changed = (prompts + next(seeds)) % (prompts.max() + 1)  # new to the server each time, as they are to generate
        futures = [
            sampler.sample(
                tinker.ModelInput.from_ints(prompt.tolist()),
                num_samples=1,
                sampling_params=tinker.SamplingParams(max_tokens=load.answer, seed=next(seeds), stop=[]),
            )
            for prompt in changed
        ]
        for future in futures:
            if len(future.result().sequences[0].tokens) != load.answer:
                raise RuntimeError("a sample ended early, so the two sides cannot be compared")

    return work


def generate(model: Any, prompts: Any, load: Load) -> Work:
    import torch

    tokens = torch.from_numpy(prompts)
    settings = {"max_new_tokens": load.answer, "min_new_tokens": load.answer, "do_sample": True, "top_k": 0}

    def work() -> None:
        with torch.inference_mode():
            model.generate(tokens, attention_mask=torch.ones_like(tokens), pad_token_id=0, **settings)

    return work


def score(sampler: Any, whole: Any) -> Work:
    import tinker

    prompts = [tinker.ModelInput.from_ints(row.tolist()) for row in whole]

    def work() -> None:
        for future in [sampler.compute_logprobs(prompt) for prompt in prompts]:
            future.result()

    return work


def forward(model: Any, whole: Any) -> Work:
    import torch

    tokens = torch.from_numpy(whole)

    def work() -> None:
        with torch.inference_mode():
            model(tokens).logits[:, :-1].log_softmax(-1).gather(-1, tokens[:, 1:, None]).tolist()

    return work


def train(service: Any, model: str, whole: Any, *, rank: int) -> Work:
    import numpy as np
    import tinker

    client = service.create_lora_training_client(model, rank=rank)
    ones = tinker.TensorData.from_numpy(np.ones(whole.shape[1] - 1, np.float32))
    data = [
        tinker.Datum(
            model_input=tinker.ModelInput.from_ints(row[:-1].tolist()),
            loss_fn_inputs={"target_tokens": tinker.TensorData.from_numpy(row[1:]), "weights": ones},
        )
        for row in whole
    ]

    def work() -> None:
        client.forward_backward(data, "cross_entropy")
        client.optim_step(tinker.AdamParams(learning_rate=1e-4)).result()

    return work


def _loop(model: Any, whole: Any) -> Work:
    """As somebody would write it: batches of eight, all weights, torch's own AdamW."""
    import torch

    tokens = torch.from_numpy(whole)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)

    def work() -> None:
        for rows in torch.split(tokens, 8):
            logits = model(rows[:, :-1]).logits
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten(), reduction="sum")
            loss.backward()  # type: ignore[no-untyped-call]  # torch has no types for it
        optimizer.step()
        optimizer.zero_grad()

    return work
