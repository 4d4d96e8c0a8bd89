"""What axe-core checks by machine on every screen, light and dark: names, roles, contrast, headings, labels."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from rtl_agent.view import Library
from tests.report.example_run import write_run
from tests.view.filled import Filled
from tests.view.shown import PHONE, WIDE, Theme, shown, viewer
from tests.view.test_page import TABS, pieces

pytestmark = pytest.mark.slow

SCREENS = ("runs?sel=one,two", "run/one?curves=all&metrics=kl", "run/one/group/1", "run/none")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    runs = tmp_path_factory.mktemp("runs")
    write_run(runs / "one", steps=3, attack="")
    write_run(runs / "two", steps=2, attack="")
    with viewer(Filled(Library([runs], pieces))) as address:
        yield address


@pytest.mark.parametrize(("theme", "size"), [("light", WIDE), ("dark", WIDE), ("light", PHONE)])
def test_no_rule_is_broken(
    browser: Browser, url: str, viewer_source: Path, theme: Theme, size: tuple[int, int]
) -> None:
    axe = (viewer_source / "node_modules" / "axe-core" / "axe.min.js").read_text()
    broken: list[str] = []
    with shown(browser, url, theme, size) as tab:

        def check(state: str) -> None:
            tab.page.evaluate(axe)
            for rule in tab.page.evaluate("axe.run().then(found => found.violations)"):
                places = "; ".join(
                    node["html"][:160] + " " + node["failureSummary"][-200:] for node in rule["nodes"][:3]
                )
                broken.append(f"{state}: {rule['id']} ({len(rule['nodes'])} times): {places}")

        for state in SCREENS:
            tab.page.goto(f"{url}#/{state}")
            tab.page.wait_for_load_state("networkidle")
            check(state)
        tab.open("run/one/rollout/2")
        for name in TABS:
            tab.tab(name)
            if name == "Waves":
                tab.page.get_by_role("button", name="Simulate and show the waves").click()
                tab.page.locator("svg.waves").wait_for()
            if name == "Tokens":
                tab.page.locator("[data-at='1']").click()
            check(name)
        tab.faults = [fault for fault in tab.faults if "404" not in fault]  # run/none
    assert not broken, "\n".join(broken)
