"""What every episode is made of: its tokens, its grade, and both as numbers. Its record is `rtl_agent.runs.episode`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain

from rtl_agent.grading import CannotGrade, Diagnostic, Grade, Grader, Outcome, StageName, Submission
from rtl_agent.problems import Problem
from rtl_agent.runs.episode import EpisodeTurn

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
    if grade.progress is not None:
        metrics["progress"] = grade.progress.score
        metrics["progress_without_tests"] = float(grade.progress.beyond_tests)
    return metrics


def end_metrics(ended: StrEnum) -> dict[str, float | int]:
    """One of its kind is 1: averaged over a batch they are the shares of episodes that ended so."""
    return {f"end/{reason.value}": float(reason is ended) for reason in type(ended)}
