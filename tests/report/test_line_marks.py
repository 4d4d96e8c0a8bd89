"""Marks say where a design differs from the reference, and nothing else."""

from rtl_agent.report.side_by_side import marked, unmarked

REFERENCE = "module m (\n  input clk,\n  output [3:0] count\n);\n  assign count = 4'd1;\nendmodule\n"


def differing(text: str) -> list[str]:
    return [line.text for line in marked(text, REFERENCE).lines if line.differs]


def test_the_reference_itself_and_other_spaces_have_no_marks() -> None:
    assert differing(REFERENCE) == []
    assert differing(REFERENCE.replace("  ", "\t").replace("\n);", " \n);\n")) == []


def test_the_words_of_a_line_that_differ() -> None:
    found = marked(REFERENCE.replace("clk", "clock").replace("4'd1", "4'd2"), REFERENCE)
    marks = [piece.text for line in found.lines for piece in line.pieces if piece.differs]
    assert marks == ["clock", "4'd2"]
    assert (found.differing, found.missing) == (2, 0)


def test_a_line_with_a_word_too_few_is_marked_whole() -> None:
    assert differing(REFERENCE.replace("[3:0] ", "")) == ["  output count"]


def test_lines_that_are_missing_or_too_many() -> None:
    found = marked(REFERENCE.replace("  input clk,\n", ""), REFERENCE)
    assert (found.differing, found.missing) == (0, 1)
    assert differing(REFERENCE.replace(");", ");\n  wire unused;")) == ["  wire unused;"]


def test_text_is_kept_letter_for_letter() -> None:
    text = "  odd\ttext é \x00\n\nmodule m (clk);"
    for found in (marked(text, REFERENCE), unmarked(text)):
        assert "\n".join(line.text for line in found.lines) == text


def test_without_a_reference_or_with_endless_lines_nothing_is_compared() -> None:
    assert not marked("module m;", None).compared
    assert not marked("a\n" * 100_000, REFERENCE).compared
    assert marked("a" * 100_000, REFERENCE).differing == 1
