"""No sequence of messages passes unless it is complete: every loss, change or repetition of one fails the service."""

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from rtl_agent.grading.verdict import judge_service

from .strategies import any_text

ITEMS = ["test_runner.py::test_one", "test_runner.py::test_two"]
TESTS = ["t.one", "t.two"]


def complete() -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = [{"kind": "hello"}, {"kind": "collected", "items": list(ITEMS)}]
    for sim, item in enumerate(ITEMS, start=1):
        messages += [
            {"kind": "build", "exit": 0, "said": "", "item": item},
            {"kind": "simulation", "sim": sim, "item": item, "seed": sim},
            {"kind": "announced", "sim": sim, "tests": list(TESTS)},
            *({"kind": "test", "sim": sim, "name": name, "passed": True, "message": None} for name in TESTS),
            {"kind": "regression-end", "sim": sim},
            {"kind": "item", "name": item, "passed": True, "message": None},
        ]
    return [*messages, {"kind": "session-end", "exit": 0}]


GOOD = complete()
# hello and build inform; without `simulation` the exact path counts simulations, which is tested there.
NEEDED = [at for at, message in enumerate(GOOD) if message["kind"] not in ("hello", "build", "collected", "simulation")]

numbers = st.integers(-1, 4)
names = st.one_of(st.sampled_from([*ITEMS, *TESTS, ""]), any_text)
verdicts = st.sampled_from([True, False, None])
random_messages = st.one_of(
    st.sampled_from(GOOD),
    st.builds(
        lambda s, n, p: {"kind": "test", "sim": s, "name": n, "passed": p, "message": None}, numbers, names, verdicts
    ),
    st.builds(lambda s, n: {"kind": "announced", "sim": s, "tests": n}, numbers, st.lists(names, max_size=3)),
    st.builds(lambda s, n: {"kind": "simulation", "sim": s, "item": n, "seed": s}, numbers, names),
    st.builds(lambda s: {"kind": "regression-end", "sim": s}, numbers),
    st.builds(lambda n, p: {"kind": "item", "name": n, "passed": p, "message": None}, names, verdicts),
    st.builds(lambda n: {"kind": "collected", "items": n}, st.lists(names, max_size=3)),
    st.builds(lambda c: {"kind": "session-end", "exit": c}, st.integers(-1, 3)),
    st.builds(lambda n: {"kind": "tampered", "path": n, "item": None}, names),
    st.builds(lambda n: {"kind": "collect-error", "item": n, "message": n}, names),
    st.builds(lambda n: {"kind": n}, names),
)


def test_the_complete_sequence_passes() -> None:
    assert judge_service("direct", ITEMS, GOOD).passed


@given(st.lists(random_messages, max_size=25))
def test_what_passes_was_complete(messages: list[dict[str, Any]]) -> None:
    verdict = judge_service("direct", ITEMS, messages)
    assert 0.0 <= verdict.score <= 1.0
    assert verdict.passed == (verdict.score == 1.0)
    assert verdict.passed or verdict.reasons
    if verdict.passed:
        assert not any(message["kind"] in ("tampered", "collect-error") for message in messages)
        last = {m["name"]: m["passed"] for m in messages if m["kind"] == "item"}
        assert all(last.get(item) is not False and item in last for item in ITEMS)
        assert any(last[item] is True for item in ITEMS)
        assert [m["exit"] for m in messages if m["kind"] == "session-end"][-1] == 0


@given(st.lists(st.sampled_from(NEEDED), min_size=1, max_size=4, unique=True))
def test_no_needed_message_may_be_lost(lost: list[int]) -> None:
    messages = [message for at, message in enumerate(GOOD) if at not in lost]
    verdict = judge_service("direct", ITEMS, messages)
    assert not verdict.passed
    assert verdict.score < 1.0


@given(st.sampled_from([at for at, message in enumerate(GOOD) if "passed" in message]), st.sampled_from([False, None]))
def test_no_failure_is_outvoted(at: int, passed: bool | None) -> None:
    messages = copy.deepcopy(GOOD)
    messages[at]["passed"] = passed
    skipped_item = passed is None and messages[at]["kind"] == "item"  # its cocotb tests did run and pass
    assert judge_service("direct", ITEMS, messages).passed is False or skipped_item


@given(st.sampled_from([at for at, message in enumerate(GOOD) if message["kind"] == "test"]), st.integers(0, len(GOOD)))
def test_no_test_reports_twice(at: int, to: int) -> None:
    messages = [*GOOD[:to], GOOD[at], *GOOD[to:]]
    started = next(i for i, m in enumerate(GOOD) if m["kind"] == "simulation" and m["sim"] == GOOD[at]["sim"])
    if to > started:
        assert not judge_service("direct", ITEMS, messages).passed
