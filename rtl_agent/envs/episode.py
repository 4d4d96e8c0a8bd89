"""One episode as it is kept: what was asked, the tokens as they were sampled, and how the answer was judged."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from itertools import chain
from typing import Any

from rtl_agent.grading import CannotGrade, Diagnostic, Grade, Grader, Outcome, StageName, Submission
from rtl_agent.problems import Problem
from rtl_agent.prompts import Message

DIAGNOSTICS_KEPT = 40  # a design without a semicolon can make a tool complain about every line
RATES = {
    StageName.FORMAT: "format_valid",
    StageName.INTERFACE: "interface_valid",
    StageName.SYNTAX: "syntax_valid",
    StageName.TESTS: "tests_passed",
}


class EpisodeFailed(Exception):
    """No fault of the model: the rollout leaves its group and is counted. It is never a reward of 0."""


@dataclass(frozen=True)
class EpisodeTurn:
    """What the model said in one of several turns, what it called, and what it was shown then."""

    text: str
    thinking: str = ""
    calls: tuple[Mapping[str, Any], ...] = ()  # name and arguments of each
    fault: str = ""  # what was wrong with a call that could not be read
    observation: str = ""
    sampled_tokens: tuple[int, ...] = ()  # empty where the model was asked for text
    observation_tokens: tuple[int, ...] = ()  # what was appended after them: the conversation is all of these joined
    sampled_logprobs: tuple[float, ...] = ()
    reward: float | None = None  # where this turn alone was graded

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "EpisodeTurn":
        known = dict(data)
        for name in ("calls", "sampled_tokens", "observation_tokens", "sampled_logprobs"):
            known[name] = tuple(data.get(name, ()))
        return EpisodeTurn(**known)


@dataclass(frozen=True)
class Transcript:
    """The tokens of an episode: the prompt, then turn by turn what was sampled and what was appended after it.

    Only ever extended at its end, and nothing in it is encoded again: so an episode is one training datum.
    """

    prompt: tuple[int, ...] = ()
    turns: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = ()  # of each: sampled, appended

    def then(self, sampled: Sequence[int], appended: Sequence[int] = ()) -> "Transcript":
        return replace(self, turns=(*self.turns, (tuple(sampled), tuple(appended))))

    @property
    def tokens(self) -> list[int]:
        """All of them, joined: what the model is asked with next."""
        return [*self.prompt, *chain.from_iterable(chain.from_iterable(self.turns))]

    @property
    def sampled(self) -> tuple[int, ...]:
        return tuple(chain.from_iterable(sampled for sampled, _ in self.turns))

    def written_into(self, turns: Sequence[EpisodeTurn]) -> tuple[EpisodeTurn, ...]:
        """Each turn with its tokens; a model that was asked for text has none, and its turns stay as they are."""
        written = [
            replace(turn, sampled_tokens=sampled, observation_tokens=appended)
            for turn, (sampled, appended) in zip(turns, self.turns, strict=False)
        ]
        return (*written, *turns[len(written) :])


NO_TOKENS = Transcript()  # of a model that was asked for text


@dataclass(frozen=True)
class Episode:
    """A rollout's record. Tokens are the model's own, never decoded and encoded again."""

    problem_id: str
    family: str
    messages: tuple[Message, ...]
    prompt_tokens: tuple[int, ...]
    sampled_tokens: tuple[int, ...]  # of all turns, one after the other
    text: str  # what was graded, the answer without thinking and control tokens; of several turns the last one's
    stop_reason: str  # "stop", or "length" when the answer was cut off
    grade: Grade
    reward: float
    reward_parts: Mapping[str, float] = field(default_factory=dict)
    diagnostics: tuple[str, ...] = ()  # why it did not pass, then what the tools said, a line each
    sampled_logprobs: tuple[float, ...] = ()  # known to who sampled, not to the environment
    turns: tuple[EpisodeTurn, ...] = ()  # of several turns; empty for a single answer
    level: str = ""  # how much a model could know; "open" is never a score
    end_reason: str = ""  # why an episode of several turns was over
    files: Mapping[str, str] = field(default_factory=dict)  # what an agent left in its workspace to be graded

    @property
    def cut_off(self) -> bool:
        return self.stop_reason == "length"

    @property
    def is_scored(self) -> bool:
        """Whether its reward and its grade may be counted among others: not if the model had the tests before it."""
        return self.level != "open"

    @property
    def passed(self) -> bool:
        return self.is_scored and self.grade.outcome is Outcome.PASSED

    def with_logprobs(self, logprobs: Sequence[float]) -> "Episode":
        """Those of all turns, one after the other."""
        if len(logprobs) != len(self.sampled_tokens):
            raise ValueError(f"{len(logprobs)} logprobs for {len(self.sampled_tokens)} sampled tokens")
        turns, start = [], 0
        for turn in self.turns:
            end = start + len(turn.sampled_tokens)
            turns.append(replace(turn, sampled_logprobs=tuple(logprobs[start:end])))
            start = end
        return replace(self, sampled_logprobs=tuple(logprobs), turns=tuple(turns))

    def to_json(self) -> dict[str, Any]:
        shallow = {one.name: getattr(self, one.name) for one in fields(self)}
        return {
            **shallow,
            "messages": [asdict(message) for message in self.messages],
            "grade": self.grade.to_json(),
            "turns": [asdict(turn) for turn in self.turns],
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> "Episode":
        known = {one.name: data[one.name] for one in fields(Episode) if one.name in data}
        known["messages"] = tuple(Message(**message) for message in data["messages"])
        known["turns"] = tuple(EpisodeTurn.from_json(turn) for turn in data.get("turns", ()))
        known["grade"] = Grade.from_json(data["grade"]) if data["grade"] else Grade(data["problem_id"], Outcome.ERROR)
        for name in ("prompt_tokens", "sampled_tokens", "sampled_logprobs", "diagnostics"):
            known[name] = tuple(data[name])
        return Episode(**known)


async def grade_or_fail(grader: Grader, problem: Problem, submission: Submission | str) -> Grade:
    """The grade of a reply, or of files. What is no fault of the model fails the episode: it is never a reward of 0."""
    try:
        if isinstance(submission, str):
            grade = await grader.grade_reply(problem, submission)
        else:
            grade = await grader.grade(problem, submission)
    except CannotGrade as error:
        raise EpisodeFailed(str(error)) from error
    if grade.outcome is Outcome.ERROR:  # the executor has tried again before it says so
        raise EpisodeFailed(f"{problem.id} could not be graded: {'; '.join(grade.reasons)}")
    return grade


def diagnostics_of(grade: Grade) -> tuple[str, ...]:
    return (*grade.reasons, *map(_line, grade.diagnostics[:DIAGNOSTICS_KEPT]))


def _line(found: Diagnostic) -> str:
    return f"{found.file}:{found.line}: {found.severity}: {found.text} ({found.tool})"


def grade_metrics(grade: Grade) -> dict[str, float | int]:
    """Earned parts of the reward as reward/<name>, and what was right whatever it earned.

    A stage that could not be judged (no interface is known, nothing was simulated) has no rate: the cookbook averages
    over the episodes that have one, as env/all/<name>. reward/total it computes itself.
    """
    metrics: dict[str, float | int] = {}
    for name, rate in RATES.items():
        metrics[f"reward/{rate}"] = grade.reward.parts.get(name.value, 0.0)
        stage = grade.stage(name)
        never_reached = grade.outcome is Outcome.INVALID and (name in grade.reward.parts or name is not StageName.TESTS)
        if stage.passed is not None or never_reached:
            metrics[rate] = float(bool(stage.passed))
    if "tests_passed" in metrics:
        metrics["tests_fraction"] = grade.stage(StageName.TESTS).score
        metrics["pass_rate"] = float(grade.outcome is Outcome.PASSED)
    return metrics


def end_metrics(ended: StrEnum) -> dict[str, float | int]:
    """One of its kind is 1: averaged over a batch they are the shares of episodes that ended so."""
    return {f"end/{reason.value}": float(reason is ended) for reason in type(ended)}
