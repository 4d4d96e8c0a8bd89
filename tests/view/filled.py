"""A library that fills what a record does not hold, so that the page's every part has something to show.

The values follow from the row's number: the same page every time. What the record itself holds is left as it is.
"""

import math
from collections.abc import Mapping
from typing import Any

from rtl_agent.view import Library

DIFFICULTIES = ("easy", "medium", "hard")
REFERENCE = "module reference(input logic clk, output logic y);\n  assign y = clk;  // what was asked for\nendmodule\n"


class Filled(Library):
    def __init__(self, library: Library) -> None:
        super().__init__(library.roots, library.decode)

    def answer(self, path: str, query: Mapping[str, str], *more: Any, **named: Any) -> dict[str, Any]:
        parts = path.strip("/").split("/")
        found = dict(super().answer(path, query, *more, **named))
        if parts[2:] == ["index"]:
            _index(found)
        elif parts[2:3] == ["rollouts"] and len(parts) == 4:
            _rollout(found)
        elif len(parts) == 2:
            found["exam"] = found.get("exam") or {"before": {"pass_rate": 0.1}, "after": {"pass_rate": 0.6}}
            found["criteria"] = found.get("criteria") or [
                {"name": "format", "wanted": "over 95 %", "found": "99 %", "met": True},
                {"name": "pass rate", "wanted": "over 90 %", "found": "60 %", "met": False},
            ]
        return found


def _index(found: dict[str, Any]) -> None:
    found["strings"], found["columns"] = strings, columns = [*found["strings"]], {**found["columns"]}
    for name, values in (("category", ("cid002", "cid003")), ("difficulty", DIFFICULTIES)):
        if any(strings[at] for at in columns[name]):
            continue
        first = len(strings)
        strings += values
        columns[name] = [first + problem % len(values) for problem in columns["problem"]]


def _rollout(found: dict[str, Any]) -> None:
    found["reference"] = found["reference"] or dict.fromkeys(found["files"], REFERENCE)
    found["commands"] = found["commands"] or [{"about": "grade it again", "command": "rtl-agent grade answer.sv"}]
    tokens = found["tokens"] = dict(found["tokens"] or {})
    if not tokens:
        found["tokens"] = None
        return
    count = len(tokens["text"])
    wave = [math.sin(at / 5) for at in range(count)]
    made = {
        "logprob": [-abs(one) for one in wave],
        "teacher": [-2 * abs(one) for one in wave],
        "kl": wave,
        "entropy": [abs(one) for one in wave],
        "advantage": [-one for one in wave],
        "top": [[[text, -0.5], ["reset", -1.5], ["\u202e", -3.0]] for text in tokens["text"]],
    }
    for name, values in made.items():
        if not tokens[name]:
            tokens[name] = values


def waves(reference: bool) -> dict[str, Any]:
    """Of a counter that misses its fifth step; the reference's does not."""
    clock = [(at, str(at // 5 % 2)) for at in range(0, 200, 5)]
    count = [(at, f"{(at // 10 - (0 if reference or at < 50 else 1)) % 16:04b}") for at in range(0, 200, 10)]
    signals = [
        {"name": "dut.clk", "width": 1, "direction": "input", "changes": clock},
        {"name": "dut.rst_n", "width": 1, "direction": "input", "changes": [(0, "0"), (10, "1")]},
        {"name": "dut.count", "width": 4, "direction": "output", "changes": count},
        {"name": "dut.next", "width": 4, "direction": "inner", "changes": [(0, "xxxx"), (10, "0001")]},
    ]
    return {
        "status": "ok", "message": "", "timescale": "1ns", "from": 0, "to": 200, "fail_time": None if reference else 55,
        "differs_at": 50, "failing_signal": "dut.count", "expected": "5", "got": "4", "signals": signals,
        "truncated": False, "notes": [], "reference": True,
        "file": f"waves/{'reference' if reference else 'candidate'}.vcd",
    }  # fmt: skip
