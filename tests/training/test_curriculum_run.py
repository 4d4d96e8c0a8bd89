"""Runs with a curriculum: what they keep, what resumes them, and what all later runs know of their problems."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from rtl_agent.difficulty import PassRates, TriesOf, default_pass_rates_path
from rtl_agent.problems import Problem, load_problems, problem_digest
from rtl_agent.training.config import STUDENT
from tests.training.conftest import RunIn

SHORT = ("batch_size=2", "group_size=4", "eval_every=0", "heldout=false", "learning_rate=1e-4", "save_every=1")


@pytest.fixture
def rates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PassRates]:
    """The record that the runs of a test share with nobody else."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with PassRates(default_pass_rates_path()) as found:
        yield found


@pytest.fixture
def problems(gates: Path) -> list[Problem]:
    return load_problems(str(gates))


def lines(path: Path, name: str = "curriculum.jsonl") -> list[dict[str, object]]:
    return [json.loads(line) for line in (path / name).read_text().splitlines()]


def test_every_step_is_kept_and_every_answer_counts_for_later_runs(
    run_in: RunIn, taught: str, rates: PassRates, problems: list[Problem]
) -> None:
    path = run_in("rl", f"load_checkpoint_path={taught}", "curriculum=pools", *SHORT)
    steps, metrics = lines(path), lines(path, "metrics.jsonl")
    assert [line["step"] for line in steps] == [0, 1]
    solved = tried = 0
    for line in steps:
        for group in json.loads(json.dumps(line["groups"])):
            assert group["pool"] in ("easy", "normal", "hard")
            solved, tried = solved + group["solved"], tried + group["tried"]
    assert tried == 16
    for line in metrics[:2]:
        assert {"curriculum/easy", "curriculum/newly_solved", "curriculum/solved", "groups/with_signal"} <= line.keys()
    model = f"{STUDENT} from {taught}"
    found = rates.tries([problem_digest(problem) for problem in problems], model=model)
    assert sum(one.solved for one in found.values()) == solved
    assert sum(one.tried for one in found.values()) == tried
    assert sum(one.tried for one in rates.tries(model=model, untrained=True).values()) == 8
    assert not rates.tries(model=STUDENT)


@pytest.mark.parametrize("kind", ["pools", pytest.param("adaptive", marks=pytest.mark.slow)])
def test_a_resumed_run_draws_what_it_would_have_drawn_whatever_others_record_meanwhile(
    run_in: RunIn, taught: str, rates: PassRates, problems: list[Problem], tmp_path: Path, kind: str
) -> None:
    words = ("rl", f"load_checkpoint_path={taught}", f"curriculum={kind}", "groups_without_signal=resample", *SHORT)
    unbroken = run_in(*words, "max_steps=4", f"log_path={tmp_path / 'unbroken'}")
    rates.write("DELETE FROM tries", [()])
    run_in(*words, "max_steps=2")
    found = [TriesOf(problem_digest(problem), 100 * (at % 2), 100) for at, problem in enumerate(problems)]
    rates.record(f"{STUDENT} from {taught}", "another run", 0, found)
    resumed = run_in(*words, "max_steps=4", "behavior_if_log_dir_exists=resume")
    assert lines(resumed) == lines(unbroken)
    assert (resumed / "curriculum.json").read_bytes() == (unbroken / "curriculum.json").read_bytes()


def test_what_is_known_at_the_start_decides_the_first_step(
    run_in: RunIn, taught: str, rates: PassRates, problems: list[Problem]
) -> None:
    known = {"rtl_and_gate_0001": 5, "rtl_or_gate_0001": 0, "rtl_xor_gate_0001": 10, "rtl_keep_gate_0001": 9}
    found = [TriesOf(problem_digest(one), known[one.id], 10 - known[one.id]) for one in problems]
    model = f"{STUDENT} from {taught}"
    rates.record(model, "an evaluation", 0, found)
    words = ("rl", f"load_checkpoint_path={taught}", *SHORT, "batch_size=1", "max_steps=1")
    nearest = run_in(*words, "curriculum=adaptive")
    (group,) = json.loads((nearest / "curriculum.jsonl").read_text())["groups"]
    assert group["problem"] == "rtl_and_gate_0001"
    start = json.loads((nearest / "curriculum.json").read_text())
    assert start["model"] == model
    assert start["problems"]["rtl_keep_gate_0001"]["solved"] == 9
    easiest = run_in(*words, "curriculum=easy-first", "behavior_if_log_dir_exists=delete")
    (group,) = json.loads((easiest / "curriculum.jsonl").read_text())["groups"]
    assert group["problem"] == "rtl_xor_gate_0001"
    assert group["pool"] == "easy"


def test_without_a_curriculum_nothing_of_it_is_kept_but_answers_count(
    run_in: RunIn, rates: PassRates, problems: list[Problem]
) -> None:
    path = run_in("rl", *SHORT, "max_steps=1")
    assert not list(path.glob("curriculum*"))
    assert not [name for name in lines(path, "metrics.jsonl")[0] if name.startswith("curriculum/")]
    assert sum(one.tried for one in rates.tries(model=STUDENT).values()) == 8
