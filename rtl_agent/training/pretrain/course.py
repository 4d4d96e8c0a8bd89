"""What a model is taught, stage by stage: which families, answered by the specification or by habit, in which form."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from random import Random

from rtl_agent.problems.generate import TRAINED, Instance, habitual_answer, instances

BLOCK = 256  # instances drawn at a time


class Form(Enum):
    """How a problem is asked and answered."""

    REPLY = "one answer"
    CALL = "a tool call that writes the file"
    WORKSPACE = "a call that reads the specification, then one that writes the file"


@dataclass(frozen=True)
class Answered:
    instance: Instance
    design: str  # the reference, or one in which habit takes its share
    form: Form


@dataclass(frozen=True)
class Stage:
    """What is asked and answered from one block of instances on."""

    block: int
    families: tuple[str, ...]
    right: float = 1.0  # share of answers that follow the specification throughout
    habit: float = 1.0  # of all others: the share of decisions that a textbook would take, whatever is specified
    calls: float = 0.0  # share that is asked of an agent, which writes its file by a tool call
    workspaces: float = 0.0  # of these: the share in which the specification is a file, to be read by a call before


Course = tuple[Stage, ...]
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
AGENTS: Course = (Stage(0, _TEACHERS_LAST, calls=1.0, workspaces=0.5),)


def answered(seed: int, course: Course) -> Iterator[Answered]:
    """Instances without end, each with a design."""
    habit, forms = Random(f"habit {seed}"), Random(f"form {seed}")
    for block in itertools.count():
        stage = next(stage for stage in reversed(course) if stage.block <= block)
        found = instances(seed * 1_000_003 + block, BLOCK, families=stage.families)
        Random(f"order {seed} {block}").shuffle(found)
        for instance in found:
            right = habit.random() < stage.right
            design = instance.reference if right else habitual_answer(instance, stage.habit, habit)
            yield Answered(instance, design, _form(stage, forms))


def _form(stage: Stage, random: Random) -> Form:
    if random.random() >= stage.calls:
        return Form.REPLY
    return Form.WORKSPACE if random.random() < stage.workspaces else Form.CALL
