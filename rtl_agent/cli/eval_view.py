"""An evaluation's result for people."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rich import box
from rich.markup import escape
from rich.table import Table

from rtl_agent.cli.console import out

if TYPE_CHECKING:
    from rtl_agent.evaluation.result import Result
    from rtl_agent.evaluation.summary import Summary


def print_result(result: "Result", written: Path) -> None:
    """Numbers of the whole and of each group, what they mean, and where they are kept."""
    settings, whole, groups = result.settings, result.whole, result.groups
    table = _table(f"{settings.model} on {settings.problems}", result.ks)
    for parts in groups.values():
        if len(parts) > 1:
            for part, summary in parts.items():
                table.add_row(escape(part), *_cells(summary, result.ks))
            table.add_section()
    table.add_row("all", *_cells(whole, result.ks), style="bold")
    out.print(table)
    parts_ = ", ".join(f"{name} {value:.3f}" for name, value in whole.reward_parts.items())
    rates = ", ".join(f"{name} {value:.0%}" for name, value in whole.rates.items())
    outcomes = ", ".join(f"{count} {name}" for name, count in whole.outcomes.items())
    cut = f"; {whole.cut_off} cut off at {settings.max_tokens} tokens" if whole.cut_off else ""
    lines = [
        f"reward {whole.reward:.3f} = {parts_}",
        f"{rates}{cut}",
        f"{whole.samples} answers to {whole.problems} problems: {outcomes}; {len(result.asked.lost)} errors left out; "
        f"{result.asked.reused} from an earlier run",
        f"env {settings.env}, level of information {settings.level}, temperature {settings.temperature:g}, seed "
        f"{settings.seed}, {settings.backend}",
        "pass@k is unbiased, in brackets its 95 % interval (Wilson's, over problems); CVDP's is 1 - (1 - c/n)^k",
        *result.notes,
        f"{written}, answers in {result.samples_file}",
    ]
    if whole.ends:
        ends = ", ".join(f"{count} by {name}" for name, count in whole.ends.items())
        lines.insert(2, f"{whole.turns:.1f} turns on average; over {ends}")
    if not result.is_score:
        lines.insert(0, "The model could see the harness: this is for debugging, and no score.")
    for line in lines:
        out.print(line, markup=False, highlight=False, soft_wrap=True)


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
