"""PROBLEMS as a person writes it -> the problems that can be asked and graded here."""

from collections.abc import Callable
from dataclasses import dataclass

from rtl_agent.problems import (
    NEEDS_IN_WORDS,
    BadRecord,
    Kind,
    Needs,
    NoSuchProblems,
    Problem,
    Selection,
    choose,
    load_problems,
)


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
    """The selected problems of a source; of one that draws problems, `limit` are drawn."""
    found = load_problems(source, skip_bad=skip_bad, on_bad=on_bad, count=limit)
    chosen = choose(found, selection, source)
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


def _why_not(problem: Problem, env: str) -> str:
    if problem.needs is not Needs.OPEN_TOOLS:
        return f"it needs {NEEDS_IN_WORDS[problem.needs]}"
    if env != "agentic" and problem.kind is not Kind.SINGLE_SHOT:
        return f"it is {problem.kind.value}, which takes more than one turn (--env agentic)"
    return ""
