"""Waves over HTTP: made on demand while others are answered, kept, downloaded by a safe name, refused in a sentence."""

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from rtl_agent.grading import Grade, SyncGrader, submit
from rtl_agent.problems import Problem, load_near_misses, load_problems
from rtl_agent.runs import RunWriter
from rtl_agent.toolchain import ToolMissing, find_toolchain
from rtl_agent.view import Library, Viewer
from rtl_agent.view import waves as view_waves
from rtl_agent.view.waves import WaveService
from rtl_agent.waves.store import WaveStore
from tests.threads import serving_in_a_thread
from tests.view.test_server import ask, data

PROBLEM, MISS = "rtl_edge_detector_0001", "swapped_pulses"


@pytest.fixture(scope="module")
def problem() -> Problem:
    return next(problem for problem in load_problems("bundled") if problem.id == PROBLEM)


@pytest.fixture(scope="module")
def answer() -> Mapping[str, str]:
    return next(miss.files for miss in load_near_misses() if (miss.problem_id, miss.name) == (PROBLEM, MISS))


@pytest.fixture(scope="module")
def grade(problem: Problem, answer: Mapping[str, str]) -> Grade:
    with SyncGrader(jobs=1) as grader:
        return grader.grade(problem, submit(problem, answer))


def rollout(files: Mapping[str, str], grade: Grade | None, problem_id: str = PROBLEM) -> dict[str, Any]:
    return {
        "problem_id": problem_id,
        "family": "edge_detector",
        "messages": [{"role": "user", "content": "Detect edges."}],
        "sampled_tokens": [1],
        "text": "",
        "files": dict(files),
        "stop_reason": "stop",
        "grade": grade.to_json() if grade else None,
        "reward": 0.4,
    }


@pytest.fixture
def viewer(tmp_path: Path, answer: Mapping[str, str], grade: Grade) -> Iterator[Viewer]:
    with RunWriter.create(tmp_path / "runs" / "one", {"cvdp_jsonl_path": "bundled"}, if_exists="raise") as run:
        kinds = [rollout(answer, grade), rollout(answer, None), rollout(answer, grade, "rtl_elsewhere_0001")]
        run.log_rollouts(0, kinds)
    library = Library([tmp_path / "runs"])
    server = Viewer(library, waves=WaveService(library.problem, WaveStore(tmp_path / "cache")))
    with serving_in_a_thread(server):
        yield server


def address(test: str, row: int = 0, of: str = "candidate", file: str = "") -> str:
    return f"runs/one/rollouts/{row}/waves{file}?test={quote(test)}&of={of}"


def settled(viewer: Viewer, path: str) -> dict[str, Any]:
    """The answer once it is no longer being made; meanwhile it says how far it is."""
    said = []
    while (found := data(viewer, path))["status"] == "waiting":
        said.append(found["message"])
        assert data(viewer, "runs/one")["id"] == "one"  # others are answered meanwhile
        time.sleep(0.05)
    assert all(said)
    return dict(found)


def failing(grade: Grade) -> str:
    return next(test.name for test in grade.tests if test.item and test.passed is False)


def test_waves_are_made_on_demand_kept_and_downloaded(viewer: Viewer, grade: Grade, tmp_path: Path) -> None:
    test = failing(grade)
    assert data(viewer, address(test))["status"] == "waiting"
    other = data(viewer, address("another"))  # one at a time
    assert (other["status"], "simulated" in other["message"]) == ("waiting", True)
    mine = settled(viewer, address(test))
    assert (mine["status"], mine["reference"], mine["notes"]) == ("ok", True, [])
    assert mine["differs_at"] <= mine["fail_time"]
    its = data(viewer, address(test, of="reference"))
    assert (its["from"], its["to"], its["differs_at"]) == (mine["from"], mine["to"], mine["differs_at"])

    for waves, name in ((mine, "candidate"), (its, "reference")):
        status, headers, body = ask(viewer, f"/api/{waves['file']}")
        assert (status, body[:10]) == (200, b"$timescale")
        safe = test.rpartition(".")[2]
        assert headers["Content-Disposition"] == f'attachment; filename="{PROBLEM}-{safe}-{name}.vcd"'
        assert headers["X-Content-Type-Options"] == "nosniff"

    again = WaveService(find=lambda sources, name: None, store=WaveStore(tmp_path / "cache"))
    asked = viewer.library.asked("one", 0)
    assert again.answer(asked, test, "candidate", "x", start=False)["status"] == "ok"  # another server finds them
    assert data(viewer, address(test) + "&kept=1")["status"] == "ok"
    assert "not made yet" in data(viewer, address("another") + "&kept=1")["message"]
    ((kept, waves, files),) = again.kept(asked.episode)
    assert (kept, waves["reference"]["differs_at"]) == (test, mine["differs_at"])
    assert files["candidate"].read_bytes() == ask(viewer, f"/api/{mine['file']}")[2]
    unmade = again.answer(asked, "another", "candidate", "x", start=False)
    assert (unmade["status"], "not made yet" in unmade["message"]) == ("error", True)


@pytest.mark.parametrize(
    ("row", "test", "said"),
    [
        (0, "no such test", "The grade has no test 'no such test'."),
        (0, "<img src=x>", "The grade has no test '<img src=x>'."),
        (1, "any", "was not graded"),
        (2, "any", "has no test"),
    ],
)
def test_what_cannot_be_had_is_a_sentence(viewer: Viewer, row: int, test: str, said: str) -> None:
    found = settled(viewer, address(test, row))
    assert found["status"] == "error"
    assert said in found["message"]
    status, _, body = ask(viewer, f"/api/{address(test, row, file='/file')}")
    assert status == 500
    assert json.loads(body)["error"]


def test_a_problem_that_is_not_here_is_a_sentence(viewer: Viewer, grade: Grade) -> None:
    found = settled(viewer, address(failing(grade), 2))
    assert found["message"].startswith("The problem rtl_elsewhere_0001 is not here")


def test_a_viewer_without_tools_says_what_is_missing(
    viewer: Viewer, grade: Grade, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing() -> None:
        raise ToolMissing("iverilog")

    monkeypatch.setattr(view_waves, "find_toolchain", nothing)
    found = settled(viewer, address(failing(grade)))
    assert found["status"] == "error"
    assert found["message"].startswith("iverilog was not found; ")


def test_another_sites_page_starts_no_simulation(viewer: Viewer, grade: Grade) -> None:
    path = f"/api/{address(failing(grade))}"
    assert ask(viewer, path, **{"Sec-Fetch-Site": "cross-site"})[0] == 403
    assert ask(viewer, "/api/runs/one/rollouts/9/waves?test=x")[0] == 404
    assert ask(viewer, "/api/runs/other/rollouts/0/waves?test=x")[0] == 404


def test_the_problem_is_found_by_what_the_run_was_made_with(problem: Problem, tmp_path: Path) -> None:
    (drawn,) = load_problems("generated:count=1")
    library = Library([tmp_path])
    assert library.problem(["generated:count=1"], drawn.id) == drawn
    assert library.problem(["generated:count=1", "bundled"], PROBLEM) == problem
    for named in (str(tmp_path / "gone.jsonl"), "elsewhere:x", "generated:count=99999999", "/dev/zero"):
        assert library.problem([named], drawn.id) is None


def test_the_oldest_waves_go_when_there_are_too_many(tmp_path: Path) -> None:
    store = WaveStore(tmp_path, most_bytes=2500)
    for number in range(4):
        with store.making(f"key{number}") as folder:
            (folder / "waves.json").write_text("x" * 1000)
        time.sleep(0.02)  # times of files are the order
        assert store.get("key0") is not None  # used last, and so never the oldest
    assert [store.get(f"key{number}") is not None for number in range(4)] == [True, False, False, True]
    with pytest.raises(ZeroDivisionError), store.making("broken"):
        1 / 0  # noqa: B018
    assert store.get("broken") is None
    assert len(list(tmp_path.iterdir())) == 2


def test_other_tools_than_the_grades_are_said(problem: Problem, answer: Mapping[str, str], grade: Grade) -> None:
    toolchain = find_toolchain()
    before = replace(grade, tools={**grade.tools, "iverilog": "7.0"}, seed=5)
    said = view_waves._unlike(problem, submit(problem, answer), before, toolchain)
    assert said[0] == "the problem, or what is read as the answer, is not as it was for the grade"
    assert said[1] == "other versions than for the grade: iverilog"
