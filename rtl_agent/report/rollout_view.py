"""Episodes for people: the table of problems, and single answers with what was wrong with them."""

from collections.abc import Sequence

from rtl_agent.report.episode import Shown
from rtl_agent.report.episodes import Digest, ProblemRates, by_family
from rtl_agent.report.markup import Markup, join, tag
from rtl_agent.report.words import counted, cut

_MOST_ITEMS = 20
_MOST_UNFOLDED = 40  # problems
_COLUMNS = (
    "episodes",
    "pass rate",
    "first third",
    "last third",
    "mean reward",
    "first third",
    "last third",
)


def problems_view(problems: Sequence[ProblemRates]) -> Markup:
    """Every problem in a line; of very many first the families, and the problems folded up."""
    if len(problems) <= _MOST_UNFOLDED:
        return problems_table(problems, unfolded=True)
    return join(_table(by_family(problems)), problems_table(problems, unfolded=False))


def problems_table(problems: Sequence[ProblemRates], *, unfolded: bool) -> Markup:
    return tag(
        "details",
        tag("summary", counted(len(problems), "problem")),
        _table(problems),
        open="" if unfolded else None,
    )


def _table(problems: Sequence[ProblemRates]) -> Markup:
    head = tag(
        "tr", tag("th", "problem"), tag("th", "family"), *(tag("th", name, class_="number") for name in _COLUMNS)
    )
    rows = [
        tag(
            "tr",
            tag("td", problem.problem_id, class_="name"),
            tag("td", problem.family, class_="name"),
            *(
                tag("td", cell, class_="number")
                for cell in (
                    str(problem.all.episodes),
                    *(_percent(tally.pass_rate) for tally in (problem.all, problem.first_third, problem.last_third)),
                    *(_number(tally.mean_reward) for tally in (problem.all, problem.first_third, problem.last_third)),
                )
            ),
        )
        for problem in problems
    ]
    return tag("div", tag("table", tag("thead", head), tag("tbody", *rows)), class_="scroll")


def examples(digest: Digest) -> Markup:
    parts = []
    for title, episodes in (("Best", digest.best), ("Worst", digest.worst)):
        if episodes:
            parts += [tag("h2", f"{title} answers"), *(_article(episode) for episode in episodes)]
    return join(*parts)


def _article(episode: Shown) -> Markup:
    reward = "no reward" if episode.reward is None else f"reward {episode.reward:.3g}"
    parts = ", ".join(f"{name.replace('_', ' ')} {value:.3g}" for name, value in episode.parts.items())
    outcome = tag("span", episode.outcome or "not graded", class_="good" if episode.passed else "bad")
    ended = f"; ended by {episode.stop_reason}" if episode.stop_reason else ""
    return tag(
        "article",
        tag("h3", episode.problem_id, ": ", outcome, f", {reward}"),
        tag("p", f"step {episode.step}", f"; {parts}" if parts else "", ended, class_="soft"),
        _items("Why", episode.reasons),
        _items("Failing tests", episode.failing_tests),
        _items("Diagnostics", episode.diagnostics),
        _prompt(episode),
        tag("h3", "Answer"),
        tag("pre", cut(episode.answer) or "(empty)"),
    )


def _prompt(episode: Shown) -> Markup | None:
    if not episode.prompt:
        return None
    messages = [join(tag("p", role, class_="soft"), tag("pre", cut(words))) for role, words in episode.prompt]
    return tag("details", tag("summary", "What was asked"), *messages)


def _items(title: str, items: Sequence[str]) -> Markup | None:
    if not items:
        return None
    rows = [tag("li", cut(item)) for item in items[:_MOST_ITEMS]]
    if len(items) > _MOST_ITEMS:
        rows.append(tag("li", f"and {len(items) - _MOST_ITEMS} more"))
    return join(tag("h3", title), tag("ul", *rows))


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
