"""The line beside a diagnostic: the caret stands below the place, whatever the line is made of."""

import pytest
from rich.cells import cell_len

from rtl_agent.cli.source_lines import excerpt
from rtl_agent.grading import Diagnostic


def shown(
    text: str, column: int = 0, *, said: str = "", tool: str = "slang", line: int = 1, width: int = 80
) -> list[str]:
    found = Diagnostic(tool, "error", "rtl/a.sv", line, said, column)
    return list(excerpt(found, {"rtl/a.sv": text}, width))


def under_the_caret(lines: list[str]) -> str:
    """What stands in the column of the caret, wide characters counted as two."""
    text, caret = lines
    before, at = cell_len(caret) - 1, 0
    for mark in text:
        if at == before:
            return mark
        at += cell_len(mark)
    return ""


def test_the_line_and_a_caret() -> None:
    assert shown("module a;\n  assign x = y +;\nendmodule", 15, line=2) == [
        "    2 |   assign x = y +;",
        "      |               ^",
    ]


@pytest.mark.parametrize(
    "before",
    ["\t\t", "é ", "漢字 ", "\x1b[2J", "\u202e", "e\u0301 ", "a" * 300, "漢" * 300, "\t" * 90, "\r \x00 ", "😀"],
)
@pytest.mark.parametrize("after", ["", " b" * 300])
def test_columns_are_bytes_and_the_caret_meets_its_character(before: str, after: str) -> None:
    lines = shown(f"{before}#{after}", len(before.encode()) + 1)
    assert under_the_caret(lines) == "#"
    assert all(cell_len(line) <= 80 for line in lines)
    assert all(mark.isprintable() for line in lines for mark in line)


def test_a_long_line_is_cut_where_it_does_not_matter() -> None:
    (text, _) = shown("a" * 90_000 + "#" + "b" * 90, 90_001)
    assert "...aaa" in text
    assert "bbb..." in text
    assert shown("x" * 200_000, 3) == []


def test_what_is_missed_at_the_end_is_marked_behind_it() -> None:
    assert shown("assign a = b", 13)[1].index("^") == len("    1 | assign a = b")
    assert shown("assign a = b", 500) == ["    1 | assign a = b"]


def test_a_line_that_is_not_there_is_not_shown() -> None:
    assert shown("a", line=2) == shown("a", line=0) == shown("\n\n", line=1) == []
    assert list(excerpt(Diagnostic("slang", "error", "rtl/other.sv", 1, ""), {"rtl/a.sv": "a"}, 80)) == []
    assert shown("first\r\nsecond\r\n", 1, line=2)[0] == "    2 | second"


def test_a_tool_without_columns_names_the_place() -> None:
    """Verilator's columns are those of what its preprocessor has left."""
    line = "/* é */ assign x = undefd;"
    assert under_the_caret(shown(line, said="Unable to bind wire `undefd'", tool="icarus")) == "u"
    assert under_the_caret(shown(line, 13, said="Can't find 'undefd'", tool="verilator")) == "u"
    assert len(shown("undefd = undefd;", said="Unable to bind wire `undefd'", tool="icarus")) == 1
    assert len(shown(line, 13, said="syntax error", tool="verilator")) == 1
