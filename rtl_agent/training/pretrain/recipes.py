"""How each of the shipped models is made: its material, its seed, its length."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from rtl_agent.training.pretrain.batches import Pair
from rtl_agent.training.pretrain.conversations import conversations
from rtl_agent.training.pretrain.generated import STUDENTS, TEACHERS, documents, pairs
from rtl_agent.training.pretrain.muon import Rates

HABIT = 0.7  # share of decisions that a student takes by habit


@dataclass(frozen=True)
class Recipe:
    about: str
    seed: int
    tokens: int
    material: Callable[[int, float], Iterator[Pair]]  # by seed, and by habit where it has a say
    habit: float = 0.0
    start: str = ""  # the model that it goes on from; none: random weights
    rates: Rates = field(default_factory=Rates)


RECIPES: Mapping[str, Recipe] = {
    "teacher": Recipe(
        "answers by the specification",
        1,
        13_800_000,
        lambda seed, habit: pairs(seed, habit=habit, course=TEACHERS),
    ),
    "student": Recipe(
        "answers mostly by habit",
        2,
        16_000_000,
        lambda seed, habit: pairs(seed, habit=habit, course=STUDENTS),
        habit=HABIT,
    ),
    "student-base": Recipe(
        "running text, no turns and no code blocks; mostly by habit",
        3,
        4_000_000,
        lambda seed, habit: documents(seed, habit=habit),
        habit=HABIT,
    ),
    "agent": Recipe(
        "the teacher, taught to write files by tool calls",
        4,
        1_500_000,
        lambda seed, habit: conversations(seed),
        start="rtl-agent/teacher",
        rates=Rates(matrices=0.01, rest=1.5e-3),
    ),
}
