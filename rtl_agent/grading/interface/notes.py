"""What a trace of a harness has seen: names touched on the design, what was driven, widths, simulator builds."""

from collections import defaultdict
from dataclasses import dataclass, field

from rtl_agent.grading.interface.values import Const, Handle, Value

ANY = "?"  # a driven value that is not a constant


@dataclass(frozen=True)
class Build:
    """One `runner.build(...)` or `runner.test(...)`; None where an argument is no constant."""

    method: str
    top: str | None
    test_module: str | None
    parameters: tuple[str, ...]


@dataclass
class Notes:
    required: dict[str, None] = field(default_factory=dict)  # in the order of their first use
    guarded: set[str] = field(default_factory=set)  # asked for with hasattr: may be missing
    asserted: set[str] = field(default_factory=set)  # asked for with `assert hasattr`: may not
    read: set[str] = field(default_factory=set)
    driven: dict[str, set[object]] = field(default_factory=lambda: defaultdict(set))
    widths: dict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    builds: list[Build] = field(default_factory=list)
    optional_depth: int = 0  # above 0: inside a branch that a design may legally miss

    def touch(self, name: str) -> None:
        if not self.optional_depth:
            self.required.setdefault(name)

    def read_by(self, handle: Handle) -> None:
        if len(handle.path) == 1:
            self.read.add(handle.path[0])

    def drive(self, handle: Handle, value: Value | None) -> None:
        if len(handle.path) == 1:
            self.driven[handle.path[0]].add(value.value if isinstance(value, Const) else ANY)

    def width(self, handle: Handle, bits: int) -> None:
        if len(handle.path) == 1 and not self.optional_depth:
            self.widths[handle.path[0]].add(bits)

    def is_input(self, name: str) -> bool:
        """Driven, and not only with constants and read again: some tests clear outputs, or set them themselves."""
        values = self.driven.get(name, set())
        return ANY in values or (bool(values) and name not in self.read)
