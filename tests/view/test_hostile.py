"""Runs that somebody else made: whatever a file holds, every address answers, in time, and nothing else is read."""

import gzip
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rtl_agent.runs.directory import rollout_path
from rtl_agent.view import Library, Viewer
from rtl_agent.view import server as serving
from rtl_agent.view.data import as_json
from tests.report.example_run import write_run
from tests.threads import serving_in_a_thread
from tests.view.test_server import HOSTILE, ask, data

VALUES: list[Any] = [
    None, True, -1, 10**400, 1e308, float("nan"), float("-inf"), "", HOSTILE, "\u2028</script>", [], [[]], {},
    {"x": {}}, ["x", None, 5, {}], {"outcome": [], "content": 5, "name": {}, "__proto__": "x"},
    [{"content": [[1]], "role": {}, "text": 5}],
]  # fmt: skip
FIELDS = (
    "problem_id", "family", "category", "messages", "sampled_tokens", "sampled_logprobs", "teacher_logprobs", "text",
    "reverse_kl", "advantages", "teacher_top", "teacher_chunks", "entropy", "reward", "reward_parts", "grade", "turns",
    "files", "config", "lost", "level", "end_reason", "stop_reason", "rollout", "settings", "episode",
)  # fmt: skip
GRADE_FIELDS = ("outcome", "stages", "tests", "diagnostics", "reward", "reasons", "timings", "tools", "seed", "log")
GRADE = {"outcome": "failed", "stages": [], "tests": [], "diagnostics": [], "reward": {}, "reasons": []}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    write_run(tmp_path / "runs" / "one", steps=1)
    return tmp_path / "runs"


@pytest.fixture
def viewer(runs: Path) -> Iterator[Viewer]:
    server = Viewer(Library([runs], lambda model, tokens: [str(token) for token in tokens]))
    with serving_in_a_thread(server):
        yield server


def everything(viewer: Viewer, run: str = "one") -> int:
    """Every address of a run answers; how many rollouts it has."""
    data(viewer, "runs")
    data(viewer, f"runs/{run}")
    index = data(viewer, f"runs/{run}/index")
    for row in range(index["count"]):
        data(viewer, f"runs/{run}/rollouts/{row}")
    for group in set(index["columns"]["group"]):
        data(viewer, f"runs/{run}/groups/{group}")
    data(viewer, f"runs/{run}/search?q=alert")
    return int(index["count"])


def test_any_value_in_any_field(viewer: Viewer, runs: Path) -> None:
    records = [{"problem_id": "p", "sampled_tokens": [1, 2], field: value} for field in FIELDS for value in VALUES]
    records += [{"problem_id": "p", "grade": {**GRADE, field: value}} for field in GRADE_FIELDS for value in VALUES]
    for field in ("messages", "turns"):
        records += [{"problem_id": "p", field: [value, {"calls": value, "observation": value}]} for value in VALUES]
    rollout_path(runs / "one", "step", 1).write_text("".join(json.dumps(one) + "\n" for one in records))
    library = viewer.library
    of = library.opened("one")
    assert len(of.table.rows) > len(records) - len(VALUES)
    for row in range(len(of.table.rows)):
        as_json(library.rollout(of, row))
    for group in range(len(of.table.groups)):
        as_json(library.answer(f"runs/one/groups/{group}", {}))
    assert everything_but_rollouts(viewer)


def everything_but_rollouts(viewer: Viewer) -> bool:
    return all(ask(viewer, f"/api/{path}")[0] == 200 for path in ("runs", "runs/one", "runs/one/index"))


@pytest.mark.parametrize("depth", [200, 900, 100_000])
def test_nesting(viewer: Viewer, runs: Path, depth: int) -> None:
    deep = "[" * depth + "]" * depth
    lines = [f'{{"problem_id": "p", "{field}": {deep}}}\n' for field in ("lost", "turns", "config", "text", "grade")]
    rollout_path(runs / "one", "step", 1).write_text("".join([*lines, f'{{"turns": [{{"calls": [{deep}]}}]}}\n']))
    everything(viewer)


@pytest.mark.parametrize("name", ["config.json", "metrics.jsonl", "starts.jsonl", "checkpoints.jsonl", "held_out.jsonl",
                                  "exam.json", "criteria.json", ".lock"])  # fmt: skip
def test_pipes_in_place_of_files(viewer: Viewer, runs: Path, name: str) -> None:
    (runs / "one" / name).unlink(missing_ok=True)
    os.mkfifo(runs / "one" / name)
    os.mkfifo(runs / "evaluation.jsonl")
    data(viewer, "runs")
    ask(viewer, "/api/runs/one")
    ask(viewer, "/api/runs/one/rollouts/0")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("metrics.jsonl", '{"step": "x", "a": 1}\n{"step": [], "a": NaN}\n{"step": 1e999, "a": 5}\n{"a": [[]]}\n'),
        ("metrics.jsonl", "5\n"),
        ("metrics.jsonl", "[" * 100_000 + "\n"),
        ("checkpoints.jsonl", '{"step": "x", "extra": 5}\n'),
        ("config.json", '{"seed": NaN, "student": ["x"], "cvdp_jsonl_path": "/dev/zero", "mode": {}}'),
        ("config.json", '{"cvdp_jsonl_path": "generated", "generated_problems": 1e9, "seed": [], "problems": "*["}'),
        ("starts.jsonl", '{"command": 5}\n'),
        ("exam.json", '{"before": {"test": NaN}}'),
        ("criteria.json", '[[[["<script>"]]]]'),
    ],
)
def test_other_files_of_a_run(viewer: Viewer, runs: Path, name: str, text: str) -> None:
    write_run(runs / "two", steps=1)
    (runs / "one" / name).write_text(text)
    assert "two" in {one["id"] for one in data(viewer, "runs")["runs"]}
    assert ask(viewer, "/api/runs/one")[0] in (200, 500)
    assert everything(viewer, "two")


def test_a_folder_that_cannot_be_listed_hides_no_other(viewer: Viewer, runs: Path) -> None:
    (runs / "locked").symlink_to(runs / "locked")
    assert [one["id"] for one in data(viewer, "runs")["runs"]] == ["one"]


def test_large_answers_are_packed_for_who_takes_it(viewer: Viewer) -> None:
    _, plain_headers, plain = ask(viewer, "/app.js")
    _, headers, packed = ask(viewer, "/app.js", **{"Accept-Encoding": "br, gzip"})
    assert "Content-Encoding" not in plain_headers
    assert headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed) == plain
    assert len(packed) < len(plain) / 2


def test_an_answer_can_be_had_as_a_file(viewer: Viewer, runs: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"problem_id": "p", "text": f"<b>{HOSTILE[:20]}"},
        {"problem_id": "p", "files": {"a.sv": "module a;"}},
    ]
    rollout_path(runs / "one", "step", 1).write_text("".join(json.dumps(one) + "\n" for one in lines))
    first = data(viewer, "runs/one/index")["count"] - 2
    status, headers, body = ask(viewer, f"/api/runs/one/rollouts/{first}/answer")
    assert (status, body.decode()) == (200, lines[0]["text"])
    assert headers["Content-Type"].startswith("text/plain")
    assert headers["Content-Disposition"].startswith("attachment")
    _, headers, body = ask(viewer, f"/api/runs/one/rollouts/{first + 1}/answer")
    assert headers["Content-Disposition"].endswith(".jsonl")
    assert json.loads(body) == {"id": "p", "files": {"a.sv": "module a;"}}
    assert ask(viewer, "/api/runs/one/rollouts/9999/answer")[0] == 404


def connected(viewer: Viewer) -> socket.socket:
    return socket.create_connection(("127.0.0.1", viewer.server_address[1]), timeout=20)


def test_a_client_that_never_asks_is_hung_up_on(viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "SECONDS_TO_ASK", 0.2)
    with connected(viewer) as slow:
        slow.sendall(b"GET / HTTP/1.1\r\nX-")
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                slow.sendall(b"a")  # a byte now and then keeps it from being idle
            except OSError:
                break
            time.sleep(0.05)
        else:
            pytest.fail("the server still listens")


def test_more_clients_than_it_takes_are_told_so_and_others_are_served_later(
    viewer: Viewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "MOST_CONNECTIONS", 3)
    crowd = [connected(viewer) for _ in range(3)]
    time.sleep(0.3)
    assert ask(viewer, "/api/runs")[0] == 503
    for one in crowd:
        one.close()
    time.sleep(0.3)
    assert ask(viewer, "/api/runs")[0] == 200


@pytest.mark.parametrize(
    "said", [b"\x00\xff\r\n\r\n", b"GET /<script> HTTP/9.9\r\n\r\n", b"GET " + b"a" * 70_000, b"\r\n"]
)
def test_what_is_no_request_is_answered_without_its_words(viewer: Viewer, said: bytes) -> None:
    with connected(viewer) as client:
        client.sendall(said)
        client.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: client.recv(1 << 16), b""))
    assert b"script" not in answer.replace(b"script-src", b"")
    assert b"<" not in answer


def test_a_search_does_not_keep_others_waiting(viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server answers while a search is in the middle of the lines."""
    inside, go_on = threading.Event(), threading.Event()

    def lines(table: object) -> Iterator[tuple[int, bytes]]:
        inside.set()
        assert go_on.wait(20)
        yield 0, b'{"text": "needle"}'

    monkeypatch.setattr("rtl_agent.view.search.lines_of", lines)
    found: list[Any] = []
    searching = threading.Thread(target=lambda: found.append(data(viewer, "runs/one/search?q=needle")))
    searching.start()
    assert inside.wait(20)
    assert data(viewer, "runs/one/rollouts/0")["row"] == 0
    go_on.set()
    searching.join()
    assert found == [{"rows": [0], "truncated": False, "searched": 1}]


def test_on_the_other_protocol() -> None:
    with Viewer(Library([Path()]), "::1") as server, serving_in_a_thread(server):
        assert server.url.startswith("http://[::1]:")
        with socket.create_connection(("::1", server.server_address[1]), timeout=20) as client:
            client.sendall(f"GET / HTTP/1.0\r\nHost: [::1]:{server.server_address[1]}\r\n\r\n".encode())
            assert client.recv(100).startswith(b"HTTP/1.0 200")
