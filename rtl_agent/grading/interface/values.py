"""What an expression of a harness can be, as far as the trace cares: handles of the design, constants, functions."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Unknown:
    """Anything else."""


@dataclass(frozen=True)
class Handle:
    """The design under test, `path` empty, or something found in it by name."""

    path: tuple[str, ...] = ()


@dataclass(frozen=True)
class ValueOf:
    """`handle.value`."""

    handle: Handle


@dataclass(frozen=True)
class LengthOf:
    """`len(handle)` or `len(handle.value)`."""

    handle: Handle


@dataclass(frozen=True)
class Const:
    value: str | int | float | bool | None


@dataclass(frozen=True)
class Seq:
    items: tuple["Value", ...]


@dataclass(eq=False)
class Record:
    """A dict whose keys are constant strings."""

    entries: dict[str, "Value"]


@dataclass(eq=False)
class Module:
    """A Python file of the harness; its globals fill up while its body is traced."""

    name: str
    names: dict[str, "Value"] = field(default_factory=dict)


@dataclass(eq=False)
class Function:
    node: ast.FunctionDef | ast.AsyncFunctionDef
    module: Module
    closure: Mapping[str, "Value"]
    bound: "Value | None" = None


@dataclass(eq=False)
class Class:
    node: ast.ClassDef
    module: Module
    members: dict[str, "Value"]
    bases: "tuple[Class, ...]"

    def find(self, name: str) -> "Value | None":
        if name in self.members:
            return self.members[name]
        return next((found for base in self.bases if (found := base.find(name)) is not None), None)


@dataclass(eq=False)
class Instance:
    of: Class
    attributes: dict[str, "Value"] = field(default_factory=dict)


Value = Unknown | Handle | ValueOf | LengthOf | Const | Seq | Record | Module | Function | Class | Instance
UNKNOWN = Unknown()


def key_of(value: Value) -> object:
    """Equal keys mean that a function does the same with both values."""
    if isinstance(value, Seq):
        return tuple(key_of(item) for item in value.items)
    if isinstance(value, Const):
        return (type(value.value), value.value)
    if isinstance(value, (Unknown, Handle, ValueOf, LengthOf)):
        return value
    return id(value)
