"""Metrics go to a tracker where a run asks for one; a tracker that fails is dropped, and the run goes on.

Neither W&B nor trackio can be had without an account or a server: a module with their three calls stands in.
"""

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from rtl_agent.training.errors import BadConfig
from rtl_agent.training.monitor import Trackers
from rtl_agent.training.parse import parse


def stand_in(fails_at: int | None = None) -> SimpleNamespace:
    calls: list[tuple[str, Any]] = []

    def log(metrics: dict[str, float], step: int) -> None:
        if step == fails_at:
            raise ConnectionError("the service is away")
        calls.append(("log", (step, metrics)))

    return SimpleNamespace(
        calls=calls,
        init=lambda **given: calls.append(("init", given)),
        log=log,
        finish=lambda: calls.append(("finish", None)),
    )


@pytest.mark.parametrize("name", ["wandb", "trackio"])
def test_metrics_are_told_to_the_project(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = stand_in()
    monkeypatch.setitem(sys.modules, name, module)
    trackers = Trackers(parse("rl", [f"{name}_project=arbiters"]), "run-1", {"seed": 0})
    assert trackers.log(3, {"env/all/reward/total": 1.4}) == []
    trackers.close()
    started, logged, ended = module.calls
    assert started == ("init", {"project": "arbiters", "name": "run-1", "config": {"seed": 0}})
    assert logged == ("log", (3, {"env/all/reward/total": 1.4}))
    assert ended[0] == "finish"


def test_a_tracker_that_fails_is_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", stand_in(fails_at=1))
    trackers = Trackers(parse("rl", ["wandb_project=arbiters"]), "run-1", {})
    assert [trackers.log(step, {}) for step in (0, 1, 2)] == [
        [],
        ["wandb failed and gets no more metrics: the service is away"],
        [],
    ]


def test_without_the_package_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "trackio", None)
    with pytest.raises(BadConfig, match="pip install trackio"):
        Trackers(parse("rl", ["trackio_project=arbiters"]), "run-1", {})


def test_no_tracker_by_default() -> None:
    assert Trackers(parse("rl", []), "run-1", {}).log(0, {}) == []
