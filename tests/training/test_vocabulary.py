"""A teacher that reads other tokens than the student writes is refused."""

import pytest

from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.training.config import STUDENT, TEACHER
from rtl_agent.training.errors import BadConfig
from rtl_agent.training.models import check_same_vocabulary
from tests.envs.vocabularies import qwen3


def test_teacher_and_student_of_one_family_are_taken() -> None:
    check_same_vocabulary(tokenizer_for(STUDENT), tokenizer_for(TEACHER), (STUDENT, TEACHER))


def test_a_teacher_of_another_family_is_refused_by_name() -> None:
    with pytest.raises(BadConfig, match="different vocabularies"):
        check_same_vocabulary(tokenizer_for(STUDENT), qwen3(), (STUDENT, "Qwen/Qwen3-8B"))
