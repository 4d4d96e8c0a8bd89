"""Which cocotb generation a harness was written for, read off the API that it imports and uses.

Never by trying until one passes: a wrong design may pass under the wrong generation. In order of weight:

1. What only 2.x has (`to_unsigned`, `Clock(..., unit=)`, `cocotb.parametrize`) -> 2.0.1.
2. What 2.x took away (`cocotb.binary`, `TestFailure`, `@cocotb.coroutine`), or left on some handles only: a 1-bit
   signal's value is a `Logic` in 2.x and has no `.integer`, `.binstr` or `.signed_integer`; `defines={"X": None}` is
   a TypeError in 2.x -> 1.9.2.
3. The runner: `cocotb.runner` is 1.x, `cocotb_tools.runner` is 2.x. Both: 2.0.1; each gets an alias for the other.
"""

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache

from rtl_agent.problems.harness import Flavour

_ONLY_2_ATTRIBUTES = frozenset({"to_unsigned", "to_signed"})
_ONLY_1_ATTRIBUTES = frozenset({"integer", "signed_integer", "binstr", "n_bits", "buff"})
_ONLY_1_MODULES = frozenset({"cocotb.binary", "cocotb.decorators", "cocotb.scheduler", "cocotb.outcomes"})
_ONLY_1_NAMES = frozenset({"TestFailure", "TestError", "TestComplete", "ReturnValue", "BinaryValue"})
_ONLY_1_COCOTB = frozenset({"fork", "coroutine", "external", "function", "scheduler"})
_TIMED = frozenset({"Clock", "Timer", "with_timeout", "get_sim_time", "get_sim_steps"})


def flavour_of(files: Mapping[str, str]) -> Flavour:
    """The generation to run these harness files with."""
    signs = {sign for path, text in files.items() if path.endswith(".py") for sign in _all_signs(text)}
    if "only-2" in signs:
        return Flavour.COCOTB_2
    if "only-1" in signs:
        return Flavour.COCOTB_1
    if "runner-1" in signs and "runner-2" not in signs:
        return Flavour.COCOTB_1
    return Flavour.COCOTB_2


@lru_cache(maxsize=64)  # generated problems share their files: parsing them was a third of making one
def _all_signs(text: str) -> frozenset[str]:
    return frozenset(_signs(text))


def _signs(text: str) -> Iterator[str]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield from _module_sign(alias.name)
            case ast.ImportFrom(module=str(module), names=names):
                yield from _module_sign(module)
                if module.startswith("cocotb") and any(alias.name in _ONLY_1_NAMES for alias in names):
                    yield "only-1"
            case ast.Attribute(value=ast.Name(id="cocotb"), attr=attr):
                if attr in _ONLY_1_COCOTB:
                    yield "only-1"
                elif attr == "parametrize":
                    yield "only-2"
            case ast.Attribute(attr=attr) if attr in _ONLY_2_ATTRIBUTES:
                yield "only-2"
            case ast.Attribute(attr=attr) if attr in _ONLY_1_ATTRIBUTES:
                yield "only-1"
            case ast.Call(func=func, keywords=keywords):
                name = func.id if isinstance(func, ast.Name) else getattr(func, "attr", "")
                if name in _TIMED and any(keyword.arg == "unit" for keyword in keywords):
                    yield "only-2"
                if any(keyword.arg == "defines" and _has_none(keyword.value) for keyword in keywords):
                    yield "only-1"


def _has_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Dict) and any(
        isinstance(item, ast.Constant) and item.value is None for item in value.values
    )


def _module_sign(module: str) -> Iterator[str]:
    if module == "cocotb.runner":
        yield "runner-1"
    elif module.startswith("cocotb_tools"):
        yield "runner-2"
    elif module in _ONLY_1_MODULES:
        yield "only-1"
