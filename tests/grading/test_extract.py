"""From a model's reply to files: only the problem's own targets, and a reason for everything else."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtl_agent.grading import extract, submit
from rtl_agent.problems import Problem, load_problems

ONE = load_problems("bundled")[0]
TARGET = ONE.targets[0]
TWO = replace(ONE, targets=("rtl/a.sv", "rtl/b.sv"))
CODE = "module m;\nendmodule\n"


@pytest.mark.parametrize(
    "reply",
    [
        f"```\n{CODE}```",
        f"Here it is:\n\n```systemverilog\n{CODE}```\nand some words",
        f"~~~verilog\n{CODE}~~~",
        f"````\n{CODE}````",
        f"<think>maybe\n```\nwrong\n```\n</think>\n```verilog\n{CODE}```",
        f"thinking without a start\n```\nwrong\n```</think>```verilog\n{CODE}```",
        f"```verilog\n{CODE}```\nor else\n```verilog\nmodule other; endmodule\n```",
        CODE,
        json.dumps({"code": [{TARGET: CODE}]}),
        f"```json\n{json.dumps({'code': [{TARGET: CODE}]})}\n```",
    ],
)
def test_one_file_is_found(reply: str) -> None:
    found = extract(ONE, reply)
    assert found.unusable is None
    assert found.files == {TARGET: CODE}


def test_a_reply_that_is_nothing_but_code_needs_no_fence() -> None:
    assert extract(ONE, f"// a comment first\n{CODE}").files == {TARGET: f"// a comment first\n{CODE}"}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("", "no fenced code block"),
        ("I cannot do this.", "no fenced code block"),
        ("A module called m ends with endmodule.", "no fenced code block"),
        (f"<think>\n```\n{CODE}```\n", "ends inside <think>"),
        (f"```verilog\n{CODE}", "not closed"),
        ("```\n   \n```", "every file is empty"),
        ("x" * 5_000_000, "longer than"),
    ],
)
def test_a_reply_without_a_file_says_why(reply: str, reason: str) -> None:
    found = extract(ONE, reply)
    assert found.files == {} or not any(text.strip() for text in found.files.values())
    assert found.unusable is not None
    assert reason in found.unusable


def test_several_files_come_as_json() -> None:
    reply = 'Sure.\n{"code": [{"rtl/a.sv": "module a; endmodule"}, {"rtl/b.sv": "```verilog\\nmodule b;\\n```"}]}'
    assert extract(TWO, reply).files == {"rtl/a.sv": "module a; endmodule", "rtl/b.sv": "module b;\n"}
    raw_newlines = '{"code": [{"rtl/a.sv": "module a;\nendmodule"}]}'
    assert extract(TWO, raw_newlines).files == {"rtl/a.sv": "module a;\nendmodule"}
    assert "no JSON object" in (extract(TWO, f"```\n{CODE}```").unusable or "")


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("../rtl/a.sv", "climbs out"),
        ("/etc/passwd", "absolute"),
        ("/code/rtl/a.sv", "absolute"),
        ("src/conftest.py", "not a file that this problem asks for"),
        ("src/sitecustomize.py", "not a file that this problem asks for"),
        ("rtl/./a.sv", "plain form"),
        ("rtl\\a.sv", "backslash"),
        ("rtl/a.sv\n", "control characters"),
        ("", "names no file"),
    ],
)
def test_other_paths_are_refused_by_name(path: str, reason: str) -> None:
    found = submit(TWO, {"rtl/a.sv": CODE, path: "evil"})
    assert found.files == {"rtl/a.sv": CODE}
    assert len(found.refused) == 1
    assert repr(path) in found.refused[0]
    assert reason in found.refused[0]
    assert submit(TWO, {path: "evil"}).unusable is not None


@given(st.text(max_size=400))
def test_whatever_is_written_only_targets_are_taken(reply: str) -> None:
    for problem in (ONE, TWO):
        found = extract(problem, reply)
        assert set(found.files) <= set(problem.targets)
        assert found.files or found.unusable


@given(st.dictionaries(st.text(max_size=40), st.text(max_size=20), max_size=5))
def test_any_json_of_files_is_safe(files: dict[str, str]) -> None:
    found = extract(TWO, json.dumps({"code": [files]}))
    assert set(found.files) <= set(TWO.targets)


def test_an_oversized_file_is_refused() -> None:
    found = submit(ONE, {TARGET: "x" * (1024 * 1024 + 1)})
    assert found.unusable is not None
    assert "larger than" in found.unusable


def test_targets_left_as_given_change_nothing(bundled: dict[str, Problem]) -> None:
    problem = next(problem for problem in bundled.values() if problem.given)
    assert not submit(problem, problem.given).changes(problem)
    assert submit(problem, {**problem.given, problem.targets[0]: CODE}).changes(problem)
