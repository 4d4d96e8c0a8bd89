"""A model on the transformers engine, through the SDK, against what one would write with transformers and PEFT.

One side after the other, each in memory alone: both together would need more than the model's users have. Tokens a
second, on a machine that does nothing else; beside it the ratio by CPU time, which holds on a busy one too. The two
differ where a side leaves cores idle.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rtl_agent.bench.backend import SAMPLE, SCORE, TRAIN_LORA, Load, forward, generate, sample, score, train
from rtl_agent.bench.meter import Meter, Used

SAMPLE_LORA = "sample, LoRA 32"
LARGE = Load(sequences=8, group=4, prompt=200, answer=40)
LONG = 1024
# Times transformers; a tenth is what the server and the SDK may cost where the work is the same.
LEAST_LARGE = {SAMPLE: 2.0, SAMPLE_LORA: 2.0, SCORE: 1 / 1.1, TRAIN_LORA: 1 / 1.1}
MOST_GB = 14.0

Work = Callable[[], None]


@dataclass(frozen=True)
class Compared:
    """One kind of work on both sides: how many tokens, and what they took."""

    what: str
    tokens: int
    server: Used
    transformers: Used

    @property
    def ratio(self) -> float:
        return self.transformers.wall / self.server.wall

    @property
    def cpu_ratio(self) -> float:
        return self.transformers.cpu / self.server.cpu

    def to_json(self) -> dict[str, object]:
        sides = {"server": self.server.__dict__, "transformers": self.transformers.__dict__}
        ratios = {"ratio": self.ratio, "cpu_ratio": self.cpu_ratio}
        return {"what": self.what, "tokens": self.tokens, **sides, **ratios}


@dataclass(frozen=True)
class LargeModel:
    """`peak_gb`: of a server that was sampled from and then trained one adapter on a sequence of LONG tokens."""

    model: str
    compared: list[Compared]
    peak_gb: float

    def to_json(self) -> dict[str, object]:
        return {"model": self.model, "compared": [one.to_json() for one in self.compared], "peak_gb": self.peak_gb}


def measure_large(model: str, rounds: int, on_step: Callable[[], None] = lambda: None) -> LargeModel:
    """The first round of each part warms up and does not count."""
    found: list[dict[str, Used]] = []
    tokens: dict[str, int] = {}
    peak = _training_peak(model)  # first: this process takes memory itself once it has run the other side
    for _ in range(rounds + 1):  # as long as a part
        on_step()
    for open_side in (_served, _plain):
        used = {}
        with open_side(model) as works:
            for what, (count, work) in works.items():
                tokens[what] = count
                spent = []
                for turn in range(rounds + 1):
                    meter = Meter()
                    work()
                    if turn:
                        spent.append(meter.stop())
                    on_step()
                used[what] = Used(median(one.cpu for one in spent), median(one.wall for one in spent))
        found.append(used)
        gc.collect()
    ours, theirs = found
    theirs[SAMPLE_LORA] = theirs[SAMPLE]  # merged, at its best
    return LargeModel(model, [Compared(what, tokens[what], ours[what], theirs[what]) for what in ours], peak)


PARTS = 4 + 3 + 1  # of both sides, and the peak
Works = dict[str, tuple[int, Work]]  # how many tokens, and what is done with them


def _sequences(vocabulary: int, length: int, count: int, group: int) -> Any:
    import numpy as np

    whole = np.random.default_rng(0).integers(0, vocabulary, (count, length))
    whole[:, : LARGE.prompt] = np.repeat(whole[::group, : LARGE.prompt], group, axis=0)
    return whole


@contextmanager
def _served(model: str) -> Iterator[Works]:
    from rtl_agent.backends.connect import connect
    from rtl_agent.backends.engine.causal_lm.architecture import describe
    from rtl_agent.backends.models import model_directory

    vocabulary = describe(model, model_directory(model)).info.vocabulary
    whole = _sequences(vocabulary, LARGE.prompt + LARGE.answer, LARGE.sequences, LARGE.group)
    with connect("embedded", models=[model], engine="transformers") as connection:
        service = connection.service
        sampler = service.create_sampling_client(base_model=model)
        trainer = train(service, model, whole, rank=32)
        adapted = service.create_lora_training_client(model, rank=32).save_weights_and_get_sampling_client()
        prompts, answers = whole[:, : LARGE.prompt], LARGE.sequences * LARGE.answer
        yield {
            SAMPLE: (answers, sample(sampler, prompts, LARGE)),
            SAMPLE_LORA: (answers, sample(adapted, prompts, LARGE)),
            SCORE: (whole.size, score(sampler, whole)),
            TRAIN_LORA: (whole.size, trainer),
        }


def _training_peak(model: str) -> float:
    """In a server of its own: that of the other parts has two adapters with an optimizer each."""
    from rtl_agent.backends.connect import connect
    from rtl_agent.backends.engine.causal_lm.architecture import describe
    from rtl_agent.backends.models import model_directory

    info = describe(model, model_directory(model)).info
    prompts = _sequences(info.vocabulary, LARGE.prompt + LARGE.answer, LARGE.sequences, LARGE.group)[:, : LARGE.prompt]
    long = _sequences(info.vocabulary, min(LONG, info.context - 1) + 1, 1, 1)
    with connect("embedded", models=[model], engine="transformers") as connection:
        sample(connection.service.create_sampling_client(base_model=model), prompts, LARGE)()
        train(connection.service, model, long, rank=32)()
        return _peak_gb(connection.server.pid) if connection.server else 0.0


def _peak_gb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e9
    return 0.0


@contextmanager
def _plain(model: str) -> Iterator[Works]:
    import torch
    from transformers import AutoModelForCausalLM

    from rtl_agent.backends.engine.causal_lm.architecture import describe
    from rtl_agent.backends.engine.registry import default_threads
    from rtl_agent.backends.models import model_directory

    described = describe(model, model_directory(model))
    torch.set_num_threads(default_threads([model]))
    theirs = AutoModelForCausalLM.from_pretrained(model_directory(model), dtype=getattr(torch, described.dtype))
    whole = _sequences(described.info.vocabulary, LARGE.prompt + LARGE.answer, LARGE.sequences, LARGE.group)
    adapted: list[Work] = []

    def trained() -> None:
        if not adapted:
            adapted.append(_peft_loop(theirs, whole))
        adapted[0]()

    yield {
        SAMPLE: (LARGE.sequences * LARGE.answer, generate(theirs, whole[:, : LARGE.prompt], LARGE)),
        SCORE: (whole.size, forward(theirs, whole)),
        TRAIN_LORA: (whole.size, trained),
    }


def _peft_loop(model: Any, whole: Any) -> Work:
    """As somebody would write it: batches of two, LoRA on every linear layer, torch's own AdamW."""
    import torch
    from peft import LoraConfig, get_peft_model

    names = {name.rpartition(".")[2] for name, module in model.named_modules() if isinstance(module, torch.nn.Linear)}
    adapted: Any = get_peft_model(model, LoraConfig(r=32, lora_alpha=32, target_modules=sorted(names)))
    optimizer = torch.optim.AdamW([one for one in adapted.parameters() if one.requires_grad], 1e-4)
    tokens = torch.from_numpy(whole)

    def work() -> None:
        for rows in torch.split(tokens, 2):
            logits = adapted(rows[:, :-1]).logits.float()
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten(), reduction="sum")
            loss.backward()  # type: ignore[no-untyped-call]  # torch has no types for it
        optimizer.step()
        optimizer.zero_grad()

    return work
