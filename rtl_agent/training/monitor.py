"""A run's metrics while it runs: a progress bar and curves on a terminal, plain lines elsewhere, and trackers.

`Display` is for the person who started the run; `Trackers` sends the same metrics to Weights & Biases or trackio.
"""

import importlib
import itertools
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from rtl_agent.training.config import Config
from rtl_agent.training.errors import BadConfig

SHOWN = (
    ("reward", "env/all/reward/total", ".3f"),
    ("pass", "env/all/pass_rate", ".0%"),
    ("KL", "teacher_kl", ".3f"),
    ("KL/byte", "teacher_kl_per_byte", ".3f"),
    ("entropy", "optim/entropy", ".2f"),
    ("with signal", "groups/with_signal", ".0f"),
    ("newly solved", "curriculum/newly_solved", ".0f"),
    ("hard pool", "curriculum/hard", ".0%"),
    ("held-out pass", "test/env/all/pass_rate", ".0%"),
    ("tokens/s", "throughput/tokens_per_second", ".0f"),
    ("estimated $", "cost/dollars", ".2f"),
)
CURVE_WIDTH = 48
_BLOCKS = "▁▂▃▄▅▆▇█"


def curve(values: Sequence[float], width: int = CURVE_WIDTH) -> str:
    """A series as blocks between 0 and its highest value; a long one is averaged down to `width`."""
    if not values:
        return ""
    parts = min(width, len(values))
    edges = [len(values) * at // parts for at in range(parts + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in itertools.pairwise(edges)]
    top = max([*means, 1e-9])
    return "".join(_BLOCKS[round(max(0.0, mean) / top * (len(_BLOCKS) - 1))] for mean in means)


class Display:
    """Use as a context. `total` and `done` count steps."""

    def __init__(self, console: Console, total: int, done: int = 0) -> None:
        self._console = console
        self._total = total
        self._series: dict[str, list[float]] = {}
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console,
        )
        self._task = self._progress.add_task("training", total=total, completed=done)
        self._live = Live(get_renderable=self._picture, console=console, refresh_per_second=4) if self._alive else None

    @property
    def _alive(self) -> bool:
        return self._console.is_terminal

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live:
            self._live.stop()

    def step(self, step: int, metrics: Mapping[str, float]) -> None:
        for _, key, _ in SHOWN:
            if key in metrics:
                self._series.setdefault(key, []).append(metrics[key])
        self._progress.update(self._task, completed=step + 1)
        if not self._live:
            numbers = "  ".join(f"{name} {metrics[key]:{form}}" for name, key, form in SHOWN if key in metrics)
            took = f"  {metrics['time/total']:.1f} s" if "time/total" in metrics else ""
            self.note(f"step {step + 1}/{self._total}  {numbers}{took}")

    def doing(self, what: str) -> None:
        self._progress.update(self._task, description=what)

    def note(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _picture(self) -> RenderableType:
        """The bar, and every series so far: first value, curve, newest value."""
        table = Table.grid(padding=(0, 2))
        for name, key, form in SHOWN:
            if values := self._series.get(key):
                table.add_row(
                    name, f"{values[0]:{form}}", Text(curve(values), style="cyan"), Text(f"{values[-1]:{form}}", "bold")
                )
        return Group(self._progress, table)


class Trackers:
    """Both have the same few calls. A tracker that fails while the run goes on is dropped; the run is not."""

    def __init__(self, config: Config, name: str, described: Mapping[str, Any]) -> None:
        wanted = {"wandb": config.run.wandb_project, "trackio": config.run.trackio_project}
        self._open: dict[str, Any] = {}
        for module_name, project in wanted.items():
            if not project:
                continue
            try:
                module = importlib.import_module(module_name)
            except ImportError as error:
                raise BadConfig(f"{module_name}_project needs the package: pip install {module_name}") from error
            module.init(project=project, name=name, config=dict(described))
            self._open[module_name] = module

    def log(self, step: int, metrics: Mapping[str, float]) -> list[str]:
        """What went wrong, as sentences."""
        faults = []
        for name, module in list(self._open.items()):
            try:
                module.log(dict(metrics), step=step)
            except Exception as error:
                del self._open[name]
                faults.append(f"{name} failed and gets no more metrics: {error}")
        return faults

    def close(self) -> None:
        for module in self._open.values():
            module.finish()
        self._open.clear()
