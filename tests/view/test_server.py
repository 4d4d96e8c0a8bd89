"""What the viewer answers over real HTTP, to whom, and about what; every text of a run is hostile."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rtl_agent.cli.main import app
from rtl_agent.runs import RunRecord, read_run
from rtl_agent.runs.directory import rollout_path
from rtl_agent.view import Library, Viewer, summaries
from rtl_agent.view.data import MOST_LETTERS
from tests.report.example_run import write_run
from tests.threads import serving_in_a_thread

HOSTILE = "<script>alert(1)</script>\x00\x1b[31m\ud800"


@pytest.fixture
def viewer(tmp_path: Path) -> Iterator[Viewer]:
    write_run(tmp_path / "runs" / "one", steps=3)
    server = Viewer(Library([tmp_path / "runs"]))
    with serving_in_a_thread(server):
        yield server


def ask(viewer: Viewer, path: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", viewer.server_address[1], timeout=20)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    return answer.status, dict(answer.getheaders()), answer.read()


def data(viewer: Viewer, path: str) -> Any:
    status, headers, body = ask(viewer, f"/api/{path}")
    assert status == 200, body
    assert headers["Content-Type"].startswith("application/json")
    assert b"<" not in body
    return json.loads(body)


def test_the_page_and_its_files_come_with_a_strict_policy(viewer: Viewer) -> None:
    for path in ("/", "/app.js", "/app.css"):
        status, headers, body = ask(viewer, path)
        assert status == 200
        assert body
        assert "script-src 'self'" in headers["Content-Security-Policy"]
        assert "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer", "an address with a token goes to nobody"


def test_a_run_its_table_and_each_of_its_rollouts(viewer: Viewer) -> None:
    (summary,) = data(viewer, "runs")["runs"]
    assert (summary["id"], summary["kind"]) == ("one", "run")
    run, index = data(viewer, "runs/one"), data(viewer, "runs/one/index")
    assert run["generation"] == index["generation"]
    assert run["rollouts"] == index["count"] > 0
    assert all(len(column) == index["count"] for column in index["columns"].values())
    for row in range(index["count"]):
        rollout = data(viewer, f"runs/one/rollouts/{row}")
        assert rollout["problem_id"] == index["strings"][index["columns"]["problem"][row]]
        assert row in rollout["siblings"]
        group = data(viewer, f"runs/one/groups/{index['columns']['group'][row]}")
        assert group["rows"] == rollout["siblings"]


def test_a_test_with_several_parameters_has_passed_if_it_did_with_all(viewer: Viewer, tmp_path: Path) -> None:
    tests = [{"name": "t", "passed": passed, "item": f"x[{at}]"} for at, passed in enumerate((True, False, True))]
    line = json.dumps({"problem_id": "p", "grade": {"outcome": "failed", "tests": tests}})
    rollout_path(tmp_path / "runs" / "one", "step", 7).write_text(f"{line}\n")
    index = data(viewer, "runs/one/index")
    group = index["columns"]["group"][index["columns"]["step"].index(7)]
    assert data(viewer, f"runs/one/groups/{group}")["results"] == [[False]]


def test_a_step_that_was_just_written_is_there_at_the_next_look(viewer: Viewer, tmp_path: Path) -> None:
    before = data(viewer, "runs/one/index")
    path = rollout_path(tmp_path / "runs" / "one", "step", 7)
    line = json.dumps({"problem_id": "p", "text": HOSTILE, "grade": {"outcome": "failed", "reasons": [HOSTILE]}})
    path.write_text(f"{line}\n{line[:40]}")  # and one that is being written
    after = data(viewer, "runs/one/index")
    assert after["count"] == before["count"] + 1
    assert after["generation"] > before["generation"]
    row = next(row for row, step in enumerate(after["columns"]["step"]) if step == 7)
    assert data(viewer, f"runs/one/rollouts/{row}")["text"] == HOSTILE
    with path.open("a") as file:
        file.write(line[40:] + "\n")
    assert data(viewer, "runs/one/index")["count"] == before["count"] + 2


def test_a_file_that_is_no_evaluation_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "notes.jsonl").write_text('{"problem_id": "p"}\n')
    done = CliRunner().invoke(app, ["view", str(tmp_path / "notes.jsonl")])
    assert done.exit_code == 2
    assert "is not the JSONL of an evaluation" in done.stderr


def test_of_many_runs_each_is_read_once_until_it_changes(
    viewer: Viewer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page asks for the list every few seconds, and a run's curves are too large to keep them of all."""
    monkeypatch.setattr(summaries, "KEPT", 2)
    many = [write_run(tmp_path / "runs" / f"run-{number}", steps=1) for number in range(6)]
    read: list[str] = []

    def counted(path: Path) -> RunRecord:
        read.append(path.name)
        return read_run(path)

    monkeypatch.setattr(summaries, "read_run", counted)
    for _ in range(3):
        assert len(data(viewer, "runs")["runs"]) == 7
    assert sorted(read) == sorted(["one", *(path.name for path in many)])
    with (many[0] / "metrics.jsonl").open("a") as file:
        file.write('{"step": 1, "env/all/pass_rate": 0.5}\n')
    rates = {one["id"]: one["headline"]["pass_rate"] for one in data(viewer, "runs")["runs"]}
    assert (len(read), read[-1]) == (8, "run-0")
    assert data(viewer, "runs/run-0")["steps"] == 2
    assert rates["run-1"] == data(viewer, "runs/run-1")["headline"]["pass_rate"]


def test_what_a_resumed_run_dropped_is_gone(viewer: Viewer, tmp_path: Path) -> None:
    path = rollout_path(tmp_path / "runs" / "one", "step", 7)
    path.write_text(json.dumps({"problem_id": "p"}) + "\n")
    count = data(viewer, "runs/one/index")["count"]
    path.unlink()
    assert data(viewer, "runs/one/index")["count"] == count - 1


def test_an_answer_of_ten_megabytes_is_cut_and_says_so(viewer: Viewer, tmp_path: Path) -> None:
    path = rollout_path(tmp_path / "runs" / "one", "step", 7)
    path.write_text(json.dumps({"problem_id": "p", "text": "x" * 10_000_000}) + "\n")
    steps = data(viewer, "runs/one/index")["columns"]["step"]
    text = data(viewer, f"runs/one/rollouts/{steps.index(7)}")["text"]
    assert len(text) < MOST_LETTERS + 100
    assert text.endswith("more characters are not shown]")


@pytest.mark.parametrize("line", ["[1]", "not json", "[" * 100_000, '{"lost": "the server died"}', '{"grade": 7}', ""])
def test_a_line_that_is_no_rollout_breaks_nothing(viewer: Viewer, tmp_path: Path, line: str) -> None:
    rollout_path(tmp_path / "runs" / "one", "step", 7).write_text(line + "\n")
    index = data(viewer, "runs/one/index")
    for row in range(index["count"]):
        data(viewer, f"runs/one/rollouts/{row}")


def test_texts_are_found_whatever_their_case(viewer: Viewer, tmp_path: Path) -> None:
    path = rollout_path(tmp_path / "runs" / "one", "step", 7)
    path.write_text(json.dumps({"problem_id": "p", "text": 'say "Needle"'}) + "\n")
    steps = data(viewer, "runs/one/index")["columns"]["step"]
    assert data(viewer, "runs/one/search?q=%22needle%22")["rows"] == [steps.index(7)]


def test_an_evaluation_is_shown_like_a_run(viewer: Viewer, tmp_path: Path) -> None:
    sample = {"index": 2, "episode": {"problem_id": "p", "text": "t", "grade": {"outcome": "passed"}}}
    lines = [json.dumps({"settings": {"model": "m"}}), json.dumps(sample)]
    (tmp_path / "runs" / "mine.jsonl").write_text("\n".join(lines) + "\n")
    assert {one["id"]: one["kind"] for one in data(viewer, "runs")["runs"]}["mine.jsonl"] == "eval"
    index = data(viewer, "runs/mine.jsonl/index")
    assert (index["count"], index["columns"]["sample"]) == (1, [2])
    assert data(viewer, "runs/mine.jsonl/rollouts/0")["text"] == "t"


@pytest.mark.parametrize(
    "path",
    ["/../pyproject.toml", "/%2e%2e/%2e%2e/etc/passwd", "/api/runs/..", "/api/runs/%2e%2e%2fone/index", "/server.py",
     "/api/runs/one/rollouts/99999", "/api/runs/one/rollouts/-1", "/api/runs/one/groups/99999", "/api/", "/api/x"],
)  # fmt: skip
def test_nothing_else_can_be_read(viewer: Viewer, path: str) -> None:
    assert ask(viewer, path)[0] == 404


def test_only_reading_is_answered(viewer: Viewer) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "TRACE", "<script>"):
        status, headers, body = ask(viewer, "/api/runs", method)
        assert (status, headers["Allow"]) == (405, "GET, HEAD")
        assert b"<" not in body
    status, headers, body = ask(viewer, "/api/runs", "HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) > 0


def test_another_name_or_another_sites_page_is_refused(viewer: Viewer) -> None:
    port = viewer.server_address[1]
    assert ask(viewer, "/api/runs", Host="evil.example")[0] == 403
    assert ask(viewer, "/api/runs", Host=f"evil.example:{port}")[0] == 403
    assert ask(viewer, "/api/runs", Origin="http://evil.example")[0] == 403
    assert ask(viewer, "/api/runs", **{"Sec-Fetch-Site": "cross-site"})[0] == 403
    assert ask(viewer, "/", **{"Sec-Fetch-Site": "cross-site"})[0] == 200, "a link to the page may be anywhere"
    assert ask(viewer, "/api/runs", Host=f"localhost:{port}", Origin=f"http://localhost:{port}")[0] == 200


def test_an_address_that_others_reach_asks_for_the_token(tmp_path: Path) -> None:
    write_run(tmp_path / "one", steps=1)
    with Viewer(Library([tmp_path]), "0.0.0.0") as server, serving_in_a_thread(server):
        assert server.token in server.url
        assert ask(server, "/api/runs")[0] == 401
        assert ask(server, "/api/runs?token=guess")[0] == 401
        status, headers, _ = ask(server, f"/?token={server.token}")
        assert (status, headers["Location"]) == (303, "/"), "the address that stays can be shown to others"
        cookie = headers["Set-Cookie"].partition(";")[0]
        assert ask(server, "/api/runs", Cookie=cookie)[0] == 200
        assert ask(server, "/api/runs", Cookie=cookie, Origin="http://evil.example")[0] == 403
