"""Training from scratch: it learns, it repeats, and it goes on where it was."""

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from rtl_agent.backends.engine.qwen3.config import Qwen3Config
from rtl_agent.training.pretrain import Pretraining, pretrain
from rtl_agent.training.pretrain.job import batch_of
from rtl_agent.training.pretrain.material import Pair
from rtl_agent.training.pretrain.muon import orthogonal

TINY = Qwen3Config(vocabulary=40, width=32, layers=2, feed_forward=64, heads=2, kv_heads=2, head_dim=16, context=64)


def backwards() -> Iterator[Pair]:
    """Three tokens, to be said in the other order."""
    draw = random.Random(0)
    while True:
        word = tuple(draw.randrange(2, 40) for _ in range(3))
        yield Pair((0, *word, 1), (*reversed(word), 1))


def test_only_the_answer_is_learned() -> None:
    batch = batch_of([Pair((5, 6, 7), (8, 9)), Pair((5,), (6,))])
    assert batch.inputs.tolist() == [[5, 6, 7, 8], [5, 0, 0, 0]]
    assert batch.targets.tolist() == [[-100, -100, 8, 9], [6, -100, -100, -100]]


def test_muon_makes_singular_values_alike() -> None:
    matrix = torch.randn(24, 60, generator=torch.Generator().manual_seed(0))
    values = torch.linalg.svdvals(orthogonal(matrix))
    assert 0.6 < float(values.min()) <= float(values.max()) < 1.3


def test_the_learning_rate_rises_and_falls() -> None:
    job = Pretraining(tokens=100)
    assert job.scale(0.01) == pytest.approx(0.5)
    assert job.scale(0.3) == 1.0
    assert job.scale(0.7) == pytest.approx(0.5)


def test_it_learns_and_goes_on_after_an_end_as_if_there_was_none(tmp_path: Path) -> None:
    job = Pretraining(tokens=30_000, rows=16)  # 235 steps
    steps = iter(range(10**6))

    class Stop(Exception):
        pass

    def stop(_: object) -> None:
        if next(steps) == 125:
            raise Stop

    done = pretrain(job, TINY, backwards(), tmp_path / "whole")
    assert done.loss < 1.5  # 3.7 by chance
    with pytest.raises(Stop):
        pretrain(job, TINY, backwards(), tmp_path / "broken", on_step=stop, save_every=50)
    again = pretrain(job, TINY, backwards(), tmp_path / "broken")
    assert replace(again, cpu_seconds=0) == replace(done, cpu_seconds=0)
    whole, broken = (load_file(tmp_path / name / "model.safetensors") for name in ("whole", "broken"))
    assert all(torch.equal(whole[name], broken[name]) for name in whole)


def test_an_observation_is_not_learned() -> None:
    batch = batch_of([Pair((5, 6), (7, 8, 9, 4), shown=((1, 3),))])
    assert batch.targets.tolist() == [[-100, 7, -100, -100, 4]]
