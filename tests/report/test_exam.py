"""The exam and the criteria on the page: what was measured is shown, what is broken or hostile is left out."""

import json
from pathlib import Path
from typing import Any

import pytest

from rtl_agent.report import write_report
from rtl_agent.report.exam import read_criteria, read_exam
from rtl_agent.runs import RunWriter
from tests.report.example_run import ATTACK, CONFIG
from tests.report.test_report import TAGS, Page


def result(rate: float, **families: float) -> dict[str, Any]:
    rates = {"reward/total": 0.4 + rate, "format_valid": 1.0, "pass_rate": rate}
    return {"problems": 120, "k": 1, "rates": rates, "pass_at_k": rate, "families": families, "lost": 0}


EXAM = {
    "before": {"test": {"greedy": result(0.0, mux=0.0), "sampled": result(0.083)}},
    "teacher": {"test": {"greedy": result(0.992, mux=1.0, alu=0.9), "sampled": result(0.975)}},
    "after": {
        "new": {"greedy": result(0.05), "sampled": result(0.0)},
        "test": {"greedy": result(0.908, mux=0.7, alu=0.4), "sampled": result(0.867)},
    },
}
CRITERIA = [
    {"name": "pass rate", "wanted": "> 90 %", "found": "90.8 %", "met": True},
    {"name": "matches its teacher", "wanted": "at most 5 points behind", "found": "+8.3 points", "met": False},
]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with RunWriter.create(tmp_path / "run", CONFIG, if_exists="raise") as run:
        run.log_metrics(0, {"env/all/reward/total": 0.4})
    return run.path


def page(run: Path) -> Page:
    return Page(write_report(run, curves=False).page)


def cells(page: Page) -> str:
    return "|".join(text.strip() for text in page.texts if text.strip())


def test_rates_of_everybody_on_each_set(run: Path) -> None:
    (run / "exam.json").write_text(json.dumps(EXAM))
    shown = cells(page(run))
    asked = "120 problems of trained families, unseen instances"
    assert f"{asked}|student before|0.0 %|8.3 %|0.400|student after|90.8 %|86.7 %|1.308|teacher|99.2 %|97.5 %" in shown
    assert "families never trained on|student after|5.0 %|0.0 %|0.450" in shown


def test_pass_rates_by_family_with_what_was_not_asked_left_open(run: Path) -> None:
    (run / "exam.json").write_text(json.dumps(EXAM))
    shown = cells(page(run))
    assert "alu|–|40.0 %|90.0 %|mux|0.0 %|70.0 %|100.0 %" in shown


def test_the_curves_come_before_the_exam(run: Path) -> None:
    (run / "exam.json").write_text(json.dumps(EXAM))
    html = write_report(run, curves=False).page.read_text()
    assert html.index(">Curves<") < html.index(">Exam<")


def test_criteria_are_met_or_not(run: Path) -> None:
    (run / "criteria.json").write_text(json.dumps(CRITERIA))
    shown = cells(page(run))
    assert "pass rate|> 90 %|90.8 %|met|matches its teacher|at most 5 points behind|+8.3 points|not met" in shown


def test_without_the_files_there_is_no_such_part(run: Path) -> None:
    text = page(run).text
    assert "Exam" not in text
    assert "Criteria" not in text


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b"9" * 10_000,
        b"null",
        b"7",
        b'"text"',
        b"[[], 1, null, {}, {}]",
        b'[{"name": 3}, {"name": null}]',
        b'{"before": 3, "after": {"test": []}, "teacher": {"test": {"greedy": {"rates": [], "families": 1}}}}',
        b'{"after": {"test": {"greedy": {"rates": {"pass_rate": NaN, "reward/total": Infinity}, "problems": true}}}}',
        b'{"after": {"test": {"greedy": {"rates": {"pass_rate": 2, "reward/total": 1e300}, "families": {"a": "1"}}}}}',
        b" " * (5 << 20) + b"{}",
    ],
)
def test_broken_files_are_no_error_and_show_nothing(run: Path, content: bytes) -> None:
    for name in ("exam.json", "criteria.json"):
        (run / name).write_bytes(content)
    assert read_exam(run) == {}
    assert read_criteria(run) == []
    assert "Exam" not in page(run).text


def test_what_was_measured_is_kept_beside_what_is_broken(run: Path) -> None:
    (run / "exam.json").write_text(json.dumps(EXAM | {"before": None, "after": {"test": {"greedy": result(0.5)}}}))
    shown = cells(page(run))
    assert "student after|50.0 %|–|0.900|teacher" in shown
    assert "student before" not in shown


def test_hostile_words_stay_text(run: Path) -> None:
    hostile = {"greedy": result(0.5, **{ATTACK: 0.5}), "sampled": result(0.5)}
    (run / "exam.json").write_text(json.dumps({ATTACK: {}, "after": {ATTACK: hostile, "test": hostile}}))
    (run / "criteria.json").write_text(json.dumps([{"name": ATTACK, "wanted": ATTACK, "found": ATTACK, "met": ATTACK}]))
    shown = page(run)
    assert shown.tags <= TAGS
    assert "not met" in shown.text
    assert not {name for name, _ in shown.attributes} & {"style", "href", "src", "onload", "onerror", "onmouseover"}


def test_a_page_of_very_many_families_still_opens(run: Path) -> None:
    many = result(0.5, **{f"family_{n}": 0.5 for n in range(5000)})
    (run / "exam.json").write_text(json.dumps({"after": {f"set{n}": {"greedy": many} for n in range(9)}}))
    assert (write_report(run, curves=False).page.stat().st_size) < 1 << 20
