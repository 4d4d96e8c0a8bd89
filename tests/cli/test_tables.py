"""Tables hide no id, whatever the width, and are plain lines where nobody looks at a terminal."""

import io

import pytest
from rich.console import Console

from rtl_agent.cli import tables
from rtl_agent.cli.tables import Column, Table

ID = "rtl_axi_stream_skid_buffer_0001"
REASON = "output `valid` is missing; you wrote `grant_valid`, which nothing in the specification asks for"


def printed(monkeypatch: pytest.MonkeyPatch, width: int, terminal: bool) -> str:
    stream = io.StringIO()
    monkeypatch.setattr(tables, "out", Console(file=stream, width=width, force_terminal=terminal, color_system=None))
    table = Table(Column("id", whole=True), Column("split", drop=2), Column("time", drop=1, right=True), "reason")
    table.add(ID, "held-out", "12.5", f"[red]{REASON}[/]")
    table.add("rtl_alu_0001", "train", "3", "two\nlines")
    table.print()
    return stream.getvalue()


def test_a_pipe_gets_one_full_line_for_each_row_with_every_column(monkeypatch: pytest.MonkeyPatch) -> None:
    header, first, second = printed(monkeypatch, 80, terminal=False).splitlines()
    assert header.split() == ["id", "split", "time", "reason"]
    assert first == f"{ID}  held-out  12.5  {REASON}"
    assert second.split(maxsplit=3) == ["rtl_alu_0001", "train", "3", "two; lines"]


@pytest.mark.parametrize("width", [200, 100, 80, 60, 45])
def test_a_terminal_never_cuts_an_id_and_drops_the_least_important_column_first(
    monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    text = printed(monkeypatch, width, terminal=True)
    assert ID in text
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= width
    head = text.splitlines()[1]
    assert ("time" in head) or ("split" not in head), "split is dropped before time"
    for name in ("split", "time"):
        assert name in head or name in text.partition("not shown in")[2]


def test_what_wraps_is_all_there(monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed(monkeypatch, 80, terminal=True)
    words = " ".join(line.rpartition("│")[0].rpartition("│")[2].strip() for line in text.splitlines())
    assert REASON in " ".join(words.split())


def test_an_id_longer_than_the_terminal_is_folded_not_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    text = printed(monkeypatch, 30, terminal=True)
    assert ID in "".join(line.split("│")[1].strip() for line in text.splitlines() if line.startswith("│"))


def test_markup_that_was_escaped_is_printed_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(tables, "out", Console(file=stream, width=80))
    table = Table("signal")
    table.add("data\\[7:0] :smile:")
    table.print()
    assert stream.getvalue().splitlines()[1] == "data[7:0] :smile:"


def test_test_names_and_numbers_are_not_broken_where_other_columns_can_go(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(tables, "out", Console(file=stream, width=80, force_terminal=True, color_system=None))
    table = Table(
        Column("metric", whole=True), Column("mean", right=True), Column("last", right=True, drop=1), "found by"
    )
    table.add("test/env/family/arbiter", "-8.445e-08", "0.04167", "test_runner.py::test_fixed_arbiter, and others")
    table.print()
    assert "-8.445e-08" in stream.getvalue()
    assert "test_runner.py::test_fixed_arbiter" in stream.getvalue()
    assert "not shown in 80 columns: last" in stream.getvalue()
