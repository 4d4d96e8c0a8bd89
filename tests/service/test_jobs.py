"""Servers that stop, are killed and come back, as the executor that uses them sees it; and what it says of others."""

import asyncio
import signal
import time
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from rtl_agent.bench import service
from rtl_agent.grading import PRESETS, ExecutorFault, Grade, Grader, Outcome, SyncGrader, submit
from rtl_agent.grading.cache_key import problem_key, tools_key
from rtl_agent.grading.executors import HttpExecutor, find_executor, http_executor
from rtl_agent.grading.executors.wire import job_to_json, problem_from_json, problem_to_json
from rtl_agent.grading.simulation import SimulationMode
from rtl_agent.problems import CocotbVersion, load_problems
from tests.grading.processes import named
from tests.grading.test_executors import HUNG, job, until
from tests.grading.test_grader import INVERTER, WIRE, plain, problem_with
from tests.service.served import KEY, Command, serving, session


async def test_a_killed_server_that_comes_back_costs_a_retry_and_no_grade(tmp_path: Path) -> None:
    texts = [INVERTER if number % 2 else WIRE for number in range(12)]
    with Command("--accept-problems", "--jobs", "1", cache=tmp_path) as server:
        async with aclosing(HttpExecutor(server.url, key=KEY, path=SimulationMode.EXACT)) as executor:
            batch = asyncio.gather(*(executor.run(job(text, None, number)) for number, text in enumerate(texts)))
            await until(lambda: named("vvp", server.process.pid))
            server.kill()
            await asyncio.to_thread(server.start)
            grades = await batch
            assert executor.lost >= 1
    expected = [Outcome.PASSED if text is INVERTER else Outcome.FAILED for text in texts]
    assert [grade.outcome for grade in grades] == expected, [grade.reasons for grade in grades]


async def test_a_server_that_does_not_come_back_makes_errors_and_no_zeros() -> None:
    async with serving() as url:
        pass
    async with aclosing(HttpExecutor(url, key=KEY, patience_seconds=0.5)) as executor:
        started = time.monotonic()
        grades = await asyncio.gather(*(executor.run(job(INVERTER, None, number)) for number in range(20)))
        assert time.monotonic() - started < 30  # they wait together, not one after another
    assert {grade.outcome for grade in grades} == {Outcome.ERROR}
    assert "no grade server has answered" in grades[0].reasons[0]


async def test_sigterm_finishes_what_runs_and_refuses_the_rest() -> None:
    with Command("--accept-problems", "--jobs", "1", "--timeout", "6", "--grace", "100") as server:
        async with aclosing(HttpExecutor(server.url, key=KEY, timeout_seconds=6)) as executor:
            running = asyncio.create_task(executor.run(job(HUNG)))
            await until(lambda: named("vvp", server.process.pid))
            server.process.send_signal(signal.SIGTERM)
            await until(lambda: server.ask("/healthz").status == 503)
            refused = server.ask("/grade", {"problem": "rtl_alu_0001", "reply": ""})
            assert (refused.status, refused.json["code"]) == (503, "stopping")
            assert refused.headers["Retry-After"]
            assert (await running).outcome is Outcome.FAILED  # by its own time limit
        assert await asyncio.to_thread(server.process.wait, 60) == 0


async def test_what_is_not_done_in_time_is_refused_at_the_end() -> None:
    with Command("--accept-problems", "--jobs", "1", "--grace", "0.5") as server:
        async with aclosing(HttpExecutor(server.url, key=KEY, patience_seconds=1)) as executor:
            running = asyncio.create_task(executor.run(job(HUNG)))
            await until(lambda: named("vvp", server.process.pid))
            server.process.send_signal(signal.SIGTERM)
            grade = await running
        assert grade.outcome is Outcome.ERROR
        assert await asyncio.to_thread(server.process.wait, 60) == 0


async def test_a_job_sent_again_by_its_id_is_judged_once_and_counted_once() -> None:
    one = job("module dut(input a, output y);\n  oops\nendmodule\n")
    async with (
        serving(accepts_problems=True) as url,
        aclosing(HttpExecutor(url, key=KEY)) as executor,
        session() as http,
    ):
        fingerprint = await executor.fingerprint(CocotbVersion.V2)
        body = {
            **job_to_json(one, timeout_seconds=60, path=SimulationMode.AUTO),
            "problem": one.problem.id,
            "problem_key": problem_key(one.problem),
            "tools": tools_key(fingerprint),
            "whole": problem_to_json(one.problem),
        }
        address = f"{url}/jobs/{uuid4().hex}"

        async def post() -> Grade:
            async with http.post(address, json=body) as response:
                return Grade.from_json(await response.json())

        grades = [*await asyncio.gather(post(), post()), await post()]
        async with http.get(f"{url}/metrics") as response:
            lines = (await response.text()).splitlines()
        async with http.post(f"{url}/jobs/{uuid4().hex}", json={**body, "tools": "0" * 64}) as response:
            changed = (response.status, (await response.json())["code"])
    assert grades == [grades[0]] * 3
    assert 'rtl_agent_grades_judged_total{outcome="failed"} 1.0' in lines, [one for one in lines if "grades_" in one]
    assert 'rtl_agent_grades_answered_total{outcome="failed"} 1.0' in lines
    assert changed == (409, "tools_changed")


async def test_problems_of_clients_are_taken_where_the_server_says_so() -> None:
    problem = next(one for one in load_problems("bundled") if one.id == "rtl_popcount_0001")
    other = replace(problem, context={**problem.context, "docs/more.md": "more"})
    async with serving([problem]) as url, aclosing(HttpExecutor(url, key=KEY)) as executor:
        known = await executor.run(replace(job(INVERTER, plain()), problem=problem, submission=submit(problem, {})))
        unknown = await executor.run(job(INVERTER))
        changed = await executor.run(replace(job(INVERTER, plain()), problem=other, submission=submit(other, {})))
    assert known.outcome is not Outcome.ERROR
    assert (unknown.outcome, changed.outcome) == (Outcome.ERROR, Outcome.ERROR)
    assert "it has no problem rtl_dut_0001" in unknown.reasons[0].replace("'", "")
    assert "differs from the client's" in changed.reasons[0]
    assert "--accept-problems" in changed.reasons[0]


def test_a_problem_is_the_same_after_its_way() -> None:
    for problem in (*load_problems("bundled"), plain(), *load_problems("generated-workspaces:count=3")):
        there = problem_from_json(problem_to_json(problem))
        assert there == problem
        assert problem_key(there) == problem_key(problem)


async def test_a_client_of_another_grading_version_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving() as url:
        monkeypatch.setattr(http_executor, "grading_version", lambda: "12-abc")
        async with aclosing(HttpExecutor(url, key=KEY)) as executor:
            with pytest.raises(ExecutorFault, match="this client 12-abc: install the same version"):
                await executor.fingerprint(CocotbVersion.V2)
            assert (await executor.run(job(INVERTER))).outcome is Outcome.ERROR
        monkeypatch.undo()
        async with aclosing(HttpExecutor(url, key=KEY, timeout_seconds=1000)) as executor:
            with pytest.raises(ExecutorFault, match=r"120 s at most, and 1000 s are asked for"):
                await executor.fingerprint(CocotbVersion.V2)
        async with aclosing(HttpExecutor(url, key="another key")) as executor:
            with pytest.raises(ExecutorFault, match="the API key is missing or wrong"):
                await executor.fingerprint(CocotbVersion.V2)


def test_addresses_and_keys_that_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RTL_AGENT_GRADE_KEY", raising=False)
    with pytest.raises(ExecutorFault, match="set RTL_AGENT_GRADE_KEY"):
        Grader(executor="http://127.0.0.1:1")
    monkeypatch.setenv("RTL_AGENT_GRADE_KEY", KEY)
    for address in ("http://user:secret@host:1", "http://host:1/?key=secret"):
        with pytest.raises(ExecutorFault, match="and no more") as refused:
            Grader(executor=address)
        assert "secret" not in str(refused.value)
    with pytest.raises(ValueError, match=r"no executor named 'htp://host'; .* or http://HOST:PORT of a grade server"):
        find_executor("htp://host")


async def test_what_is_no_grade_server(monkeypatch: pytest.MonkeyPatch) -> None:
    async def other(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(other, "127.0.0.1") as server:
        port = server.sockets[0].getsockname()[1]
        async with aclosing(HttpExecutor(f"http://127.0.0.1:{port}", key=KEY)) as executor:
            with pytest.raises(ExecutorFault, match="there is no grade server at"):
                await executor.fingerprint(CocotbVersion.V2)


async def test_many_clients_of_a_small_queue_are_all_served() -> None:
    """They are sent away with a 429, and come again."""
    async with serving(accepts_problems=True, jobs=2, waiting=0) as url:
        executors = [HttpExecutor(url, key=KEY, jobs=3) for _ in range(4)]
        texts = [INVERTER, WIRE] * 3
        jobs = [executor.run(job(text, None, at)) for executor in executors for at, text in enumerate(texts)]
        grades = await asyncio.gather(*jobs)
        away = sum(executor.turned_away for executor in executors)
        for executor in executors:
            await executor.aclose()
    assert [grade.outcome.value for grade in grades] == ["passed", "failed"] * 12
    assert away > 0


def test_reward_and_progress_are_the_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    """A grader over HTTP gives the same reward as one here."""
    monkeypatch.setenv("RTL_AGENT_GRADE_KEY", KEY)
    problem = problem_with(dict(plain().harness.files))
    weights = PRESETS["dense"]
    with (
        Command("--accept-problems", "--jobs", "1") as server,
        SyncGrader(executor=server.url, weights=weights) as there,
    ):
        remote = there.grade(problem, submit(problem, {"rtl/dut.sv": WIRE}))
    with SyncGrader(jobs=1, weights=weights) as here:
        local = here.grade(problem, submit(problem, {"rtl/dut.sv": WIRE}))
    assert remote.outcome is Outcome.FAILED
    assert (remote.reward, remote.progress, remote.tests) == (local.reward, local.progress, local.tests)


async def test_a_small_load_with_kills_loses_nothing() -> None:
    load = await service.run(60, clients=6, kills=3, jobs=2)
    assert load.good, load.to_json()
    assert (load.kills, load.stops, load.exit_codes) == (2, 1, [0, 0])
    assert load.distinct == 54
