"""PROBLEMS as a person writes it -> the problems that can be asked and graded here."""

from collections.abc import Callable
from dataclasses import dataclass

from rtl_agent.envs.episode_config import EpisodeConfig
from rtl_agent.envs.kinds import why_unplayable
from rtl_agent.problems import (
    BadRecord,
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
    episode: EpisodeConfig = EpisodeConfig(),  # frozen
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
        if why := why_unplayable(problem, episode):
            left_out.append(f"{problem.id} is left out: {why}")
        else:
            kept.append(problem)
    if not kept:
        first = f" ({left_out[0]})" if left_out else ""
        raise NoSuchProblems(f"{source} has no problem that is selected and can be asked and graded here{first}")
    return ProblemSet(tuple(kept[: limit or None]), tuple(left_out))
