"""Tools work on the fast path wherever they are: below /tmp, in a private home, in a directory with a space."""

import shutil
from pathlib import Path

import pytest

from rtl_agent.grading import Grader, Outcome, SimulationMode, submit
from rtl_agent.problems import Problem
from rtl_agent.toolchain import find_toolchain, forget_toolchain
from rtl_agent.toolchain.home import harness_home
from rtl_agent.toolchain.icarus import icarus_home

ARBITER = "rtl_fixed_priority_arbiter_0001"


async def assert_fast_grades(problem: Problem) -> None:
    """Two jobs in one warm box, which is cleared between them; the second design is wrong."""
    assert problem.reference is not None
    wrong = {path: text.replace("<=", "!=", 1) for path, text in problem.reference.items()}
    async with Grader(jobs=1, path=SimulationMode.FAST, cache=None) as grader:
        for files, outcome in ((problem.reference, Outcome.PASSED), (wrong, Outcome.FAILED)) * 2:
            grade = await grader.grade(problem, submit(problem, dict(files)))
            assert (grade.path, grade.outcome) == ("fast", outcome), (grade.path_reason, grade.reasons)


async def test_tool_root_in_a_private_home_with_a_space(
    bundled: dict[str, Problem], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "my home" / "tool root"
    tmp_path.chmod(0o700)
    shutil.copytree(harness_home("2.0.1"), root / "cocotb-2.0.1", symlinks=True)
    shutil.copytree(icarus_home(), root / icarus_home().name)
    monkeypatch.setenv("RTL_AGENT_HOME", str(root))
    forget_toolchain()
    assert find_toolchain().tool("iverilog").path == root / "icarus-13.0" / "bin" / "iverilog"
    await assert_fast_grades(bundled[ARBITER])


@pytest.mark.parametrize("directory", ["icarus", "icarus of mine"])
async def test_icarus_of_ones_own_below_tmp(
    directory: str, bundled: dict[str, Problem], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At its own path in the box too, as one that was built has it compiled in: within the /tmp that jobs write to."""
    prefix = tmp_path / directory
    (prefix / "bin").mkdir(parents=True)
    for name in ("iverilog", "vvp"):
        program = prefix / "bin" / name
        program.write_text(f'#!/bin/sh\nexec /usr/bin/{name} "$@"\n')
        program.chmod(0o755)
    shutil.copytree("/usr/include/iverilog", prefix / "include" / "iverilog")
    assert prefix.is_relative_to("/tmp")
    monkeypatch.setenv("RTL_AGENT_ICARUS", str(prefix))
    await assert_fast_grades(bundled[ARBITER])
