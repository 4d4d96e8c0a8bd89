"""The verdict is what the private channel says, all of it: what did not report did not pass."""

from typing import Any

import pytest

from rtl_agent.grading.verdict import judge_service

ITEM = "test_runner.py::test_it"


def message(kind: str, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, **fields}


def good_run() -> list[dict[str, Any]]:
    return [
        message("hello"),
        message("collected", items=[ITEM]),
        message("build", exit=0, said="", item=ITEM),
        message("simulation", sim=1, item=ITEM, seed=5),
        message("announced", sim=1, tests=["t.one", "t.two"]),
        message("test", sim=1, name="t.one", passed=True, message=None, time_ns=10.0),
        message("test", sim=1, name="t.two", passed=True, message=None, time_ns=20.0),
        message("regression-end", sim=1),
        message("item", name=ITEM, passed=True, message=None),
        message("session-end", exit=0),
    ]


def test_all_is_well() -> None:
    verdict = judge_service("direct", [ITEM], good_run())
    assert verdict.passed
    assert verdict.score == 1.0
    assert len(verdict.simulations) == 1
    assert [(test.name, test.passed) for test in verdict.tests] == [("t.one", True), ("t.two", True), (ITEM, True)]


@pytest.mark.parametrize("missing", range(3, 10))
def test_a_message_that_did_not_come_fails_the_service(missing: int) -> None:
    messages = good_run()
    del messages[missing]
    verdict = judge_service("direct", [ITEM], messages)
    if missing == 3:  # without the word of pytest's process nothing else counts as a simulation
        assert not verdict.simulations
    else:
        assert not verdict.passed
        assert verdict.score < 1.0
        assert verdict.reasons


def test_a_failing_test_gives_its_message_and_time() -> None:
    messages = good_run()
    messages[6] = message(
        "test", sim=1, name="t.two", passed=False, message="q is 3, not 4", time_ns=20.0, where="t.py:7"
    )
    messages[8] = message("item", name=ITEM, passed=False, message="SystemExit: 1")
    messages[9] = message("session-end", exit=1)
    verdict = judge_service("direct", [ITEM], messages)
    assert not verdict.passed
    assert verdict.score == 0.5
    assert verdict.reasons == ("t.two: q is 3, not 4",)
    failing = verdict.tests[1]
    assert (failing.message, failing.time_ns, failing.where) == ("q is 3, not 4", 20.0, "t.py:7")


def test_a_test_that_failed_cannot_be_taken_back_by_the_item() -> None:
    messages = good_run()
    messages[6] = message("test", sim=1, name="t.two", passed=False, message="wrong", time_ns=20.0)
    assert not judge_service("direct", [ITEM], messages).passed


def test_an_expected_item_must_report() -> None:
    verdict = judge_service("direct", [ITEM, "test_runner.py::other"], good_run())
    assert not verdict.passed
    assert "the harness has other tests with this design than without it" in verdict.reasons


def test_a_test_that_reports_twice_is_no_pass() -> None:
    messages = good_run()
    messages.insert(6, messages[5])
    assert not judge_service("direct", [ITEM], messages).passed


def test_tampering_fails_the_service() -> None:
    messages = [*good_run(), message("tampered", path="/src/random.py", item=ITEM)]
    verdict = judge_service("direct", [ITEM], messages)
    assert not verdict.passed
    assert "/src/random.py" in verdict.reasons[0]


def test_nothing_at_all_is_no_pass() -> None:
    assert not judge_service("direct", [], []).passed
    assert not judge_service("direct", [ITEM], []).passed


def test_a_service_of_skipped_items_shows_nothing() -> None:
    messages = [
        message("collected", items=[ITEM]),
        message("item", name=ITEM, passed=None, message=None),
        message("session-end", exit=0),
    ]
    assert not judge_service("direct", [ITEM], messages).passed


def test_messages_of_a_simulation_that_pytest_did_not_start_do_not_count() -> None:
    messages = [*good_run(), message("test", sim=9, name="t.three", passed=True)]
    assert judge_service("direct", [ITEM], messages).passed
    assert all(test.name != "t.three" for test in judge_service("direct", [ITEM], messages).tests)
