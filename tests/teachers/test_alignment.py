"""Two tokenizations of one text: exact, minimal, and nothing is lost or counted twice."""

import math
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tinker_cookbook.tokenizer_utils import Tokenizer
from tokenizers import AddedToken, decoders, models, pre_tokenizers
from tokenizers import Tokenizer as Tokenizers
from transformers import PreTrainedTokenizerFast

from rtl_agent.byte_vocabulary import ByteVocabulary, NotBytes
from rtl_agent.envs.dialects.dialect import PlainText
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.teachers.alignment import Chunk, Covering, align, align_ends, chunk_scores
from tests.envs.vocabularies import gpt_oss, llama3, qwen3

ROOT = Path(__file__).parents[2]
BYTES = {character: number for number, character in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}


@cache
def vocabulary(name: str) -> ByteVocabulary:
    tokenizers: dict[str, Callable[[], Tokenizer]] = {
        "gpt-oss": gpt_oss,
        "llama3": llama3,
        "qwen3": qwen3,
        "own": lambda: tokenizer_for("rtl-agent/student"),
    }
    return ByteVocabulary.from_tokenizer(tokenizers[name]())


@st.composite
def two_tokenizations(draw: st.DrawFn) -> tuple[list[bytes], list[bytes]]:
    """Any bytes, cut in two ways."""
    text = draw(st.binary(min_size=1, max_size=40))
    cuts = st.sets(st.integers(1, max(1, len(text) - 1)))
    return cut(text, draw(cuts)), cut(text, draw(cuts))


def cut(text: bytes, places: set[int]) -> list[bytes]:
    marks = [0, *sorted(place for place in places if place < len(text)), len(text)]
    return [text[start:end] for start, end in pairwise(marks)]


@given(two_tokenizations())
def test_chunks_are_an_exact_and_minimal_partition(both: tuple[list[bytes], list[bytes]]) -> None:
    student, teacher = both
    chunks = align(student, teacher)
    for side, tokens in (("student", student), ("teacher", teacher)):
        spans = [getattr(chunk, side) for chunk in chunks]
        assert [start for start, _ in spans] == [0, *(end for _, end in spans[:-1])]
        assert spans[-1][1] == len(tokens)
        for chunk, (start, end) in zip(chunks, spans, strict=True):
            assert b"".join(tokens[start:end]) == b"".join(student)[chunk.span[0] : chunk.span[1]]
    for chunk in chunks:
        assert not shared_boundaries_inside(chunk, student, teacher)


def shared_boundaries_inside(chunk: Chunk, student: list[bytes], teacher: list[bytes]) -> set[int]:
    def inside(tokens: list[bytes], span: tuple[int, int]) -> set[int]:
        return {len(b"".join(tokens[span[0] : at])) for at in range(span[0] + 1, span[1])}

    return inside(student, chunk.student) & inside(teacher, chunk.teacher)


@given(st.lists(st.binary(min_size=1, max_size=5), min_size=1))
def test_equal_tokenizations_are_all_one_to_one(tokens: list[bytes]) -> None:
    assert align(tokens, tokens) == [
        Chunk((at, at + 1), (at, at + 1), (len(b"".join(tokens[:at])), len(b"".join(tokens[: at + 1]))))
        for at in range(len(tokens))
    ]


def test_two_texts_are_refused() -> None:
    with pytest.raises(ValueError, match="not the same text"):
        align([b"ab"], [b"a", b"c"])


def test_a_character_that_is_cut_in_half_is_aligned() -> None:
    rocket = "\N{ROCKET}".encode()
    assert [chunk.kind for chunk in align([b"a", rocket[:2], rocket[2:]], [b"a", rocket[:3], rocket[3:]])] == [
        "1:1",
        "n:m",
    ]


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200))
def test_what_a_vocabulary_encodes_it_spells_again(text: str) -> None:
    for name in ("gpt-oss", "qwen3", "own"):
        tokens = vocabulary(name).encode(text.encode(errors="surrogatepass"))
        if tokens is not None:
            assert b"".join(vocabulary(name).pieces(tokens)) == text.encode()


def test_a_text_that_a_tokenizer_changes_is_not_encoded() -> None:
    two_characters = "u\N{COMBINING DIAERESIS}".encode()
    assert vocabulary("qwen3").encode(two_characters) is None
    assert vocabulary("gpt-oss").encode(two_characters) is not None
    assert vocabulary("qwen3").encode(b"half \xc3") is None


def test_a_marker_is_not_text() -> None:
    (marker,) = qwen3().encode("<|im_end|>")
    assert marker not in vocabulary("qwen3")
    with pytest.raises(ValueError, match=f"token {marker} is a marker"):
        vocabulary("qwen3").pieces([marker])


@cache
def with_blanks() -> PreTrainedTokenizerFast:
    """As in GPT-NeoX's and Gemma's vocabularies, rows of spaces are added tokens; here so is a marker."""
    tokenizer = Tokenizers(models.BPE(vocab=BYTES, merges=[]))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in ("  ", "    ", "<mark>")])
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def test_added_tokens_of_white_space_are_text() -> None:
    text = b"module a;\n    wire  b;\n"
    known = ByteVocabulary.from_tokenizer(with_blanks())
    tokens = known.encode(text)
    assert tokens is not None
    assert b"    " in known.pieces(tokens)
    assert known.encode(b"<mark>") is None
    chunks = align(vocabulary("qwen3").pieces(vocabulary("qwen3").encode(text) or []), known.pieces(tokens))
    assert chunks[-1].span[1] == len(text)
    plain = PlainText(with_blanks())  # type: ignore[arg-type]  # the cookbook's type is the slow one
    assert plain.encode(text.decode()) == tokens
    assert [known.get(token) for token in plain.encode("<mark>")] == [b"<", *(b"%c" % one for one in b"mark>")]


def test_a_tokenizer_that_changes_every_text_is_refused() -> None:
    tokenizer = Tokenizers(models.BPE(vocab=BYTES, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    with pytest.raises(NotBytes, match="changes a text before it encodes it"):
        ByteVocabulary.from_tokenizer(PreTrainedTokenizerFast(tokenizer_object=tokenizer))


def test_pretokens_end_where_a_tokenizer_cuts_before_it_merges() -> None:
    text = "assign größe = 16;\n".encode()
    assert vocabulary("qwen3").pretoken_ends(text) == {6, 14, 16, 17, 18, 19, 21}
    assert vocabulary("qwen3").pretoken_ends(b"half \xc3") is None


def test_a_place_inside_an_escape_is_no_boundary() -> None:
    """The text is a line break and `x`; the student wrote `\\`, `n`, `x`, the teacher two tokens."""
    assert align_ends([None, 1, 2], [1, 2]) == [Chunk((0, 2), (0, 1), (0, 1)), Chunk((2, 3), (1, 2), (1, 2))]
    assert align_ends([1, None], [1]) == [Chunk((0, 1), (0, 1), (0, 1))]


@pytest.mark.parametrize(
    ("student", "golden"),
    [
        ("gpt-oss", {"1:1": 96.6, "1:m": 1.1, "n:1": 1.0, "n:m": 1.2}),
        ("llama3", {"1:1": 99.5, "1:m": 0.5}),
    ],
)
def test_how_far_apart_two_vocabularies_are_on_verilog(student: str, golden: dict[str, float]) -> None:
    """The share of the student's tokens in chunks of each kind with Qwen3, over the bundled designs."""
    counted: Counter[str] = Counter()
    longest = 0
    for file in sorted((ROOT / "bundled").rglob("*.sv")):
        ours, theirs = (vocabulary(name).encode(file.read_bytes()) for name in (student, "qwen3"))
        assert ours is not None
        assert theirs is not None
        for chunk in align(vocabulary(student).pieces(ours), vocabulary("qwen3").pieces(theirs)):
            counted[chunk.kind] += chunk.student[1] - chunk.student[0]
            longest = max(longest, chunk.span[1] - chunk.span[0])
    shares = {kind: round(100 * count / counted.total(), 1) for kind, count in counted.items()}
    assert shares == golden
    assert longest <= 32


def test_the_split_of_a_chunk_is_that_of_the_worked_example() -> None:
    """q(fwrite, fopen, f) = .60, .25, .05; the student wrote f, write with .95 and .80."""
    words = [b"fwrite", b"fopen", b"f"]
    covering = Covering(
        student=[b"f", b"write"],
        teacher=[b"fwrite"],
        bytes_of=lambda token: words[token],
        encode=lambda text: [b"f", text[1:]] if len(text) > 1 else [b"f"],
    )
    told = {0: math.log(0.60), 1: math.log(0.25), 2: math.log(0.05)}
    (chunk,) = align(covering.student, covering.teacher)
    theirs = covering.split(chunk, [told[0]], lambda position: told)
    ours = [math.log(0.95), math.log(0.80)]
    assert [round(one - other, 3) for one, other in zip(ours, theirs, strict=True)] == [0.054, 0.182]


@given(two_tokenizations(), st.data())
def test_a_split_adds_up_to_the_chunk_whatever_the_teacher_told(
    both: tuple[list[bytes], list[bytes]], data: st.DataObject
) -> None:
    student, teacher = both
    logprobs = st.floats(-20, 0)
    scores = data.draw(st.lists(logprobs, min_size=len(teacher), max_size=len(teacher)))
    words = [b"a", b"ab", b"\x00", b"\x00\x00", *teacher]
    told = {at: data.draw(logprobs) for at in range(len(words))}
    covering = Covering(
        student,
        teacher,
        lambda token: words[token],
        lambda text: [bytes([byte]) for byte in text],
    )
    chunks = align(student, teacher)
    for chunk, score in zip(chunks, chunk_scores(chunks, scores), strict=True):
        split = covering.split(chunk, scores[slice(*chunk.teacher)], lambda position: told)
        assert len(split) == chunk.student[1] - chunk.student[0]
        assert math.isclose(math.fsum(split), score, abs_tol=1e-9)
