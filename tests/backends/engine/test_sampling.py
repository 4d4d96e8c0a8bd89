"""Samples: their logprobs are the trainer's, their settings are their own, and they end where they should."""

import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer, decoders, models
from transformers import Qwen3ForCausalLM
from transformers.convert_slow_tokenizer import bytes_to_unicode

from rtl_agent.backends.engine.contract import Adam, EngineError, Example, Lora, SampleRequest, ScoreRequest
from rtl_agent.backends.engine.qwen3.engine import Qwen3Engine
from rtl_agent.backends.engine.qwen3.weights import random_weights, write_model
from rtl_agent.backends.engine.token_sampling import StopTexts, TokenDecoder, uniforms
from tests.backends.engine.conftest import CONFIG

PROMPT = [5, 9, 2, 44, 71, 3]


def test_greedy_samples_are_those_of_transformers(engine: Qwen3Engine, small: str, reference: Qwen3ForCausalLM) -> None:
    prompt = np.random.default_rng(1).integers(0, CONFIG.vocabulary, 120).tolist()
    sample = engine.base_snapshot(small).sample(SampleRequest(prompt, 40, seed=0, temperature=0)).result(timeout=60)
    theirs = reference.generate(  # type: ignore[misc]  # transformers types `self` as a protocol its models fail
        torch.tensor([prompt]), max_new_tokens=40, do_sample=False, eos_token_id=None
    )
    assert list(sample.tokens) == theirs[0, len(prompt) :].tolist()
    assert sample.stop_reason == "length"


@pytest.mark.parametrize("rank", [0, 8])
@pytest.mark.parametrize("temperature", [0.0, 0.6, 1.0])
def test_logprobs_are_the_trainers_at_temperature_one(
    engine: Qwen3Engine, small: str, rank: int, temperature: float
) -> None:
    model = engine.create(small, Lora(rank=rank))
    tokens = np.random.default_rng(8).integers(0, CONFIG.vocabulary, 60)
    for _ in range(3):
        inputs: dict[str, NDArray[np.generic]] = {
            "target_tokens": np.roll(tokens, -1),
            "weights": np.ones(60, dtype=np.float32),
        }
        model.forward_backward([Example(tokens, inputs)], "cross_entropy", {})
        model.step(Adam(1e-2))
    snapshot = model.snapshot()
    request = SampleRequest(PROMPT, 200, seed=3, temperature=temperature, top_k=20)
    sample = snapshot.sample(request).result(timeout=60)
    whole = np.array([*PROMPT, *sample.tokens])
    inputs = {"target_tokens": whole[1:], "weights": np.ones(len(whole) - 1, dtype=np.float32)}
    passed = model.forward_backward([Example(whole[:-1], inputs)], "cross_entropy", {}, forward_only=True)
    np.testing.assert_allclose(passed.logprobs[0][len(PROMPT) - 1 :], sample.logprobs, atol=1e-4)
    scored = snapshot.score(ScoreRequest(whole.tolist())).result(timeout=60)
    assert scored.logprobs[0] is None
    np.testing.assert_allclose(passed.logprobs[0], np.array(scored.logprobs[1:], dtype=np.float64), atol=1e-4)


def test_a_snapshot_does_not_follow_later_steps(engine: Qwen3Engine, small: str) -> None:
    for rank in (0, 4):
        model = engine.create(small, Lora(rank=rank))
        snapshot = model.snapshot()
        request = SampleRequest(PROMPT, 20, seed=1)
        before = snapshot.sample(request).result(timeout=60)
        inputs = {"target_tokens": np.array(PROMPT), "weights": np.ones(len(PROMPT), dtype=np.float32)}
        model.forward_backward([Example(np.array(PROMPT), inputs)], "cross_entropy", {})
        model.step(Adam(0.1))
        assert snapshot.sample(request).result(timeout=60) == before
        assert model.snapshot().sample(request).result(timeout=60).logprobs != before.logprobs


def test_tokens_come_as_often_as_their_probability_says(engine: Qwen3Engine, small: str) -> None:
    snapshot = engine.base_snapshot(small)
    top = snapshot.sample(SampleRequest(PROMPT, 1, seed=0, topk_logprobs=CONFIG.vocabulary)).result(timeout=60).topk[0]
    count, temperature = 1500, 0.5
    weights = np.exp(np.array([logprob for _, logprob in top]) / temperature)
    expected = {token: weight / weights.sum() for (token, _), weight in zip(top, weights, strict=True)}

    def share(**how: object) -> Counter[int]:
        requests = [SampleRequest(PROMPT, 1, seed=i, temperature=temperature, **how) for i in range(count)]  # type: ignore[arg-type]
        return Counter(f.result(timeout=60).tokens[0] for f in [snapshot.sample(request) for request in requests])

    free = share()
    for token, probability in expected.items():
        assert abs(free[token] / count - probability) < 5 * np.sqrt(probability / count) + 0.003
    best = [token for token, _ in top]
    assert set(share(top_k=3)) == set(best[:3])
    reached = np.cumsum([expected[token] for token in best])
    assert set(share(top_p=float(reached[1]) - 1e-4)) == set(best[:2])
    assert set(share(top_p=1e-9)) == {best[0]}


def test_seed_and_position_make_the_noise() -> None:
    seeds = np.repeat(np.arange(200, dtype=np.uint64), 50)
    positions = np.tile(np.arange(50), 200)
    noise = uniforms(seeds, positions)
    assert len(set(noise.tolist())) == len(noise)
    assert 0 <= noise.min() < 0.001 < 0.999 < noise.max() < 1
    assert abs(noise.mean() - 0.5) < 0.02
    table = noise.reshape(200, 50)
    assert abs(np.corrcoef(table[:-1].ravel(), table[1:].ravel())[0, 1]) < 0.05
    assert abs(np.corrcoef(table[:, :-1].ravel(), table[:, 1:].ravel())[0, 1]) < 0.05


def test_a_stop_token_ends_the_sample_and_is_part_of_it(engine: Qwen3Engine, small: str) -> None:
    snapshot = engine.base_snapshot(small)
    free = snapshot.sample(SampleRequest(PROMPT, 30, seed=4)).result(timeout=60)
    stop = free.tokens[12]
    at = list(free.tokens).index(stop)
    sample = snapshot.sample(SampleRequest(PROMPT, 30, seed=4, stop_tokens=frozenset({stop}))).result(timeout=60)
    assert list(sample.tokens) == list(free.tokens[: at + 1])
    assert sample.stop_reason == "stop"


@pytest.fixture(scope="module")
def bytes_model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Tokens are single bytes: a character may take several."""
    directory = tmp_path_factory.mktemp("bytes")
    config = replace(CONFIG, vocabulary=256)
    write_model(directory, config, random_weights(config, 1))
    tokenizer = Tokenizer(models.BPE({letter: byte for byte, letter in bytes_to_unicode().items()}, []))
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(directory / "tokenizer.json"))
    return str(directory)


@pytest.mark.parametrize(
    ("text", "stop", "ends_at"),
    [
        ("module m; endmodule // more", "endmodule", "module m; endmodule"),
        ("a\nbb\n\nccc", "\n\n", "a\nbb\n\n"),
        ("Größe π≈3 fertig", "π≈", "Größe π≈"),
        ("naïve 🙂 end", "🙂", "naïve 🙂"),
        ("x" * 300 + "STOP" + "y", "STOP", "x" * 300 + "STOP"),
        ("nothing of it", "absent", None),
    ],
)
def test_a_stop_text_is_found_wherever_tokens_split_it(
    bytes_model: str, text: str, stop: str, ends_at: str | None
) -> None:
    watch = StopTexts(TokenDecoder(Path(bytes_model)), [stop])
    found = None
    tokens = list(text.encode())
    for count, token in enumerate(tokens, start=1):
        if watch.stops(token):
            found = bytes(tokens[:count]).decode()
            break
    assert found == ends_at


def test_sampling_stops_on_text(engine: Qwen3Engine, bytes_model: str) -> None:
    snapshot = engine.base_snapshot(bytes_model)
    # Words are rare in a random model: any two characters that it wrote will do.
    free = snapshot.sample(SampleRequest([65, 66], 200, seed=1)).result(timeout=60)
    text = bytes(free.tokens).decode("utf-8", errors="replace")
    at = next(i for i in range(3, len(text) - 2) if text[i : i + 2].isascii() and text.find(text[i : i + 2]) == i)
    request = SampleRequest([65, 66], 200, seed=1, stop_texts=(text[at : at + 2],))
    sample = snapshot.sample(request).result(timeout=60)
    assert sample.stop_reason == "stop"
    assert bytes(sample.tokens).decode("utf-8", errors="replace") == text[: at + 2]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (SampleRequest([], 5, seed=0), "prompt is empty"),
        (SampleRequest([1, 97], 5, seed=0), "token 97; the model's vocabulary ends at 96"),
        (SampleRequest([1] * 500, 13, seed=0), "500 tokens and max_tokens 13; the model's context is 512"),
        (SampleRequest([1], 0, seed=0), "max_tokens is 0"),
        (SampleRequest([1], 5, seed=0, temperature=-1.0), "temperature is -1.0"),
        (SampleRequest([1], 5, seed=0, top_p=0.0), "top_p is 0.0"),
        (SampleRequest([1], 5, seed=0, top_k=0), "top_k is 0"),
        (SampleRequest([1], 5, seed=0, stop_texts=("x",)), "has no tokenizer.json"),
    ],
)
def test_a_bad_request_is_refused_with_a_sentence(
    engine: Qwen3Engine, small: str, request_: SampleRequest, message: str
) -> None:
    with pytest.raises(EngineError, match=message):
        engine.base_snapshot(small).sample(request_).result(timeout=60)


def test_the_context_can_be_filled_to_its_end(engine: Qwen3Engine, small: str) -> None:
    sample = engine.base_snapshot(small).sample(SampleRequest([1] * 500, 12, seed=0)).result(timeout=60)
    assert len(sample.tokens) == 12


def test_a_closed_snapshot_ends_what_waits_and_refuses_more(engine: Qwen3Engine, small: str) -> None:
    snapshot = engine.base_snapshot(small)
    waiting = [snapshot.sample(SampleRequest(PROMPT, 500, seed=i)) for i in range(60)]
    snapshot.close()
    for future in waiting:
        error = future.exception(timeout=60)
        assert error is None or (isinstance(error, EngineError) and "closed" in str(error))
    assert isinstance(waiting[-1].exception(), EngineError)
    with pytest.raises(EngineError, match="was closed"):
        snapshot.sample(SampleRequest(PROMPT, 5, seed=0)).result(timeout=60)
    with pytest.raises(EngineError, match="was closed"):
        snapshot.score(ScoreRequest(PROMPT)).result(timeout=60)


def test_a_cancelled_request_is_left_out(engine: Qwen3Engine, small: str) -> None:
    snapshot = engine.base_snapshot(small)
    futures = [snapshot.sample(SampleRequest(PROMPT, 100, seed=i)) for i in range(60)]
    cancelled = [future for future in futures if future.cancel()]
    assert cancelled
    assert all(len(future.result(timeout=60).tokens) == 100 for future in futures if future not in cancelled)


def test_the_sampling_thread_ends_with_the_engine(small: str) -> None:
    engine = Qwen3Engine(())
    engine.base_snapshot(small).sample(SampleRequest(PROMPT, 3, seed=0)).result(timeout=60)
    mine = engine._scheduler._thread
    assert mine in threading.enumerate()
    engine.close()
    assert mine not in threading.enumerate()


def test_weights_that_are_not_numbers_fail_the_request_and_not_the_thread(
    engine: Qwen3Engine, small: str, tmp_path: Path
) -> None:
    weights = random_weights(CONFIG, 1)
    weights["model.layers.1.mlp.down_proj.weight"][0, 0] = float("nan")
    write_model(tmp_path, CONFIG, weights)
    with pytest.raises(EngineError, match="not finite"):
        engine.base_snapshot(str(tmp_path)).sample(SampleRequest(PROMPT, 5, seed=0)).result(timeout=60)
    assert engine.base_snapshot(small).sample(SampleRequest(PROMPT, 5, seed=0)).result(timeout=60).tokens


def test_a_snapshot_that_rests_keeps_no_rows_and_samples_as_before(engine: Qwen3Engine, small: str) -> None:
    """One after the other, as a run's steps have them: what the earlier ones computed with is let go."""
    first, second = engine.base_snapshot(small), engine.base_snapshot(small)
    request = SampleRequest(PROMPT, 8, seed=0)
    before = first.sample(request).result(timeout=60)
    assert first._batches
    assert first._prompts
    assert second.sample(request).result(timeout=60).tokens == before.tokens
    assert not first._batches
    assert not first._prompts
    assert first._kept == 0
    assert first.sample(request).result(timeout=60).tokens == before.tokens


def test_a_snapshot_whose_sequences_run_does_not_rest(engine: Qwen3Engine, small: str) -> None:
    first, second = engine.base_snapshot(small), engine.base_snapshot(small)
    running = [first.sample(SampleRequest(PROMPT, 200, seed=seed)) for seed in range(20)]
    for _ in range(20):
        second.score(ScoreRequest(PROMPT)).result(timeout=60)
    assert all(len(future.result(timeout=60).tokens) == 200 for future in running)
