"""The page of a run: complete, self-contained, and unmoved by what a model wrote."""

from html.parser import HTMLParser
from pathlib import Path

import pytest

from rtl_agent.report import write_report
from rtl_agent.runs import RunWriter
from tests.report.example_run import ATTACK, CONFIG, add_step, episode, write_run

# Every tag that the page is made of; anything else came from data.
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "h4", "p", "div", "span", "b", "article"),
    *("section", "pre", "mark", "header"),
    *("dl", "dt", "dd", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "details", "summary"),
    *("figure", "svg", "line", "text", "polygon", "polyline", "circle"),
}
VOID = {"meta"}


class Page(HTMLParser):
    """What a browser would see: tags, attributes, text; every tag closed in its turn."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str]] = set()
        self.texts: list[str] = []
        self.style = ""
        self._open: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {(name, value or "") for name, value in attrs}
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {(name, value or "") for name, value in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] == "style":
            self.style += data
        else:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return "".join(self.texts)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of thirty steps whose every word attacks the page."""
    return write_run(tmp_path_factory.mktemp("runs") / "run", 30)


@pytest.fixture(scope="module")
def page(run: Path) -> Page:
    return Page(write_report(run, curves=False).page)


def test_nothing_but_our_own_tags(page: Page) -> None:
    assert page.tags <= TAGS
    assert "script" not in page.tags


def test_no_handlers_and_no_addresses(page: Page) -> None:
    names = {name for name, _ in page.attributes}
    assert not [name for name in names if name.startswith("on")]
    assert not names & {"src", "href", "srcset", "action", "style", "formaction", "data", "background", "xlink:href"}
    assert not [value for _, value in page.attributes if "evil" in value or "alert" in value or "://" in value]
    assert "@import" not in page.style
    assert "url(" not in page.style


def test_what_the_model_wrote_is_there_as_text(page: Page) -> None:
    visible = ATTACK.replace("\x00", "[U+0000]").replace("\u202e", "[U+202E]").replace("\ud800", "[U+D800]")
    assert f"module counter_0 (input clk);\n  // {visible}\nendmodule" in page.text


def test_every_part_is_under_attack(page: Page) -> None:
    for title in (
        "Curves",
        "Problems in training",
        "Held-out problems",
        "Before, after",
        "Best",
        "Worst",
        "Configuration",
    ):
        assert title in page.text


def test_the_browser_is_told_to_run_and_load_nothing(page: Page) -> None:
    policy = next(value for name, value in page.attributes if name == "content" and "default-src" in value)
    assert policy.startswith("default-src 'none'")


def test_curves_config_problems_and_examples(page: Page) -> None:
    for words in (
        "Reward",
        "Pass rate",
        "KL divergence from the teacher",
        "Entropy of the student",
        "Duration of a step",
        "held out",
        "Problems in training",
        "Held-out problems",
        "optim.learning_rate",
        "test counts failed",
        "iverilog error a.sv:3 syntax error",
        "(test.py:12): 3 != 4",
    ):
        assert words in page.text, words
    assert page.text.count("Prompt") == 6


def test_png_curves_beside_the_page(run: Path) -> None:
    report = write_report(run)
    names = {path.name for path in report.curves}
    assert {"reward.png", "pass_rate.png", "teacher_kl.png", "entropy.png", "time.png"} <= names
    assert all(path.parent == run / "curves" for path in report.curves)
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in report.curves)


def test_a_run_of_one_step(tmp_path: Path) -> None:
    report = write_report(write_run(tmp_path / "run", 1))
    page = Page(report.page)
    assert "1 step in 4 s" in page.text
    assert "1 checkpoint, the best" in page.text
    assert {"circle", "polygon"} <= page.tags
    assert report.curves


def test_an_empty_run_says_so(tmp_path: Path) -> None:
    report = write_report(write_run(tmp_path / "run", 0))
    page = Page(report.page)
    assert "no step has been done yet" in page.text
    assert "student_model" in page.text
    assert report.curves == ()


def test_a_run_that_is_still_going(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path / "run", CONFIG, if_exists="raise") as run:
        add_step(run, 0)
        with (run.path / "metrics.jsonl").open("a") as file:
            file.write('{"step": 1, "env/all/rew')
        assert "still running · 1 step in 4 s" in Page(write_report(run.path, curves=False).page).text


def test_a_run_without_rollouts(tmp_path: Path) -> None:
    """As tinker-cookbook leaves one."""
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "metrics.jsonl").write_text('{"step": 0, "optim/entropy": 0.5}\n{"step": 1, "optim/entropy": -0.5}\n')
    page = Page(write_report(tmp_path, curves=False).page)
    assert "Entropy of the student" in page.text
    assert "Problems" not in page.text


def test_of_very_many_problems_families_come_first_and_problems_are_folded(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path / "run", {}, if_exists="raise") as run:
        run.log_metrics(0, {"env/all/reward/total": 0.4})
        like = episode(0, 0, 0.5, "")
        episodes = [{**like, "problem_id": f"rtl_{n:03}", "family": f"family_{n % 2}"} for n in range(50)]
        run.log_rollouts(0, episodes)
    page = write_report(tmp_path / "run").page.read_text()
    assert "25 problems" in page
    assert page.index("25 problems") < page.index("<summary>50 problems")
    assert "<details><summary>50 problems</summary>" in page
