"""What sequences have in common is computed once: the transformers engine gives what it gives for each alone."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from rtl_agent.backends.engine.causal_lm.engine import CausalLmEngine
from rtl_agent.backends.engine.causal_lm.kv_cache import LEAST_SHARED, Beginnings, KeysValues
from rtl_agent.backends.engine.causal_lm.shared_rows import groups
from rtl_agent.backends.engine.contract import Adam, Example, Lora, SampleRequest, Score, ScoreRequest
from tests.backends.engine.tiny_architectures import ARCHITECTURES, VOCABULARY, write_architecture

RNG = np.random.default_rng(5)
PROMPT = RNG.integers(2, VOCABULARY, 40)
# The same system message, another problem.
OTHER = np.concatenate((PROMPT[:34], RNG.integers(2, VOCABULARY, 60)))
WINDOWED = ("gpt_oss", "gemma3")


@pytest.fixture(scope="module", params=ARCHITECTURES)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CausalLmEngine]:
    model = write_architecture(request.param, tmp_path_factory.mktemp("models") / request.param)
    engine = CausalLmEngine([model])
    yield engine
    engine.close()


def answered(prompt: Any, length: int, seed: int, targets: int = 1) -> Example:
    tokens = np.concatenate((prompt, np.random.default_rng(seed).integers(2, VOCABULARY, length)))
    shape = (len(tokens) - 1, targets) if targets > 1 else (len(tokens) - 1,)
    weights = np.random.default_rng(seed + 1).uniform(-1, 1, shape).astype(np.float32)
    weights[: len(prompt) - 1] = 0
    wanted = tokens[1:] if targets == 1 else np.random.default_rng(seed + 2).integers(0, VOCABULARY, shape)
    return Example(tokens[:-1], {"target_tokens": wanted, "weights": weights})


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(found, np.float64), np.asarray(wanted, np.float64), atol=1e-4)


def likeliest(score: Score) -> list[list[int]]:
    return [[token for token, _ in pairs or ()] for pairs in score.topk]


EXAMPLES = [
    answered(PROMPT, 7, 1),
    answered(OTHER, 12, 2),
    answered(PROMPT, 15, 3),
    answered(PROMPT, 7, 1),  # the same answer once more
    answered(OTHER, 3, 4),
    answered(PROMPT[20:], 5, 5),  # begins like no other
    answered(PROMPT, 6, 6, targets=4),
    answered(PROMPT, 9, 7, targets=4),
]


def test_gradients_and_logprobs_are_those_of_each_example_alone(engine: CausalLmEngine) -> None:
    model = engine.models()[0].name
    together, alone = (engine.create(model, Lora(4, seed=3)) for _ in range(2))
    for trained in (together, alone):  # an adapter begins at zero: one step makes it count
        trained.forward_backward(EXAMPLES[:1], "cross_entropy", {})
        trained.step(Adam(1e-2))
    found = together.forward_backward(EXAMPLES, "cross_entropy", {})
    apart = [alone.forward_backward([one], "cross_entropy", {}) for one in EXAMPLES]
    assert found.loss_sum == pytest.approx(sum(one.loss_sum for one in apart), rel=1e-4)
    for left, right in zip(found.logprobs, apart, strict=True):
        np.testing.assert_allclose(left, right.logprobs[0], atol=1e-4)
    assert together.gradients is not None
    assert alone.gradients is not None
    for name, gradient in alone.gradients.items():
        torch.testing.assert_close(together.gradients[name], gradient, atol=2e-4, rtol=1e-3)


def test_windows_are_not_shared_and_everything_else_is(engine: CausalLmEngine) -> None:
    info = engine.models()[0]
    assert engine._base(info.name).shares == (not any(name in info.name for name in WINDOWED))


def test_scores_and_samples_are_the_same_behind_a_beginning_that_was_read(engine: CausalLmEngine) -> None:
    model = engine.models()[0].name
    sequences = [[*PROMPT, *range(5, 12)], [*PROMPT, *range(20, 40)], [*OTHER, 3, 4], [*PROMPT, *range(5, 12)]]
    fresh = [engine.create(model, Lora(4)).snapshot() for _ in sequences]  # each has read nothing
    shared = engine.create(model, Lora(4)).snapshot()
    for sequence, snapshot in zip(sequences, fresh, strict=True):
        tokens = [int(one) for one in sequence]
        asked = ScoreRequest(tokens, topk=3, last=len(tokens) - 38, ranks=True)
        found, wanted = shared.score(asked).result(60), snapshot.score(ScoreRequest(tokens, topk=3)).result(60)
        close(found.logprobs, wanted.logprobs[38:])
        assert likeliest(found) == likeliest(wanted)[38:]
        request = SampleRequest(tokens, 6, seed=0, temperature=0.0)
        assert shared.sample(request).result(60).tokens == snapshot.sample(request).result(60).tokens


def test_whole_sequences_in_one_row_are_scored_like_each_alone(engine: CausalLmEngine) -> None:
    snapshot = engine.base_snapshot(engine.models()[0].name)
    then = SampleRequest([0], 1, seed=1, topk_logprobs=0)
    requests = [
        ScoreRequest([*PROMPT.tolist(), *range(5, 12)], topk=3, ranks=True),
        ScoreRequest([*OTHER.tolist(), 3, 4], then=then),
        ScoreRequest([*PROMPT.tolist(), *range(20, 40)], topk=2),
        ScoreRequest([*PROMPT.tolist(), *range(5, 12)], topk=5, then=then),
        ScoreRequest([7]),
    ]
    together = snapshot._model.score(requests)  # type: ignore[union-attr]  # it is open
    for request, found in zip(requests, together, strict=True):
        wanted = snapshot.score(request).result(60)
        assert found.logprobs[0] is None
        close(found.logprobs[1:], wanted.logprobs[1:])
        assert likeliest(found) == likeliest(wanted)
        assert found.ranks == wanted.ranks
        assert (found.then and found.then.tokens) == (wanted.then and wanted.then.tokens)


def test_sequences_of_one_prompt_are_together_and_a_row_is_bounded() -> None:
    def rows(examples: list[Example], most: int) -> list[list[int]]:
        return sorted(sorted(one) for one in groups([example.tokens.tolist() for example in examples], most))

    assert rows(EXAMPLES, 500) == [[0, 2, 3, 6, 7], [1, 4], [5]]
    assert rows([answered(PROMPT, 7, 1), answered(OTHER, 9, 2)], 500) == [[0, 1]]
    assert [len(one) for one in rows(EXAMPLES[:1] * 10, 50)] == [10]
    assert [len(one) for one in rows([answered(PROMPT, 20, seed) for seed in range(6)], 80)] == [2, 2, 2]
    assert [len(one) for one in rows([answered(PROMPT[:8], 5, seed) for seed in range(4)], 500)] == [1] * 4


def test_the_longest_beginning_is_found_and_old_ones_leave(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rtl_agent.backends.engine.causal_lm.kv_cache.KEPT_NUMBERS", 2 * 50 * 2)

    def of(length: int) -> KeysValues:
        return KeysValues([torch.arange(length)[None, :, None]], [torch.zeros(1, length, 1)])

    kept, tokens = Beginnings(), list(range(50))
    kept.keep(tokens, of(60))
    found, length = kept.longest([*tokens[:45], 99, 98], 47)
    assert length == 45
    assert found is not None
    assert found.keys[0].shape == (1, 45, 1)
    assert kept.longest(tokens, LEAST_SHARED - 1) == (None, 0)
    assert kept.longest([7, *tokens], 40) == (None, 0)
    for start in (100, 200):
        kept.keep(list(range(start, start + 50)), of(50))
    assert kept.longest(tokens, 50) == (None, 0)
    assert kept.longest(list(range(200, 250)), 50)[1] == 50
