"""The command over real HTTP: what it answers, to whom, what it refuses and how it says so."""

import asyncio
import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rtl_agent.problems import Problem, as_record, load_problems
from rtl_agent.service.keys import BadKey, find_key
from tests.grading.processes import named
from tests.service.served import KEY, Command, serving, session

ALU = "rtl_alu_0001"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Command]:
    with Command("bundled", "--jobs", "2", cache=tmp_path_factory.mktemp("cache")) as running:
        yield running


@pytest.fixture(scope="module")
def alu() -> Problem:
    return next(one for one in load_problems("bundled") if one.id == ALU)


def metric(server: Command, name: str) -> float:
    lines = server.ask("/metrics").body.decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


def test_one_and_many_by_reply_and_by_files(server: Command, alu: Problem) -> None:
    assert alu.reference is not None
    path, text = next(iter(alu.reference.items()))
    right = {"problem": ALU, "files": {path: text}}
    reply = {"problem": ALU, "reply": f"Here it is:\n```systemverilog\n{text}\n```", "reward": "binary"}
    broken = {"problem": ALU, "files": {path: "module alu; oops"}}
    answer = server.ask("/grade", [right, reply, broken, {"problem": ALU, "reply": "no"}])
    assert answer.status == 200
    assert [(one["outcome"], one["reward"]["total"]) for one in answer.json] == [
        ("passed", 1.4),
        ("passed", 1.0),
        ("failed", 0.1),
        ("invalid", 0.0),
    ]
    alone = server.ask("/grade", right).json
    assert (alone["outcome"], alone["cached"]) == ("passed", True)


def test_the_same_text_is_judged_once_and_a_retry_counts_once(server: Command, alu: Problem) -> None:
    assert alu.reference is not None
    path, text = next(iter(alu.reference.items()))
    body = {"problem": ALU, "files": {path: f"// once\n{text}"}}
    before = metric(server, "rtl_agent_grades_judged_total")
    assert {server.ask("/grade", body).json["outcome"] for _ in range(3)} == {"passed"}
    assert metric(server, "rtl_agent_grades_judged_total") == before + 1


def test_problems_are_shown_without_what_would_give_them_away(server: Command, alu: Problem) -> None:
    listed = server.ask("/problems").json["problems"]
    assert [one["id"] for one in listed] == [one.id for one in load_problems("bundled")]
    shown = server.ask(f"/problems/{ALU}")
    assert shown.json["prompt"] == alu.prompt
    for hidden in (*alu.harness.files.values(), *(alu.reference or {}).values()):
        assert json.dumps(hidden)[1:-1].encode() not in shown.body


def test_health_and_schema_need_no_key_and_everything_else_does(server: Command) -> None:
    for path in ("/healthz", "/openapi.json"):
        assert server.ask(path, Authorization="").status == 200
    for path, body in (("/problems", None), ("/metrics", None), ("/executor", None), ("/grade", {})):
        for wrong in ("", "Bearer", "Bearer wrong", f"Bearer {KEY}x", f"Basic {KEY}"):
            refused = server.ask(path, body, Authorization=wrong)
            assert refused.status == 401
            assert refused.headers["WWW-Authenticate"] == "Bearer"
            assert KEY.encode() not in refused.body


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"problem": "rtl_nothing_0001", "reply": ""}, 404, "no problem 'rtl_nothing_0001'"),
        ({"reply": ""}, 422, "problem: Field required"),
        ({"problem": ALU}, 422, "reply: Field required"),
        ({"problem": ALU, "reply": 7}, 422, "reply: "),
        ({"problem": ALU, "reply": "", "rewards": "staged"}, 422, "rewards: "),
        ({"problem": ALU, "reply": "", "reward": "rich"}, 422, "reward: "),
        ([{"problem": ALU, "reply": ""}, {"problem": ALU, "files": []}], 422, "[1].files: "),
        ([], 422, "1 to 256"),
        ("text", 422, "should be an object"),
        ([{"problem": ALU, "reply": ""}] * 257, 422, "1 to 256"),
        ({"record": {}, "reply": ""}, 403, "--accept-problems"),
    ],
)
def test_what_cannot_be_graded_is_refused_with_a_sentence(server: Command, body: Any, status: int, said: str) -> None:
    refused = server.ask("/grade", body)
    assert refused.status == status
    assert said in refused.json["error"]


def raw(server: Command, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    usual = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
    connection.request(method, path, body, {**usual, **headers})
    answer = connection.getresponse()
    return answer.status, answer.read()


def test_bodies_that_are_no_requests(server: Command) -> None:
    wrong: list[tuple[bytes, dict[str, str], int]] = [
        (b"{", {}, 400),
        (b"\xff", {}, 400),
        (b"[" * 100_000, {}, 400),
        (b"9" * 5000, {}, 400),
        (b'{"problem": "x", "reply": NaN}', {}, 400),
        (b"{}", {"Content-Type": "text/plain"}, 415),
        (b"x" * (17 << 20), {}, 413),
    ]
    for body, headers, status in wrong:
        found, said = raw(server, "POST", "/grade", body, **headers)
        assert (found, bool(json.loads(said)["error"])) == (status, True), body[:50]
    assert raw(server, "POST", "/grade", json.dumps({"problem": ALU, "reply": "\ud800"}).encode())[0] == 200
    assert raw(server, "DELETE", "/grade")[0] == 405
    assert raw(server, "GET", "/elsewhere")[0] == 404


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ",
        b"POST /grade HTTP/1.1\r\nHost: localhost:PORT\r\nAuthorization: Bearer " + KEY.encode() + b"\r\n"
        b'Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"problem": "',
    ],
)
async def test_a_connection_that_sends_slowly_is_closed_and_holds_no_place(sent: bytes) -> None:
    async with serving(idle_seconds=0.5, waiting=0, jobs=1) as url:
        port = url.rpartition(":")[2]
        slow = [await asyncio.open_connection("127.0.0.1", int(port)) for _ in range(20)]
        for _, writer in slow:
            writer.write(sent.replace(b"PORT", port.encode()))
        async with asyncio.timeout(30):
            answers = [await reader.read() for reader, _ in slow]  # until the server hangs up
        assert {answer.split()[1] if answer else b"" for answer in answers} <= {b"", b"408", b"429"}
        async with session() as http, http.get(f"{url}/healthz") as response:
            assert response.status == 200
        for _, writer in slow:
            writer.close()


@pytest.mark.parametrize(
    "name",
    ["..%2f..%2fetc%2fpasswd", "%2e%2e%2f%2e%2e", "..%5c..", "%00", "%ff", "rtl_alu_0001%00", "x" * 5000, "{id}"],
)
def test_the_id_of_a_problem_is_no_path(server: Command, name: str) -> None:
    status, said = raw(server, "GET", f"/problems/{name}")
    assert status in (400, 404, 422)
    assert b"root:" not in said
    assert json.loads(said)["error"]


def test_another_name_for_this_address_is_not_answered(server: Command) -> None:
    """A page of another site, whose name was made to lead here."""
    for host in ("rebound.example", f"rebound.example:{server.port}", ""):
        assert raw(server, "GET", "/healthz", Host=host)[0] == 403
    assert raw(server, "GET", "/healthz", Host=f"localhost:{server.port}")[0] == 200


def test_the_key_is_in_no_command_line_no_environment_of_a_child_and_no_log(server: Command) -> None:
    for pid in named("", server.process.pid) | {server.process.pid}:
        assert KEY.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
        if pid != server.process.pid:
            assert KEY.encode() not in Path(f"/proc/{pid}/environ").read_bytes()
    assert KEY not in server.printed
    assert "$RTL_AGENT_GRADE_KEY" in server.printed


def start(*arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rtl_agent.cli.main", "grade-server", *arguments],
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_what_it_does_not_start_with(tmp_path: Path) -> None:
    short = tmp_path / "key"
    short.write_text("k" * 20)
    for arguments, said in (
        (("--host", "0.0.0.0", "--key-file", str(short)), "it must have 32 characters or more where other machines"),
        (("bundled", "bundled"), "is in two of them"),
    ):
        done = start(*arguments, "--port", "0")
        assert done.returncode == 2, done.stderr
        assert said in " ".join(done.stderr.replace("│", " ").split())
        assert "Traceback" not in done.stderr


def files(problem: Problem, number: int = 0, more: str = "") -> dict[str, str]:
    """The reference, with something more in its module."""
    ((path, text),) = (problem.reference or {}).items()
    return {path: f"// {number}\n{text.rpartition('endmodule')[0]}{more}\nendmodule\n"}


HANG = "initial forever #0 ;"


def test_keys_that_guard_nothing_and_one_that_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for environ, file, host, said in (
        ({}, None, "0.0.0.0", "can be reached from other machines: give a key of 32 characters"),
        (
            {"RTL_AGENT_GRADE_KEY": "short"},
            None,
            "127.0.0.1",
            "has 5: it must have 16 characters",
        ),
        ({"RTL_AGENT_GRADE_KEY": f"{KEY} {KEY}"}, None, "127.0.0.1", "has a space"),
        ({}, tmp_path / "none", "127.0.0.1", "cannot be read"),
    ):
        with pytest.raises(BadKey, match=said):
            find_key(environ, file, host)
    environ = {"RTL_AGENT_GRADE_KEY": KEY}
    assert find_key(environ, None, "0.0.0.0") == (KEY, "$RTL_AGENT_GRADE_KEY")
    assert environ == {}
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    key, where = find_key({}, None, "127.0.0.1")
    assert len(key) >= 32
    assert (Path(where).read_text().strip(), Path(where).stat().st_mode & 0o777) == (key, 0o600)
    assert find_key({}, None, "::1") == (key, where)


def test_a_full_queue_is_said_and_when_to_come_again(alu: Problem) -> None:
    problem = {"record": as_record(alu)}
    with Command("--accept-problems", "--jobs", "1", "--queue", "1", "--timeout", "60") as server:
        connections = []
        for number in range(2):
            connection = http.client.HTTPConnection("127.0.0.1", server.port)
            body = json.dumps({**problem, "files": files(alu, number, HANG)})
            headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
            connection.request("POST", "/grade", body, headers)
            connections.append(connection)
        while metric(server, "rtl_agent_jobs_running") + metric(server, "rtl_agent_jobs_waiting") < 2:
            time.sleep(0.05)
        refused = server.ask("/grade", {**problem, "files": files(alu)})
        assert (refused.status, refused.json["code"]) == (429, "full")
        assert 1 <= int(refused.headers["Retry-After"]) <= 60
        assert server.ask("/grade", [{**problem, "reply": ""}] * 3).status in (413, 429)
        # Those who hang up are cancelled, and their boxes end.
        for connection in connections:
            connection.close()
        while named("vvp", server.process.pid) or metric(server, "rtl_agent_jobs_cancelled_total") < 2:
            time.sleep(0.05)
        # Problems of clients are judged by their own harness.
        assert server.ask("/grade", {**problem, "files": files(alu)}).json["outcome"] == "passed"
        assert server.ask("/grade", {**problem, "reply": "module alu; endmodule"}).json["outcome"] == "failed"
        assert server.ask("/grade", {"record": {"id": "x"}, "reply": ""}).status == 409
        unsafe = as_record(alu)
        unsafe["harness"]["files"]["../../etc/passwd"] = ""
        assert server.ask("/grade", {"record": unsafe, "reply": ""}).status == 409


def test_a_deadline_ends_a_job_and_is_no_grade(alu: Problem) -> None:
    with Command("--jobs", "1", "--deadline", "3") as server:
        late = server.ask("/grade", {"problem": ALU, "files": files(alu, 0, HANG)})
        assert (late.status, late.json["code"]) == (504, "deadline")
        assert "was not made within 3 s" in late.json["error"]
        assert not named("vvp", server.process.pid)
