"""What a request yields depends on the snapshot and the request alone: bit for bit, whoever shares its batch."""

import random
from pathlib import Path

import numpy as np
import pytest

from rtl_agent.backends.engine.contract import SampledSequence, SampleRequest, ScoreRequest
from rtl_agent.backends.engine.qwen3.engine import Qwen3Engine
from rtl_agent.backends.engine.qwen3.kv_cache import BLOCK
from rtl_agent.backends.engine.qwen3.snapshot import BATCHES, ROWS, Qwen3Snapshot
from tests.backends.engine.conftest import CONFIG


def _requests(vocabulary: int, count: int) -> list[SampleRequest]:
    """Prompts within one block, across blocks, ending at a block's edge; every way to choose; some prompts twice."""
    rng = np.random.default_rng(11)
    lengths = [1, 30, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 5, 3 * BLOCK - 3, 5 * BLOCK - 20, 6 * BLOCK + 1]
    prompts = [rng.integers(0, vocabulary, length).tolist() for length in lengths]
    ways = [
        {"temperature": 1.0},
        {"temperature": 0.0},
        {"temperature": 0.7, "top_k": 9},
        {"temperature": 1.3, "top_p": 0.8},
        {"temperature": 1.0, "topk_logprobs": 3},
    ]
    return [
        SampleRequest(prompts[i % len(prompts)], (5, 12, 40)[i % 3], seed=i // 3, **ways[i % len(ways)])  # type: ignore[arg-type]
        for i in range(count)
    ]


def _together(snapshot: Qwen3Snapshot, requests: list[SampleRequest]) -> list[SampledSequence]:
    return [future.result(timeout=120) for future in [snapshot.sample(request) for request in requests]]


@pytest.mark.parametrize("name", ["small", "rtl-agent/student"])
def test_alone_together_and_shuffled_are_equal_bit_for_bit(
    engine: Qwen3Engine, small: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    base = small if name == "small" else name
    vocabulary = CONFIG.vocabulary if name == "small" else 1000
    # More than fit at once, so that rows are used again after others.
    requests = _requests(vocabulary, ROWS["cpu"] * BATCHES + 15)
    together = _together(engine.base_snapshot(base), requests)
    order = list(range(len(requests)))
    random.Random(1).shuffle(order)
    shuffled = dict(zip(order, _together(engine.base_snapshot(base), [requests[i] for i in order]), strict=True))
    alone = engine.base_snapshot(base)
    for i, request in enumerate(requests):
        # Python compares floats by value: equal means the same bits here.
        assert shuffled[i] == together[i]
        if i % 2:
            assert alone.sample(request).result(timeout=120) == together[i]


def test_scores_do_not_depend_on_what_else_is_queued(engine: Qwen3Engine, small: str) -> None:
    rng = np.random.default_rng(2)
    requests = [ScoreRequest(rng.integers(0, CONFIG.vocabulary, n).tolist(), topk=4) for n in (3, 150, 150, 77)]
    busy = engine.base_snapshot(small)
    samples = [busy.sample(request) for request in _requests(CONFIG.vocabulary, 8)]
    queued = [future.result(timeout=120) for future in [busy.score(request) for request in requests]]
    assert [engine.base_snapshot(small).score(request).result(timeout=120) for request in requests] == queued
    assert all(sample.result(timeout=120).tokens for sample in samples)
