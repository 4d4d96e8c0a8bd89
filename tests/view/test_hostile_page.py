"""Whatever a model wrote, the browser shows it as text, and goes on answering."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from rtl_agent.view import Library
from tests.report.example_run import ATTACK, write_run
from tests.view.filled import Filled
from tests.view.shown import PHONE, WIDE, Shown, evaluation, shown, viewer
from tests.view.test_page import TABS

MOST_LETTERS = 3_000_000
MOST_ELEMENTS = 20_000  # in the page at a time: more of them make a browser slow
HIDDEN = "a\u202eb\u200bc\x00d\x1b[31me\u2066f\ud800g\U000e0041h"
HUGE = {
    "one-line": "x" * 10_000_000,
    "many-lines": "assign a = b;\n" * 700_000,
    "open-comment": "/*" * 1_200_000,
    "backticks": "```verilog\n" + "`a" * 1_200_000,
    "joined": "a" + "\u0301" * 2_100_000,  # one letter, of two million marks
    "hidden": "\u202e" * 2_100_000,
}


def hostile_pieces(model: str, tokens: Sequence[int]) -> list[str]:
    return [ATTACK for _ in tokens]


def no_markup(tab: Shown) -> None:
    made = tab.page.evaluate(
        "document.querySelectorAll('main script, main img, main style, main link, main iframe, main [onload],"
        " main [onerror], main [onmouseover], main a[href^=javascript]').length"
    )
    assert made == 0, "something that a model wrote became an element"


def record(text: str, reward: float = 0.0) -> dict[str, object]:
    test = {"name": text[:5000], "passed": False, "message": text[:100_000]}
    grade = {"outcome": "failed", "reasons": [text[:100_000]], "tests": [test], "log": text}
    return {"problem_id": "p", "messages": [{"role": "user", "content": text}], "text": text, "grade": grade,
            "reward": reward}  # fmt: skip


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    runs = tmp_path_factory.mktemp("runs")
    write_run(runs / "one", steps=2)
    with viewer(Filled(Library([runs], hostile_pieces))) as address:
        yield address


@pytest.mark.parametrize("size", [WIDE, PHONE])
def test_no_screen_runs_what_a_model_wrote(browser: Browser, url: str, size: tuple[int, int]) -> None:
    with shown(browser, url, size=size) as tab:
        for state in ("runs?sel=one", "run/one?curves=all", "run/one/group/1", "run/one?q=%3Cscript%3E"):
            tab.open(state)
            no_markup(tab)
            tab.no_wider_than_the_screen()
        tab.open("run/one/rollout/2")
        expect(tab.page.get_by_label("Specification")).to_contain_text("<script>alert(1)</script>")
        for name in TABS:
            tab.tab(name)
            no_markup(tab)
            tab.no_wider_than_the_screen()


def test_characters_that_hide_or_reorder_are_spelled_out(browser: Browser, tmp_path: Path) -> None:
    path = evaluation(tmp_path / "mine.jsonl", json.dumps({"index": 0, "episode": record(HIDDEN)}) + "\n")
    with viewer(Library([path])) as url, shown(browser, url) as tab:
        page = tab.open("run/mine.jsonl/rollout/0")
        code = page.get_by_label("RTL: answer")
        for number in ("202E", "200B", "0000", "001B", "2066", "D800", "E0041"):
            expect(code).to_contain_text(f"[U+{number}]")
        assert "\u202e" not in page.content()


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An evaluation with a huge answer to each of its problems."""
    lines = [{"index": 0, "episode": record(text) | {"problem_id": kind}} for kind, text in HUGE.items()]
    path = evaluation(tmp_path_factory.mktemp("huge") / "mine.jsonl", "".join(json.dumps(one) + "\n" for one in lines))
    with viewer(Filled(Library([path], lambda model, tokens: None))) as address:
        yield address


@pytest.mark.slow
@pytest.mark.parametrize("kind", HUGE)
def test_ten_megabytes_leave_the_page_usable(browser: Browser, huge: str, kind: str) -> None:
    row = list(HUGE).index(kind)
    with shown(browser, huge) as tab:
        page = tab.open(f"run/mine.jsonl/rollout/{row}")
        for name in ("RTL", "Compare", "Answer", "Tests", "Reproduce"):
            tab.tab(name)
            assert page.evaluate("document.querySelectorAll('*').length") < MOST_ELEMENTS
            assert page.evaluate("document.body.textContent.length") < MOST_LETTERS
            tab.no_wider_than_the_screen()
        page.keyboard.press("ArrowLeft" if row else "ArrowRight")
        expect(page.locator(".place")).to_contain_text(f"{row or 2} of {len(HUGE)}")
        tab.open(f"run/mine.jsonl/group/{row}")
        assert page.evaluate("document.querySelectorAll('*').length") < MOST_ELEMENTS


@pytest.mark.slow
def test_a_hundred_thousand_tokens_are_drawn_in_parts(browser: Browser, tmp_path: Path) -> None:
    episode = record("long") | {
        "turns": [{"text": "long", "sampled_tokens": [1] * 100_000}],
        "sampled_tokens": [1] * 100_000,
    }
    path = evaluation(tmp_path / "mine.jsonl", json.dumps({"index": 0, "episode": episode}) + "\n")
    with (
        viewer(Filled(Library([path], lambda model, tokens: ["piece "] * len(tokens)))) as url,
        shown(browser, url) as tab,
    ):
        page = tab.open("run/mine.jsonl/rollout/0")
        tab.tab("Tokens")
        assert page.evaluate("document.querySelectorAll('[data-at]').length") < MOST_ELEMENTS
        page.get_by_role("button", name="Show more").click()
        page.get_by_label("Colour").select_option("entropy")
        page.locator("[data-at='5000']").click()
        expect(page.locator(".token-detail")).to_contain_text("Token 5000")
