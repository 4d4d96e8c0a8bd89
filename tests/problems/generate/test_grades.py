"""Generated problems in the real grader: references pass, near misses and habits fail, for the right reasons."""

import asyncio
import re

import pytest

from rtl_agent.grading import Grade, Grader, Outcome, SimulationMode, StageName, submit
from rtl_agent.grading.harness_python import plain_file
from rtl_agent.problems.generate import (
    HELD_OUT_WHOLE,
    LONGER,
    TRAINED,
    Instance,
    as_problem,
    habitual_answer,
    instances,
    mutants,
)

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def grade(grader: Grader, instance: Instance, design: str) -> Grade:
    problem = as_problem(instance)
    return await grader.grade(problem, submit(problem, {instance.target: design}))


def interface_of(graded: Grade) -> tuple[bool | None, str]:
    stage = next(stage for stage in graded.stages if stage.name is StageName.INTERFACE)
    return stage.passed, "; ".join(stage.notes)


@pytest.mark.parametrize("family", [*TRAINED, *HELD_OUT_WHOLE, *LONGER])
async def test_the_reference_passes_and_near_misses_fail(graders: dict[SimulationMode, Grader], family: str) -> None:
    grader = graders[SimulationMode.FAST]
    first, second = instances(21, 2, families=[family], split="held-out")
    for instance in (first, second):
        reference, habit = await asyncio.gather(
            grade(grader, instance, instance.reference), grade(grader, instance, habitual_answer(instance))
        )
        assert reference.outcome is Outcome.PASSED, reference.reasons
        assert interface_of(reference) == (True, "")
        assert habit.outcome is Outcome.FAILED
        assert next(stage for stage in habit.stages if stage.name is StageName.SYNTAX).passed  # it compiles
    for mutant in mutants(first):
        if not mutant.name.startswith("renamed"):
            graded = await grade(grader, first, mutant.design)
            assert graded.outcome is (Outcome.PASSED if mutant.may_be_equivalent else Outcome.FAILED), mutant.name


async def test_renamed_and_missing_ports_are_named(graders: dict[SimulationMode, Grader]) -> None:
    (instance,) = instances(22, 1, families=["counter"])
    designs = {mutant.name: mutant.design for mutant in mutants(instance)}
    count = instance.spec["count"]
    for name in ("renamed_output", "missing_output"):
        graded = await grade(graders[SimulationMode.FAST], instance, designs[name])
        assert graded.outcome is Outcome.FAILED
        assert re.search(rf"`{count}\b", " ".join(graded.reasons))
    module = await grade(graders[SimulationMode.FAST], instance, designs["renamed_module"])
    assert module.outcome is Outcome.FAILED


async def test_outputs_that_are_never_driven_fail(graders: dict[SimulationMode, Grader]) -> None:
    (instance,) = instances(23, 1, families=["parity"])
    header, _, _ = instance.reference.partition("  assign")
    graded = await grade(graders[SimulationMode.FAST], instance, f"{header}endmodule\n")
    assert graded.outcome is Outcome.FAILED
    assert any("got z" in reason or "got Z" in reason for reason in graded.reasons)


async def test_the_exact_path_agrees(graders: dict[SimulationMode, Grader]) -> None:
    (instance,) = instances(24, 1, families=["edge_detector"])
    wrong = next(mutant for mutant in mutants(instance) if mutant.name == "wrong_reset_kind")
    reference = await grade(graders[SimulationMode.EXACT], instance, instance.reference)
    mutated = await grade(graders[SimulationMode.EXACT], instance, wrong.design)
    assert (reference.outcome, mutated.outcome) == (Outcome.PASSED, Outcome.FAILED)


async def test_the_harness_needs_no_pytest_session() -> None:
    for problem in (as_problem(instance) for instance in instances(26, 12)):
        assert plain_file(problem, problem.harness.services[0]) == "/src/test_runner.py"
