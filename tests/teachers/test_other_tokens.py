"""A teacher's scores carried over to the student's tokens: nothing lost, nothing counted twice, nothing made up."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtl_agent.byte_vocabulary import ByteVocabulary
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.teachers import OTHER_TOKENS, TEACHERS, Island, Reading, Scores, ScoringError, TeacherSetup, TopK
from rtl_agent.teachers.other_tokens import compare
from rtl_agent.teachers.translation import Translation
from tests.envs.vocabularies import gpt_oss, qwen3

DESIGN = """module counter #(parameter WIDTH = 16) (input logic clk, rst, output logic [WIDTH-1:0] q);
  always_ff @(posedge clk) if (rst) q <= 16'd255; else q <= q + 101;
endmodule
"""


@cache
def words(student: str, teacher: str, *, guard: bool = True, texts: tuple[str, ...] = ()) -> Translation:
    return Translation(vocabulary(student), vocabulary(teacher), guard=guard, texts=texts)


@cache
def vocabulary(name: str) -> ByteVocabulary:
    real = {"gpt-oss": gpt_oss, "qwen3": qwen3}
    return ByteVocabulary.from_tokenizer(real[name]() if name in real else tokenizer_for(f"rtl-agent/{name}"))


def ends(vocabulary: ByteVocabulary, tokens: Sequence[int]) -> tuple[int, ...]:
    found, place = [], 0
    for token in tokens:
        place += len(vocabulary[token])
        found.append(place)
    return tuple(found)


def reading(student: str, teacher: str, text: str, *, cut_off: bool = False) -> Reading:
    """Two tokens of a prompt on both sides, the text, and an end."""
    data = text.encode()
    ours, theirs = vocabulary(student).encode(data), vocabulary(teacher).encode(data)
    assert ours is not None
    assert theirs is not None
    island = Island(
        data,
        (2, 2 + len(ours)),
        (2, 2 + len(theirs)),
        ends(vocabulary(student), ours),
        ends(vocabulary(teacher), theirs),
        cut_off=cut_off,
    )
    last = () if cut_off else ((2 + len(ours), 2 + len(theirs)),)
    return Reading((0, 0, *theirs, *([0] if last else [])), 2 + len(ours) + len(last), islands=(island,), ends=last)


def scores(read: Reading, top: Sequence[TopK | None] = ()) -> Scores:
    return Scores((None, *(-0.01 * (at % 7) - 0.1 for at in range(1, len(read.tokens)))), tuple(top))


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=("Cs", "Mn", "Mc")), min_size=1, max_size=120))
def test_what_the_teacher_gave_is_what_the_student_gets(text: str) -> None:
    """Over a text, whatever is in it: the sum of the parts is the sum of the teacher's own scores."""
    for student, teacher in (("gpt-oss", "qwen3"), ("qwen3", "gpt-oss"), ("student", "teacher-2")):
        if vocabulary("qwen3").encode(text.encode()) is None:
            return
        read = reading(student, teacher, text)
        found = compare(read, given := scores(read), words(student, teacher), soft=False)
        scored = [one for one in found.logprobs if one is not None]
        unscored = found.alignment.unscored
        assert found.alignment.scored + unscored.total() == read.length - 2
        assert len(scored) == found.alignment.scored
        if not unscored:
            assert math.fsum(scored) == pytest.approx(math.fsum(one for one in given.logprobs[2:] if one is not None))
        for number, (first, one) in enumerate(zip(found.chunks, found.logprobs, strict=True)):
            assert first <= number
            assert one is not None or number < 2 or unscored


def test_the_end_of_a_turn_is_scored() -> None:
    read = reading("gpt-oss", "qwen3", DESIGN)
    given = scores(read)
    found = compare(read, given, words("gpt-oss", "qwen3"), soft=False)
    assert found.ends == [read.length - 1]
    assert found.logprobs[-1] == given.logprobs[-1]


def test_of_a_text_that_was_cut_off_the_last_chunk_is_left_out() -> None:
    read = reading("gpt-oss", "qwen3", DESIGN, cut_off=True)
    found = compare(read, scores(read), words("gpt-oss", "qwen3"), soft=False)
    assert found.logprobs[-1] is None
    assert found.logprobs[2] is not None
    assert set(found.alignment.unscored) == {"cut off"}


def test_a_long_chunk_is_left_out() -> None:
    """Here all of the text is one chunk: one side has it in one token."""
    text = b"x" * 40
    island = Island(text, (0, 2), (0, 1), (20, 40), (40,))
    found = compare(Reading((0,), 2, islands=(island,)), Scores((-1.0,)), words("gpt-oss", "qwen3"), soft=False)
    assert found.logprobs == [None, None]
    assert found.alignment.unscored == {"long chunk": 2}


def test_what_a_server_left_out_is_not_scored_as_zero() -> None:
    read = reading("gpt-oss", "qwen3", DESIGN)
    told = list(scores(read).logprobs)
    told[5] = None
    found = compare(read, Scores(tuple(told)), words("gpt-oss", "qwen3"), soft=False)
    assert found.alignment.unscored["not scored by the server"] >= 1
    assert 0.0 not in found.logprobs


def test_what_the_teacher_finds_impossible_is_a_number_all_the_same() -> None:
    """Of minus infinity no difference can be taken: a chunk of several tokens would teach NaN."""
    read = reading("student", "teacher-2", "assign total_overflow_count = 16;\n")
    never = Scores((None, *[-math.inf] * (len(read.tokens) - 1)))
    found = compare(read, never, words("student", "teacher-2"), soft=False)
    assert found.alignment.kinds["n:1"] > 0
    assert not any(math.isnan(one) for one in found.logprobs if one is not None)


async def test_where_there_is_nothing_to_score_no_server_is_asked() -> None:
    setup = TeacherSetup(Told(Scores(())), 0, tokenizer_for("rtl-agent/student"), tokenizer_for("rtl-agent/teacher-2"))
    advice = await TEACHERS[OTHER_TOKENS](setup).advise(Reading((1, 2, 3), 4, unscored={3: "markup"}))
    assert advice.logprobs == (None,) * 4


def test_inside_an_escape_a_chunks_score_is_shared() -> None:
    """The student wrote a line break as two tokens, the teacher as one."""
    island = Island(b"\nx", (0, 3), (0, 2), (None, 1, 2), (1, 2), escaped=True)
    found = compare(Reading((0, 0), 3, islands=(island,)), Scores((-1.0, -3.0)), words("gpt-oss", "qwen3"), soft=False)
    assert found.logprobs == [-0.5, -0.5, -3.0]
    assert found.chunks == [0, 0, 2]


def top(teacher: str, *texts: tuple[bytes, float]) -> TopK:
    known = vocabulary(teacher)
    return TopK(tuple(known.token_of[text] for text, _ in texts), tuple(math.log(share) for _, share in texts))


def test_soft_targets_are_the_students_tokens_of_the_same_text() -> None:
    made = words("gpt-oss", "qwen3", texts=(DESIGN,)).soft_targets(top("qwen3", (b" clk", 0.9), (b" rst", 0.1)))
    assert not isinstance(made, str)
    soft, mass = made
    assert [vocabulary("gpt-oss")[token] for token in soft.tokens] == [b" clk", b" rst"]
    assert mass == pytest.approx(1.0)
    assert soft.shares() == pytest.approx([0.9, 0.1])


@pytest.mark.parametrize(("student", "teacher"), [("gpt-oss", "qwen3"), ("student", "teacher-2")])
def test_a_digit_is_not_the_same_action_to_who_packs_numbers(student: str, teacher: str) -> None:
    """The teacher's `1` is `16` and `101` too: taught as `1`, the student would unlearn them."""
    told = top(teacher, (b"1", 0.9), (b";", 0.1))
    assert words(student, teacher, texts=(DESIGN,)).soft_targets(told) == "not closed"
    unguarded = words(student, teacher, guard=False, texts=(DESIGN,)).soft_targets(told)
    assert not isinstance(unguarded, str)


def test_what_cannot_be_mapped_is_not_given_to_the_others() -> None:
    marker = TopK((151_645, vocabulary("qwen3").token_of[b" clk"]), (math.log(0.04), math.log(0.96)))
    made = words("gpt-oss", "qwen3", texts=(DESIGN,)).soft_targets(marker)
    assert not isinstance(made, str)
    assert sum(made[0].shares()) == pytest.approx(0.96)
    mostly = TopK((151_645, vocabulary("qwen3").token_of[b" clk"]), (math.log(0.5), math.log(0.5)))
    assert words("gpt-oss", "qwen3", texts=(DESIGN,)).soft_targets(mostly) == "mass"


def test_the_end_of_a_turn_is_a_soft_target_too() -> None:
    translation = Translation(vocabulary("gpt-oss"), vocabulary("qwen3"), (200_002, 151_645))
    made = translation.soft_targets(TopK((151_645,), (0.0,)))
    assert not isinstance(made, str)
    assert made[0].tokens == (200_002,)


@dataclass(frozen=True)
class Told:
    """A server that says what it was given."""

    scores: Scores
    name: str = "a server"

    async def score(self, tokens: Sequence[int], *, topk: int = 0, first: int = 0) -> Scores:
        return self.scores


async def test_with_equal_tokenizers_the_advice_is_that_of_the_usual_teacher() -> None:
    """Bit for bit: logprobs, soft targets and chunks."""
    read = reading("student", "student", DESIGN)
    same = top("student", (b"clk", 0.7), (b"1", 0.2), (b";", 0.1))
    given = scores(read, [same] * len(read.tokens))
    tokenizer = tokenizer_for("rtl-agent/student")
    setup = TeacherSetup(Told(given), 3, tokenizer, tokenizer, texts=(DESIGN,))
    other = await TEACHERS[OTHER_TOKENS](setup).advise(read)
    usual = await TEACHERS["same-tokens"](setup).advise(Reading.verbatim(read.tokens))
    assert other.logprobs[2:] == usual.logprobs[2:]
    assert [one and (one.tokens, one.shares()) for one in other.top[2:]] == [
        one and (one.tokens, one.shares()) for one in usual.top[2:]
    ]
    assert other.chunks == tuple(range(read.length))


async def test_a_server_that_says_too_little_is_named() -> None:
    read = reading("student", "teacher-2", DESIGN)
    setup = TeacherSetup(
        Told(Scores((None, -1.0))), 0, tokenizer_for("rtl-agent/student"), tokenizer_for("rtl-agent/teacher-2")
    )
    with pytest.raises(ScoringError, match="a server gave 2 logprobs for"):
        await TEACHERS[OTHER_TOKENS](setup).advise(read)


def test_a_student_that_writes_unusual_tokens_is_noticed() -> None:
    data = b"module"
    tokens = [vocabulary("gpt-oss").token_of[bytes([byte])] for byte in data]
    island = Island(data, (0, 6), (0, 1), ends(vocabulary("gpt-oss"), tokens), (6,))
    usual = reading("gpt-oss", "qwen3", "module").islands[0]
    for one, canonical in ((island, 0), (replace(usual, student=(0, 1), teacher=(0, 1)), 1)):
        read = Reading((0,), one.student[1], islands=(one,))
        found = compare(read, Scores((-1.0,)), words("gpt-oss", "qwen3"), soft=False)
        assert found.alignment.canonical == canonical
