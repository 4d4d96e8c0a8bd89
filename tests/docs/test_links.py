"""A link within the project leads somewhere."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, anchors, prose

_LINK = re.compile(r"\]\((?P<target>[^)\s]+)\)")


def broken_links(page: Path) -> list[str]:
    broken = []
    for target in (match["target"] for match in _LINK.finditer(prose(page))):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            broken.append(target)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# A page\n[here](#a-page) [there](#nowhere) [file](none.md) `[code](none)`\n[web](https://x.org)\n"
    )
    assert broken_links(page) == ["#nowhere", "none.md"]


def test_every_page_of_docs_is_in_the_table_of_contents() -> None:
    index = (ROOT / "docs" / "index.md").read_text().split("\n")
    pages = {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"}
    assert pages - set(index) == set()
    index = (ROOT / "docs" / "integrations" / "index.md").read_text().split("\n")
    assert {page.stem for page in (ROOT / "docs" / "integrations").glob("*.md")} - {"index"} - set(index) == set()
