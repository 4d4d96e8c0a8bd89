"""`rtl-agent runs` and `rtl-agent report` as people and programs meet them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rtl_agent.cli.runs import sparkline
from rtl_agent.runs import RunWriter


def rtl_agent(*arguments: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rtl_agent.cli.main", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)


def as_json(*arguments: str | Path, folder: Path) -> Any:
    done = rtl_agent(*arguments, "--json", folder=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("work")
    for name, rate in (("low", 0.1), ("high", 0.2)):
        config = {"student_model": "[bold]small", "rate": rate, "odd": "\ud800\x1b[2J"}
        with RunWriter.create(folder / "runs" / name, config, if_exists="raise") as run:
            for step in range(3):
                run.log_metrics(step, {"env/all/reward/total": rate * step, "env/all/pass_rate": rate})
    return folder


def test_list(folder: Path) -> None:
    done = rtl_agent("runs", "list", folder=folder)
    assert "▁" in done.stdout
    assert "[bold]small" in done.stdout
    listed = {run["name"]: run for run in as_json("runs", "list", "runs", folder=folder)}
    assert listed["high"]["reward"] == pytest.approx(0.2)
    assert (listed["low"]["steps"], listed["low"]["running"]) == (3, False)


def test_a_broken_run_does_not_hide_the_others(tmp_path: Path) -> None:
    RunWriter.create(tmp_path / "good", {}, if_exists="raise").close()
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "metrics.jsonl").write_text("nonsense\n")
    done = rtl_agent("runs", "list", ".", folder=tmp_path)
    assert "good" in done.stdout
    assert "metrics.jsonl:1 is not valid JSON" in done.stderr


def test_show_by_name_and_by_path(folder: Path) -> None:
    done = rtl_agent("runs", "show", "low", folder=folder)
    assert "env/all/reward/total" in done.stdout
    assert "\\ud800\\x1b[2J" in done.stdout, "what a terminal would obey is shown, not sent"
    shown = as_json("runs", "show", folder / "runs" / "low", folder=folder)
    assert shown["metrics"]["env/all/pass_rate"] == {"last": 0.1, "recent": pytest.approx(0.1)}


def test_show_tells_the_exam_where_there_was_one(folder: Path, tmp_path: Path) -> None:
    assert "exam" not in rtl_agent("runs", "show", "low", folder=folder).stdout
    run = tmp_path / "run"
    RunWriter.create(run, {}, if_exists="raise").close()
    rates = {"rates": {"pass_rate": 0.908, "reward/total": 1.308}}
    (run / "exam.json").write_text(json.dumps({"after": {"test": {"greedy": rates}, "\x1b[2J": {"greedy": rates}}}))
    done = rtl_agent("runs", "show", run, folder=folder)
    assert "student after" in done.stdout
    assert "90.8 %" in done.stdout
    assert "\x1b" not in done.stdout
    shown = as_json("runs", "show", run, folder=folder)["exam"]
    assert shown["test"] == {"after": {"greedy": 0.908, "temperature_1": None, "reward": 1.308}}
    (run / "exam.json").write_text("{")
    assert as_json("runs", "show", run, folder=folder)["exam"] == {}


def test_show_and_compare_lead_with_the_results(folder: Path) -> None:
    shown = rtl_agent("runs", "show", "low", folder=folder).stdout
    lines = [line.split("  ")[0] for line in shown.splitlines()]
    assert lines.index("reward") < lines.index("pass rate") < lines.index("options") < lines.index("metrics")
    compared = rtl_agent("runs", "compare", "low", "high", folder=folder).stdout
    lines = [line.split("  ")[0] for line in compared.splitlines()]
    assert (
        lines.index("reward") < lines.index("pass rate") < lines.index("options that differ") < lines.index("metrics")
    )


def test_compare(folder: Path) -> None:
    assert "+0.1" in rtl_agent("runs", "compare", "low", "high", folder=folder).stdout
    compared = as_json("runs", "compare", "low", "high", folder=folder)
    assert compared["config"] == {"rate": [0.1, 0.2]}
    assert compared["metrics"]["env/all/pass_rate"]["change"] == pytest.approx(0.1)


def test_report(folder: Path) -> None:
    written = as_json("report", "low", "--no-curves", folder=folder)
    assert written == {"page": "runs/low/report.html", "curves": []}
    assert (folder / "runs" / "low" / "report.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("command", [("runs", "show", "gone"), ("runs", "list", "gone"), ("report", "gone")])
def test_what_is_not_there_is_a_sentence(folder: Path, command: tuple[str, ...]) -> None:
    done = rtl_agent(*command, folder=folder)
    assert done.returncode == 2
    assert "there is no" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_run_of_nearly_that_name_is_suggested(folder: Path) -> None:
    assert "there is no run hgh (did you mean high?)" in rtl_agent("runs", "show", "hgh", folder=folder).stderr


def test_sparkline() -> None:
    assert sparkline([]) == ""
    assert sparkline([5.0]) == "▁"
    assert sparkline([0.0, 1.0, 0.5]) == "▁█▅"
    assert len(sparkline([float(n) for n in range(1000)], width=16)) == 16
