"""The page in the real browser: every screen, in light and dark, on a phone, by keys; and nothing goes wrong.

The run is written by hand, in milliseconds; `test_screens.py` looks closer, at runs that were trained.
"""

import re
from collections.abc import Iterator, Sequence

import pytest
from playwright.sync_api import Browser, expect

from rtl_agent.view import Library
from tests.report.example_run import write_run
from tests.view.filled import Filled, waves
from tests.view.shown import PHONE, WIDE, Shown, Theme, shown, viewer

TABS = ("RTL", "Tokens", "Compare", "Answer", "Tests", "Waves", "Reproduce")
STEPS = 6


def pieces(model: str, tokens: Sequence[int]) -> list[str]:
    return [f"token{token} " for token in tokens]


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    runs = tmp_path_factory.mktemp("runs")
    write_run(runs / "one", steps=STEPS, attack="")
    write_run(runs / "two", steps=3, attack="")
    with viewer(Filled(Library([runs], pieces))) as address:
        yield address


@pytest.fixture
def tab(browser: Browser, url: str) -> Iterator[Shown]:
    with shown(browser, url) as opened:
        yield opened


@pytest.mark.parametrize(("theme", "size"), [("light", WIDE), ("dark", PHONE)])
def test_every_screen_is_there_and_nothing_goes_wrong(
    browser: Browser, url: str, theme: Theme, size: tuple[int, int]
) -> None:
    with shown(browser, url, theme, size) as tab:
        page = tab.open("runs?sel=one,two")
        expect(page.get_by_role("link", name="one", exact=True).first).to_be_visible()
        tab.no_wider_than_the_screen()
        page = tab.open("run/one")
        expect(page.get_by_role("table", name="Rollouts")).to_be_visible()
        tab.no_wider_than_the_screen()
        page = tab.open("run/one/group/1")
        expect(page.get_by_role("region", name="Rollout by test")).to_be_visible()
        tab.no_wider_than_the_screen()
        tab.open("run/one/rollout/1")
        for name in TABS:
            tab.tab(name)
            tab.ready()
            tab.no_wider_than_the_screen()


def test_keys_lead_through_rollouts_and_steps_and_to_the_search(tab: Shown) -> None:
    page = tab.open("run/one/rollout/2")
    start = tab.state()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".place")).to_contain_text("2 of")
    assert tab.state() != start
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".place")).to_contain_text("1 of")
    page.keyboard.press("]")
    expect(page.locator(".verdict")).to_contain_text("step 1")
    page.keyboard.press("[")
    expect(page.locator(".verdict")).to_contain_text("step 0")
    page.keyboard.press("/")
    expect(page.locator("#search")).to_be_focused()
    page.keyboard.type("counter_3")
    expect(page.get_by_role("heading", name="Rollouts")).to_contain_text(f"{2 * STEPS} rollouts of")
    assert "q=counter_3" in tab.state()
    page.keyboard.press("Escape")
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()


def test_the_address_holds_what_is_shown(tab: Shown, browser: Browser, url: str) -> None:
    page = tab.open("run/one")
    page.get_by_label("Outcome", exact=True).select_option("failed")
    page.get_by_role("table", name="Rollouts").get_by_role("link", name="counter_1").first.click()
    tab.tab("Tokens")
    page.get_by_label("Colour").select_option("advantage")
    page.locator("[data-at='1']").click()
    expect(page.locator(".token-detail")).to_contain_text("token2")
    with shown(browser, url) as other:
        again = other.open(tab.state())
        assert "outcome=failed" in other.state()
        expect(again.locator(".verdict")).to_contain_text("failed")
        expect(again.get_by_label("Colour")).to_have_value("advantage")
        expect(again.locator(".token-detail")).to_contain_text("token2")


def test_the_token_under_the_pointer_tells_what_the_teacher_would_have_written(tab: Shown) -> None:
    page = tab.open("run/one/rollout/2?tab=tokens")
    page.locator("[data-at='1']").hover()
    tip = page.locator(".tip")
    expect(tip).to_contain_text("Reverse KL")
    expect(tip).to_contain_text("Teacher's likeliest")
    expect(tip).to_contain_text("[U+202E]")
    page.locator("h1").hover()
    expect(tip).to_have_count(0)


def test_the_address_holds_the_stretch_and_the_place_in_the_waves(tab: Shown, browser: Browser, url: str) -> None:
    page = tab.open("run/one/rollout/2?tab=waves&show=1")
    lanes = page.get_by_role("application", name="Waves.")
    lanes.press("0")
    expect(page).to_have_url(re.compile("span=0-200"))
    lanes.press("n")
    expect(page).to_have_url(re.compile("at=[0-9]+"))
    told = page.locator(".wave-at").inner_text()
    with shown(browser, url) as other:
        expect(other.open(tab.state()).locator(".wave-at")).to_have_text(told)
        expect(other.page.locator("svg.waves")).to_have_attribute("aria-label", re.compile("from 0 ns to 200 ns"))


def test_waves_show_the_design_and_what_is_beside_it_when_asked(tab: Shown) -> None:
    """Names as a hostile design could choose them: one is another one's path, one looks like markup."""
    found = waves(reference=False) | {"reference": False}
    odd = {"width": 1, "direction": "inner", "changes": [(0, "1")]}
    names = ("dut.a.b", "dut.a.b", "dut.<img/src=x>", "checks.connected.y")
    found["signals"] = [*found["signals"], *({**odd, "name": name} for name in names)]
    tab.page.route("**/waves?*", lambda route: route.fulfill(json=found))
    page = tab.open("run/one/rollout/2?tab=waves&show=1")
    shown_names = page.get_by_role("list", name="Signals").get_by_role("listitem")
    expect(shown_names).to_have_count(7)
    expect(shown_names.nth(0)).to_contain_text("count")
    expect(shown_names.filter(has_text="<img/src=x>")).to_have_count(1)
    page.get_by_role("button", name="Show 1 signal of modules beside the design").click()
    expect(shown_names.filter(has_text="checks.connected.y")).to_have_count(1)
    assert "outside=1" in tab.state()


def test_tables_scroll_on_a_phone_and_break_no_word_into_letters(browser: Browser, url: str) -> None:
    with shown(browser, url, size=PHONE) as tab:
        page = tab.open("runs?sel=one,two")
        box = page.get_by_role("columnheader", name="Rollouts").bounding_box()
        assert box is not None
        assert box["width"] > 50
        tab.open("run/one/group/1")
        tab.no_wider_than_the_screen()


def test_what_is_not_there_is_said_in_a_sentence(browser: Browser, url: str) -> None:
    with shown(browser, url) as tab:
        for state in ("run/none", "run/one/rollout/99999", "run/one/group/99999"):
            tab.page.goto(f"{url}#/{state}")
            expect(tab.page.get_by_role("alert").first).to_contain_text("There is no")
        assert all("404" in fault for fault in tab.faults)
        tab.faults.clear()  # browsers write each 404 to the console
