"""Whatever a model says, extraction ends, raises nothing and takes only the problem's own files."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtl_agent.grading.extract import extract
from rtl_agent.grading.replies.cleaned import in_plain_characters
from rtl_agent.grading.submission import Extraction, Submission, submit
from rtl_agent.problems import Problem, load_problems

from .strategies import any_json, any_text, reply_text

PROBLEMS = {len(problem.targets): problem for problem in load_problems("bundled")}
ONE, SEVERAL = PROBLEMS[1], PROBLEMS[2]
problems = st.sampled_from([ONE, SEVERAL])


def check(problem: Problem, found: Submission) -> None:
    assert set(found.files) <= set(problem.targets)
    assert all(isinstance(text, str) for text in found.files.values())
    assert found.unusable is not None or any(text.strip() for text in found.files.values())
    "\n".join((*found.refused, found.unusable or "")).encode()  # reasons are text that can be written


@given(problems, reply_text, st.sampled_from(Extraction))
def test_any_reply(problem: Problem, reply: str, extraction: Extraction) -> None:
    found = extract(problem, reply, extraction)
    check(problem, found)
    assert found == extract(problem, reply, extraction)


@given(problems, any_json, st.sampled_from(["{}", "```json\n{}\n```", "<think>{{</think>{}", "Here: {} Done."]))
def test_any_json(problem: Problem, document: object, around: str) -> None:
    check(problem, extract(problem, around.replace("{}", json.dumps({"code": document}), 1)))


@given(st.dictionaries(any_text, any_text, max_size=5), any_text.filter(str.strip))
def test_every_path_is_a_target_or_refused(files: dict[str, str], text: str) -> None:
    offered = {**files, SEVERAL.targets[0]: text}
    found = submit(SEVERAL, offered)
    check(SEVERAL, found)
    assert len(found.files) + len(found.refused) == len(offered)
    assert found.files[SEVERAL.targets[0]] == text


def is_plain(text: str) -> bool:
    """Without what has a meaning in a reply, and without characters that are put right in code."""
    return bool(text.strip()) and not set(text) & set("`<{~[◁&\\") and in_plain_characters(text) == text


@given(any_text.filter(is_plain))
def test_a_plain_block_comes_out_as_it_went_in(text: str) -> None:
    body = f"module m;\n{text}\nendmodule\n"
    assert extract(ONE, f"Here it is:\n```verilog\n{body}```\n").files == {ONE.targets[0]: body}


@pytest.mark.parametrize("problem", [ONE, SEVERAL], ids=["one", "several"])
def test_a_number_with_too_many_digits(problem: Problem) -> None:
    check(problem, extract(problem, '{"code": ' + "1" * 5000 + "}"))
