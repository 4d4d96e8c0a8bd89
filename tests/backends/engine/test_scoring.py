"""Scores of a prompt's own tokens."""

import numpy as np
import pytest
import torch
from transformers import Qwen3ForCausalLM

from rtl_agent.backends.engine.contract import EngineError, SampleRequest, ScoreRequest
from rtl_agent.backends.engine.qwen3.engine import Qwen3Engine
from tests.backends.engine.conftest import CONFIG

TOKENS = np.random.default_rng(4).integers(0, CONFIG.vocabulary, 150).tolist()


@pytest.fixture(scope="module")
def table(reference: Qwen3ForCausalLM) -> torch.Tensor:
    with torch.no_grad():
        result: torch.Tensor = reference(torch.tensor([TOKENS])).logits[0].log_softmax(-1)
    return result


def test_each_token_has_its_logprob_and_the_first_none(engine: Qwen3Engine, small: str, table: torch.Tensor) -> None:
    score = engine.base_snapshot(small).score(ScoreRequest(TOKENS, topk=5)).result(timeout=60)
    assert score.logprobs[0] is None
    assert score.topk[0] is None
    assert len(score.logprobs) == len(score.topk) == len(TOKENS)
    for i in range(1, len(TOKENS)):
        assert score.logprobs[i] == pytest.approx(float(table[i - 1, TOKENS[i]]), abs=1e-4)
        best = table[i - 1].topk(5)
        pairs = score.topk[i]
        assert pairs is not None
        assert [logprob for _, logprob in pairs] == pytest.approx(best.values.tolist(), abs=1e-4)
        assert {token for token, _ in pairs} == set(best.indices.tolist())


@pytest.mark.parametrize("last", [0, 1, 40, 149, 150, 1000])
def test_the_last_tokens_alone_are_the_end_of_all(engine: Qwen3Engine, small: str, last: int) -> None:
    snapshot = engine.base_snapshot(small)
    whole = snapshot.score(ScoreRequest(TOKENS, topk=2)).result(timeout=60)
    part = snapshot.score(ScoreRequest(TOKENS, topk=2, last=last)).result(timeout=60)
    expected = list(whole.logprobs)[max(0, len(TOKENS) - last) :]
    assert len(part.logprobs) == len(part.topk) == len(expected)
    assert [x is None for x in part.logprobs] == [x is None for x in expected]
    assert [x or 0.0 for x in part.logprobs] == pytest.approx([x or 0.0 for x in expected], abs=1e-5)


def test_one_token_can_be_sampled_from_the_same_pass(engine: Qwen3Engine, small: str) -> None:
    snapshot = engine.base_snapshot(small)
    for seed in range(5):
        request = SampleRequest(TOKENS, 1, seed=seed, temperature=0.8)
        then = snapshot.score(ScoreRequest(TOKENS, then=request)).result(timeout=60).then
        assert then is not None
        sample = snapshot.sample(request).result(timeout=60)
        assert list(then.tokens) == list(sample.tokens)
        assert list(then.logprobs) == pytest.approx(list(sample.logprobs), abs=1e-5)


def test_a_single_token_has_nothing_to_score(engine: Qwen3Engine, small: str) -> None:
    assert list(engine.base_snapshot(small).score(ScoreRequest([3])).result(timeout=60).logprobs) == [None]


@pytest.mark.parametrize(("tokens", "message"), [([], "empty"), ([97], "token 97"), ([1] * 513, "513 tokens")])
def test_a_bad_prompt_is_refused(engine: Qwen3Engine, small: str, tokens: list[int], message: str) -> None:
    with pytest.raises(EngineError, match=message):
        engine.base_snapshot(small).score(ScoreRequest(tokens)).result(timeout=60)
