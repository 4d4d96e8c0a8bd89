"""The table of plug-in points in docs/api.md names what there is."""

import re
from importlib import import_module

import pytest

from rtl_agent.registry import Registry
from tests.docs.pages import ROOT

ROWS = re.findall(r"^\| ([\w ]+) \| `([\w.]+)` \| `([\w.]+)` \| (.+) \|$", (ROOT / "docs" / "api.md").read_text(), re.M)


@pytest.mark.parametrize(("what", "registry", "group", "suite"), ROWS, ids=[row[0] for row in ROWS])
def test_a_plugin_point_is_as_the_table_says(what: str, registry: str, group: str, suite: str) -> None:
    found = attribute(registry)
    assert isinstance(found, Registry)
    assert (found.kind, found.group) == (what, group)
    for name in re.findall(r"`(rtl_agent[\w.]+)`", suite):
        assert attribute(name)


def attribute(name: str) -> object:
    module, _, last = name.rpartition(".")
    found = import_module(module)
    return getattr(found, last) if hasattr(found, last) else import_module(name)


def test_all_eight_are_there() -> None:
    assert len(ROWS) == 8
