"""The Markdown pages of the project, taken apart: links, headings, and blocks of commands."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "docs/integrations").glob("*.md")])

_FENCE = re.compile(r"^(?P<fence>`{3,}|~{3,})(?P<info>[^`]*)$")
_COMMENT = re.compile(r"^<!-- *(?P<text>.*?) *-->$")


@dataclass(frozen=True)
class Block:
    """A fenced block, with the comment that stands on the line before it."""

    page: Path
    line: int
    info: str
    comment: str
    lines: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


@dataclass
class Command:
    """A line after `$ `, and what the page says it prints."""

    text: str
    expected: list[str] = field(default_factory=list)


def blocks(page: Path) -> Iterator[Block]:
    lines = page.read_text().split("\n")
    start, fence, info, comment = 0, "", "", ""
    for number, line in enumerate(lines, 1):
        found = _FENCE.match(line)
        if fence:
            if found and found["fence"].startswith(fence) and not found["info"].strip():
                yield Block(page, start, info, comment, tuple(lines[start : number - 1]))
                fence = comment = ""
        elif found:
            start, fence, info = number, found["fence"], found["info"].strip()
        elif line.strip():
            said = _COMMENT.match(line)
            comment = said["text"] if said else ""


def prose(page: Path) -> str:
    """The page without its blocks and its inline code."""
    inside = {number for block in blocks(page) for number in range(block.line, block.line + len(block.lines) + 2)}
    kept = [line for number, line in enumerate(page.read_text().split("\n"), 1) if number not in inside]
    return re.sub(r"`[^`\n]*`", "", "\n".join(kept))


def commands(block: Block) -> list[Command]:
    """The commands of a console block."""
    found: list[Command] = []
    for line in block.lines:
        if line.startswith("$ "):
            found.append(Command(line.removeprefix("$ ")))
        elif found and found[-1].text.endswith("\\"):
            found[-1].text = found[-1].text[:-1] + line.strip()
        elif found:
            found[-1].expected.append(line.strip())
    return found


def anchors(page: Path) -> set[str]:
    """What GitHub makes of the headings."""
    inside = {number for block in blocks(page) for number in range(block.line, block.line + len(block.lines) + 2)}
    lines = page.read_text().split("\n")
    headings = [
        line.lstrip("#").strip()
        for number, line in enumerate(lines, 1)
        if line.startswith("#") and number not in inside
    ]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
