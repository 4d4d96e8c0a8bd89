"""Generated families: problems by seed, with reference, harness, habitual answers and near misses."""

from rtl_agent.problems.generate.as_problem import SPECIFICATION, answer, as_problem, as_workspace, identifier
from rtl_agent.problems.generate.draw import (
    HELD_OUT_WHOLE,
    LONGER,
    TRAINED,
    UnknownFamily,
    generate,
    instances,
    side_of,
)
from rtl_agent.problems.generate.instance import Instance, Mutant, habitual_answer, mutants

__all__ = [
    "HELD_OUT_WHOLE",
    "LONGER",
    "SPECIFICATION",
    "TRAINED",
    "Instance",
    "Mutant",
    "UnknownFamily",
    "answer",
    "as_problem",
    "as_workspace",
    "generate",
    "habitual_answer",
    "identifier",
    "instances",
    "mutants",
    "side_of",
]
