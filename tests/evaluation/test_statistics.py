"""pass@k by both formulas against counting, and intervals against published values."""

from itertools import combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtl_agent.evaluation.summary import cvdp_pass_at_k, standard_error, unbiased_pass_at_k, wilson


@given(st.integers(1, 7), st.data())
def test_both_formulas_are_what_drawing_gives(samples: int, data: st.DataObject) -> None:
    passed = data.draw(st.integers(0, samples))
    k = data.draw(st.integers(1, min(samples, 4)))
    results = [index < passed for index in range(samples)]
    without = [any(draw) for draw in combinations(results, k)]
    assert unbiased_pass_at_k(samples, passed, k) == pytest.approx(sum(without) / len(without))
    again = [any(draw) for draw in product(results, repeat=k)]
    assert cvdp_pass_at_k(samples, passed, k) == pytest.approx(sum(again) / len(again))


def test_they_agree_at_one_and_part_above() -> None:
    assert unbiased_pass_at_k(5, 2, 1) == cvdp_pass_at_k(5, 2, 1) == pytest.approx(0.4)
    assert unbiased_pass_at_k(5, 1, 5) == 1.0
    assert cvdp_pass_at_k(5, 1, 5) == pytest.approx(1 - 0.8**5)


def test_what_cannot_be_estimated_is_refused() -> None:
    with pytest.raises(ValueError, match="pass@6"):
        unbiased_pass_at_k(5, 1, 6)
    with pytest.raises(ValueError, match="cannot be"):
        cvdp_pass_at_k(0, 0, 1)


def test_wilson_has_width_at_the_ends() -> None:
    nothing, everything, most = wilson(0.0, 20), wilson(1.0, 20), wilson(0.8, 10)
    assert (nothing.low, everything.high) == (0.0, pytest.approx(1.0))
    assert nothing.high == pytest.approx(1 - everything.low) == pytest.approx(0.1611, abs=1e-4)
    assert (most.low, most.high) == (pytest.approx(0.4902, abs=1e-4), pytest.approx(0.9433, abs=1e-4))


def test_the_error_of_a_mean_needs_two_values() -> None:
    assert standard_error([1.0]) is None
    assert standard_error([0.0, 1.0]) == pytest.approx(0.5)
