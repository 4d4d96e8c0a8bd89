"""Options as fields of frozen dataclasses, each with its help, its bounds and whether a resumed run may change it.

    @dataclass(frozen=True)
    class EpisodeConfig:
        max_turns: int = option(50, "turns of an agentic episode", at_least=1)

`--help`, the check of values and the comparison with the configuration of an earlier start all read the field itself,
so none of them can drift from it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Protocol, TypeVar

from rtl_agent.registry import did_you_mean

_KEY = "rtl_agent.option"
T = TypeVar("T")


class BadOption(ValueError):
    """An option has a value that it cannot have. The message names the option, the value and what would do."""

    def __init__(self, name: str, value: object, reason: str) -> None:
        super().__init__(f"{name}={value}: {reason}")
        self.name, self.value, self.reason = name, value, reason


@dataclass(frozen=True)
class Option:
    """What is known of one field besides its type and its default."""

    help: str
    alias: str = ""  # its flat name on the command line, where that is not the field's own
    choices: tuple[str, ...] = ()
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    resume: bool = False  # whether a resumed run may have another value: the steps done so far do not depend on it
    advanced: bool = False  # left out of the ordinary `--help`

    def check(self, name: str, value: Any) -> None:
        """BadOption where the value is out of bounds."""
        if self.choices and value not in self.choices:
            near = did_you_mean(str(value), self.choices)
            raise BadOption(name, value, f"choose from {', '.join(filter(None, self.choices))}{near}")
        if self.at_least is not None and not value >= self.at_least:
            raise BadOption(name, value, f"it must be {self.at_least:g} or more")
        if self.above is not None and not value > self.above:
            raise BadOption(name, value, f"it must be more than {self.above:g}")
        if self.at_most is not None and not value <= self.at_most:
            raise BadOption(name, value, f"it must be {self.at_most:g} or less")


def option(
    default: T,
    help: str,
    *,
    alias: str = "",
    choices: Sequence[str] = (),
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    resume: bool = False,
    advanced: bool = False,
) -> T:
    """A dataclass field with this default and an `Option` in its metadata."""
    known = Option(help, alias, tuple(choices), at_least, above, at_most, resume, advanced)
    return field(default=default, metadata={_KEY: known})


class _Dataclass(Protocol):
    __dataclass_fields__: ClassVar[dict[str, Any]]


def options_of(config: _Dataclass | type[_Dataclass]) -> Iterator[tuple[str, Option]]:
    """Name and option of every field that was declared with `option`."""
    for one in fields(config):
        if isinstance(known := one.metadata.get(_KEY), Option):
            yield one.name, known


def check_options(config: _Dataclass) -> None:
    """BadOption for the first value that is out of its bounds."""
    for name, known in options_of(config):
        known.check(known.alias or name, getattr(config, name))
