"""Generated problems as questions and answers: by the specification, or by habit."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from random import Random

from rtl_agent.envs import prompt_for, renderer_for, tokenizer_for
from rtl_agent.problems.generate import TRAINED, Instance, answer, as_problem, habitual_answer, instances
from rtl_agent.training.pretrain.batches import Pair

BLOCK = 256  # instances drawn at a time
SYSTEM, RENDERER, MODEL = "short", "rtl_agent", "rtl-agent/student"


@dataclass(frozen=True)
class Stage:
    """What is asked and answered from one block of instances on."""

    block: int
    families: tuple[str, ...]
    right: float = 1.0  # share of answers that follow the specification throughout
    habit: float = 1.0  # of all others: the share of decisions that a textbook would take, whatever is specified


Course = tuple[Stage, ...]
# Late in training the families that are learned last come more often: after 5.3M tokens a teacher had 0 of 12 ALUs
# right and every counter; when their share fell from a fifth to a ninth at 13.8M tokens (and the learning rate rose
# again), 25 of 40 became 0 of 10.
_HARD = (*TRAINED, *("alu", "mux", "sequence_detector") * 3, "gray", "comparator", "occupancy")
_HARDEST = (*TRAINED, "gray", *("alu", "mux", "sequence_detector") * 6)
_LAST = (*TRAINED, "alu", "mux", "sequence_detector", "occupancy", "arbiter", "gray")
_TEACHERS_LAST = (*TRAINED, *("alu",) * 4, *("sequence_detector",) * 2, "mux", "gray", "comparator")
_STUDENTS_LAST = (*TRAINED, *("alu",) * 3, *("comparator",) * 2, "sequence_detector", "gray", "occupancy")
_STUDENTS_AGAIN = (*TRAINED, *("alu",) * 8, *("sequence_detector",) * 4, "mux", "mux", "counter", "decoder")
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
    Stage(503, (*TRAINED, "alu", "alu", "sequence_detector"), right=0.1),
)
BASE: Course = (Stage(0, TRAINED, right=0.1, habit=0.7),)
AGENTS: Course = (Stage(0, _TEACHERS_LAST),)


def pairs(seed: int, course: Course) -> Iterator[Pair]:
    """Without end."""
    renderer = renderer_for(RENDERER, tokenizer_for(MODEL))
    end = renderer.tokenizer.encode("<|im_end|>")
    template = as_problem(instances(seed, 1)[0])
    for instance, design in answered(seed, course):
        # A problem without its harness: computing the test vectors takes most of the time, and none is asked.
        problem = replace(template, prompt=instance.text, targets=(instance.target,))
        asked = prompt_for(problem, renderer, system=SYSTEM).tokens
        yield Pair(asked, (*renderer.tokenizer.encode(answer(design)), *end))


def documents(seed: int, course: Course) -> Iterator[Pair]:
    """The same problems as running text: specification, empty line, design. No turns, no code block, all is learned."""
    tokenizer = renderer_for(RENDERER, tokenizer_for(MODEL)).tokenizer
    end = tokenizer.encode("<|endoftext|>")
    for instance, design in answered(seed, course):
        first, *rest = tokenizer.encode(f"{instance.text}\n\n{design}")
        yield Pair((first,), (*rest, *end))


def answered(seed: int, course: Course) -> Iterator[tuple[Instance, str]]:
    """Instances without end, each with a design: the reference, or one in which habit takes its share."""
    chance = Random(f"habit {seed}")
    for block in itertools.count():
        stage = next(stage for stage in reversed(course) if stage.block <= block)
        found = instances(seed * 1_000_003 + block, BLOCK, families=stage.families)
        Random(f"order {seed} {block}").shuffle(found)
        for instance in found:
            right = chance.random() < stage.right
            yield instance, instance.reference if right else habitual_answer(instance, stage.habit, chance)
