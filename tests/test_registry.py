"""A plug-in point: names of ours, names that packages bring, and what is said when there is none."""

from importlib.metadata import EntryPoint

import pytest

from rtl_agent.registry import PluginError, Registry, UnknownName, did_you_mean


def registry(monkeypatch: pytest.MonkeyPatch, **installed: str) -> Registry[object]:
    points = [EntryPoint(name, value, "rtl_agent.things") for name, value in installed.items()]
    monkeypatch.setattr("rtl_agent.registry.entry_points", lambda group: points if group == "rtl_agent.things" else [])
    return Registry("thing", "rtl_agent.things", {"ours": 1})


def test_what_is_registered_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    things = registry(monkeypatch)
    things.register("two")(2)
    assert things["two"] == 2
    assert sorted(things) == ["ours", "two"]


def test_a_name_is_given_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="there is already a thing named 'ours'"):
        registry(monkeypatch).register("ours")(2)


def test_an_installed_package_adds_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    things = registry(monkeypatch, dumps="json:dumps")
    assert "dumps" in things
    assert len(things) == 2
    import json

    assert things["dumps"] is json.dumps


def test_an_installed_package_cannot_replace_one_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    assert registry(monkeypatch, ours="json:dumps")["ours"] == 1


def test_an_unknown_name_says_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnknownName, match=r"no thing named 'our' \(did you mean ours\?\); choose from dumps, ours"):
        registry(monkeypatch, dumps="json:dumps")["our"]


def test_a_plugin_that_cannot_be_imported_breaks_only_those_who_ask_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    things = registry(monkeypatch, broken="no_such_module_here:thing")
    assert things["ours"] == 1
    with pytest.raises(PluginError, match="the thing 'broken' of the package no_such_module_here"):
        things["broken"]


def test_near_names_are_offered_whatever_their_case() -> None:
    assert did_you_mean("Fifo_sync", ["fifo_sync", "uart_tx"]) == " (did you mean fifo_sync?)"
    assert did_you_mean("xyz", ["fifo_sync", "uart_tx"]) == ""
