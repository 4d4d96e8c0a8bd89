"""What is asked: one `Problem` as data, how its answer is judged, and what can be wrong with a data set."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePosixPath

_ID = re.compile(r"(?:cvdp_(?:copilot|agentic)|[A-Za-z][A-Za-z0-9-]*)_(?P<family>[\w.-]+)_(?:\d+|[0-9a-f]{12})")


class Kind(StrEnum):
    """How an answer is given: in one reply, or as edits in a workspace."""

    SINGLE_SHOT = "single-shot"
    AGENTIC = "agentic"


class Needs(StrEnum):
    """What it takes to judge an answer."""

    OPEN_TOOLS = "open-tools"
    COMMERCIAL = "commercial"  # Cadence Xcelium and its licence server
    TEXT = "text"  # an answer in prose: BLEU, ROUGE or a judging model, no simulator


NEEDS_IN_WORDS = {
    Needs.OPEN_TOOLS: "open tools (Icarus Verilog, cocotb, Verilator, Yosys)",
    Needs.COMMERCIAL: "Cadence Xcelium and its licence server",
    Needs.TEXT: "a text score (BLEU, ROUGE or a judging model): the answer is prose, not RTL",
}


class CocotbVersion(StrEnum):
    """The cocotb generation a harness was written for; its value is the version that we pin."""

    V1 = "1.9.2"
    V2 = "2.0.1"


@dataclass(frozen=True)
class Service:
    """One entry of a compose file: a command that must exit with 0."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str]
    src_writable: bool  # the compose file mounts ./src without `:ro`


@dataclass(frozen=True)
class Harness:
    """Files that a model never sees, and the services of the compose file among them, in order."""

    files: Mapping[str, str]
    services: tuple[Service, ...]
    cocotb_version: CocotbVersion


@dataclass(frozen=True)
class Problem:
    """One record of a data set. The harness and the reference are never shown to a model."""

    id: str
    family: str  # the design the record is about; siblings share RTL and must stay on one side of a split
    category: str  # "cid003"
    difficulty: str  # "easy", "medium", "hard"
    kind: Kind
    needs: Needs
    prompt: str
    context: Mapping[str, str]  # path -> text, shown to the model
    targets: tuple[str, ...]  # the files an answer may write
    harness: Harness
    reference: Mapping[str, str] | None = None  # target path -> text; None where it was withheld
    system_message: str | None = None
    answer: str | None = None  # the reference of a comprehension problem
    source: str = field(default="", compare=False)  # the file it was read from

    @property
    def given(self) -> Mapping[str, str]:
        """The targets that the model is handed to complete, modify or debug, as they are handed over."""
        return {path: self.context[path] for path in self.targets if path in self.context}


WHOLE_LINE = "line"  # the field of a record that is not even an object


class BadRecord(Exception):
    """A record that is not a problem: which file, which line (0 where the file is one record), which field, and why."""

    def __init__(self, file: Path, line: int, field: str, reason: str) -> None:
        what = f"the line {reason}" if field == WHOLE_LINE else f"{field}: {reason}"
        super().__init__(f"{file}:{line}: {what}" if line else f"{file}: {what}")
        self.file, self.line, self.field, self.reason = file, line, field, reason


class BadField(ValueError):
    """A field that cannot be understood; the reader turns it into a `BadRecord` with file and line."""

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field, self.reason = field, reason


class NoSuchProblems(Exception):
    """There are no such problems: the source does not exist, is empty, or the filters leave nothing of it."""


def family_of(identifier: str) -> str:
    """The topic in `<set>_<topic>_<number>`; BadField for an id of another form. CVDP's sets have two words."""
    match = _ID.fullmatch(identifier)
    if match is None:
        raise BadField("id", f"{identifier!r} is not of the form <set>_<topic>_<number>, such as mine_fifo_0001")
    return match["family"]


def why_unsafe(path: str) -> str | None:
    """Why a record or an answer must not name this path below a workspace; None for a plain relative path."""
    if path in ("", ".") or path.endswith("/"):
        return "names no file"
    if any(ord(char) < 32 or ord(char) == 127 for char in path):
        return "has control characters"
    if any(0xD800 <= ord(char) <= 0xDFFF for char in path):
        return "has half a character, which no file name can hold"
    if "\\" in path:
        return "has a backslash"
    if path.startswith("/"):
        return "is absolute"
    if ".." in PurePosixPath(path).parts:
        return "climbs out with `..`"
    if str(PurePosixPath(path)) != path:
        return f"is not in its plain form ({PurePosixPath(path)})"
    if len(path) > 240 or any(len(part) > 120 for part in PurePosixPath(path).parts):
        return "is too long"
    return None
