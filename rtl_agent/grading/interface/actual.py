"""What a design has, as the worker tells it: ports, parameters and names of its top module, and diagnostics."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class ActualPort:
    name: str
    direction: str  # "input", "output", "inout", "ref", "interface"
    width: int  # bits of one element; 0 where it is not known
    signed: bool = False
    dims: tuple[str, ...] = ()  # unpacked dimensions


@dataclass(frozen=True)
class ActualParameter:
    name: str
    value: str | None
    local: bool  # a localparam: nobody can set it from outside


@dataclass(frozen=True)
class Diagnostic:
    file: str
    line: int
    column: int
    severity: str
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.severity}: {self.message}"


@dataclass(frozen=True)
class ActualInterface:
    """`found` says whether there is a module of that name; `modules` are all that there are."""

    top: str
    found: bool
    ports: tuple[ActualPort, ...] = ()
    parameters: tuple[ActualParameter, ...] = ()
    internal: frozenset[str] = frozenset()  # variables, nets, instances, generate blocks
    modules: tuple[str, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()


def parse_answer(top: str, answer: Mapping[str, Any]) -> ActualInterface:
    """ValueError for an answer of the wrong form: it was written next to hostile text."""
    try:
        module = answer["module"] or {"ports": [], "parameters": {}, "internal": []}
        return ActualInterface(
            top=top,
            found=answer["module"] is not None,
            ports=tuple(_port(port) for port in module["ports"]),
            parameters=tuple(_parameter(name, of) for name, of in module["parameters"].items()),
            internal=frozenset(str(name) for name in module["internal"]),
            modules=tuple(str(name) for name in answer["modules"]),
            diagnostics=tuple(_diagnostic(item) for item in answer["diagnostics"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no interface in the answer: {error!r}") from error


def _port(of: Mapping[str, Any]) -> ActualPort:
    dims = tuple(str(dim) for dim in of["dims"])
    return ActualPort(str(of["name"]), str(of["direction"]), int(of["width"]), bool(of["signed"]), dims)


def _parameter(name: str, of: Mapping[str, Any]) -> ActualParameter:
    value = of["value"]
    return ActualParameter(str(name), None if value is None else str(value), bool(of["local"]))


def _diagnostic(of: Mapping[str, Any]) -> Diagnostic:
    place = (str(of["file"]), int(of["line"]), int(of["column"]))
    return Diagnostic(*place, str(of["severity"]), str(of["code"]), str(of["message"]))
