"""PROBLEMS as a person writes it -> the problems that can be asked and graded here."""

from collections.abc import Callable
from dataclasses import dataclass

from rtl_agent.envs.episode_config import EpisodeConfig
from rtl_agent.envs.kinds import why_unplayable
from rtl_agent.evaluation.settings import EvaluationError
from rtl_agent.problems import (
    BadRecord,
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
    episode: EpisodeConfig = EpisodeConfig(),  # noqa: B008  # frozen
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
        if why := why_unplayable(problem, episode):
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
