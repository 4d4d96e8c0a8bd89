"""The shell attacks of the attack suite as whole episodes: nothing escapes, nothing leaks, every sandbox goes away."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rtl_agent.envs.agentic.session import EndReason
from rtl_agent.envs.agentic.workspace import Workshop
from rtl_agent.envs.episode_config import EpisodeConfig, Level
from rtl_agent.envs.session import Turn
from rtl_agent.grading import Grade, Grader
from rtl_agent.problems import Problem
from rtl_agent.sandbox import MIB, BubblewrapSandbox
from rtl_agent.toolchain import find_toolchain
from tests.envs.agentic.turns import SUBMIT, bash, begun, call, rules, told, write
from tests.grading.cases import problem_for, text_of
from tests.grading.processes import cgroups, named, open_files
from tests.grading.test_attacks import CANARY_WORD, MARK, canary, host_state, marked, of_kind

__all__ = ["canary"]  # a fixture

pytestmark = pytest.mark.asyncio(loop_scope="module")
ATTACKS = of_kind("shell")
EPISODES, AT_ONCE = 50, 4  # of each of the four levels
AT_EVERY_RUN = ("shell_close_the_workspace", "shell_kill_everything", "shell_look_for_the_tests",
                "shell_background_daemons", "shell_target_is_a_link", "shell_target_is_a_fifo")  # fmt: skip


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def grader() -> AsyncIterator[Grader]:
    async with Grader(jobs=2) as grader:
        yield grader


@pytest.fixture
def where() -> Workshop:
    return Workshop(BubblewrapSandbox(AT_ONCE), find_toolchain())


def limited(level: Level, expect: dict[str, Any]) -> EpisodeConfig:
    return rules(
        level=level,
        extra_tools=True,
        tries=1,
        command_seconds=expect.get("timeout", 30),
        command_cpu_seconds=10,
        disk_bytes=32 * MIB,
        memory_bytes=512 * MIB,
        processes=64,
        output_bytes=4 * MIB,
    )


async def played(
    attack: Path, expect: dict[str, Any], level: Level, problem: Problem, canary: Path, grader: Grader, where: Workshop
) -> tuple[Grade, str]:
    """The episode of an agent that attacks, looks around, uses every tool and submits; all that it was shown."""
    mark = f"{attack.name}-{os.getpid()}-{id(expect)}"
    session = begun(problem, grader, where, limited(level, expect))
    script = text_of(attack, expect, "agent.sh", canary)
    turns: list[Turn] = [bash(f"export {MARK}={mark}\n{script}"), bash("cd /; echo still here; ls -a /code /tmp")]
    if level.has_tools:
        turns += [call("lint"), call("simulate", bench="rundir/bench.sv")]
    seen = []
    try:
        for turn in turns:
            reply = await session.take(turn)
            assert reply.ended is None, reply
            seen.append(told(reply))
            assert not marked(mark), f"{attack.name}: a process outlived its command"
        end = await session.take(SUBMIT)
    finally:
        await session.close()
    assert end.ended is EndReason.SUBMIT
    assert end.grade is not None
    assert end.reward == (end.grade.reward.total if level.is_scored else 0.0)
    assert not marked(mark)
    return end.grade, "\n".join(seen)


def check(attack: Path, expect: dict[str, Any], level: Level, grade: Grade, seen: str) -> None:
    assert grade.outcome == expect["outcome"], (attack.name, grade.reasons, seen)
    assert CANARY_WORD not in seen
    # At level spec there are no tools to be called; at level open there is a harness to be found.
    if level in (Level.OWN_TESTS, Level.FEEDBACK):
        for word in expect.get("log_must_have", ()):
            assert word in seen, (attack.name, seen)
        for word in expect.get("log_must_not_have", ()):
            assert word not in seen, (attack.name, seen)


@pytest.mark.parametrize(("attack", "expect"), [attack for attack in ATTACKS if attack.id in AT_EVERY_RUN])
async def test_a_hostile_agent_gains_nothing(
    attack: Path, expect: dict[str, Any], bundled: dict[str, Problem], canary: Path, grader: Grader, where: Workshop
) -> None:
    before = host_state(canary)
    problem = problem_for(expect, bundled)
    grade, seen = await played(attack, expect, Level.OWN_TESTS, problem, canary, grader, where)
    check(attack, expect, Level.OWN_TESTS, grade, seen)
    assert host_state(canary) == before


@pytest.mark.slow
@pytest.mark.parametrize("level", Level)
async def test_two_hundred_hostile_episodes_leave_nothing_behind(
    level: Level, bundled: dict[str, Problem], canary: Path, where: Workshop
) -> None:
    """Four at a time, so that what one leaves lies beside another that looks for it; fifty at each of four levels."""
    before, turn = host_state(canary), asyncio.Semaphore(AT_ONCE)
    boxes, groups, files = named("bwrap", os.getpid()), cgroups(os.getpid()), open_files()
    problem = bundled["rtl_fixed_priority_arbiter_0001"]
    assert problem.reference is not None

    async def one(number: int, grader: Grader) -> None:
        attack, expect = ATTACKS[number % len(ATTACKS)].values
        async with turn:
            problem = problem_for(expect, bundled)
            grade, seen = await played(attack, expect, level, problem, canary, grader, where)
        check(attack, expect, level, grade, seen)

    async with Grader(jobs=2) as grader:  # with boxes of its own, which it keeps warm
        async with asyncio.TaskGroup() as episodes:  # one that fails ends the others: the next test shares this loop
            for number in range(EPISODES):
                episodes.create_task(one(number, grader))
        session = begun(problem, grader, where, limited(Level.OWN_TESTS, {}))
        await session.take(write("rtl/fixed_priority_arbiter.sv", problem.reference["rtl/fixed_priority_arbiter.sv"]))
        assert (await session.take(SUBMIT)).reward == 1.4, "the next one is judged as ever"
    assert named("bwrap", os.getpid()) <= boxes
    assert cgroups(os.getpid()) <= groups
    assert open_files() <= files + 3 * AT_ONCE  # the uids of slots stay locked
    assert host_state(canary) == before
