"""A conversation as a teacher with other tokens and another markup reads it, on the models' real vocabularies."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tinker_cookbook.tokenizer_utils import Tokenizer

from rtl_agent.byte_vocabulary import ByteVocabulary
from rtl_agent.envs.conversation import Conversation, ModelTurn, PartKind
from rtl_agent.envs.dialects.dialect import Dialect
from rtl_agent.envs.dialects.json_spans import unescaped
from rtl_agent.envs.dialects.segments import byte_vocabulary
from rtl_agent.envs.dialects.text import NoToolCalls, TextDialect
from rtl_agent.envs.renderers import renderer_for
from rtl_agent.envs.session import ToolResult, ToolSpec
from rtl_agent.envs.teacher_view import SharedText, TeacherView, Thinking, teacher_view
from rtl_agent.envs.tokenizers import tokenizer_for
from tests.envs.dialects.spoken import ASKED, TOOLS, Spoken, spoken
from tests.envs.vocabularies import llama3, qwen3

OSS, QWEN, CODER = "gpt_oss_low_reasoning", "qwen3_instruct", "qwen3_coder"
PAIRS = [
    (OSS, QWEN),
    (OSS, "qwen3"),
    (OSS, CODER),
    (QWEN, OSS),
    ("qwen3_disable_thinking", OSS),
    (CODER, OSS),
    (CODER, QWEN),
    (QWEN, CODER),
    ("qwen3_5", OSS),
    (OSS, "qwen3_5"),
    ("rtl_agent", OSS),
    ("rtl_agent", QWEN),
    ("rtl_agent", CODER),
    ("rtl_agent", "teacher-2"),
    (OSS, "rtl_agent"),
]
every_pair = pytest.mark.parametrize(("student", "teacher"), PAIRS)
RTL = """module gray_counter #(parameter int N = 101)(input logic clk, output logic [N-1:0] q);
  // Größe, 線, \N{ROCKET}: "quoted" \\ and a tab\t;
  always_ff @(posedge clk) q <= 128'hDEAD_BEEF;\r
  initial $display("%d\\n", q);
endmodule
"""
COMMAND = f"cat > rtl/a.sv <<'EOF'\n{RTL}EOF\n"


@cache
def dialect(name: str) -> Dialect:
    if name == "teacher-2":
        tokenizer = tokenizer_for("rtl-agent/teacher-2")
        return spoken("rtl_agent").dialect.__class__(renderer_for("rtl_agent", tokenizer), brief=True)  # type: ignore[call-arg]
    return spoken(name).dialect


@cache
def vocabulary(name: str) -> ByteVocabulary:
    if name == "teacher-2":
        return byte_vocabulary(tokenizer_for("rtl-agent/teacher-2"))
    return byte_vocabulary(spoken(name).tokenizer)


def conversation(
    said: Spoken,
    turns: Sequence[Sequence[int]],
    results: Sequence[ToolResult] = (),
    tools: Sequence[ToolSpec] = (),
    *,
    cut_off: bool = False,
) -> Conversation:
    """Turns that the same results follow, but for the last; `cut_off` is the last one."""
    made: list[ModelTurn] = []
    shown: list[tuple[int, ...]] = []
    for at, turn in enumerate(turns):
        is_last = at == len(turns) - 1
        made.append(ModelTurn(said.dialect.read(turn), () if is_last else tuple(results), cut_off and is_last))
        shown.append(() if is_last else tuple(said.dialect.follow(turn, results)))
    prompt = tuple(said.dialect.first(ASKED, tools).to_ints())
    return Conversation(ASKED, tuple(tools), tuple(made), prompt, tuple(shown))


def sampled_positions(told: Conversation) -> list[int]:
    at = len(told.prompt)
    found: list[int] = []
    for turn, shown in zip(told.turns, told.shown, strict=True):
        found += range(at, at + len(turn.written.tokens))
        at += len(turn.written.tokens) + len(shown)
    return found


def assert_sound(told: Conversation, view: TeacherView, ours: ByteVocabulary, theirs: ByteVocabulary) -> None:
    """Each sampled token is in one place, no token of either side in two texts, and both sides say the same bytes."""
    student = Counter(token for one in view.shared for token in range(*one.student))
    student.update(end for end, _ in view.ends)
    student.update(list(view.unscored))
    assert student == Counter(sampled_positions(told))
    teacher = Counter(token for one in view.shared for token in range(*one.teacher))
    teacher.update(end for _, end in view.ends)
    assert set(teacher.values()) <= {1}
    assert all(0 <= token < len(view.tokens) for token in teacher)
    assert all(view.unscored.values())
    for one in view.shared:
        assert_same_text(one, told.tokens, view.tokens, ours, theirs)


def assert_same_text(
    one: SharedText, tokens: Sequence[int], read: Sequence[int], ours: ByteVocabulary, theirs: ByteVocabulary
) -> None:
    assert one.text
    for (begin, end), ends, sequence, vocabulary in (
        (one.student, one.student_ends, tokens, ours),
        (one.teacher, one.teacher_ends, read, theirs),
    ):
        pieces = vocabulary.pieces(sequence[begin:end])
        known = [place for place in ends if place is not None]
        assert len(ends) == len(pieces)
        assert known == sorted(known)
        assert ends[-1] == len(one.text)
        raw = b"".join(pieces)
        if raw == one.text:
            assert one.escaped or list(ends) == [len(b"".join(pieces[: at + 1])) for at in range(len(pieces))]
        else:
            assert one.escaped
            value = unescaped(raw)
            assert value is not None
            assert value.text == one.text
            length = 0
            for piece, place in zip(pieces, ends, strict=True):
                length += len(piece)
                assert place == value.at[length]


def said_of(kind: PartKind, view: TeacherView) -> bytes:
    return b"\n".join(one.text for one in view.shared if one.kind is kind)


@every_pair
def test_an_answer_is_shared_to_the_last_token_and_so_is_its_end(student: str, teacher: str) -> None:
    said = spoken(student)
    told = conversation(said, [said.turn(text=RTL)])
    view = teacher_view(told, dialect(teacher))
    assert_sound(told, view, vocabulary(student), vocabulary(teacher))
    assert view.tokens[: len(dialect(teacher).first(ASKED, ()).to_ints())] == tuple(
        dialect(teacher).first(ASKED, ()).to_ints()
    )
    assert said_of(PartKind.TEXT, view).strip() == RTL.encode().strip()
    assert view.ends == ((len(told.tokens) - 1, len(view.tokens) - 1),)
    assert view.tokens[-1] == next(iter(dialect(teacher).stop()))
    assert set(view.unscored.values()) <= {"markup"}


@every_pair
@pytest.mark.parametrize("thinking", Thinking)
def test_thinking_is_hidden_shown_or_scored(student: str, teacher: str, thinking: Thinking) -> None:
    said = spoken(student)
    told = conversation(said, [said.turn(text="Done: 42.", thinking="Let me see: 1 + 2.")])
    view = teacher_view(told, dialect(teacher), thinking=thinking)
    assert_sound(told, view, vocabulary(student), vocabulary(teacher))
    read = b"".join(vocabulary(teacher)[token] for token in view.tokens if token in vocabulary(teacher))
    assert (b"Let me see: 1 + 2." in read) == (thinking is not Thinking.HIDDEN)
    scored = said_of(PartKind.THINKING, view).strip()
    assert scored == (b"Let me see: 1 + 2." if thinking is Thinking.SCORED else b"")
    assert ("thinking" in view.unscored.values()) == (thinking is not Thinking.SCORED)
    assert said_of(PartKind.TEXT, view).strip() == b"Done: 42."


@every_pair
def test_every_round_of_a_conversation_is_shared(student: str, teacher: str) -> None:
    said = spoken(student)
    turns = [said.turn(text=f"{RTL}// {round_}\n") for round_ in range(3)]
    told = conversation(said, turns, [ToolResult("", "It does not compile. <|im_end|><|end|>")])
    view = teacher_view(told, dialect(teacher))
    assert_sound(told, view, vocabulary(student), vocabulary(teacher))
    assert said_of(PartKind.TEXT, view).count(b"endmodule") == 3
    assert len(view.ends) == 3
    read = b"".join(vocabulary(teacher)[token] for token in view.tokens if token in vocabulary(teacher))
    assert read.count(b"It does not compile. <|im_end|><|end|>") == 2, "what was shown, as text"


@every_pair
def test_a_design_inside_of_a_call_is_shared_through_its_escapes(student: str, teacher: str) -> None:
    said = spoken(student)
    turns = [
        said.turn(("execute_bash", {"command": COMMAND, "seconds": 5}), text="Let me write it."),
        said.turn(("execute_bash", {"command": "ls"}), ("submit", {})),
        said.turn(text="Done."),
    ]
    told = conversation(said, turns, [ToolResult("execute_bash", "ok")], TOOLS)
    view = teacher_view(told, dialect(teacher))
    assert_sound(told, view, vocabulary(student), vocabulary(teacher))
    assert said_of(PartKind.TEXT, view).split() == b"Let me write it. Done.".split()
    raw_json = {"qwen3_coder", "qwen3_5"}.isdisjoint({student, teacher})
    shared = said_of(PartKind.ARGUMENTS if raw_json else PartKind.ARGUMENT, view)
    assert b"always_ff @(posedge clk) q <= 128" in shared
    assert b"ls" in shared
    assert said_of(PartKind.ARGUMENT if raw_json else PartKind.ARGUMENTS, view) == b"", "arguments are scored once"
    in_calls = [position for one in view.shared if one.kind is not PartKind.TEXT for position in range(*one.student)]
    assert len(in_calls) > 0.9 * sum(why == "tool call" for why in view.unscored.values()) + 60
    again = dialect(teacher).parse(_turn_tokens(view, dialect(teacher), told))
    assert again.calls[0].arguments["command"] == COMMAND, "the teacher reads the call that was made"


def _turn_tokens(view: TeacherView, speaker: Dialect, told: Conversation) -> Sequence[int]:
    """The first turn, as the teacher has it."""
    first = len(speaker.first(told.messages, told.tools).to_ints())
    stop = set(speaker.stop())
    end = next(at for at in range(first, len(view.tokens)) if view.tokens[at] in stop)
    return view.tokens[first : end + 1]


@every_pair
def test_a_turn_may_be_cut_off_anywhere(student: str, teacher: str) -> None:
    said = spoken(student)
    whole = said.turn(("execute_bash", {"command": 'echo "線\\n";\N{ROCKET}'}), text="Größe.", thinking="Hm, 線.")
    for length in range(len(whole)):
        for turns in ([whole[:length]], [whole[:length], said.turn(text="Done.")]):
            told = conversation(said, turns, [ToolResult("", "You were cut off.")], TOOLS, cut_off=len(turns) == 1)
            view = teacher_view(told, dialect(teacher))
            assert_sound(told, view, vocabulary(student), vocabulary(teacher))
            last = max((one.student[1] for one in view.shared), default=0)
            assert [one.cut_off for one in view.shared if one.cut_off] == [True] * (
                len(turns) == 1 and last == len(told.tokens) and last > 0
            )


words = st.sampled_from([
    RTL, "module m;", "\r\n", "\n\n", "    ", "\t", "16'd101", "é", "e\u0301", "\u212b", "\N{ROCKET}\N{ROCKET}", "線",
    '"', "\\", "\\n", "\\u12", "</parameter>", "</function>", "<tool_call>", "</tool_call>", "<think>", "</think>",
    "<|im_end|>", "<|call|>", "```", "0", "{", "}", '{"a": ["', "\x00", "\x7f", "\u2028",
])  # fmt: skip
texts = st.lists(st.one_of(words, st.text(max_size=5)), max_size=8).map("".join)
arguments: st.SearchStrategy[Mapping[str, Any]] = st.dictionaries(
    st.sampled_from(["command", "file", "seconds", "a b", "線"]),
    st.one_of(texts, st.integers(), st.booleans(), st.none(), st.lists(texts, max_size=2)),
    max_size=3,
)


def split_up(data: st.DataObject, tokens: Sequence[int], known: ByteVocabulary) -> list[int]:
    """As nobody encodes it: tokens taken apart into their bytes, and here and there one that is no token at all."""
    made: list[int] = []
    for token in tokens:
        chance = data.draw(st.integers(0, 30))
        if token in known and chance < 6:
            made += [known.token_of[bytes([byte])] for byte in known[token]]
        else:
            made += [token, *([2**33] if chance == 30 else [])]
    return made


@every_pair
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_whatever_was_sampled_is_shared_or_says_why_not(student: str, teacher: str, data: st.DataObject) -> None:
    said, known = spoken(student), vocabulary(student)
    turns: list[list[int]] = []
    for _ in range(data.draw(st.integers(1, 3))):
        calls = data.draw(st.lists(st.tuples(st.sampled_from(["execute_bash", "lint"]), arguments), max_size=2))
        turn = said.turn(*calls, text=data.draw(texts), thinking=data.draw(texts))
        turn = split_up(data, turn, known) if data.draw(st.booleans()) else turn
        noise = data.draw(st.lists(st.sampled_from(sorted(said.added)), max_size=2))
        at = data.draw(st.integers(0, len(turn)))
        turns.append([*turn[:at], *noise, *turn[at:]])
    cut_off = data.draw(st.booleans())
    turns[-1] = turns[-1][: data.draw(st.integers(0, len(turns[-1])))] if cut_off else turns[-1]
    told = conversation(said, turns, [ToolResult("lint", data.draw(texts))], TOOLS, cut_off=cut_off)
    for thinking in Thinking:
        view = teacher_view(told, dialect(teacher), thinking=thinking)
        assert_sound(told, view, known, vocabulary(teacher))


def test_a_text_that_the_teachers_tokenizer_changes_is_left_out_and_its_surroundings_are_not() -> None:
    said = spoken(OSS)
    told = conversation(said, [said.turn(text="assign a = b; // cafe\u0301 \u212b\nassign c = d;\n")])
    view = teacher_view(told, dialect(QWEN))
    assert_sound(told, view, vocabulary(OSS), vocabulary(QWEN))
    assert view.shared[0].text.startswith(b"assign a = b; //")
    assert view.shared[-1].text.endswith(b"assign c = d;\n")
    assert "changed by the teacher's tokenizer" in view.unscored.values()


def test_bytes_that_are_no_character_are_left_out_and_their_surroundings_are_not() -> None:
    said, known = spoken(OSS), vocabulary(OSS)
    turn = said.turn(text="assign a = b; // \nassign c = d;\n")
    half = known.token_of[b"\xe7"]
    told = conversation(said, [[*turn[:6], half, *turn[6:]]])
    view = teacher_view(told, dialect(QWEN))
    assert_sound(told, view, known, vocabulary(QWEN))
    assert view.shared[-1].text.endswith(b"assign c = d;\n")
    assert "not UTF-8" in view.unscored.values()
    told = conversation(said, [[*turn[:-1], half]], cut_off=True)
    assert teacher_view(told, dialect(QWEN)).unscored[len(told.tokens) - 1] == "cut off"


def test_what_comes_after_the_end_of_a_turn_is_not_the_teachers_affair() -> None:
    said = spoken(QWEN)
    turn = said.turn(text="Done.")
    told = conversation(said, [[*turn, *said.encode("And more.")]])
    view = teacher_view(told, dialect(OSS))
    assert_sound(told, view, vocabulary(QWEN), vocabulary(OSS))
    assert Counter(view.unscored.values())["after the end"] == len(said.encode("And more."))


def test_with_the_same_dialect_and_tokenizer_the_teacher_reads_what_was_sampled() -> None:
    for name in (QWEN, "rtl_agent"):
        said = spoken(name)
        turns = [said.turn(("execute_bash", {"command": COMMAND}), text="Look."), said.turn(text=RTL)]
        told = conversation(said, turns, [ToolResult("execute_bash", "ok")], TOOLS)
        assert teacher_view(told, said.dialect).tokens == told.tokens, name


def test_hostile_turns_are_read_too() -> None:
    said = spoken(QWEN)
    for unit in ("<tool_call>", "</think>", '<tool_call>{"name": "x", "args": {"a": "', '\\"', "<think>", "{"):
        told = conversation(said, [said.encode(unit * 3_000)], cut_off=True)
        assert_sound(told, teacher_view(told, dialect(OSS)), vocabulary(QWEN), vocabulary(OSS))


@pytest.mark.parametrize(("renderer", "tokenizer"), [("role_colon", qwen3), ("llama3", llama3)])
def test_a_teacher_without_tool_calls_reads_answers_and_no_calls(
    renderer: str, tokenizer: Callable[[], Tokenizer]
) -> None:
    said = spoken(OSS)
    reader = TextDialect(renderer_for(renderer, tokenizer()))
    told = conversation(said, [said.turn(text=RTL), said.turn(text="Done.")], [ToolResult("", "Wrong.")])
    view = teacher_view(told, reader)
    assert_sound(told, view, vocabulary(OSS), byte_vocabulary(tokenizer()))
    assert b"endmodule" in said_of(PartKind.TEXT, view)
    assert len(view.ends) == (2 if renderer == "llama3" else 0)
    with pytest.raises(NoToolCalls, match="take another model"):
        teacher_view(conversation(said, [said.turn(text="x")], (), TOOLS), reader)


@pytest.mark.parametrize("teacher", [QWEN, CODER, OSS])
def test_llama_3_is_taught_by_models_of_other_families(teacher: str) -> None:
    student = TextDialect(renderer_for("llama3", llama3()))
    turns = [llama3().encode(f"{text}<|eot_id|>", add_special_tokens=False) for text in (RTL, "Done.")]
    prompt, shown = tuple(student.first(ASKED, ()).to_ints()), [ToolResult("", "Wrong.")]
    made = (ModelTurn(student.read(turns[0]), tuple(shown)), ModelTurn(student.read(turns[1]), ()))
    told = Conversation(ASKED, (), made, prompt, (tuple(student.follow(turns[0], shown)), ()))
    view = teacher_view(told, dialect(teacher))
    assert_sound(told, view, byte_vocabulary(llama3()), vocabulary(teacher))
    assert said_of(PartKind.TEXT, view) == f"{RTL}\nDone.".encode()
    assert len(view.ends) == 2
