"""Classes and files that a page names exist: a page that was written for an earlier version says so here."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, blocks

_SPAN = re.compile(r"`([^`\n]+)`")
_CLASS = re.compile(r"\b[A-Z][a-z]+(?:[A-Z][a-z0-9]*)+\b")
_FILE = re.compile(r"\b(?:rtl_agent|tests|scripts|examples|docs|bundled)/[\w./-]*\.(?:py|md|sh|yaml)\b")
_FOREIGN = {
    "RewardFileNotFoundError",
    "SystemRandom",
    "docs/specification.md",
    "docs/task.md",
}  # of Python, and of workspaces
_KNOWN = set(re.findall(r"\w+", "\n".join(path.read_text() for path in (ROOT / "rtl_agent").rglob("*.py"))))


def unknown_names(page: Path) -> set[str]:
    spans = _SPAN.findall(page.read_text())
    code = "\n".join([*spans, *("\n".join(block.lines) for block in blocks(page) if block.info == "python")])
    classes = {name for name in _CLASS.findall(code) if name not in _KNOWN}
    return classes | {name for name in _FILE.findall(code) if not (ROOT / name).exists()}


@pytest.mark.parametrize(
    "page", [page for page in PAGES if page.name != "CHANGELOG.md"], ids=lambda page: str(page.relative_to(ROOT))
)
def test_what_a_page_names_exists(page: Path) -> None:
    assert unknown_names(page) - _FOREIGN == set()


def test_a_name_that_is_gone_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("`Grader` and `GraderOfOld`, in `rtl_agent/grading/no_such.py`\n```python\nNoSuchClass()\n```\n")
    assert unknown_names(page) == {"GraderOfOld", "NoSuchClass", "rtl_agent/grading/no_such.py"}
