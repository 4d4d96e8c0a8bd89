"""Options as fields of frozen dataclasses, each with its help, its bounds and whether a resumed run may change it.

    @dataclass(frozen=True)
    class EpisodeConfig:
        max_turns: int = option(50, "turns of an agentic episode", at_least=1)

`--help`, the check of values and the comparison with the configuration of an earlier start all read the field itself,
so none of them can drift from it.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, Protocol, TypeVar, get_args, get_origin, get_type_hints

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
    also: tuple[str, ...] = ()  # other flat names that are understood
    modes: tuple[str, ...] = ()  # the modes of training that have it; empty: all
    choices: tuple[str, ...] = ()
    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None
    resume: bool = False  # whether a resumed run may have another value: the steps done so far do not depend on it
    advanced: bool = False  # rarely changed: listed apart, after the other options of its group

    def check(self, name: str, value: Any) -> None:
        """BadOption where the value is out of bounds."""
        if self.choices and value not in self.choices:
            near = did_you_mean(str(value), self.choices)
            raise BadOption(name, value, f"choose from {', '.join(filter(None, self.choices))}{near}")
        if value is None:
            return
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
    also: Sequence[str] = (),
    modes: Sequence[str] = (),
    choices: Sequence[str] = (),
    at_least: float | None = None,
    above: float | None = None,
    at_most: float | None = None,
    resume: bool = False,
    advanced: bool = False,
) -> T:
    """A dataclass field with this default and an `Option` in its metadata."""
    known = Option(help, alias, tuple(also), tuple(modes), tuple(choices), at_least, above, at_most, resume, advanced)
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


@dataclass(frozen=True)
class NamedOption:
    """One option of a configuration that is made of groups, and the names that it has on a command line."""

    group: str
    field: str
    option: Option
    type: Any
    default: Any

    @property
    def path(self) -> str:
        return f"{self.group}.{self.field}"

    @property
    def flat(self) -> str:
        """Its name without the group, which is also its key in a run's config.json."""
        return self.option.alias or self.field

    @property
    def names(self) -> tuple[str, ...]:
        return (self.flat, self.path, *self.option.also)

    def of(self, config: Any) -> Any:
        """Its value in a configuration."""
        return getattr(getattr(config, self.group), self.field)

    def read(self, name: str, text: str) -> Any:
        """The value that a word of a command line stands for. BadOption where it has another type."""
        return read_value(name, text, self.type)


def named_options(config: type[_Dataclass]) -> tuple[NamedOption, ...]:
    """Every option of every group, in the order of their declaration. Two with one name are a mistake in the code."""
    found = []
    for group, kind in get_type_hints(config).items():
        if not hasattr(kind, "__dataclass_fields__"):
            continue
        types = get_type_hints(kind)
        defaults = {one.name: one.default for one in fields(kind)}
        found += [NamedOption(group, name, known, types[name], defaults[name]) for name, known in options_of(kind)]
    names = [name for one in found for name in one.names]
    if twice := {name for name in names if names.count(name) > 1}:
        raise TypeError(f"{config.__name__} has two options with the name {', '.join(sorted(twice))}")
    return tuple(found)


Grouped = TypeVar("Grouped", bound=_Dataclass)


def with_values(config: Grouped, values: Mapping[NamedOption, Any]) -> Grouped:
    """A copy with these values. BadOption, from the groups themselves, where one is out of its bounds."""
    groups: dict[str, dict[str, Any]] = {}
    for known, value in values.items():
        groups.setdefault(known.group, {})[known.field] = value
    return replace(config, **{name: replace(getattr(config, name), **new) for name, new in groups.items()})


_TRUTH = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def read_value(name: str, text: str, kind: Any) -> Any:
    """A bool, an int, a float, one of a Literal's strings, or the text itself; `none` where None is allowed."""
    if get_origin(kind) is UnionType:
        if text.lower() == "none":
            return None
        kind = next(one for one in get_args(kind) if one is not NoneType)
    if get_origin(kind) is Literal:
        return text
    if kind is bool:
        if text.lower() not in _TRUTH:
            raise BadOption(name, text, "write true or false")
        return _TRUTH[text.lower()]
    if kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            what = "an integer" if kind is int else "a number"
            raise BadOption(name, text, f"it must be {what}") from None
        if not math.isfinite(number):
            raise BadOption(name, text, "it must be a finite number")
        return number
    return text
