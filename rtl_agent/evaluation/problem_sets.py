"""PROBLEMS as a person writes it -> the problems that can be asked and graded here."""

from collections.abc import Callable
from dataclasses import dataclass

from rtl_agent.evaluation.errors import EvaluationError
from rtl_agent.problems import (
    NEEDS_IN_WORDS,
    BadRecord,
    Kind,
    Needs,
    NoSuchProblems,
    Problem,
    Selection,
    Split,
    load_problems,
    select,
)
from rtl_agent.problems.generate import HELD_OUT_WHOLE, TRAINED, UnknownFamily, as_workspace, generate
from rtl_agent.training.sources import GENERATED, NEW, TEST_SEED, WORKSPACES

PER_FAMILY = 8  # as many as a run's own evaluations draw


@dataclass(frozen=True)
class ProblemSet:
    problems: tuple[Problem, ...]
    left_out: tuple[str, ...] = ()  # a sentence for each


def problem_set(
    source: str,
    selection: Selection,
    *,
    env: str = "single",
    limit: int = 0,
    skip_bad: bool = False,
    on_bad: Callable[[BadRecord], None] | None = None,
) -> ProblemSet:
    """`generated` is the held-out side of the families that are trained on, `generated:new` the families never
    trained on, `generated:NAME,...` those families, `generated-workspaces` and so on the same for agents, with the
    specification in a file; anything else is `bundled`, a file or a folder."""
    head, _, names = source.partition(":")
    if head in (GENERATED, WORKSPACES):
        found = _generated(head, names, limit)
    else:
        found = load_problems(source, skip_bad=skip_bad, on_bad=on_bad)
    if head == WORKSPACES:
        found = [as_workspace(problem) for problem in found]
    unknown = set(selection.ids) - {problem.id for problem in found}
    if unknown:
        raise NoSuchProblems(f"{source} has no problem {', '.join(sorted(unknown))}; see `rtl-agent problems list`")
    chosen = select(found, selection)
    kept: list[Problem] = []
    left_out: list[str] = []
    for problem in chosen:
        if why := _why_not(problem, env):
            left_out.append(f"{problem.id} is left out: {why}")
        else:
            kept.append(problem)
    if not kept:
        first = f" ({left_out[0]})" if left_out else ""
        raise NoSuchProblems(f"{source} has no problem that is selected and can be asked and graded here{first}")
    return ProblemSet(tuple(kept[: limit or None]), tuple(left_out))


def _generated(head: str, names: str, limit: int) -> list[Problem]:
    if names == NEW:
        families: tuple[str, ...] = HELD_OUT_WHOLE
    else:
        families = tuple(name.strip() for name in names.split(",") if name.strip()) or TRAINED
    try:
        return generate(TEST_SEED, limit or PER_FAMILY * len(families), families=families, split=Split.HELD_OUT)
    except UnknownFamily as error:
        raise EvaluationError(f"{head}:{names}: {error}; `{head}:{NEW}` are those held out whole") from error


def _why_not(problem: Problem, env: str) -> str:
    if problem.needs is not Needs.OPEN_TOOLS:
        return f"it needs {NEEDS_IN_WORDS[problem.needs]}"
    if env != "agentic" and problem.kind is not Kind.SINGLE_SHOT:
        return f"it is {problem.kind.value}, which takes more than one turn (--env agentic)"
    return ""
