"""What differs between two configs, and which of it may not change when a run resumes."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtl_agent.runs.errors import RunError

ABSENT = "(absent)"


@dataclass(frozen=True)
class Difference:
    """One option by its dotted name, and its value on both sides."""

    option: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.option}: {self.before!r} -> {self.after!r}"


def differences(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Difference, ...]:
    old, new = dict(flatten(before)), dict(flatten(after))
    names = [*old, *(name for name in new if name not in old)]
    pairs = ((name, old.get(name, ABSENT), new.get(name, ABSENT)) for name in names)
    return tuple(Difference(*pair) for pair in pairs if pair[1] != pair[2])


def flatten(config: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Options by dotted name: `{"optim": {"lr": 1}}` has `optim.lr`."""
    for name, value in config.items():
        if isinstance(value, Mapping) and value:
            yield from flatten(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def refuse_changes(run: Path, changes: Collection[Difference], fixed: Collection[str]) -> None:
    """An error that names every changed option which the steps already done depend on."""
    refused = [change for change in changes if any(f"{change.option}.".startswith(f"{name}.") for name in fixed)]
    if refused:
        lines = "".join(f"\n  {change}" for change in refused)
        raise RunError(
            f"{run} cannot resume with another value of {', '.join(change.option for change in refused)}, because the "
            f"steps already done depend on it:{lines}\nGive the old value, or start a new run with another log_path."
        )
