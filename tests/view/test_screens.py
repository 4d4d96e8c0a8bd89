"""Every screen of the page on runs that real training steps made, in the real browser."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from rtl_agent.cli.view import decode
from rtl_agent.runs import RunWriter, read_run
from rtl_agent.training.config import STUDENT
from rtl_agent.view import Library
from tests.report.example_run import CONFIG, add_step
from tests.view.filled import Filled
from tests.view.shown import PATIENCE, PHONE, WIDE, Shown, Theme, shown, viewer
from tests.view.trained import GROUP, SEEDS

pytestmark = [pytest.mark.slow, pytest.mark.long]

HEATS = ("kl", "teacher", "entropy", "surprisal", "advantage")


@pytest.fixture(scope="module")
def library(runs: Path) -> Filled:
    decode(STUDENT, [1])  # imports the packages of the train extra, which takes its time on a busy machine
    return Filled(Library([runs], decode))


@pytest.fixture(scope="module")
def url(library: Filled) -> Iterator[str]:
    with viewer(library) as address:
        yield address


@pytest.fixture
def tab(browser: Browser, url: str) -> Iterator[Shown]:
    with shown(browser, url) as opened:
        yield opened


class Table:
    """The index of a run, to find a rollout or a group of the kind that a test needs."""

    def __init__(self, library: Filled, run: str) -> None:
        found = library.answer(f"runs/{run}/index", {})
        self.strings, self.columns, self.count = found["strings"], found["columns"], found["count"]

    def text(self, column: str, row: int) -> str:
        return str(self.strings[self.columns[column][row]])

    def row(self, **wanted: str) -> int:
        return next(row for row in range(self.count) if wanted.items() <= self.texts(row).items())

    def texts(self, row: int) -> dict[str, str]:
        return {column: self.text(column, row) for column in ("kind", "outcome")}

    def groups(self) -> dict[int, list[int]]:
        """The rows of each training group."""
        found: dict[int, list[int]] = {}
        for row in range(self.count):
            if self.text("kind", row) == "step":
                found.setdefault(self.columns["group"][row], []).append(row)
        return found


@pytest.fixture(scope="module")
def table(library: Filled) -> Table:
    return Table(library, "gates-0")


def test_runs_are_listed_with_their_evaluations_and_seeds(tab: Shown) -> None:
    page = tab.open("runs")
    listed = page.get_by_role("region", name="Table of runs")
    for name in ("gates-0", "gates-1", "agents", "mine.jsonl"):
        expect(listed.get_by_role("link", name=name)).to_be_visible()
    expect(listed).to_contain_text("evaluation")
    page.get_by_role("button", name=f"choose all {len(SEEDS)} seeds").first.click()
    assert "gates-0" in tab.state()
    assert "gates-1" in tab.state()
    expect(page.locator(".legend")).to_contain_text("seeds 0, 1")
    page.get_by_label("seeds together").uncheck()
    expect(page.locator(".legend li")).to_have_count(len(SEEDS))
    differences = page.get_by_role("region", name="Table of configuration differences")
    expect(differences.get_by_role("row", name="seed")).to_contain_text("0")
    page.get_by_label("Metric").select_option("teacher_kl")
    expect(page.get_by_role("figure", name="teacher_kl")).to_be_visible()


def test_a_run_shows_curves_its_matrix_and_all_rollouts(tab: Shown, table: Table) -> None:
    page = tab.open("run/gates-0")
    for title in ("Pass rate", "Reward", "KL to the teacher", "Groups without signal"):
        expect(page.get_by_role("figure", name=title, exact=True).locator("canvas")).to_be_visible()
    expect(page.get_by_role("heading", name="Rollouts")).to_contain_text(f"{table.count} rollouts of {table.count}")
    page.get_by_role("button", name="metrics").click()
    page.get_by_placeholder("Search metrics").fill("optim/entropy")
    expect(page.get_by_role("figure", name="optim/entropy")).to_be_visible()
    matrix = page.get_by_role("application", name="Problem by step matrix")
    matrix.focus()
    matrix.press("ArrowRight")
    expect(page.locator(".matrix .reading")).to_contain_text(f"of {GROUP} rollouts passed")
    matrix.press("Enter")
    expect(page.get_by_role("heading", name="Rollout × test")).to_be_visible()


@pytest.mark.parametrize("column", ["kind", "family", "category", "difficulty", "outcome", "reason"])
def test_each_filter_keeps_what_it_names(tab: Shown, table: Table, column: str) -> None:
    page = tab.open("run/gates-0")
    value = next(filter(None, (table.text(column, row) for row in range(table.count))))
    left = sum(table.text(column, row) == value for row in range(table.count))
    page.get_by_label(column.capitalize(), exact=True).select_option(value)
    expect(page.get_by_role("heading", name="Rollouts")).to_contain_text(f"{left} rollout")
    page.get_by_role("button", name="Clear").click()
    expect(page.get_by_role("heading", name="Rollouts")).to_contain_text(f"{table.count} rollouts of")


def test_groups_without_signal_are_counted_and_filtered(tab: Shown, table: Table) -> None:
    rewards = table.columns["reward"]
    silent = [rows for rows in table.groups().values() if len({round(rewards[row], 9) for row in rows}) == 1]
    page = tab.open("run/gates-0?kind=step")
    told = (
        f"{len(silent)} of {len(table.groups())} groups without signal" if silent else f"{len(table.groups())} groups"
    )
    expect(page.locator(".matrix figcaption")).to_contain_text(told)
    page.get_by_label("Signal of the group").select_option("some")
    left = GROUP * (len(table.groups()) - len(silent))
    expect(page.get_by_role("heading", name="Rollouts")).to_contain_text(f"{left} rollouts of")


def test_the_search_reads_texts_too(tab: Shown) -> None:
    page = tab.open("run/gates-0?q=y%20%3D%20a%20%5E%20b")
    expect(page.get_by_text("No rollout matches the filters")).to_be_visible()
    page.get_by_label("texts too").check()
    expect(page.get_by_role("table", name="Rollouts")).to_contain_text("xor_gate_0001")


def test_a_group_shows_who_passed_what_and_how_two_differ(tab: Shown, table: Table) -> None:
    group, rows = next(
        (group, rows) for group, rows in table.groups().items() if len({table.text("outcome", row) for row in rows}) > 1
    )
    page = tab.open(f"run/gates-0/group/{group}")
    matrix = page.get_by_role("region", name="Rollout by test")
    expect(matrix.get_by_role("row")).to_have_count(1 + len(rows))
    expect(matrix.locator(".mark.pass").first).to_be_visible()
    expect(page.get_by_label("Right", exact=True).locator("option:checked")).to_contain_text("passed")
    expect(page.get_by_label("Left", exact=True).locator("option:checked")).not_to_contain_text("passed")
    expect(page.locator("table.diff mark").first).to_be_visible()
    page.get_by_label("Right", exact=True).select_option(str(rows[0]))
    assert f"b={rows[0]}" in tab.state()


def test_a_rollout_shows_what_was_asked_written_and_found(tab: Shown, table: Table) -> None:
    page = tab.open(f"run/gates-0/rollout/{table.row(kind='step', outcome='failed')}")
    expect(page.get_by_label("Specification")).to_contain_text("module gate(input a, input b, output y)")
    expect(page.get_by_role("group", name="RTL: ")).to_contain_text("assign")
    expect(page.locator(".verdict")).to_contain_text("Reward")
    tests = tab.tab("Tests")
    expect(tests.get_by_role("row", name="syntax")).to_contain_text("passed")
    expect(tests.get_by_role("region", name="Tests")).to_contain_text("failed")
    expect(tab.tab("Reproduce")).to_contain_text("rtl-agent")
    answer = tab.tab("Answer")
    expect(answer).to_contain_text("system")
    expect(answer.get_by_label("Answer", exact=True)).to_contain_text("endmodule")


def test_diagnostics_stand_at_their_lines(tab: Shown, library: Filled) -> None:
    """Counted in the block that was graded. Made here: what a student gets wrong changes from run to run."""
    rollout = library.answer("runs/gates-0/rollouts/0", {})
    rollout["files"] = {"answer": "Here it is:\n```verilog\nmodule gate;\n\n  assign y = z;\nendmodule\n```\n"}
    said = {"tool": "slang", "severity": "error", "line": 3, "column": 1, "text": "no such net"}
    rollout["grade"]["diagnostics"] = [{**said, "file": "rtl/gate.sv"}, {**said, "file": "/src/checks.sv"}]
    tab.page.route("**/api/runs/gates-0/rollouts/0", lambda route: route.fulfill(json=rollout))
    page = tab.open("run/gates-0/rollout/0")
    lines = page.get_by_role("group", name="RTL: ").locator(".code-line")
    expect(lines.nth(2)).to_contain_text("assign y = z;")
    expect(lines.nth(3)).to_contain_text("error (slang): no such net")
    expect(page.get_by_text("/src/checks.sv:3")).to_be_visible()


def test_the_interfaces_differences_are_named(tab: Shown, library: Filled) -> None:
    rollout = library.answer("runs/gates-0/rollouts/0", {}) | {"interface": ["output `y` is missing; you wrote `z`"]}
    tab.page.route("**/api/runs/gates-0/rollouts/0", lambda route: route.fulfill(json=rollout))
    page = tab.open("run/gates-0/rollout/0")
    expect(page.get_by_text("The interface differs")).to_be_visible()
    expect(page.get_by_text("output `y` is missing; you wrote `z`")).to_be_visible()


def test_tokens_are_coloured_by_each_number_and_tell_it(tab: Shown, table: Table) -> None:
    page = tab.open(f"run/gates-0/rollout/{table.row(kind='step')}?tab=tokens")
    for heat in HEATS:
        page.get_by_label("Colour").select_option(heat)
        expect(page.locator(".heat-text .hot6, .heat-text .cold6").first).to_be_visible()
        assert f"heat={heat}" in tab.state()
    page.locator("[data-at='1']").hover()
    expect(page.locator(".token-detail")).to_contain_text("Token 1")
    tokens = page.get_by_role("application", name="Tokens")
    tokens.focus()
    tokens.press("ArrowRight")
    for told in ("Token 2", "log p, student", "log p, teacher", "Entropy", "Advantage", "Teacher's likeliest"):
        expect(page.locator(".token-detail")).to_contain_text(told)
    page.locator(".largest button").first.click()
    expect(page.locator(".chosen-token")).to_be_visible()


def test_versions_of_one_problem_stand_side_by_side(tab: Shown, table: Table) -> None:
    page = tab.open(f"run/gates-0/rollout/{table.row(kind='eval')}?tab=compare")
    for title in ("Before", "This rollout", "After", "Teacher", "Reference"):
        expect(page.get_by_role("heading", name=title).first).to_be_visible()
    page.get_by_label("This rollout against").select_option("reference")
    expect(page.locator("table.diff")).to_be_visible()


def test_an_agents_turns_are_told_with_how_it_ended(tab: Shown, runs: Path) -> None:
    page = tab.open("run/agents/rollout/0")
    told = tab.tab("Transcript")
    expect(told.get_by_role("heading", name="Turn 1")).to_be_visible()
    expect(told).to_contain_text("Ended after")
    first = next(read_run(runs / "agents").episodes())
    for turn in first["turns"]:
        if turn["observation"]:
            expect(page.get_by_label("Observation in turn 1")).to_contain_text(turn["observation"].split()[0])
            break


def test_waves_mark_the_failing_signal_beside_the_reference(tab: Shown, table: Table) -> None:
    page = tab.open(f"run/gates-0/rollout/{table.row(kind='step', outcome='failed')}?tab=waves")
    page.get_by_role("button", name="Simulate and show the waves").click()
    names = page.get_by_role("list", name="Signals")
    expect(names.locator(".failing")).to_contain_text("count")
    expect(names).to_contain_text("reference")
    expect(page.locator("svg .fail-at line")).to_have_count(1)
    page.get_by_placeholder("Search signals").fill("rst")
    expect(names.get_by_role("listitem")).to_have_count(1)
    page.get_by_label("Radix").select_option("bin")
    assert "radix=bin" in tab.state()


def test_waves_are_simulated_again_on_demand(browser: Browser, url: str, table: Table) -> None:
    row = next(row for row in range(table.count) if table.columns["tests"][row] > 1)  # it compiled
    with shown(browser, url, simulated=True) as tab:
        page = tab.open(f"run/gates-0/rollout/{row}?tab=waves")
        page.get_by_role("button", name="Simulate and show the waves").click()
        expect(page.locator("svg.waves")).to_be_visible(timeout=3 * PATIENCE)
        for port in ("a", "b", "y"):
            expect(page.get_by_role("list", name="Signals").get_by_text(port, exact=True).first).to_be_visible()


def test_an_evaluation_has_the_same_screens(tab: Shown) -> None:
    page = tab.open("run/mine.jsonl")
    expect(page.get_by_role("heading", name="Rollouts")).to_contain_text("2 rollouts of 2")
    tab.open("run/mine.jsonl/rollout/1")
    expect(page.get_by_label("Specification")).to_contain_text("gate")


def test_new_steps_appear_while_a_run_is_written(browser: Browser, runs: Path, tmp_path: Path) -> None:
    """A run is being written as long as its process lives: this one's."""
    with RunWriter.create(tmp_path / "live", CONFIG, if_exists="raise") as run:
        add_step(run, 0)
        with viewer(Library([tmp_path])) as url, shown(browser, url) as tab:
            page = tab.open("run/live")
            heading = page.get_by_role("heading", name="Rollouts")
            expect(heading).to_contain_text("10 rollouts of 10")
            add_step(run, 1)
            expect(heading).to_contain_text("18 rollouts of 18")


@pytest.mark.parametrize(("theme", "size"), [("light", WIDE), ("dark", WIDE), ("light", PHONE), ("dark", PHONE)])
def test_no_screen_is_wider_than_the_screen_or_says_an_error(
    browser: Browser, url: str, table: Table, theme: Theme, size: tuple[int, int]
) -> None:
    row = table.row(kind="step", outcome="failed")
    with shown(browser, url, theme, size) as tab:
        states = [
            "runs?sel=gates-0,gates-1",
            "run/gates-0",
            "run/agents",
            f"run/gates-0/group/{table.columns['group'][row]}",
        ]
        tabs = ("rtl", "tokens", "compare", "transcript", "tests", "waves&show=1", "reproduce")
        for state in [
            *states,
            *(f"run/gates-0/rollout/{row}?tab={one}" for one in tabs),
            "run/agents/rollout/0?tab=transcript",
        ]:
            page = tab.open(state)
            tab.no_wider_than_the_screen()
            assert page.evaluate("document.documentElement.dataset.theme") == theme


def test_nothing_needs_a_pointer(tab: Shown) -> None:
    """From the list of runs to a rollout's tokens by Tab, Enter and arrows."""
    page = tab.open("runs")
    page.keyboard.press("/")
    page.keyboard.type("gates-0")
    tab_until(tab, "gates-0")
    page.keyboard.press("Enter")
    expect(page.get_by_role("table", name="Rollouts")).to_be_visible()
    page.get_by_role("table", name="Rollouts").focus()
    tab_until(tab, r"#\d \w+_gate_0001")
    page.keyboard.press("Enter")
    expect(page.get_by_role("tablist")).to_be_visible()
    tab_until(tab, "RTL")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Tokens")).to_be_focused()
    tab_until(tab, r"Tokens\. .*")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".token-detail")).to_contain_text("Token 0")


def tab_until(tab: Shown, name: str) -> None:
    """Presses Tab until the focus is on something of such a name."""
    for _ in range(80):
        tab.page.keyboard.press("Tab")
        found = tab.page.evaluate(
            "document.activeElement.ariaLabel || document.activeElement.textContent.slice(0, 200)"
        )
        if re.fullmatch(name, found.strip()):
            return
    pytest.fail(f"Tab does not lead to {name}")
