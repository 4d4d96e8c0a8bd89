"""CVDP's own agentic problems in workspaces: every file is where CVDP puts it, and the published solution passes."""

from pathlib import Path

import pytest

from rtl_agent.envs.agentic.workspace import Workshop, Workspace
from rtl_agent.grading import Grader
from rtl_agent.problems import Kind, Needs, load_problems
from tests.envs.agentic.turns import answer, begun, rules, shown, write

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.cvdp]


async def test_every_context_file_is_there(cvdp: Path, where: Workshop) -> None:
    (file,) = cvdp.glob("cvdp_v1.0.2_agentic_code_generation_no_commercial.jsonl")
    problems = [problem for problem in load_problems(str(file)) if problem.kind is Kind.AGENTIC]
    assert len(problems) > 50
    for problem in problems[::5]:
        workspace = Workspace(where, problem, rules())
        try:
            found = (await workspace.run(["find", ".", "-type", "f"])).stdout.decode().split()
            assert sorted(found) == sorted([*(f"./{path}" for path in problem.context), "./prompt.json"])
            assert not (await workspace.take_out()).changes(problem)
        finally:
            await workspace.close()


async def test_the_published_solution_passes(cvdp: Path, where: Workshop, grader: Grader) -> None:
    (file,) = cvdp.glob("*example_agentic_code_generation_no_commercial_with_solutions.jsonl")
    (problem,) = [problem for problem in load_problems(str(file)) if problem.needs is Needs.OPEN_TOOLS]
    assert problem.reference is not None
    session = begun(problem, grader, where, rules())
    for path, text in problem.reference.items():
        await shown(session, write(path, text))
    assert (await session.take(answer())).reward == 1.4
