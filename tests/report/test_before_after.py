"""Which held-out problems the report sets side by side, and what it says of them."""

from pathlib import Path
from typing import Any

from rtl_agent.report import write_report
from rtl_agent.report.before_after import ComparedProblem, ShownAnswer, choose, compared
from rtl_agent.runs import RolloutRecord, RunWriter, read_run
from tests.report.example_run import CONFIG, add_step, asked
from tests.report.test_report import Page

PART = "Before, after, teacher, reference"
RIGHT = "module counter (input clk);\n  // right\nendmodule"
WRONG = "module counter (input clock);\n  // right\nendmodule"
NOTE = "input `clk` is missing; you wrote `clock`"


def answer(name: str, step: int, *, passed: bool) -> dict[str, Any]:
    stages = [{"name": "interface", "passed": passed, "notes": [] if passed else [NOTE]}]
    return {
        "problem_id": name,
        "family": "counter",
        "step": step,
        "text": f"```verilog\n{RIGHT if passed else WRONG}\n```",
        "reward": 1.4 if passed else 0.4,
        "grade": {"outcome": "passed" if passed else "failed", "stages": stages, "reasons": [] if passed else [NOTE]},
    }


def case(name: str, before: bool, after: bool, *, family: str = "f", is_new: bool = False) -> ComparedProblem:
    lines = (answer(name, 0, passed=before), answer(name, 9, passed=after))
    first, last = (ShownAnswer(RolloutRecord.from_json(line), {}) for line in lines)
    return ComparedProblem(name, family, is_new, "", first, last, None, {})


def write(path: Path, *, teacher: bool = True, evaluations: tuple[int, ...] = (0, 5, 10)) -> Path:
    with RunWriter.create(path, CONFIG, if_exists="raise") as run:
        line = asked("p", "test") | {"reference": {"rtl/counter.sv": RIGHT.replace("// right", "// reference") + "\n"}}
        run.write_held_out([line])
        for step in evaluations:
            run.log_rollouts(step, [answer("p", step, passed=step > 5)], kind="eval")
        if teacher:
            run.log_rollouts(0, [answer("p", 0, passed=True)], kind="teacher")
        run.log_metrics(0, {"test/env/all/pass_rate": 0.1, "teacher/test/env/all/pass_rate": 0.875})
        run.log_metrics(10, {"test/env/all/pass_rate": 0.8})
    return path


def test_learned_first_then_still_failing_then_lost() -> None:
    cases = [case(f"same{n}", True, True) for n in range(9)]
    cases += [case(f"stuck{n}", False, False) for n in range(9)] + [case("lost", True, False)]
    cases += [case(f"learned{n}", False, True) for n in range(9)]
    names = [one.problem_id for one in choose(cases)]
    assert names == ["learned0", "learned1", "learned2", "stuck0", "stuck1", "lost"]
    assert names == [one.problem_id for one in choose(reversed(cases))]


def test_one_of_each_family_before_a_second() -> None:
    cases = [case(f"a{n}", False, True, family="a") for n in range(9)] + [case("b", False, True, family="b")]
    assert "b" in [one.problem_id for one in choose(cases)][:2]


def test_one_at_least_of_a_family_never_trained_on() -> None:
    cases = [case(f"a{n}", False, True) for n in range(9)] + [case("z", True, True, is_new=True)]
    chosen = choose(cases)
    assert len(chosen) == 6
    assert [one.problem_id for one in chosen if one.is_new] == ["z"]


def test_the_first_and_the_last_evaluation_are_compared(tmp_path: Path) -> None:
    (found,) = compared(read_run(write(tmp_path / "run")))
    assert (found.before.step, found.after.step) == (0, 10)
    assert found.learned
    assert found.teacher is not None


def test_the_page_names_the_interface_in_words_and_marks_what_differs(tmp_path: Path) -> None:
    report = write_report(write(tmp_path / "run"), curves=False)
    text = Page(report.page).text
    assert PART in text
    assert NOTE in text
    assert "failed before, passes now" in text
    assert "failed, reward 0.4" in text
    assert f"{WRONG}\n" in text
    assert "// reference" in text
    html = report.page.read_text()
    assert "<mark>clock</mark>" in html
    assert (
        html.index("Student before") < html.index("Student after") < html.index(">Teacher<") < html.index(">Reference<")
    )


def test_the_teachers_level_is_a_line_over_all_steps(tmp_path: Path) -> None:
    page = Page(write_report(write(tmp_path / "run"), curves=False).page)
    assert "teacher on held-out problems 87.5 %" in page.text
    assert [value for name, value in page.attributes if name == "class" and value.startswith("level")] == ["level c0"]


def test_without_a_teacher_its_column_is_left_out(tmp_path: Path) -> None:
    html = write_report(write(tmp_path / "run", teacher=False), curves=False).page.read_text()
    assert PART in html
    assert ">Teacher<" not in html


def test_one_evaluation_has_no_before_and_after(tmp_path: Path) -> None:
    assert PART not in write_report(write(tmp_path / "run", evaluations=(0,)), curves=False).page.read_text()


def test_a_run_that_did_not_keep_what_it_was_asked_has_no_such_part(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path / "run", CONFIG, if_exists="raise") as run:
        for step in range(11):
            add_step(run, step)
    page = Page(write_report(run.path, curves=False).page)
    assert PART not in page.text
    assert "Held-out problems" in page.text


def test_odd_lines_are_no_error(tmp_path: Path) -> None:
    path = write(tmp_path / "run")
    (path / "held_out.jsonl").write_text('{}\n{"problem_id": "p", "reference": "text", "set": null}\n{"problem_id')
    (found,) = compared(read_run(path))
    assert found.reference is None
    assert PART in write_report(path, curves=False).page.read_text()
