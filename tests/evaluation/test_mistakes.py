"""Kinds of mistakes: near misses of generated problems are told apart by simulation, others by grade and reference."""

from collections.abc import Iterator

import pytest

from rtl_agent.evaluation.mistakes import Judged, Mistake, count, kind_of_near_miss, mistakes
from rtl_agent.grading import SyncGrader
from rtl_agent.problems import Problem
from rtl_agent.problems.generate import HELD_OUT_WHOLE, TRAINED, answer, as_problem, instances, mutants
from rtl_agent.problems.generate.instance import wrong_specs

REST = {
    "renamed_output": Mistake.INTERFACE,
    "renamed_input": Mistake.INTERFACE,
    "renamed_module": Mistake.INTERFACE,
    "missing_output": Mistake.INTERFACE,
    "enable_left_out": Mistake.INTERFACE,  # and its port with it
}


@pytest.fixture(scope="module")
def grader() -> Iterator[SyncGrader]:
    with SyncGrader(jobs=2) as grader:
        yield grader


@pytest.mark.parametrize("family", ["arbiter", "shift_register", "decoder"])
def test_a_near_miss_is_told_by_its_kind(family: str, grader: SyncGrader) -> None:
    (instance,) = instances(3, 1, families=[family])
    problem = as_problem(instance)
    wrong = [one for one in mutants(instance) if not one.may_be_equivalent]
    answers = [answer(one.design) for one in wrong]
    judged = [Judged(problem, text, grader.grade_reply(problem, text), instance) for text in answers]
    found = mistakes(judged, grader)
    for one, kinds in zip(wrong, found, strict=True):
        assert REST.get(one.name, kind_of_near_miss(one.name)) in kinds, (one.name, kinds)


def test_what_is_no_design_or_does_not_compile_is_told_by_the_grade(grader: SyncGrader) -> None:
    (instance,) = instances(3, 1, families=["counter"])
    problem = as_problem(instance)
    texts = [
        "I cannot do that.",
        answer(instance.reference.replace("endmodule", "endmodul")),
        answer(instance.reference),
    ]
    judged = [Judged(problem, text, grader.grade_reply(problem, text), instance) for text in texts]
    found = mistakes(judged, grader)
    assert found == [{Mistake.FORMAT}, {Mistake.SYNTAX}, set()]
    assert count(found)[Mistake.SYNTAX] == 1


def test_other_problems_are_compared_with_their_reference(bundled: dict[str, Problem], grader: SyncGrader) -> None:
    problem = bundled["rtl_fixed_priority_arbiter_0001"]
    ((_, reference),) = (problem.reference or {}).items()
    texts = [
        reference.replace("posedge clk)", "posedge clk or posedge reset)"),
        reference.replace("valid", "grant_valid"),
        reference,
    ]
    judged = [
        Judged(problem, f"```verilog\n{text}\n```", grader.grade_reply(problem, f"```verilog\n{text}\n```"))
        for text in texts
    ]
    assert mistakes(judged, grader) == [{Mistake.RESET}, {Mistake.INTERFACE}, set()]


def test_every_near_miss_has_a_kind() -> None:
    names = {
        name
        for family in (*TRAINED, *HELD_OUT_WHOLE)
        for one in instances(5, 2, families=[family], split="held-out")
        for name, _ in wrong_specs(one)
    }
    assert {kind_of_near_miss(name) for name in names} == {
        Mistake.ORDER,
        Mistake.RESET,
        Mistake.WIDTH,
        Mistake.FUNCTION,
    }
