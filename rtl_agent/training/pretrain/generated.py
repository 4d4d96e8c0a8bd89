"""Generated problems as questions and answers: by the specification, or by habit."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from random import Random

from rtl_agent.envs import prompt_for, renderer_for, tokenizer_for
from rtl_agent.problems.generate import Instance, answer, as_problem, habitual_answer, instances
from rtl_agent.training.pretrain.batches import Pair

BLOCK = 256  # instances drawn at a time
SYSTEM, RENDERER, MODEL = "short", "rtl_agent", "rtl-agent/student"


def pairs(seed: int, *, habit: float = 0.0) -> Iterator[Pair]:
    """Without end. `habit` is the share of answers that a textbook would give, whatever the specification says."""
    renderer = renderer_for(RENDERER, tokenizer_for(MODEL))
    end = renderer.tokenizer.encode("<|im_end|>")
    chance = Random(f"habit {seed}")
    template = as_problem(instances(seed, 1)[0])
    for block in itertools.count():
        drawn = instances(seed * 1_000_003 + block, BLOCK)
        Random(f"order {seed} {block}").shuffle(drawn)
        for instance in drawn:
            # A problem without its harness: computing the test vectors takes most of the time, and none is asked.
            problem = replace(template, prompt=instance.text, targets=(instance.target,))
            asked = prompt_for(problem, renderer, system=SYSTEM).tokens
            said = renderer.tokenizer.encode(answer_text(instance, habit=chance.random() < habit))
            yield Pair(asked, (*said, *end))


def answer_text(instance: Instance, *, habit: bool) -> str:
    return answer(habitual_answer(instance) if habit else instance.reference)
