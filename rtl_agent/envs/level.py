"""How much a model may know while it works; recorded with every episode, as results of two levels do not compare."""

from enum import StrEnum


class Level(StrEnum):
    """Each level allows what the one before it does, and more."""

    SPEC = "spec"  # the task and its files; no tool that compiles or simulates
    OWN_TESTS = "own-tests"  # may write benches and run them
    FEEDBACK = "feedback"  # a submit that fails is answered with what failed, without the harness's code
    OPEN = "open"  # the harness lies in the workspace: for finding faults in problems

    @property
    def has_tools(self) -> bool:
        return self is not Level.SPEC

    @property
    def is_scored(self) -> bool:
        """Whoever has seen the tests has not been measured by them."""
        return self is not Level.OPEN
