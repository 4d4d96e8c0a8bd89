"""Episodes without tokens, with the real grader and real boxes: how they end, what they earn, what is shown."""

import asyncio
import itertools
import json
import os
from collections.abc import Callable
from dataclasses import replace

import pytest

from rtl_agent.envs.agentic.session import AgenticSession, EndReason
from rtl_agent.envs.agentic.tools import tool_specs
from rtl_agent.envs.agentic.workspace import Workshop
from rtl_agent.envs.episode import EpisodeFailed
from rtl_agent.envs.episode_config import Level
from rtl_agent.envs.session import ToolCall, Turn
from rtl_agent.grading import ExecutorFault, Grade, Grader, Outcome
from rtl_agent.grading.executors import GradeJob
from rtl_agent.problems import CocotbVersion, Needs, Problem
from rtl_agent.runs.episode import Episode
from rtl_agent.sandbox import MIB, BubblewrapSandbox
from rtl_agent.sandbox.cgroup import find_place
from rtl_agent.toolchain import find_toolchain
from tests.envs.agentic.turns import SUBMIT, answer, bash, begun, call, rules, shown, told, write
from tests.grading.processes import named

pytestmark = pytest.mark.asyncio(loop_scope="module")
Begin = Callable[..., AgenticSession]
TARGET = "rtl/fixed_priority_arbiter.sv"


def reference(problem: Problem) -> str:
    assert problem.reference is not None
    return problem.reference[problem.targets[0]]


def one_hot(session: AgenticSession) -> str:
    ends = {name: value for name, value in session.metrics.items() if name.startswith("end/")}
    assert sum(ends.values()) == 1
    return next(name for name, value in ends.items() if value)


async def test_what_stands_in_the_workspace_is_judged(begin: Begin, arbiter: Problem) -> None:
    session = begin(extra_tools=True)
    assert await shown(session, write(TARGET, reference(arbiter))) == "[exit code 0]"
    assert (await shown(session, call("lint"))).startswith("It compiles.")
    end = await session.take(SUBMIT)
    assert (end.ended, end.reward) == (EndReason.SUBMIT, 1.4)
    assert end.grade is not None
    assert end.grade.outcome is Outcome.PASSED
    assert one_hot(session) == "end/submit"
    episode = session.episode()
    assert (episode.level, episode.end_reason, episode.reward, episode.is_scored) == ("own-tests", "submit", 1.4, True)
    assert episode.files == {TARGET: reference(arbiter)} or episode.files[TARGET].strip() == reference(arbiter).strip()
    assert [dict(turn.calls[0])["name"] for turn in episode.turns] == ["execute_bash", "lint", "submit"]
    assert Episode.from_json(json.loads(json.dumps(episode.to_json()))) == episode
    with pytest.raises(RuntimeError, match="is over"):
        await session.take(answer())


async def test_targets_left_as_given_earn_nothing_and_an_untouched_workspace_opens_no_box(
    begin: Begin, bundled: dict[str, Problem]
) -> None:
    boxes = named("bwrap", os.getpid())
    untouched = begin(problem=bundled["rtl_crc_0001"])
    end = await untouched.take(answer())
    assert (end.ended, end.reward) == (EndReason.ANSWER, 0.0)
    assert one_hot(untouched) == "end/answer"
    assert named("bwrap", os.getpid()) <= boxes
    touched = begin(problem=bundled["rtl_crc_0001"])
    await shown(touched, bash("echo tried > rundir/notes; touch rtl/crc_engine.sv; echo x > rtl/other.sv"))
    end = await touched.take(answer())
    assert end.grade is not None
    assert (end.reward, end.grade.outcome) == (0.0, Outcome.INVALID)
    assert "as it was given" in end.grade.reasons[0]


async def test_a_given_target_stays_until_it_is_deleted(begin: Begin, bundled: dict[str, Problem]) -> None:
    """As in CVDP's agentic flow: an untouched file is part of the answer, a deleted one is not."""
    spi = bundled["rtl_spi_master_0001"]
    assert spi.reference is not None
    master, shift = spi.reference["rtl/spi_master.sv"], spi.reference["rtl/spi_shift.sv"]
    given = replace(spi, context={**spi.context, "rtl/spi_shift.sv": shift})
    kept = begin(problem=given)
    await shown(kept, write("rtl/spi_master.sv", master))
    end = await kept.take(answer())
    assert end.grade is not None
    assert end.grade.outcome is Outcome.PASSED
    deleted = begin(problem=given)
    await shown(deleted, write("rtl/spi_master.sv", master))
    await shown(deleted, bash("rm rtl/spi_shift.sv"))
    end = await deleted.take(answer())
    assert end.grade is not None
    assert end.grade.outcome is Outcome.FAILED
    assert set(deleted.episode().files) == {"rtl/spi_master.sv"}


async def test_files_persist_and_nothing_else_does(begin: Begin) -> None:
    session = begin()
    first = "pwd; echo $$ > rundir/a; cd rundir; export X=1; (sleep 60 & echo started)"
    assert await shown(session, bash(first)) == "/code\nstarted\n[exit code 0]"
    assert await shown(session, bash("pwd; cat rundir/a | wc -l; echo [$X]; jobs")) == "/code\n1\n[]\n[exit code 0]"
    assert await shown(session, bash("ls; echo wrong >&2; exit 7")) == (
        "docs\nprompt.json\nrtl\nrundir\nverif\nwrong\n[exit code 7]"
    )


async def test_the_tools_are_there_and_the_harness_is_not(begin: Begin, arbiter: Problem) -> None:
    session = begin()
    said = await shown(session, bash(
        "for tool in iverilog vvp verilator yosys python3 pytest; do command -v $tool || echo MISSING $tool; done; "
        "python3 -c 'import cocotb, pytest, sys; print(cocotb.__version__)'; ls /src /opt/rtl-agent/probe"
    ))  # fmt: skip
    assert "MISSING" not in said
    assert "2.0.1" in said
    secrets = {line.strip() for text in arbiter.harness.files.values() for line in text.splitlines() if len(line) > 30}
    assert secrets
    await shown(session, bash("cp -r /code /tmp/copy; env > /tmp/env"))
    said = await shown(
        session, bash("cat /tmp/env; grep -rh . /code /tmp /etc/passwd /opt/rtl-agent/bin | head -c 60000")
    )
    assert not [secret for secret in secrets if secret in said]


async def test_at_level_spec_nothing_compiles_however_it_is_named(begin: Begin) -> None:
    session = begin(level=Level.SPEC, extra_tools=True)
    assert [spec.name for spec in tool_specs(session.config)] == ["execute_bash", "submit"]
    await shown(session, write("rundir/a.sv", 'module a; initial $display("RAN"); endmodule'))
    said = await shown(session, bash(
        "cd rundir; iverilog -o a.vvp a.sv; /usr/bin/iverilog -o a.vvp a.sv; cp /usr/bin/iverilog ./mine; ./mine a.sv; "
        "vvp a.vvp; yosys -p 'read_verilog a.sv'; verilator --lint-only a.sv; "
        "find /usr/bin /usr/lib /usr/local /opt -name ivl -type f -o -name 'verilator_bin*' -o -name ivlpp; ls"
    ))  # fmt: skip
    assert "RAN" not in said
    assert "specification alone" in said
    assert said.splitlines()[-3:] == ["a.sv", "mine", "[exit code 0]"]


async def test_level_open_shows_the_harness_and_is_no_score(begin: Begin, arbiter: Problem) -> None:
    session = begin(level=Level.OPEN)
    assert "test_runner.py" in await shown(session, bash("ls /src"))
    await shown(session, write(TARGET, reference(arbiter)))
    end = await session.take(answer())
    assert end.grade is not None
    assert end.grade.outcome is Outcome.PASSED
    episode = session.episode()
    assert (end.reward, episode.reward, episode.reward_parts, episode.is_scored) == (0.0, 0.0, {}, False)
    metrics = session.metrics
    assert metrics["open/pass_rate"] == metrics["level/open"] == 1.0
    assert not {"pass_rate", "tests_passed", "reward/tests_passed"} & metrics.keys()


async def test_feedback_tells_what_failed_and_nothing_of_the_harness(begin: Begin, arbiter: Problem) -> None:
    session = begin(level=Level.FEEDBACK, tries=2)
    assert [spec.name for spec in tool_specs(session.config)] == ["execute_bash", "submit"], (
        "submit is there whatever the switch"
    )
    wrong = reference(arbiter).replace("reset", "rst_n")
    await shown(session, write(TARGET, wrong))
    said = await shown(session, SUBMIT)
    assert "You can submit 1 more time." in said
    assert "lowest_request_wins" in said
    assert "input `reset` is missing; you wrote `rst_n`" in said
    assert not any(word in said for word in ("/code", "/src", ".py", "assert ", "Traceback", "dut."))
    await shown(session, write(TARGET, reference(arbiter)))
    end = await session.take(SUBMIT)
    assert (end.ended, end.reward) == (EndReason.SUBMIT, 1.4)
    assert session.metrics["submits"] == 2


async def test_feedback_ends_with_its_tries_and_judges_what_stands_then(begin: Begin, arbiter: Problem) -> None:
    session = begin(level=Level.FEEDBACK, tries=2)
    await shown(session, write(TARGET, "module fixed_priority_arbiter(input clk; endmodule"))
    assert "It does not compile." in await shown(session, SUBMIT)
    end = await session.take(SUBMIT)
    assert (end.ended, told(end)) == (EndReason.SUBMIT, "Submitted.")
    assert end.reward == pytest.approx(0.1)


async def test_it_ends_by_turns_by_tokens_and_by_the_time_in_tools(begin: Begin) -> None:
    turns = begin(max_turns=2)
    await shown(turns, bash("true"))
    assert (await turns.take(bash("true"))).ended is EndReason.MAX_TURNS
    tokens = begin()
    assert (await tokens.take(bash("true"), full=False)).ended is None
    assert (await tokens.take(bash("true"), full=True)).ended is EndReason.MAX_TOKENS
    ticks = itertools.count(step=60.0)
    clock = begin(clock=lambda: next(ticks), episode_seconds=100)
    await shown(clock, bash("true"))
    twice = Turn("", "", (*bash("echo in time").calls, *bash("touch rundir/too_late").calls))
    end = await clock.take(twice)
    assert end.ended is EndReason.WALL_TIME
    assert told(end) == "in time\n[exit code 0]\n[not run: the time of the episode is over]"
    assert [one_hot(session) for session in (turns, tokens, clock)] == [
        "end/max_turns", "end/max_tokens", "end/wall_time",
    ]  # fmt: skip


async def test_waiting_for_a_busy_sampler_or_for_a_grade_costs_no_time(begin: Begin) -> None:
    now = [0.0]

    def clock() -> float:
        now[0] += 40.0  # whatever is timed takes so long
        return now[0]

    session = begin(level=Level.FEEDBACK, tries=3, clock=clock, episode_seconds=100)
    for turn in (bash("true"), write(TARGET, "module fixed_priority_arbiter; endmodule"), SUBMIT, SUBMIT):
        now[0] += 1_000.0  # in the sampler's queue
        await shown(session, turn)
    assert (await session.take(answer())).ended is EndReason.ANSWER


async def test_turns_that_cannot_be_run_are_told_why_and_end_it_when_they_repeat(begin: Begin) -> None:
    session = begin(max_parse_errors=2)
    broken = Turn("", "", (), "the JSON ends too early")
    assert await shown(session, broken) == "the JSON ends too early"
    assert "there is no tool 'lint'; there are: execute_bash" in await shown(
        session, Turn("", "", (ToolCall("lint", {}), ToolCall("execute_bash", {"command": "true"})))
    ), "a call beside it could be run, so the count begins anew"
    assert "needs the argument `command`" in await shown(session, call("execute_bash"))
    end = await session.take(call("execute_bash", command=["ls"]))
    assert end.ended is EndReason.PARSE_ERRORS
    assert "must be a string" in told(end)
    assert one_hot(session) == "end/parse_errors"
    assert session.metrics["parse_errors"] == 3


async def test_a_turn_that_was_cut_off_is_no_answer(begin: Begin) -> None:
    session = begin()
    reply = await session.take(answer("Let me think"), cut_off=True)
    assert reply.ended is None
    assert "cut off" in told(reply)


async def test_several_calls_are_run_in_order_and_none_after_a_submit(begin: Begin) -> None:
    session = begin(extra_tools=True)
    calls = (bash("echo 1 > rundir/n").calls[0], bash("cat rundir/n").calls[0], SUBMIT.calls[0], bash("ls").calls[0])
    end = await session.take(Turn("", "", calls))
    assert [result.text for result in end.results] == ["[exit code 0]", "1\n[exit code 0]", "Submitted."]


async def test_limits_of_commands_are_said_in_the_observation(begin: Begin) -> None:
    session = begin(command_seconds=1, shown_characters=200)
    said = await shown(session, bash("echo before; sleep 30; echo after"))
    assert said == "before\n[stopped: it did not end within 1 s]"
    said = await shown(session, bash("seq 1000"))
    assert said.startswith("1\n2\n3")
    assert said.endswith("999\n1000\n[exit code 0]")
    assert "characters are left out" in said
    session = begin(command_cpu_seconds=1, episode_cpu_seconds=0.5, output_bytes=MIB, disk_bytes=8 * MIB)
    assert (await shown(session, bash("yes"))).endswith("\n[stopped: it printed more than 1 MiB]")
    assert "No space left" in await shown(session, bash("head -c 16M /dev/zero > rundir/zeros"))
    assert await shown(session, bash("while :; do :; done")) == "[killed by SIGXCPU: out of CPU time]"
    assert "[not run: the CPU time of all commands together is used up" in await shown(session, bash("true"))
    assert (await session.take(answer())).ended is EndReason.ANSWER


@pytest.mark.skipif(find_place() is None, reason="CPU time that nobody waits for is counted by a cgroup only")
async def test_children_that_nobody_waits_for_use_up_the_cpu_time_of_an_episode(begin: Begin) -> None:
    session = begin(command_cpu_seconds=60, episode_cpu_seconds=1.5)
    spawn = "import os, signal, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
    spawn += (
        "while True:\n    if os.fork() == 0:\n        while time.process_time() < 0.05: pass\n        os._exit(0)\n"
    )
    said = await shown(session, bash(f"python3 -c '{spawn}    time.sleep(0.05)'"))
    assert said == "[killed by SIGXCPU: out of CPU time]"
    assert "[not run: the CPU time of all commands together is used up" in await shown(session, bash("true"))


async def test_odd_commands_are_refused_or_run_but_never_fail_the_episode(begin: Begin) -> None:
    session = begin(extra_tools=True)
    assert "NUL" in await shown(session, bash("echo \0"))
    assert "longer than" in await shown(session, bash("x" * 200_000))
    assert "[exit code 0]" in await shown(session, bash("echo \ud800 \N{SNOWMAN}; printf '\\033[31mred\\033[0m \\377'"))
    assert await shown(session, bash("")) == "[exit code 0]"
    for name in ("../etc/passwd", "/etc/passwd", "", "a\0b"):
        assert "not run" in await shown(session, call("simulate", bench=name))
        assert "not run" in await shown(session, call("lint", files=[name]))


class NobodyThere:
    """An executor whose workers are gone."""

    async def fingerprint(self, cocotb_version: CocotbVersion) -> dict[str, str]:
        raise ExecutorFault("no node is left")

    async def run(self, job: GradeJob) -> Grade:
        raise AssertionError("there is nobody to run it")

    async def aclose(self) -> None: ...


async def test_a_fault_of_ours_fails_the_episode_and_closes_its_box(
    begin: Begin, arbiter: Problem, where: Workshop
) -> None:
    boxes = len(named("bwrap", os.getpid()))
    async with Grader(executor=NobodyThere()) as gone:
        session = begun(arbiter, gone, where, rules())
        await shown(session, write(TARGET, "module fixed_priority_arbiter; endmodule"))
        with pytest.raises(EpisodeFailed, match="could not be graded: no node is left"):
            await session.take(answer())
    with pytest.raises(RuntimeError, match="has not ended"):
        session.episode()
    other = begin(problem=replace(arbiter, needs=Needs.COMMERCIAL))
    with pytest.raises(EpisodeFailed, match="needs Cadence Xcelium"):
        await other.take(answer())
    closed = begin()
    await shown(closed, bash("true"))
    await closed.close()
    with pytest.raises(EpisodeFailed, match="the workspace is closed"):
        await closed.take(bash("true"))
    assert len(named("bwrap", os.getpid())) <= boxes


async def test_a_cancelled_episode_leaves_no_box(begin: Begin, grader: Grader, arbiter: Problem) -> None:
    where = Workshop(BubblewrapSandbox(1), find_toolchain())
    boxes = len(named("bwrap", os.getpid()))
    for seconds in (0.0, 0.02, 1.0):  # before, while and after its box is opened
        session = begun(arbiter, grader, where, rules())
        task = asyncio.ensure_future(session.take(bash("sleep 60")))
        await asyncio.sleep(seconds)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert len(named("bwrap", os.getpid())) <= boxes
    again = begun(arbiter, grader, where, rules())
    assert "[exit code 0]" in await shown(again, bash("true")), "the one slot is free"
    await again.close()


async def test_a_single_shot_problem_can_be_played(begin: Begin, bundled: dict[str, Problem]) -> None:
    problem = bundled["rtl_gray_counter_0001"]
    session = begin(problem=problem)
    assert "`rtl/gray_counter.sv`" in session.messages[1].content
    await shown(session, write("rtl/gray_counter.sv", reference(problem)))
    assert (await session.take(answer())).reward == 1.4
