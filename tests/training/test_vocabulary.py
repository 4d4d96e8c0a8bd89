"""How a teacher reads a student's tokens follows from the two tokenizers, unless an option says so."""

from typing import cast

import pytest
import tinker

from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.teachers import OTHER_TOKENS, SAME_TOKENS, Scorer
from rtl_agent.training.config import STUDENT, TEACHER, Config, ModelConfig
from rtl_agent.training.errors import BadConfig
from rtl_agent.training.models import alignment_lines, teacher_kind
from rtl_agent.training.teacher_options import TeacherSpec
from rtl_agent.training.teachers import OpenTeacher, Teachers
from tests.envs.vocabularies import qwen3


def test_a_teacher_of_the_students_family_reads_its_tokens() -> None:
    assert teacher_kind(Config(), tokenizer_for(STUDENT), tokenizer_for(TEACHER)) == SAME_TOKENS


@pytest.mark.parametrize("other", ["rtl-agent/teacher-2", "Qwen/Qwen3-8B"])
def test_a_teacher_of_another_family_reads_other_tokens(other: str) -> None:
    tokenizer = qwen3() if other.startswith("Qwen") else tokenizer_for(other)
    assert teacher_kind(Config(), tokenizer_for(STUDENT), tokenizer) == OTHER_TOKENS


def test_how_much_can_be_compared_is_said_before_the_first_step() -> None:
    spec = TeacherSpec("rtl-agent/teacher-2")
    opened = OpenTeacher(spec, cast(Scorer, None), cast(tinker.SamplingClient, None), spec.name, "rtl_agent")
    (line,) = alignment_lines(Config(), Teachers((opened,)))
    assert "100% of the student's tokens in a Verilog module can be compared" in line
    same = OpenTeacher(TeacherSpec(TEACHER), opened.scorer, opened.sampler, TEACHER, "rtl_agent")
    assert alignment_lines(Config(), Teachers((same,))) == []


def test_tokens_that_differ_are_not_scored_as_if_they_were_the_same() -> None:
    config = Config(model=ModelConfig(teacher="Qwen/Qwen3-8B", teacher_kind=SAME_TOKENS))
    with pytest.raises(BadConfig, match="different vocabularies"):
        teacher_kind(config, tokenizer_for(STUDENT), qwen3())
