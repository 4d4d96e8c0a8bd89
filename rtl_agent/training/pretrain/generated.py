"""Generated problems as questions and answers: by the specification, or by habit."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from random import Random

from rtl_agent.envs import prompt_for, renderer_for, tokenizer_for
from rtl_agent.problems.generate import TRAINED, Instance, answer, as_problem, habitual_answer, instances
from rtl_agent.training.pretrain.batches import Pair

BLOCK = 256  # instances drawn at a time
# Late in training the families that are learned last come more often: after 5.3M tokens a teacher had 0 of 12 ALUs
# right and every counter. A course says which families are drawn from which block of instances on.
Course = tuple[tuple[int, tuple[str, ...]], ...]
EVENLY: Course = ((0, TRAINED),)
_HARD = ("alu",) * 3 + ("mux",) * 3 + ("sequence_detector",) * 3 + ("gray", "comparator", "occupancy")
_HARDEST = ("alu", "mux", "sequence_detector") * 6
TEACHERS: Course = (*EVENLY, (76, (*TRAINED, *_HARD)), (138, (*TRAINED, "gray", *_HARDEST)))
STUDENTS: Course = (*EVENLY, (88, (*TRAINED, *_HARD)))
READ = 0.1  # share of answers that are right even where habit rules: nobody learns to read without having read
SYSTEM, RENDERER, MODEL = "short", "rtl_agent", "rtl-agent/student"


def pairs(seed: int, *, habit: float = 0.0, course: Course = EVENLY) -> Iterator[Pair]:
    """Without end. `habit` is the share of decisions that a textbook would take, whatever the specification says."""
    renderer = renderer_for(RENDERER, tokenizer_for(MODEL))
    end = renderer.tokenizer.encode("<|im_end|>")
    template = as_problem(instances(seed, 1)[0])
    for instance, chance in drawn(seed, course):
        # A problem without its harness: computing the test vectors takes most of the time, and none is asked.
        problem = replace(template, prompt=instance.text, targets=(instance.target,))
        asked = prompt_for(problem, renderer, system=SYSTEM).tokens
        said = renderer.tokenizer.encode(answer(answer_text(instance, habit, chance)))
        yield Pair(asked, (*said, *end))


def documents(seed: int, *, habit: float = 0.0) -> Iterator[Pair]:
    """The same problems as running text: specification, empty line, design. No turns, no code block, all is learned."""
    tokenizer = renderer_for(RENDERER, tokenizer_for(MODEL)).tokenizer
    end = tokenizer.encode("<|endoftext|>")
    for instance, chance in drawn(seed):
        text = f"{instance.text}\n\n{answer_text(instance, habit, chance)}"
        first, *rest = tokenizer.encode(text)
        yield Pair((first,), (*rest, *end))


def drawn(seed: int, course: Course = EVENLY) -> Iterator[tuple[Instance, Random]]:
    """Instances without end, and what decides by chance about their answers."""
    chance = Random(f"habit {seed}")
    for block in itertools.count():
        families = next(names for first, names in reversed(course) if first <= block)
        found = instances(seed * 1_000_003 + block, BLOCK, families=families)
        Random(f"order {seed} {block}").shuffle(found)
        yield from ((instance, chance) for instance in found)


def answer_text(instance: Instance, habit: float, chance: Random) -> str:
    """A design: the reference, or one in which habit takes its share of the decisions."""
    if not habit or chance.random() < READ:
        return instance.reference
    return habitual_answer(instance, habit, chance)
