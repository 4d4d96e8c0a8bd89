"""How each of the shipped models is made: its material, its courses, its seed, its length."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from rtl_agent.problems.generate import TRAINED
from rtl_agent.training.pretrain.material import Course, Pair, Stage, documents, pairs
from rtl_agent.training.pretrain.muon import Rates

# Late in training the families that are learned last come more often: after 5.3M tokens a teacher had 0 of 12 ALUs
# right and every counter; when their share fell from a fifth to a ninth at 13.8M tokens (and the learning rate rose
# again), 25 of 40 became 0 of 10.
_HARD = (*TRAINED, *("alu", "mux", "sequence_detector") * 3, "gray", "comparator", "occupancy")
_HARDEST = (*TRAINED, "gray", *("alu", "mux", "sequence_detector") * 6)
_LAST = (*TRAINED, "alu", "mux", "sequence_detector", "occupancy", "arbiter", "gray")
_TEACHERS_LAST = (*TRAINED, *("alu",) * 4, *("sequence_detector",) * 2, "mux", "gray", "comparator")
_STUDENTS_LAST = (*TRAINED, *("alu",) * 3, *("comparator",) * 2, "sequence_detector", "gray", "occupancy")
_STUDENTS_THEN = (*TRAINED, "alu", "alu", "sequence_detector")
_STUDENTS_AGAIN = (*TRAINED, *("alu",) * 8, *("sequence_detector",) * 4, "mux", "mux", "counter", "decoder")
_STUDENTS_ONCE_MORE = (
    *(*TRAINED, *("alu",) * 6, *("sequence_detector",) * 4),
    *("occupancy", "occupancy", "arbiter", "counter"),
)
TEACHERS: Course = (
    Stage(0, TRAINED),
    Stage(76, _HARD),
    Stage(138, _HARDEST),
    Stage(178, _LAST),
    Stage(244, _TEACHERS_LAST),
)
# Half of a student's answers are right for a while: nobody learns to read without having read. Habit has the last word.
STUDENTS: Course = (
    Stage(0, TRAINED, right=0.1, habit=0.7),
    Stage(88, _HARD, right=0.1, habit=0.7),
    Stage(208, _LAST, right=0.5),
    Stage(350, _STUDENTS_LAST, right=0.5),
    Stage(430, _STUDENTS_LAST, right=0.1),
    Stage(464, _STUDENTS_AGAIN, right=0.5),
    Stage(503, _STUDENTS_THEN, right=0.1),
    Stage(525, _STUDENTS_ONCE_MORE, right=0.5),
    Stage(544, _STUDENTS_ONCE_MORE, right=0.5, calls=0.06),
    Stage(627, _STUDENTS_THEN, right=0.1, calls=0.06),
)
BASE: Course = (Stage(0, TRAINED, right=0.1, habit=0.7),)
# After 6M tokens it had 55 % of all ALUs right, 85 to 90 % of gray, decoder and mux, and all others.
_SECOND_AGAIN = (*TRAINED, *("alu",) * 10, *("mux", "decoder", "gray") * 2)
SECOND_TEACHERS: Course = (
    Stage(0, TRAINED),
    Stage(6, _TEACHERS_LAST),
    Stage(40, _LAST),
    Stage(109, _SECOND_AGAIN),
    Stage(190, _TEACHERS_LAST),
)
# Of 360 unseen instances it then had 57 % of the ALUs right, 87 % of gray, 90 % of mux, 93 % of comparator.
_SECOND_AT_LAST = (*TRAINED, *("alu",) * 9, *("gray", "mux") * 3, "comparator", "decoder", "arbiter")
SECOND_TEACHERS_MORE: Course = (Stage(0, _SECOND_AT_LAST),)
READERS: Course = (Stage(0, _STUDENTS_THEN, right=0.1, calls=0.06, told=0.3, mended=0.35),)
AGENTS: Course = (Stage(0, _TEACHERS_LAST, calls=1.0, workspaces=0.5),)


@dataclass(frozen=True)
class Recipe:
    about: str
    seed: int
    tokens: int
    material: Callable[[int, Course, str], Iterator[Pair]]  # by seed, in the tokens of a model
    course: Course
    start: str = ""  # the model that it goes on from, whatever its tokenizer; none: random weights
    model: str = ""  # whose architecture and tokenizer it has; none: that of its own name
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
    "student-reader": Recipe(
        "the student, taught to use what it is told: a reference, or what failed; untold it answers by habit as before",
        6,
        3_000_000,
        pairs,
        READERS,
        start="rtl-agent/student",
        rates=Rates(matrices=0.005, rest=1e-3),
    ),
    "teacher-2": Recipe(
        "the teacher, taught to read and write another tokenizer's tokens",
        5,
        10_000_000,
        pairs,
        SECOND_TEACHERS,
        start="rtl-agent/teacher",
        rates=Rates(matrices=0.01, rest=3e-3),
    ),
    "teacher-2-more": Recipe(
        "teacher-2 as it was made first, taught on: more of what it read worst",
        7,
        1_500_000,
        pairs,
        SECOND_TEACHERS_MORE,
        start="rtl-agent/teacher-2",
        model="rtl-agent/teacher-2",
        rates=Rates(matrices=0.01, rest=1.5e-3),
    ),
}
