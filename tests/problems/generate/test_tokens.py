"""Generated problems in the embedded models' tokenizer: short, and every name written in one way."""

from pathlib import Path

import pytest
from tokenizers import Tokenizer

import rtl_agent.backends
from rtl_agent.grading import extract
from rtl_agent.problems.generate import HELD_OUT_WHOLE, LONGER, TRAINED, Instance, answer, as_problem, instances
from rtl_agent.prompts import messages


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    folder = Path(rtl_agent.backends.__file__).parent / "models" / "tokenizer"
    return Tokenizer.from_file(str(folder / "tokenizer.json"))


@pytest.fixture(scope="module")
def drawn() -> list[Instance]:
    return instances(5, 30 * 16, families=(*TRAINED, *HELD_OUT_WHOLE), split="held-out")


def test_prompts_and_answers_are_short(tokenizer: Tokenizer, drawn: list[Instance]) -> None:
    prompts, answers = [], []
    for instance in drawn:
        asked = messages(as_problem(instance), system="short")
        prompts.append(sum(len(tokenizer.encode(message.content).ids) for message in asked))
        answers.append(len(tokenizer.encode(answer(instance.reference)).ids))
    assert max(prompts) <= 270
    assert max(answers) <= 150
    assert sum(prompts) / len(prompts) < 190
    assert sum(answers) / len(answers) < 100


def test_longer_answers_fit_into_those_of_the_small_models(tokenizer: Tokenizer) -> None:
    """Preset `small` samples 256 tokens."""
    for instance in instances(5, 90, families=LONGER):
        assert len(tokenizer.encode(answer(instance.reference)).ids) <= 200


def test_a_name_has_one_or_two_tokens_and_the_same_ones_everywhere(tokenizer: Tokenizer, drawn: list[Instance]) -> None:
    for instance in drawn:
        ports = instance.family.ports(instance.spec.choices)
        for name in (instance.spec.module, *(instance.spec[port.role] for port in ports)):
            tokens = tokenizer.encode(name).tokens
            assert len(tokens) <= 2
            for text in (instance.text, answer(instance.reference)):
                assert " ".join(("", *tokens, "")) in " ".join(("", *tokenizer.encode(text).tokens, ""))


def test_a_canonical_answer_is_extracted_as_it_was_written(drawn: list[Instance]) -> None:
    for instance in drawn[:20]:
        submission = extract(as_problem(instance), answer(instance.reference))
        assert submission.files == {instance.target: instance.reference}
