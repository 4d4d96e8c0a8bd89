"""What a run has spent so far, and whether that is enough.

Every request counts when it is answered, whatever becomes of it: evaluations, the exam, teachers, and steps that were
done again after a kill. So the sum is kept in a file of its own, which no rewinding of metrics touches.
"""

import json
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from rtl_agent.envs.rollout import Spent
from rtl_agent.processes import cpu_seconds
from rtl_agent.runs import write_whole
from rtl_agent.runs.files import read_object
from rtl_agent.training.config import Config
from rtl_agent.training.cost import KINDS, PriceList, Tokens, load_prices
from rtl_agent.training.teacher_options import SAME, TeacherSpec

FILE = "spending.json"
DOLLARS, PER_POINT = "cost/dollars", "cost/dollars_per_point"
HELD_OUT = "test/env/all/pass_rate"
WORDS = {"prefill": "read", "sample": "sampled", "train": "trained_on"}


@dataclass
class Spending:
    """Of a run, over all of its starts. `count` is called as answers come; `settle` after each step."""

    config: Config
    prices: PriceList
    directory: Path
    hours: float = 0.0
    cpu_hours: float = 0.0
    tokens: dict[tuple[str, str], Tokens] = field(default_factory=lambda: defaultdict(Tokens))
    _first_held_out: float | None = None
    _since: float = field(default_factory=time.monotonic)
    _cpu_since: float = field(default_factory=cpu_seconds)

    @staticmethod
    def of(config: Config, directory: Path) -> "Spending":
        """Goes on from what earlier starts of the run have kept."""
        found = Spending(config, load_prices(config.budget.prices), directory)
        if (directory / FILE).is_file():
            kept = read_object(directory / FILE)
            found.hours, found.cpu_hours = float(kept["hours"]), float(kept["cpu_hours"])
            found._first_held_out = kept.get("first_held_out_pass_rate")
            for row in kept["tokens"]:
                found.tokens[row["model"], row["backend"]] = Tokens(**{kind: row[kind] for kind in KINDS})
        return found

    def count(self, model: str, backend: str, *, prefill: int = 0, sample: int = 0, train: int = 0) -> None:
        self.tokens[model, backend] += Tokens(prefill, sample, train)

    def sampled(self, teacher: TeacherSpec | None = None) -> Spent:
        """For a policy of the student, or of a teacher."""
        place = self._place(teacher)
        return lambda prompt, answer: self.count(*place, prefill=prompt, sample=answer)

    def scored(self, teacher: TeacherSpec | None) -> Callable[[int], None]:
        """For who advises; None is the student itself."""
        place = self._place(teacher)
        return lambda tokens: self.count(*place, prefill=tokens)

    def trained(self, tokens: int) -> None:
        self.count(*self._place(None), train=tokens)

    def _place(self, teacher: TeacherSpec | None) -> tuple[str, str]:
        """Model and backend: what a price depends on."""
        ours = self.config.model.backend
        if teacher is None:
            return self.config.student, ours
        return teacher.name, ours if teacher.backend == SAME else teacher.backend

    @property
    def total(self) -> Tokens:
        return Tokens.sum(self.tokens.values())

    @property
    def dollars(self) -> float | None:
        """The estimate: every prompt at its full price, although some servers take less for what they have just read.

        None where neither a model nor an hour has a price.
        """
        by_tokens = self.prices.dollars(self.tokens)
        if by_tokens is None and not self.config.budget.hour_price:
            return None
        return (by_tokens or 0.0) + self.config.budget.hour_price * self.hours

    def settle(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """The costs as metrics of a step whose other metrics are these, and the file."""
        now, cpu = time.monotonic(), cpu_seconds()
        self.hours += (now - self._since) / 3600
        self.cpu_hours += max(0.0, cpu - self._cpu_since) / 3600
        self._since, self._cpu_since = now, cpu
        total = self.total
        found = {f"cost/tokens_{word}": float(getattr(total, kind)) for kind, word in WORDS.items()}
        found |= {"cost/tokens": float(total.total), "cost/hours": self.hours, "cost/cpu_hours": self.cpu_hours}
        if self.dollars is not None:
            found[DOLLARS] = self.dollars
            found |= self._per_point(metrics.get(HELD_OUT), self.dollars)
        self._write()
        return found

    def _per_point(self, held_out: float | None, dollars: float) -> dict[str, float]:
        """Dollars for each percentage point of held-out pass rate above the first evaluation."""
        if held_out is None:
            return {}
        if self._first_held_out is None:
            self._first_held_out = held_out
        points = 100 * (held_out - self._first_held_out)
        return {PER_POINT: dollars / points} if points > 0 else {}

    def reached(self) -> str:
        """Which limit has been reached, in words; "" for none."""
        budget, dollars = self.config.budget, self.dollars
        if budget.max_cost and dollars is not None and dollars >= budget.max_cost:
            return f"max_cost={budget.max_cost:g}: the estimated cost is ${dollars:.2f}"
        if budget.max_hours and self.hours >= budget.max_hours:
            return f"max_hours={budget.max_hours:g}: the run has taken {self.hours:.2f} hours"
        if budget.max_tokens_total and self.total.total >= budget.max_tokens_total:
            return f"max_tokens_total={budget.max_tokens_total:,}: the run has used {self.total.total:,} tokens"
        return ""

    def _write(self) -> None:
        rows: Sequence[dict[str, Any]] = [
            {"model": model, "backend": backend, **asdict(spent)}
            for (model, backend), spent in sorted(self.tokens.items())
        ]
        kept = {
            "hours": self.hours,
            "cpu_hours": self.cpu_hours,
            "dollars": self.dollars,
            "prices": {"source": self.prices.source, "as_of": self.prices.as_of.isoformat()},
            "first_held_out_pass_rate": self._first_held_out,
            "tokens": list(rows),
        }
        write_whole(self.directory / FILE, (json.dumps(kept, indent=1) + "\n").encode())
