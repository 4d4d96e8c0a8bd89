"""The server that only waits, and the tables over runs against it."""

from pathlib import Path

import pytest
import tinker

from rtl_agent.backends.connect import connect
from rtl_agent.backends.engine.contract import SampleRequest
from rtl_agent.bench.overlap import EVEN, TAILED, Overlap, embedded_table, remote_table
from rtl_agent.bench.simulated import LONG, ORDINARY, Latencies, waiting_server

TIMES = Latencies(sample=0.01, train=0.0, tokens=10, long_every=4, times=3)


def test_a_long_answer_that_is_asked_for_in_pieces_has_its_length_all_the_same() -> None:
    lengths = {seed: TIMES.length(SampleRequest([5, 6], 100, seed)) for seed in range(200)}
    assert set(lengths.values()) == {(ORDINARY, 10), (LONG, 30)}
    assert 20 < sum(kind == LONG for kind, _ in lengths.values()) < 90
    assert TIMES.length(SampleRequest([5, 6, *[LONG] * 10], 100, 1)) == (LONG, 20)
    assert TIMES.length(SampleRequest([5, 6, *[LONG] * 29], 100, 1)) == (LONG, 1)


def test_the_sdk_samples_trains_and_saves_on_it(tmp_path: Path) -> None:
    with waiting_server("rtl-agent/student", TIMES, tmp_path) as (url, key), connect(url, api_key=key) as connection:
        student = connection.service.create_lora_training_client("rtl-agent/student", rank=8)
        path = student.save_weights_for_sampler("one").result().path
        sampler = student.create_sampling_client(path)
        asked = tinker.SamplingParams(max_tokens=64, stop=[7], seed=3)
        sampled = sampler.sample(tinker.ModelInput.from_ints([5, 6]), 1, asked).result().sequences[0]
        assert sampled.stop_reason == "stop"
        assert len(sampled.tokens) in (10, 30)
        tensor = tinker.TensorData(data=[1, 2], dtype="int64", shape=[2])
        zeros = tinker.TensorData(data=[0.0, 0.0], dtype="float32", shape=[2])
        datum = tinker.Datum(
            model_input=tinker.ModelInput.from_ints([1, 2]),
            loss_fn_inputs={"target_tokens": tensor, "logprobs": zeros, "advantages": zeros},
        )
        passed = student.forward_backward([datum], "importance_sampling").result()
        assert passed.loss_fn_outputs[0]["logprobs"].tolist() == [-1.0, -1.0]


def one(where: str, ahead: int, rate: float, tail: int = 0, seed: int = 0, passed: float | None = None) -> Overlap:
    return Overlap(where, ahead, tail, seed, 8, rate, 0.4, 0.1, passed, 0.1 if passed is not None else None)


def test_each_run_is_compared_with_the_one_that_does_not_sample_ahead() -> None:
    table = remote_table([one(EVEN, 0, 40), one(EVEN, 1, 66), one(TAILED, 0, 20), one(TAILED, 1, 30, tail=10)], 10)
    assert [row[4] for row in table.rows] == ["1.00", "1.65", "1.00", "1.50"]
    assert "1.65 and more; 1.5 were wanted: reached" in " ".join(table.words)


@pytest.mark.parametrize(("rate", "said"), [(126.0, ": reached"), (120.0, "not reached")])
def test_what_was_wanted_is_said_to_be_missed_where_it_is(rate: float, said: str) -> None:
    found = [one("embedded", 0, 100, passed=0.5), one("embedded", 1, rate, passed=0.4)]
    table = embedded_table(found)
    assert said in table.words[0]
    assert "50.0% on-policy, 40.0% one step ahead" in table.words[0]
