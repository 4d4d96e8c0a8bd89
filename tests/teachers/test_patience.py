"""Waiting for a server, and what is made of its scores of a known text."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import pytest

from rtl_agent.teachers import patience
from rtl_agent.teachers.known_text import opinion
from rtl_agent.teachers.patience import Patience, PatientScorer, ServerGone
from rtl_agent.teachers.scorer import Scores, ScoringError, TopK, Unreachable

TOKENS = [100 + at + at // 7 for at in range(80)]


@dataclass
class Model:
    """Finds a token the likelier the nearer it is to the one before."""

    name: str = "model"
    refuses: int = 0
    asked: list[int] = field(default_factory=list)

    async def score(self, tokens: Sequence[int], *, topk: int = 0, first: int = 0) -> Scores:
        self.asked.append(first)
        if self.refuses:
            self.refuses -= 1
            raise Unreachable("not now")
        near = [-0.1 * abs(one - before) for before, one in pairwise(tokens)]
        return self.told([None, *near])

    def told(self, values: list[float | None]) -> Scores:
        return Scores(tuple(values))


async def test_a_server_that_comes_back_is_asked_again_and_said_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "FIRST_PAUSE", 0.0)
    said: list[str] = []
    scorer = PatientScorer(Model(refuses=3), Patience(60, said.append))
    assert len((await scorer.score(TOKENS)).logprobs) == len(TOKENS)
    assert [line.partition(":")[0].partition(",")[0] for line in said] == [
        "the teacher does not answer",
        "the teacher answers again",
    ]
    assert "1 min" not in said[0]
    assert "60 s at most" in said[0]


async def test_patience_ends_and_other_faults_are_not_waited_for() -> None:
    said: list[str] = []
    with pytest.raises(ServerGone, match="silent for 0 s: not now"):
        await PatientScorer(Model(refuses=1), Patience(0, said.append)).score(TOKENS)

    class Broken(Model):
        async def score(self, tokens: Sequence[int], *, topk: int = 0, first: int = 0) -> Scores:
            raise ScoringError("no scores")

    with pytest.raises(ScoringError, match="no scores"):
        await PatientScorer(Broken(), Patience(60, said.append)).score(TOKENS)
    assert len(said) == 1


async def test_a_model_that_reads_the_text_is_believed() -> None:
    found = await opinion(Model(), TOKENS)
    assert found.logprob_per_token == pytest.approx(-0.1 * (TOKENS[-1] - TOKENS[0]) / 79)
    assert not found.doubt


class Zeros(Model):
    def told(self, values: list[float | None]) -> Scores:
        return Scores((None, *[0.0] * (len(values) - 1)))


class Constant(Model):
    def told(self, values: list[float | None]) -> Scores:
        return Scores((None, *[-2.0] * (len(values) - 1)))


class Shifted(Model):
    """Says of each token what belongs to the next one."""

    def told(self, values: list[float | None]) -> Scores:
        return Scores((None, *values[2:], -0.3))


class Late(Model):
    """Says of each token what belongs to the one before."""

    def told(self, values: list[float | None]) -> Scores:
        return Scores((None, -0.3, *values[1:-1]))


class Short(Model):
    def told(self, values: list[float | None]) -> Scores:
        return Scores(tuple(values[:-1]))


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Zeros(), "the logprob 0"),
        (Constant(), "the logprob -2"),
        (Shifted(), "shifted"),
        (Late(), "the same score.*shifted"),
        (Short(), "79 logprobs for 80"),
    ],
)
async def test_scores_that_are_none_are_refused(model: Model, said: str) -> None:
    with pytest.raises(ScoringError, match=f"model.*{said}"):
        await opinion(model, TOKENS)


@dataclass
class Likeliest(Model):
    """Tells likeliest tokens too: by the logprob of the one that stands there, those of the position."""

    row: Callable[[float], Sequence[float]] = lambda logprob: [logprob, -9.0, -9.5]

    async def score(self, tokens: Sequence[int], *, topk: int = 0, first: int = 0) -> Scores:
        values = (await super().score(tokens)).logprobs
        told = [TopK(tuple(range(len(self.row(one)))), tuple(self.row(one))) for one in values if one is not None]
        return Scores(values, (None, *told))


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Likeliest(), ""),
        (Likeliest(row=lambda logprob: [logprob]), "at most 1 of its likeliest tokens at a position, and 3 were asked"),
        (Likeliest(row=lambda logprob: [-0.1, -0.2, -0.3]), "probabilities of more than 1 in all"),
        (Likeliest(row=lambda logprob: [math.nan, -1.0, -2.0]), "logprobs that are no probabilities"),
        (Likeliest(row=lambda logprob: [3.0, -1.0, -2.0]), "logprobs that are no probabilities"),
        (Likeliest(row=lambda logprob: [-5.0, -6.0, -7.0]), "they are of different positions"),
    ],
)
async def test_likeliest_tokens_are_tried_as_the_run_will_ask_for_them(model: Model, said: str) -> None:
    if not said:
        assert not (await opinion(model, TOKENS, 3)).doubt
        return
    with pytest.raises(ScoringError, match=f"model gave .*{said}"):
        await opinion(model, TOKENS, 3)


async def test_tokens_of_another_vocabulary_are_doubted() -> None:
    """To the model they are in no order: a shuffle of them is as likely."""
    found = await opinion(Model(), [(token * 37) % 80 for token in TOKENS])
    assert "the model's tokens?" in found.doubt
