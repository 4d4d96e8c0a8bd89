"""An evaluation's result for people."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

from rtl_agent.cli.console import out

if TYPE_CHECKING:
    from rtl_agent.evaluation.result import EvaluationResult
    from rtl_agent.evaluation.summary import Summary


NO_SCORE = "no reward and no pass@k: at level {level} the model can read the harness, which is for debugging only"
FORMULAS = "pass@k is unbiased, in brackets its 95 % interval (Wilson's, over problems); CVDP's is 1 - (1 - c/n)^k"


def print_result(result: "EvaluationResult", written: Path) -> None:
    """Numbers of the whole and of each group, what they mean, and where they are kept."""
    settings, whole = result.settings, result.whole
    if result.is_score:
        out.print(_scores(result))
    outcomes = ", ".join(f"{count} {name}" for name, count in whole.outcomes.items())
    ends = ", ".join(f"{count} by {name}" for name, count in whole.ends.items())
    lines = (
        *(_reward(whole) if result.is_score else [NO_SCORE.format(level=settings.episode.level)]),
        f"{whole.cut_off} cut off at {settings.episode.max_tokens} tokens" if whole.cut_off else "",
        f"{whole.turns:.1f} turns on average; ended {ends}" if ends else "",
        f"{whole.samples} answers to {whole.problems} problems: {outcomes}; {len(result.asked.lost)} errors left out; "
        f"{result.asked.reused} from an earlier run",
        f"env {settings.episode.kind}, level of information {settings.episode.level}, temperature "
        f"{settings.temperature:g}, seed {settings.seed}, {settings.backend}",
        FORMULAS if result.is_score else "",
        *result.notes,
        f"{written}, answers in {result.samples_file}",
    )
    for line in filter(None, lines):
        out.print(line, markup=False, highlight=False, soft_wrap=True)


def _reward(whole: "Summary") -> tuple[str, str]:
    """Without a single graded answer there are no parts and no rates."""
    parts = ", ".join(f"{name} {value:.3f}" for name, value in whole.reward_parts.items())
    rates = ", ".join(f"{name} {value:.0%}" for name, value in whole.rates.items())
    return f"reward {whole.reward:.3f} = {parts}" if parts else "", rates


def _scores(result: "EvaluationResult") -> Table:
    settings = result.settings
    table = _table(f"{settings.model} on {settings.problems}", result.ks)
    for parts in result.groups.values():
        if len(parts) > 1:
            for part, summary in parts.items():
                table.add_row(escape(part), *_cells(summary, result.ks))
            table.add_section()
    table.add_row("all", *_cells(result.whole, result.ks), style="bold")
    return table


def _table(title: str, ks: Sequence[int]) -> Table:
    """For k = 1 both formulas are the same: the share that passed."""
    table = Table(title=escape(title), title_justify="left", box=box.SIMPLE, padding=(0, 1, 0, 0))
    table.add_column("", overflow="fold", min_width=12)
    for header in ("problems", *(name for k in ks for name in ((f"pass@{k}",) if k == 1 else _both(k))), "reward"):
        table.add_column(header, justify="right", no_wrap=True)
    return table


def _both(k: int) -> tuple[str, str]:
    return f"pass@{k}", f"CVDP's pass@{k}"


def _cells(summary: "Summary", ks: Sequence[int]) -> list[str]:
    found = {one.k: one for one in summary.pass_at}
    cells = [str(summary.problems)]
    for k in ks:
        one = found.get(k)
        cells.append("" if one is None else f"{one.unbiased:.1%} ({one.low:.0%} to {one.high:.0%})")
        if k > 1:
            cells.append("" if one is None else f"{one.cvdp:.1%}")
    return [*cells, f"{summary.reward:.3f}"]
