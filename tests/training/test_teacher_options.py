"""Teachers as a command line names them."""

import pytest

from rtl_agent.problems import load_problems
from rtl_agent.training.config import Config
from rtl_agent.training.errors import BadConfig
from rtl_agent.training.parse import parse
from rtl_agent.training.teacher_options import SAME, TeacherSpec, idle_rules, teacher_of, teacher_rules

TWO = "teacher_model=Qwen/Qwen3-Coder-30B-A3B-Instruct,rtl-agent/teacher"
CODER, SMALL = "Qwen/Qwen3-Coder-30B-A3B-Instruct", "rtl-agent/teacher"


def distill(*words: str) -> Config:
    return parse("distill", ["preset=none", *words])


def test_a_teacher_is_where_the_student_is_unless_told_otherwise() -> None:
    assert distill().teachers == (TeacherSpec(SMALL),)
    assert distill("teacher_backend=embedded", "backend=embedded").teachers == (TeacherSpec(SMALL, SAME),)
    assert distill("teacher_backend=embedded", "backend=tinker").teachers == (TeacherSpec(SMALL, "embedded"),)
    assert parse("rl", ["preset=none"]).teachers == ()
    assert distill("teacher_model=self").teachers == ()


def test_several_teachers_have_one_value_for_all_or_one_for_each() -> None:
    first, second = distill(
        TWO, "teacher_backend=openai:http://gpu:8000/v1,embedded", "backend=tinker", "teacher_api_key_env=KEY"
    ).teachers
    assert first == TeacherSpec(CODER, "openai:http://gpu:8000/v1", key_variable="KEY")
    assert second == TeacherSpec(SMALL, "embedded", key_variable="KEY")
    assert [one.tokenizer for one in distill(TWO, "teacher_tokenizer=/models/coder,").teachers] == ["/models/coder", ""]


def test_rules_are_by_category_family_or_problem_and_the_first_that_fits_decides() -> None:
    config = distill(TWO, "teacher_for=cid016:teacher, *arbiter*:Qwen/Qwen3-Coder-30B-A3B-Instruct")
    rules = teacher_rules(config.model)
    problems = load_problems("bundled")
    for problem in problems:
        wanted = SMALL if problem.category == "cid016" else CODER
        assert teacher_of(problem, [CODER, SMALL], rules) == wanted
    assert idle_rules(rules, problems) == [] or problems
    assert [
        rule.pattern for rule in idle_rules(teacher_rules(distill("teacher_for=nofamily*:teacher").model), problems)
    ] == ["nofamily*"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["teacher_backend=openai:localhost:8000"], "openai:http://host:port/v1"),
        (["teacher_backend=gpu:8000"], "teacher_backend=gpu:8000: use same, embedded, tinker"),
        ([TWO, "teacher_backend=tinker,tinker,tinker"], "3 values for 2 teachers"),
        (["teacher_model=rtl-agent/teacher,rtl-agent/teacher"], "named twice"),
        (["teacher_model="], "name a model"),
        (["teacher_model=self,rtl-agent/teacher"], "itself alone"),
        (["teacher_model=self", "teacher_backend=tinker"], "on its own server"),
        ([TWO, "teacher_for=cid016"], "write PATTERN:TEACHER"),
        ([TWO, "teacher_for=cid016:rtl-agent/techer"], "did you mean rtl-agent/teacher"),
        (["teacher_patience=-1"], "0 or more"),
    ],
)
def test_options_that_do_not_fit_are_said(words: list[str], said: str) -> None:
    with pytest.raises(BadConfig, match=said) as failure:
        distill(*words)
    assert failure.value.exit_code == 2


def test_a_key_in_place_of_a_variable_is_refused_and_not_shown() -> None:
    with pytest.raises(BadConfig, match="the name of an environment variable") as failure:
        distill("teacher_api_key_env=sk-very-secret")
    assert "secret" not in str(failure.value)
