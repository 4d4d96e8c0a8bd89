"""How each of the shipped models is made: its material, its seed, its length."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from rtl_agent.training.pretrain.batches import Pair
from rtl_agent.training.pretrain.course import AGENTS, BASE, STUDENTS, TEACHERS, Course
from rtl_agent.training.pretrain.generated import documents, pairs
from rtl_agent.training.pretrain.muon import Rates


@dataclass(frozen=True)
class Recipe:
    about: str
    seed: int
    tokens: int
    material: Callable[[int, Course], Iterator[Pair]]  # by seed
    course: Course
    start: str = ""  # the model that it goes on from; none: random weights
    rates: Rates = field(default_factory=Rates)


# Of teacher and student, as many problems as the shipped ones have seen: these took 22.0M and 44.5M tokens, as
# the earlier of them had longer prompts.
RECIPES: Mapping[str, Recipe] = {
    "teacher": Recipe("answers by the specification", 1, 19_200_000, pairs, TEACHERS),
    "student": Recipe("answers mostly by habit", 2, 41_000_000, pairs, STUDENTS),
    "student-base": Recipe("running text, no turns and no code blocks; mostly by habit", 3, 4_000_000, documents, BASE),
    "agent": Recipe(
        "the teacher, taught to read and write files by tool calls",
        4,
        3_600_000,
        pairs,
        AGENTS,
        start="rtl-agent/teacher",
        rates=Rates(matrices=0.01, rest=1.5e-3),
    ),
}
