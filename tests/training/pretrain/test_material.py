"""What models are taught: right or by habit, in one reply or by calls that the dialect reads."""

import itertools
from collections import Counter

from rtl_agent.envs.dialects.registry import dialect_for
from rtl_agent.envs.session import ToolResult
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.problems import Kind, load_problems
from rtl_agent.problems.generate import TRAINED
from rtl_agent.training.pretrain.material import (
    EXIT_0,
    MODEL,
    RENDERER,
    SHELL,
    Answered,
    Course,
    Form,
    Pair,
    Stage,
    answered,
    pairs,
)

DIALECT, TOKENIZER = dialect_for(MODEL, RENDERER), tokenizer_for(MODEL)


def first(course: Course, count: int = 60) -> list[Answered]:
    return list(itertools.islice(answered(0, course), count))


def turns(pair: Pair) -> list[tuple[int, ...]]:
    """What the model said, without what it was shown."""
    starts, ends = (0, *(end for _, end in pair.shown)), (*(start for start, _ in pair.shown), len(pair.answer))
    return [pair.answer[start:end] for start, end in zip(starts, ends, strict=True)]


def test_habit_has_its_share_of_the_answers_and_of_their_decisions() -> None:
    def rightly(right: float) -> list[bool]:
        return [one.design == one.instance.reference for one in first((Stage(0, families, right=right),))]

    families = ("counter", "mux")
    assert all(rightly(1.0))
    assert not any(rightly(0.0))
    assert 15 < sum(rightly(0.5)) < 45
    assert {one.instance.spec.family for one in first((Stage(0, families),))} == set(families)


def test_forms_have_their_shares_and_change_nothing_else() -> None:
    plain = first((Stage(0, TRAINED, right=0.5),))
    mixed = first((Stage(0, TRAINED, right=0.5, calls=0.5, workspaces=0.5),))
    assert {one.form for one in plain} == {Form.REPLY}
    assert [(one.instance, one.design) for one in plain] == [(one.instance, one.design) for one in mixed]
    counted = Counter(one.form for one in mixed)
    assert 15 < counted[Form.REPLY] < 45
    assert counted[Form.CALL] > 5
    assert counted[Form.WORKSPACE] > 5


def test_an_agent_is_taught_to_write_its_file_by_a_call_that_its_dialect_reads() -> None:
    pair = next(pairs(0, (Stage(0, TRAINED, calls=1.0),)))
    call, last = turns(pair)
    (read,) = DIALECT.parse(call).calls
    assert read.name == SHELL
    assert read.arguments["command"].startswith("cat > rtl/")
    assert "endmodule\nE" in read.arguments["command"]
    ((start, end),) = pair.shown
    assert list(pair.answer[start:end]) == DIALECT.follow(call, [ToolResult(SHELL, EXIT_0)])
    assert not DIALECT.parse(last).calls


def test_in_a_workspace_it_is_taught_to_read_the_specification_first() -> None:
    course = (Stage(0, ("mux",), calls=1.0, workspaces=1.0),)
    (one,), pair = first(course, 1), next(pairs(0, course))
    look, write, last = turns(pair)
    assert one.instance.text not in TOKENIZER.decode(list(pair.question))
    assert DIALECT.parse(look).calls[0].arguments["command"] == "cat docs/specification.md"
    start, end = pair.shown[0]
    assert one.instance.text in TOKENIZER.decode(list(pair.answer[start:end]))
    assert one.design in DIALECT.parse(write).calls[0].arguments["command"]
    assert not DIALECT.parse(last).calls


def test_told_what_failed_it_is_taught_to_write_the_reference() -> None:
    """What is told is the grader's own: that a right answer passed, or what failed, as a refining model is shown it."""
    course = (Stage(0, ("counter", "mux"), right=0.3, mended=1.0),)
    said = []
    for one, pair in zip(first(course, 12), pairs(0, course), strict=False):
        question, taught = (str(TOKENIZER.decode(list(part))) for part in (pair.question, pair.answer))
        assert one.design in question
        assert one.instance.reference in taught
        judged = question.partition("Your answer was judged.")[2]
        assert ("Every test passed." in judged) == (one.design == one.instance.reference)
        said.append(judged)
    assert len(set(said)) > 2
    assert not any("/src" in one or "test_runner" in one for one in said)


def test_nothing_of_the_bundled_workspaces_is_taught() -> None:
    """They are what agents are tested on."""
    problems = [problem for problem in load_problems("bundled") if problem.kind is Kind.AGENTIC]
    texts = [text for one in problems for text in (one.prompt, *one.context.values())]
    lines = {line for text in texts for line in text.splitlines() if len(line) > 60 and not line.startswith("|")}
    assert lines
    course = (Stage(0, TRAINED, calls=1.0, workspaces=1.0),)
    told = itertools.islice(pairs(0, course), 40)
    taught = "".join(str(TOKENIZER.decode([*pair.question, *pair.answer])) for pair in told)
    assert not [line for line in lines if line in taught]
