"""Generated families: problems by seed, with reference, harness, habitual answers and near misses."""

from rtl_agent.problems.generate.as_problem import answer, as_problem, as_record, identifier
from rtl_agent.problems.generate.as_workspace import as_workspace
from rtl_agent.problems.generate.draw import HELD_OUT_WHOLE, TRAINED, UnknownFamily, generate, instances, side_of
from rtl_agent.problems.generate.instance import Instance, habitual_answer
from rtl_agent.problems.generate.mutants import Mutant, mutants

__all__ = [
    "HELD_OUT_WHOLE",
    "TRAINED",
    "Instance",
    "Mutant",
    "UnknownFamily",
    "answer",
    "as_problem",
    "as_record",
    "as_workspace",
    "generate",
    "habitual_answer",
    "identifier",
    "instances",
    "mutants",
    "side_of",
]
