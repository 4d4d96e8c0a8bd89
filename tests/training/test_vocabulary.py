"""How a teacher reads a student's tokens follows from the two tokenizers, unless an option says so."""

import pytest

from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.teachers import OTHER_TOKENS, SAME_TOKENS
from rtl_agent.training.config import STUDENT, TEACHER, Config, ModelConfig
from rtl_agent.training.errors import BadConfig
from rtl_agent.training.models import teacher_kind
from tests.envs.vocabularies import qwen3


def test_a_teacher_of_the_students_family_reads_its_tokens() -> None:
    assert teacher_kind(Config(), tokenizer_for(STUDENT), tokenizer_for(TEACHER)) == SAME_TOKENS


@pytest.mark.parametrize("other", ["rtl-agent/teacher-2", "Qwen/Qwen3-8B"])
def test_a_teacher_of_another_family_reads_other_tokens(other: str) -> None:
    tokenizer = qwen3() if other.startswith("Qwen") else tokenizer_for(other)
    assert teacher_kind(Config(), tokenizer_for(STUDENT), tokenizer) == OTHER_TOKENS


def test_tokens_that_differ_are_not_scored_as_if_they_were_the_same() -> None:
    config = Config(model=ModelConfig(teacher="Qwen/Qwen3-8B", teacher_kind=SAME_TOKENS))
    with pytest.raises(BadConfig, match="different vocabularies"):
        teacher_kind(config, tokenizer_for(STUDENT), qwen3())
