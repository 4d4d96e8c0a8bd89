"""Generated problems as questions and answers, in the form that a course asks for."""

from collections.abc import Iterator
from dataclasses import replace

from rtl_agent.envs.prompt import prompt_for
from rtl_agent.envs.renderers import renderer_for
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.problems import Problem
from rtl_agent.problems.generate import Instance, answer, as_problem, identifier, instances
from rtl_agent.training.pretrain.batches import Pair
from rtl_agent.training.pretrain.conversations import MODEL, RENDERER, SYSTEM, Conversations
from rtl_agent.training.pretrain.course import Course, Form, answered


def pairs(seed: int, course: Course) -> Iterator[Pair]:
    """Without end."""
    renderer = renderer_for(RENDERER, tokenizer_for(MODEL))
    end = renderer.tokenizer.encode("<|im_end|>")
    template = as_problem(instances(seed, 1)[0])
    conversations = Conversations(seed)
    for one in answered(seed, course):
        problem = _without_harness(template, one.instance)
        match one.form:
            case Form.REPLY:
                asked = prompt_for(problem, renderer, system=SYSTEM).tokens
                yield Pair(asked, (*renderer.tokenizer.encode(answer(one.design)), *end))
            case Form.CALL:
                yield conversations.writing(problem, one.design)
            case Form.WORKSPACE:
                yield conversations.reading(problem, one.design)


def documents(seed: int, course: Course) -> Iterator[Pair]:
    """The same problems as running text: specification, empty line, design. No turns, no code block, all is learned."""
    tokenizer = renderer_for(RENDERER, tokenizer_for(MODEL)).tokenizer
    end = tokenizer.encode("<|endoftext|>")
    for one in answered(seed, course):
        first, *rest = tokenizer.encode(f"{one.instance.text}\n\n{one.design}")
        yield Pair((first,), (*rest, *end))


def _without_harness(template: Problem, instance: Instance) -> Problem:
    """Computing the test vectors takes most of the time, and none is asked."""
    return replace(template, id=identifier(instance), prompt=instance.text, targets=(instance.target,))
