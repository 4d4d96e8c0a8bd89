"""What a person sees while a run goes on: a live line on a terminal, plain lines elsewhere."""

from collections.abc import Mapping
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

SHOWN = (
    ("reward", "env/all/reward/total", ".3f"),
    ("pass", "env/all/pass_rate", ".0%"),
    ("KL", "teacher_kl", ".3f"),
    ("entropy", "optim/entropy", ".2f"),
    ("held-out pass", "test/env/all/pass_rate", ".0%"),
    ("tokens/s", "throughput/tokens_per_second", ".0f"),
)


class Display:
    """Use as a context. `total` and `done` count steps."""

    def __init__(self, console: Console, total: int, done: int = 0) -> None:
        self._console = console
        self._total = total
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[numbers]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._progress.add_task("training", total=total, completed=done, numbers="")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def step(self, step: int, metrics: Mapping[str, float]) -> None:
        numbers = "  ".join(f"{name} {metrics[key]:{form}}" for name, key, form in SHOWN if key in metrics)
        self._progress.update(self._task, completed=step + 1, numbers=numbers)
        if not self._console.is_terminal:
            took = f"  {metrics['time/total']:.1f} s" if "time/total" in metrics else ""
            self.note(f"step {step + 1}/{self._total}  {numbers}{took}")

    def doing(self, what: str) -> None:
        self._progress.update(self._task, description=what)

    def note(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)
