"""Plug-in points: things by name, our own and those that installed packages bring with an entry point.

    REWARD_TERMS: Registry[RewardTerm] = Registry("reward term", "rtl_agent.reward_terms")

    @REWARD_TERMS.register("latches")
    def latches(grade: Grade) -> float: ...

A package adds to a registry without being imported by anybody: it declares an entry point of the registry's group,
whose name is the name and whose object is the thing. Entry points are read at the first look-up, not on import, and
loaded only when their name is asked for: a broken plug-in that nobody uses breaks nothing.
"""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import TypeVar

T = TypeVar("T")
Thing = TypeVar("Thing")


class UnknownName(ValueError):
    """Nothing of this kind has that name. The message lists what there is."""


class PluginError(ValueError):
    """An installed plug-in cannot be loaded. The message names the package and the cause."""


class Registry(Mapping[str, T]):
    """A plug-in point: things of one kind by name. An installed package adds names; it cannot replace a built-in one.

    Args:
        kind: what the things are called in messages.
        group: the entry-point group by which packages add to it.
        builtin: what comes with the package.

    Example:
        >>> import rtl_agent as ra
        >>> greetings = ra.Registry("greeting", "my_package.greetings", {"hello": "Hello!"})
        >>> greetings["hello"], "goodbye" in greetings
        ('Hello!', False)
    """

    def __init__(self, kind: str, group: str, builtin: Mapping[str, T] | None = None) -> None:
        self.kind, self.group = kind, group
        self._known: dict[str, T] = dict(builtin or {})
        self._installed: dict[str, EntryPoint] | None = None

    def register(self, name: str) -> Callable[[Thing], Thing]:
        """A decorator that adds what it decorates; a name that is taken is an error."""

        def add(thing: Thing) -> Thing:
            if name in self._known:
                raise ValueError(f"there is already a {self.kind} named {name!r}")
            self._known[name] = thing  # type: ignore[assignment]  # the decorated class or function is the T
            return thing

        return add

    def unregister(self, name: str) -> None:
        """Takes away what `register` added, for tests."""
        del self._known[name]

    def __getitem__(self, name: str) -> T:
        if name not in self._known:
            self._known[name] = self._load(name)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._known
        yield from (name for name in self._entry_points() if name not in self._known)

    def __len__(self) -> int:
        return len({*self._known, *self._entry_points()})

    def __contains__(self, name: object) -> bool:
        return name in self._known or name in self._entry_points()

    def _load(self, name: str) -> T:
        found = self._entry_points().get(name)
        if found is None:
            raise UnknownName(
                f"there is no {self.kind} named {name!r}{did_you_mean(name, self)}; choose from {listed(self)}"
            )
        try:
            loaded: T = found.load()
        except Exception as error:  # whatever a foreign module raises while it is imported
            package = found.dist.name if found.dist else found.value
            raise PluginError(f"the {self.kind} {name!r} of the package {package} cannot be loaded: {error}") from error
        return loaded

    def _entry_points(self) -> dict[str, EntryPoint]:
        if self._installed is None:
            self._installed = {point.name: point for point in entry_points(group=self.group)}
        return self._installed


def did_you_mean(name: str, known: Iterable[str], most: int = 3) -> str:
    """ " (did you mean a, b or c?)", or "" where nothing is near."""
    names = list(known)
    by_lower = {one.lower(): one for one in names}
    near = [by_lower[one] for one in difflib.get_close_matches(name.lower(), by_lower, n=most, cutoff=0.6)]
    if not near:
        return ""
    *others, last = near
    return f" (did you mean {', '.join(others)} or {last}?)" if others else f" (did you mean {last}?)"


def listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "nothing: none is installed"
