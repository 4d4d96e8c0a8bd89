"""What a run costs: tokens by kind, a price list with its date and source, and the limits at which a run stops.

Everything here is an estimate: only the provider's bill says what was paid. Light, since options are read by it.
"""

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import Any

from rtl_agent.options import option
from rtl_agent.training.errors import BadConfig

MILLION = 1_000_000


@dataclass(frozen=True)
class BudgetConfig:
    """What a run may cost; it stops after the step that reaches a limit, with a checkpoint."""

    max_cost: float = option(
        0.0, "stop after the step in which the run's estimated cost reaches so many dollars; 0: no limit",
        at_least=0, resume=True,
    )  # fmt: skip
    max_hours: float = option(
        0.0, "stop after the step in which the run has taken so many hours in all; 0: no limit",
        at_least=0, resume=True,
    )  # fmt: skip
    max_tokens_total: int = option(
        0, "stop after the step in which so many tokens were read, sampled and trained on; 0: no limit",
        at_least=0, resume=True,
    )  # fmt: skip
    prices: str = option(
        "", "a TOML file with prices that go before the shipped ones (docs/recipes.md)", resume=True
    )  # fmt: skip
    hour_price: float = option(
        0.0, "dollars for each hour of the run, for servers that are paid by time", at_least=0, resume=True
    )


@dataclass(frozen=True)
class Tokens:
    """What one model was given to read, has sampled, and was trained on."""

    prefill: int = 0
    sample: int = 0
    train: int = 0

    @property
    def total(self) -> int:
        return self.prefill + self.sample + self.train

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(self.prefill + other.prefill, self.sample + other.sample, self.train + other.train)

    def times(self, count: float) -> "Tokens":
        return Tokens(round(self.prefill * count), round(self.sample * count), round(self.train * count))

    @staticmethod
    def sum(several: Iterable["Tokens"]) -> "Tokens":
        return sum(several, Tokens())


KINDS = tuple(one.name for one in fields(Tokens))


@dataclass(frozen=True)
class Price:
    """Dollars for a million tokens of one model, as of a day. `retired`: since when it is no longer offered."""

    prefill: float
    sample: float
    train: float
    as_of: date
    retired: date | None = None

    def of(self, tokens: Tokens) -> float:
        dollars = tokens.prefill * self.prefill + tokens.sample * self.sample + tokens.train * self.train
        return dollars / MILLION


@dataclass(frozen=True)
class PriceList:
    """Prices by model. One's own go before the published ones, and hold on every backend."""

    published: Mapping[str, Price]
    own: Mapping[str, Price]
    backend: str  # where the published ones hold
    source: str
    as_of: date
    cached: float  # of the price of a prompt, where the server has read it just before

    def price(self, model: str, backend: str) -> Price | None:
        """None where nobody has said what the model costs there."""
        return self.own.get(model) or (self.published.get(model) if backend == self.backend else None)

    def dollars(self, tokens: Mapping[tuple[str, str], Tokens]) -> float | None:
        """Of tokens by model and backend; None where none of them has a price."""
        priced = [(self.price(*place), spent) for place, spent in tokens.items()]
        found = [price.of(spent) for price, spent in priced if price is not None]
        return sum(found) if found else None


def load_prices(own: str = "") -> PriceList:
    """The shipped list, with the prices of a file before them. BadConfig where that cannot be read."""
    shipped = tomllib.loads((files("rtl_agent.training") / "prices.toml").read_text())
    return PriceList(
        published=_models(shipped, "prices.toml"),
        own=_models(_read(own), own) if own else {},
        backend=shipped["backend"],
        source=shipped["source"],
        as_of=shipped["as_of"],
        cached=shipped["cached"],
    )


def _read(file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(file).expanduser().read_text())
    except OSError as error:
        raise BadConfig(f"prices={file}: it cannot be read: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadConfig(f"prices={file}: it is not valid TOML: {error}") from error


def _models(listed: Mapping[str, Any], file: str) -> dict[str, Price]:
    """BadConfig names the model whose price is missing, or no price."""
    models = listed.get("models")
    if not isinstance(models, dict) or not models:
        raise BadConfig(f'prices={file}: it has no prices; write [models] and "NAME" = {{ prefill = 0.2, ... }}')
    every = listed.get("as_of", date.today())
    return {name: _price(row, f"prices={file}: {name}", every) for name, row in models.items()}


def _price(row: Any, where: str, as_of: Any) -> Price:
    wanted = f"needs numbers of 0 or more for {', '.join(KINDS)}: dollars for a million tokens"
    if not isinstance(row, dict):
        raise BadConfig(f"{where} {wanted}")
    for kind in KINDS:
        value = row.get(kind)
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise BadConfig(f"{where} {wanted}")
    if unknown := set(row) - {*KINDS, "as_of", "retired"}:
        raise BadConfig(f"{where} has {', '.join(sorted(unknown))}, which is not one of {', '.join(KINDS)}")
    since, retired = row.get("as_of", as_of), row.get("retired")
    if type(since) is not date:
        raise BadConfig(f"{where}: as_of is not a date such as 2026-10-07")
    if retired is not None and type(retired) is not date:
        raise BadConfig(f"{where}: retired is not a date such as 2026-10-07")
    return Price(float(row["prefill"]), float(row["sample"]), float(row["train"]), since, retired)
