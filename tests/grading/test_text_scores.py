"""Answers in prose by CVDP's formula, with numbers worked out by hand."""

import math
from pathlib import Path

import pytest

from rtl_agent.grading.text_scores import answer_of, bleu, rouge_recall, score_text
from rtl_agent.problems import Needs, load_problems


def test_the_same_text_has_one() -> None:
    score = score_text("the reset is synchronous", "the reset is synchronous")
    assert (score.bleu, score.rouge, score.passed) == (1.0, 1.0, True)


def test_bleu_is_the_geometric_mean_of_words_and_pairs() -> None:
    answer, reference = ["a", "b", "c", "x"], ["a", "b", "c", "d"]
    assert bleu(answer, reference) == pytest.approx(math.sqrt(3 / 4 * 2 / 3))
    assert rouge_recall(answer, reference) == pytest.approx(2 / 3)


def test_a_shorter_answer_is_penalised_and_a_longer_one_is_not() -> None:
    reference = ["a", "b", "c", "d", "e", "f"]
    assert bleu(["a", "b", "c"], reference) == pytest.approx(math.exp(1 - 6 / 3))
    assert bleu([*reference, "g"], reference) == pytest.approx(math.sqrt(6 / 7 * 5 / 6))


def test_a_word_counts_as_often_as_the_reference_has_it() -> None:
    assert bleu(["a", "a", "a", "a"], ["a", "a", "b", "c"]) == pytest.approx(math.sqrt(2 / 4 * 1 / 3))


@pytest.mark.parametrize("answer", ["", "x", "nothing in common", "a"])
def test_no_pair_in_common_is_zero(answer: str) -> None:
    score = score_text(answer, "a b c")
    assert (score.bleu, score.rouge, score.passed) == (0.0, 0.0, False)


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ('{"response": "It wraps."}', "It wraps."),
        ('Here:\n```json\n{"response": "It\\nwraps."}\n```', "It\nwraps."),
        ('{"response": "two\n lines"}', "two lines"),
        ("It wraps.", "It wraps."),
        ('<think>{"response": "no"}</think>{"response": "yes"}', "yes"),
        ('{"answer": "It wraps."}', '{"answer": "It wraps."}'),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_an_answer_is_read_off_a_reply_as_cvdp_does(reply: str, answer: str) -> None:
    assert answer_of(reply) == answer


@pytest.mark.cvdp
def test_cvdps_own_answers_have_the_highest_score(cvdp: Path) -> None:
    problems = [one for one in load_problems(str(cvdp)) if one.needs is Needs.TEXT and one.answer]
    assert len(problems) == 84
    assert {score_text(one.answer or "", one.answer or "") for one in problems} == {score_text("a b", "a b")}
