"""Comprehension: words by the formula, a judge for cid009 and cid010, nothing of it a reward."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rtl_agent.cli import console
from rtl_agent.cli.main import run
from rtl_agent.evaluation.judge import parse_judgement
from tests.evaluation.scripted import Body, Told, scripted

QUESTIONS = {
    "mine_reset_0001": ("cid006", "Which line resets it?", "the second line resets the counter"),
    "mine_wrap_0001": ("cid009", "Why does it wrap?", "because it has three bits"),
    "mine_wrap_0002": ("cid010", "What does the bench test?", "it tests that the counter wraps"),
}
Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    file = tmp_path / "questions.jsonl"
    records = [
        {
            "id": identifier,
            "categories": [category, "easy"],
            "input": {"prompt": prompt, "context": {}},
            "output": {"response": answer, "context": {}},
            "harness": {},
        }
        for identifier, (category, prompt, answer) in QUESTIONS.items()
    ]
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file


@pytest.fixture
def rtl_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(console.out, "width", 120)

    def command(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["rtl-agent", *words])
        with pytest.raises(SystemExit) as ended:
            run()
        code = ended.value.code
        said = capsys.readouterr()
        return code if isinstance(code, int) else 0, said.out, said.err

    return command


def answered(body: Body) -> Told:
    """The model: right but for the reset; the judge: 0.9, and 0.2 of what asks it for more."""
    asked = body["messages"][-1]["content"]
    if body["model"] == "judge":
        return Told(json.dumps({"score": 0.2 if "score of 1.0" in asked else 0.9, "reason": "compared"}))
    for _, prompt, answer in QUESTIONS.values():
        if prompt in asked:
            return Told(json.dumps({"response": answer if "resets" not in prompt else "no idea"}))
    raise AssertionError(asked)


def test_words_are_scored_by_category_and_the_same_command_asks_for_nothing_again(
    rtl_agent: Command, questions: Path, tmp_path: Path
) -> None:
    with scripted(answered) as server:
        words = ["eval", str(questions), "--model", "some/model", "--base-url", server.url, "--out", "text.json"]
        code, shown, err = rtl_agent(*words)
        assert code == 0, err
        assert "cid006" in shown
        rtl_agent(*words)
        assert len(server.requests) == 3
    result = json.loads((tmp_path / "text.json").read_text())
    assert result["kind"] == "comprehension"
    by = {row["category"]: row for row in result["summary"]}
    assert (by["cid006"]["bleu"], by["cid009"]["bleu"], by["all"]["answers"]) == (0.0, 1.0, 3)
    assert by["all"]["passed"] == pytest.approx(2 / 3)
    assert not any("reward" in key or "pass_at" in key for key in (*result, *result["summary"][0]))


def test_a_judge_scores_what_words_do_not_decide(rtl_agent: Command, questions: Path) -> None:
    with scripted(answered) as server:
        code, shown, err = rtl_agent(
            "eval", str(questions), "--model", "m", "--base-url", server.url, "--judge", "judge", "--json"
        )
    assert code == 0, err
    by = {row["category"]: row for row in json.loads(shown)["summary"]}
    assert (by["cid006"]["judged"], by["cid009"]["judged"], by["cid009"]["judge"]) == (0, 1, 0.9)
    judged = [one for one in server.requests if one["model"] == "judge"]
    assert len(judged) == 2
    assert all("because it has three bits" in str(one) or "counter wraps" in str(one) for one in judged)


def test_a_judge_that_does_not_keep_to_the_form_gives_no_score(rtl_agent: Command, questions: Path) -> None:
    def chatty(body: Body) -> Told:
        return Told("Great answer, 1.0!") if body["model"] == "judge" else answered(body)

    with scripted(chatty) as server:
        code, shown, err = rtl_agent(
            "eval", str(questions), "--model", "m", "--base-url", server.url, "--judge", "judge", "--json"
        )
    assert code == 3
    assert "2 answers have no score" in err
    assert [row["judged"] for row in json.loads(shown)["summary"]] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "1.0",
        "[1.0]",
        '{"score": "1.0"}',
        '{"score": true}',
        '{"score": 1.5}',
        '{"score": -0.1}',
        '{"score": NaN}',
        '{"score": Infinity}',
        '{"score": 0.1} {"score": 1.0}',
        'The score is {"score": 1.0}',
        '{"reason": "good"}',
        "[" * 100_000,
    ],
)
def test_only_one_object_with_a_score_from_0_to_1_is_a_judgement(reply: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_judgement(reply)


@pytest.mark.parametrize(
    "reply",
    ['{"score": 0.25, "reason": "half"}', '```json\n{"score": 0.25}\n```', '<think>1.0?</think>{"score": 0.25}'],
)
def test_a_judgement_is_read(reply: str) -> None:
    assert parse_judgement(reply).score == 0.25


def test_without_an_endpoint_the_command_says_what_it_takes(rtl_agent: Command, questions: Path) -> None:
    code, _, err = rtl_agent("eval", str(questions), "--model", "rtl-agent/student")
    assert code == 2
    assert "give --base-url" in err


def test_grade_scores_replies_and_references(rtl_agent: Command, questions: Path, tmp_path: Path) -> None:
    code, shown, err = rtl_agent("grade", str(questions), "--reference")
    assert code == 0, err
    assert "3 of 3 above 0.40 in both" in shown
    reply = tmp_path / "reply.txt"
    reply.write_text('{"response": "because it has three bits of state"}')
    code, shown, _ = rtl_agent("grade", str(questions), "--id", "mine_wrap_0001", "--response", str(reply), "--json")
    assert code == 0
    assert json.loads(shown)[0]["rouge2_recall"] == 1.0
