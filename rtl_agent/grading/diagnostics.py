"""What compilers and linters print -> `Diagnostic`, with the file named as the model knows it."""

import re
from collections.abc import Iterator

from rtl_agent.grading.grade import Diagnostic

_MOST = 50
_ICARUS = re.compile(r"^(?P<file>[^\s:]+):(?P<line>\d+): (?:(?P<severity>error|warning|sorry|note): )?(?P<text>.+)$")
_VERILATOR = re.compile(
    r"^%(?P<severity>Error|Warning)(?P<code>-[A-Z0-9_]+)?: "
    r"(?P<file>[^\s:]+):(?P<line>\d+):(?:(?P<column>\d+):)? (?P<text>.+)$"
)
_YOSYS = re.compile(r"^(?:(?P<file>[^\s:]+):(?P<line>\d+): )?ERROR: (?P<text>.+)$")


def icarus_diagnostics(text: str) -> tuple[Diagnostic, ...]:
    return tuple(_limited(_parse(_ICARUS, "icarus", text)))


def verilator_diagnostics(text: str) -> tuple[Diagnostic, ...]:
    return tuple(_limited(_parse(_VERILATOR, "verilator", text)))


def yosys_diagnostics(text: str) -> tuple[Diagnostic, ...]:
    return tuple(_limited(_parse(_YOSYS, "yosys", text)))


def _parse(pattern: re.Pattern[str], tool: str, text: str) -> Iterator[Diagnostic]:
    for line in text.splitlines():
        match = pattern.match(line.strip()[:1000])
        if match is None:
            continue
        parts = match.groupdict()
        words = parts["text"].strip()
        severity = (parts.get("severity") or "error").lower()
        if (
            severity == "sorry"
        ):  # Icarus' word for what it cannot compile, and for a harmless remark on constant selects
            severity = "warning" if "constant selects" in words else "error"
        code = (parts.get("code") or "").lstrip("-")
        yield Diagnostic(
            tool=tool,
            severity=severity,
            file=(parts["file"] or "").removeprefix("/code/"),
            line=int(parts["line"] or 0),
            column=int(parts.get("column") or 0),
            text=f"{words} [{code}]" if code else words,
        )


def _limited(found: Iterator[Diagnostic]) -> Iterator[Diagnostic]:
    seen: set[Diagnostic] = set()
    for diagnostic in found:
        if diagnostic not in seen:
            seen.add(diagnostic)
            yield diagnostic
        if len(seen) >= _MOST:
            return
