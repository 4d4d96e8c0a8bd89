"""The grader of this process: builders of environments are data that name it, and never carry it."""

from collections.abc import Iterator
from contextlib import contextmanager

from rtl_agent.grading import Grader

DEFAULT = "default"

_GRADERS: dict[str, Grader] = {}


class NoGrader(RuntimeError):
    """An environment ran in a process that has no grader for it."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"this process has no grader called {name!r}: run environments inside `with live_grader(grader):`"
        )


@contextmanager
def live_grader(grader: Grader, name: str = DEFAULT) -> Iterator[None]:
    """Environments that ask for `name` are graded by this grader, until the block ends."""
    before = _GRADERS.get(name)
    _GRADERS[name] = grader
    try:
        yield
    finally:
        if before is None:
            del _GRADERS[name]
        else:
            _GRADERS[name] = before


def grader_named(name: str) -> Grader:
    try:
        return _GRADERS[name]
    except KeyError:
        raise NoGrader(name) from None
