"""Two evaluations are compared problem by problem, with exact tests; what is not one is refused in a sentence."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtl_agent.runs import RunError
from rtl_agent.runs.evaluations import (
    bootstrap,
    compare_evaluations,
    exchange_test,
    leaderboard,
    read_evaluation,
)


def result(path: Path, passed: list[int], *, samples: int = 1, model: str = "m", **changes: Any) -> Path:
    """As `rtl-agent eval` writes it, with the fields that are read."""
    problems = [
        {"id": f"p_{i}", "digest": f"d{i}", "family": f"f{i // 2}", "samples": samples, "passed": one}
        for i, one in enumerate(passed)
    ]
    share = sum(passed) / samples / max(1, len(passed))
    at = {"k": 1, "unbiased": share, "cvdp": share, "low": 0.0, "high": 1.0, "problems": len(passed)}
    data = {
        "is_score": True,
        "settings": {"model": model, "problems": "some/set.jsonl", "temperature": 0.0, "episode": {"level": "spec"}},
        "summary": {"pass_at": [at], "reward": 0.5, "reward_error": None},
        "problems": problems,
        "versions": {"rtl-agent": "1"},
    }
    path.write_text(json.dumps({**data, **changes}))
    return path


def mcnemar(only_a: int, only_b: int) -> float:
    """The two-sided exact binomial test, as textbooks have it."""
    n = only_a + only_b
    tail = sum(math.comb(n, i) for i in range(min(only_a, only_b) + 1))
    return min(1.0, 2.0 * float(tail) / float(2**n))


@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 5))
def test_with_one_answer_each_it_is_mcnemars_test(only_a: int, only_b: int, same: int) -> None:
    differences = [Fraction(-1)] * only_a + [Fraction(1)] * only_b + [Fraction(0)] * same
    assert exchange_test(differences) == pytest.approx(mcnemar(only_a, only_b), abs=1e-12)


@given(st.lists(st.fractions(-1, 1, max_denominator=6), max_size=9))
def test_with_several_answers_it_counts_every_exchange(differences: list[Fraction]) -> None:
    seen = abs(sum(differences, Fraction(0)))
    every = list(itertools.product((1, -1), repeat=len(differences)))
    sums = [sum((sign * one for sign, one in zip(signs, differences, strict=True)), Fraction(0)) for signs in every]
    far = sum(abs(one) >= seen for one in sums)
    assert exchange_test(differences) == pytest.approx(far / len(every))


def test_the_bootstrap_holds_the_mean_repeats_and_widens_with_families_that_are_alike() -> None:
    values = [Fraction(one) for one in [1, 1, 1, 1, -1, -1, 0, 0] * 6]
    low, high = bootstrap([[one] for one in values])
    assert low < 0.25 < high
    assert (low, high) == bootstrap([[one] for one in values])
    alike = [[Fraction(1)] * 24, [Fraction(-1)] * 12, [Fraction(0)] * 12]
    family_low, family_high = bootstrap(alike)
    assert family_low < low
    assert family_high > high


def test_a_comparison_says_who_is_better_where(tmp_path: Path) -> None:
    a = read_evaluation(result(tmp_path / "a.json", [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]))
    b = read_evaluation(result(tmp_path / "b.json", [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1]))
    found = compare_evaluations(a, b)
    assert (found.better_a, found.better_b, found.problems, found.families) == (1, 9, 12, 6)
    assert found.difference == pytest.approx(8 / 12)
    assert found.p == pytest.approx(22 / 1024)
    assert found.low < found.difference < found.high
    mirrored = compare_evaluations(b, a)
    assert (mirrored.difference, mirrored.p) == (-found.difference, found.p)


def test_different_problems_are_refused_unless_the_common_ones_are_asked_for(tmp_path: Path) -> None:
    a = read_evaluation(result(tmp_path / "a.json", [1, 0, 1]))
    b = read_evaluation(result(tmp_path / "b.json", [1, 0]))
    with pytest.raises(RunError, match="only one of them has p_2; --common"):
        compare_evaluations(a, b)
    found = compare_evaluations(a, b, common=True)
    assert (found.problems, found.only_in) == (2, ("p_2",))
    changed = json.loads((tmp_path / "a.json").read_text())
    changed["problems"][1]["digest"] = "another text"
    (tmp_path / "c.json").write_text(json.dumps(changed))
    with pytest.raises(RunError, match="p_1 has changed between them"):
        compare_evaluations(a, read_evaluation(tmp_path / "c.json"))


def test_levels_and_results_that_are_no_scores_do_not_compare(tmp_path: Path) -> None:
    a = read_evaluation(result(tmp_path / "a.json", [1]))
    other = {"model": "m", "problems": "s", "episode": {"level": "feedback"}}
    with pytest.raises(RunError, match="two levels of information"):
        compare_evaluations(a, read_evaluation(result(tmp_path / "b.json", [1], settings=other)))
    with pytest.raises(RunError, match="is no score"):
        compare_evaluations(a, read_evaluation(result(tmp_path / "c.json", [1], is_score=False)))


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", '{"problems": 3}', '{"problems": [{"id": 1}]}', "[" * 100_000, "\xff\x00"],
)
def test_what_is_no_result_is_refused_in_a_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text, encoding="latin-1")
    with pytest.raises(RunError, match="is not the JSON of `rtl-agent eval`"):
        read_evaluation(tmp_path / "x.json")


@pytest.mark.parametrize("counts", [{"samples": 1, "passed": 2}, {"samples": -1, "passed": -1}, {"samples": True}])
def test_counts_that_cannot_be_are_refused(tmp_path: Path, counts: dict[str, Any]) -> None:
    path = result(tmp_path / "a.json", [1])
    data = json.loads(path.read_text())
    data["problems"][0].update(counts)
    path.write_text(json.dumps(data))
    with pytest.raises(RunError):
        read_evaluation(path)


def test_a_leaderboard_gets_models_by_sets(tmp_path: Path) -> None:
    found = [read_evaluation(result(tmp_path / f"{name}.json", [1, 0], model=name)) for name in ("x", "y")]
    shown = leaderboard(found)
    assert shown["model_name"] == ["x", "y"]
    assert set(shown["results"]) == {"x/some/set.jsonl", "y/some/set.jsonl"}
    assert shown["results"]["x/some/set.jsonl"]["pass@1,unbiased"] == 0.5
    with pytest.raises(RunError, match="the same model and problems"):
        leaderboard([found[0], found[0]])
