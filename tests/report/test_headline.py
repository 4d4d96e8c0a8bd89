"""What a reader sees first: who learned what from whom, by which command, how far it came, and its curves."""

import json
from pathlib import Path

import pytest

from rtl_agent.report import write_report
from rtl_agent.report.charts import Chart, Line
from rtl_agent.report.draw import draw
from rtl_agent.report.headline import title
from rtl_agent.report.markup import duration
from rtl_agent.runs import RunWriter, first_tenth, last_tenth, read_run
from tests.report.example_run import add_step, asked
from tests.report.test_report import Page


def run_of(path: Path, steps: int = 40, **config: object) -> Path:
    with RunWriter.create(path, config, if_exists="raise") as run:
        run.write_held_out([asked("p", "test")])
        for step in range(steps):
            add_step(run, step)
    return path


def page(path: Path) -> Page:
    return Page(write_report(path, curves=False).page)


def test_the_title_says_student_and_teacher(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", 1, mode="distill", student="small", teacher="large")
    assert title(read_run(run)) == "small learns from large"
    assert "small learns from large (run)" in page(run).text


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"mode": "rl", "student": "small"}, "small learns by reinforcement learning"),
        ({"mode": "supervised", "student": "small"}, "small learns from references"),
        ({"student_model": "small", "teacher_model": "large"}, "small learns from large"),
        ({"model": {"student": "small", "teacher": "large"}}, "small learns from large"),
        ({"model_name": "small"}, "small"),
        ({"student": {"odd": 1}, "mode": ["odd"]}, "run"),
        ({}, "run"),
    ],
)
def test_the_title_of_other_and_older_configs(tmp_path: Path, config: dict[str, object], words: str) -> None:
    assert title(read_run(run_of(tmp_path / "run", 1, **config))) == words


def test_problems_duration_and_command_are_below_it(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", cvdp_jsonl_path="set.jsonl")
    (start,) = (json.loads(line) for line in (run / "starts.jsonl").read_text().splitlines())
    (run / "starts.jsonl").write_text(json.dumps(start | {"command": "rtl-agent train rl 'a <b>'"}) + "\n")
    text = page(run).text
    assert "40 steps in 3 min 0 s · 4 problems of set.jsonl · 1 held out · 320 episodes" in text
    assert "$ rtl-agent train rl 'a <b>'" in text


def test_a_run_without_a_record_of_its_start_has_no_command(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", 2)
    (run / "starts.jsonl").unlink()
    text = page(run).text
    assert "$ " not in text
    assert "started" not in text


def test_a_tile_compares_the_first_and_last_tenth(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path / "run", {}, if_exists="raise") as run:
        for step in range(40):
            wild = {0: 9.0, 39: -9.0}.get(step, 0.0)
            run.log_metrics(step, {"env/all/reward/total": (1.0 if step < 4 else 2.0) + wild})
    text = page(run.path).text
    assert "▼ from 3.25" in text
    assert "reward-0.25" in text.replace("\n", "")


def test_tenths() -> None:
    points = [(step, float(step)) for step in range(40)]
    assert (first_tenth(points), last_tenth(points)) == (1.5, 37.5)
    assert (first_tenth(points[:3]), last_tenth(points[:3])) == (0.0, 2.0)


def test_a_noisy_line_is_smoothed_and_keeps_its_ends_and_steps() -> None:
    noisy = Line("x", [(step, float(step % 2)) for step in range(100)], 0)
    smooth = [value for _, value in noisy.smooth]
    assert [step for step, _ in noisy.smooth] == list(range(100))
    assert all(0.4 < value < 0.6 for value in smooth[10:-10])
    assert smooth[0] == noisy.points[0][1]
    few = Line("x", noisy.points[:9], 0)
    assert few.smooth == few.points


def test_axes_are_named_and_what_was_measured_is_behind_the_mean() -> None:
    line = Line("x", [(step, step / 20) for step in range(20)], 3)
    drawn = draw(Chart("rate", "Rate", "share of answers", (line,)))
    assert ">step</text>" in drawn
    assert ">share of answers</text>" in drawn
    assert ">100 %</text>" in drawn
    assert drawn.index('class="raw c3"') < drawn.index('class="line c3"')


def test_durations() -> None:
    assert [duration(seconds) for seconds in (0.4, 59.6, 754, 11_999)] == [
        "0 s",
        "1 min 0 s",
        "12 min 34 s",
        "3 h 19 min",
    ]


def test_records_of_the_first_version_still_render(tmp_path: Path) -> None:
    """Grades without simulations, seeds or reward parts, the answer as the last message, no families, no starts."""
    (tmp_path / "rollouts").mkdir()
    (tmp_path / "config.json").write_text('{"student_model": "small"}')
    (tmp_path / "metrics.jsonl").write_text('{"step": 0, "env/all/reward/total": 0.4}\n')
    messages = [{"role": "user", "content": "ask"}, {"role": "assistant", "content": "module old; endmodule"}]
    grade = {"outcome": "failed", "reward": {"total": 0.4}, "tests": [{"name": "counts", "passed": False}]}
    line = {"problem_id": "p", "messages": messages, "grade": grade}
    (tmp_path / "rollouts" / "step_000000.jsonl").write_text(json.dumps(line) + "\n")
    text = page(tmp_path).text
    assert "module old; endmodule" in text
    assert "failed, reward 0.4" in text
    assert "counts" in text
