"""Expected against actual interface: each difference said as a person would say it."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from rtl_agent.grading.interface.actual import ActualInterface, ActualPort, Diagnostic
from rtl_agent.grading.interface.expected import ExpectedInterface, ExpectedPort

PLAUSIBLE = 0.6  # how alike a name must be to be called what was meant
SAME_WORD = {"rst": "reset", "clk": "clock", "en": "enable", "addr": "address", "idx": "index", "req": "request"}


@dataclass(frozen=True)
class InterfaceReport:
    """`valid` is None where nothing is known: neither the one nor the other was shown."""

    valid: bool | None
    differences: tuple[str, ...] = ()
    matched: int = 0
    expected: int = 0
    diagnostics: tuple[Diagnostic, ...] = ()
    note: str = ""  # why nothing is known


def compare(expected: ExpectedInterface, actual: ActualInterface | None, *, note: str = "") -> InterfaceReport:
    """One top module against what was read of the design; None where it could not be read."""
    ports = [port for port in expected.ports if port.name not in expected.parameters]
    total = 1 + len(ports) + len(expected.parameters)
    if actual is None:
        return InterfaceReport(None, expected=total, note=note or "the design's interface could not be read")
    if not actual.found:
        missing = (_missing_module(expected.top, actual.modules),)
        return InterfaceReport(False, missing, 0, total, actual.diagnostics)
    by_name = {port.name: port for port in actual.ports}
    known = {*by_name, *actual.internal, *(parameter.name for parameter in actual.parameters)}
    meant = _guess([port for port in ports if port.name not in known], actual.ports, {port.name for port in ports})
    said: list[str | None] = []
    for port in ports:
        if port.name not in known:
            said.append(_missing_port(port, meant.get(port.name)))
        else:
            said.append(_port_difference(port, by_name[port.name]) if port.name in by_name else None)
    said += [_parameter_difference(name, actual) for name in expected.parameters]
    differences = tuple(text for text in said if text is not None)
    return InterfaceReport(not differences, differences, total - len(differences), total, actual.diagnostics)


def join(reports: Iterable[InterfaceReport]) -> InterfaceReport:
    """All tops of one harness: wrong if one is wrong, right if all are, else unknown."""
    reports = list(reports)
    valids = {report.valid for report in reports}
    return InterfaceReport(
        valid=False if False in valids else None if None in valids or not valids else True,
        differences=tuple(dict.fromkeys(text for report in reports for text in report.differences)),
        matched=sum(report.matched for report in reports),
        expected=sum(report.expected for report in reports),
        diagnostics=tuple(dict.fromkeys(item for report in reports for item in report.diagnostics)),
        note="; ".join(dict.fromkeys(report.note for report in reports if report.note)),
    )


def _missing_module(top: str, modules: Sequence[str]) -> str:
    if not modules:
        return f"module `{top}` is missing; there is no module in the file"
    near = sorted(modules, key=lambda name: -_alike(top, name))
    names = ", ".join(f"`{name}`" for name in near[:4])
    return f"module `{top}` is missing; the {'file has' if len(modules) == 1 else 'files have'} {names}"


def _missing_port(port: ExpectedPort, meant: ActualPort | None) -> str:
    kind = port.direction or (meant.direction if meant and meant.direction in ("input", "output") else "port")
    return f"{kind} `{port.name}` is missing" + (f"; you wrote `{meant.name}`" if meant else "")


def _port_difference(port: ExpectedPort, actual: ActualPort) -> str | None:
    if port.direction and actual.direction in ("input", "output") and actual.direction != port.direction:
        return f"`{port.name}` should be an {port.direction} but is an {actual.direction}"
    if port.width and actual.width and not actual.dims and actual.width != port.width:
        bits = "bit" if actual.width == 1 else "bits"
        return f"{actual.direction} `{port.name}` is {actual.width} {bits} wide, {port.width} expected"
    return None


def _parameter_difference(name: str, actual: ActualInterface) -> str | None:
    found = {parameter.name: parameter for parameter in actual.parameters}
    if name not in found:
        return f"parameter `{name}` is missing"
    return f"parameter `{name}` is a localparam, which cannot be set" if found[name].local else None


def _guess(missing: Sequence[ExpectedPort], ports: Sequence[ActualPort], wanted: set[str]) -> dict[str, ActualPort]:
    """Which unasked-for port each missing one was probably meant to be; each port at most once, best pairs first."""
    spare = [port for port in ports if port.name not in wanted]
    pairs = [
        (_alike(want.name, port.name), -at, -place, want.name, port)
        for at, want in enumerate(missing)
        for place, port in enumerate(spare)
        if want.direction in (None, port.direction)
    ]
    meant: dict[str, ActualPort] = {}
    for score, _, _, name, port in sorted(pairs, key=lambda pair: pair[:3], reverse=True):
        if score >= PLAUSIBLE and name not in meant and port not in meant.values():
            meant[name] = port
    return meant


def _words(name: str) -> set[str]:
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)
    return {SAME_WORD.get(part.lower(), part.lower()) for part in parts}


def _alike(a: str, b: str) -> float:
    """1 for the same word, 0 for nothing in common. All words of one name within the other count as plausible:
    `valid` and `grant_valid` are only 0.63 alike by letters, `index` and `grant_index_out` only 0.50."""
    letters = SequenceMatcher(None, a.lower(), b.lower()).ratio()
    x, y = _words(a), _words(b)
    shared = x & y
    substantial = any(len(word) > 2 for word in shared)
    within = PLAUSIBLE + 0.3 * len(shared) / len(x | y) if substantial and shared in (x, y) else 0.0
    return max(letters, within)
