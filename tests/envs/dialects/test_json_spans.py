"""Where in JSON its values are, whole or broken, and which bytes of a string say which."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtl_agent.envs.dialects.json_spans import Nesting, escaped, object_span, unescaped


@given(st.dictionaries(st.text(max_size=5), st.one_of(st.text(), st.integers(), st.lists(st.text()), st.none())))
def test_the_values_of_an_object_are_where_they_are_said_to_be(values: dict[str, object]) -> None:
    for ascii_only in (True, False):
        data = b"  " + json.dumps(values, ensure_ascii=ascii_only).encode() + b" and more"
        found = object_span(data)
        assert found is not None
        assert found.closed
        assert data[found.end :] == b" and more"
        assert [member.key for member in found.members] == list(values)
        for member, value in zip(found.members, values.values(), strict=True):
            raw = data[member.begin : member.end]
            assert json.loads(b'"' + raw + b'"' if member.is_string else raw) == value
            if member.is_string:
                said = unescaped(raw)
                assert said is not None
                assert said.text.decode() == value


@given(st.text(), st.data())
def test_a_string_may_be_cut_off_anywhere(text: str, data: st.DataObject) -> None:
    whole = json.dumps(text)[1:-1].encode()
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    said = unescaped(cut, closed=False)
    assert said is not None
    assert text.encode().startswith(said.text)
    assert len(said.at) == len(cut) + 1
    places = [place for place in said.at if place is not None]
    assert places == sorted(places)
    assert places[-1] == len(said.text)


@given(st.binary())
def test_any_bytes_can_be_written_as_a_string_and_read_again(text: bytes) -> None:
    raw, said = escaped(text)
    assert said.text == text
    assert b"\n" not in raw
    assert unescaped(raw) == said


@pytest.mark.parametrize("raw", [rb"\x41", rb"\ud800", rb"\ud800a", rb"\udc00", rb"\u12g4", b"\\"])
def test_what_json_does_not_know_is_not_read(raw: bytes) -> None:
    assert unescaped(raw) is None


def test_positions_within_an_escape_have_no_place() -> None:
    said = unescaped(rb"a\n\ud83d\ude80\\b")
    assert said is not None
    assert said.text == "a\n\N{ROCKET}\\b".encode()
    assert list(said.at) == [0, 1, None, 2, *[None] * 11, 6, None, 7, 8]


@pytest.mark.parametrize(
    ("data", "members"),
    [
        (b'{"a": "b', [("a", b"b", False)]),
        (b'{"a": "b\\', [("a", b"b\\", False)]),
        (b'{"a": "b", "c": [1, "]"', [("a", b"b", True), ("c", b'[1, "]"', False)]),
        (b'{"a": "b",}', [("a", b"b", True)]),
        (b'{"a" "b"}', []),
        (b"{'a': 1}", []),
        (b'{"a": }', [("a", b"", True)]),
        (b"{", []),
    ],
)
def test_of_a_broken_object_there_is_what_comes_before(data: bytes, members: list[tuple[str, bytes, bool]]) -> None:
    found = object_span(data)
    assert found is not None
    assert [(one.key, data[one.begin : one.end], one.closed) for one in found.members] == members
    assert found.closed == (data in (b'{"a": "b",}', b'{"a": }'))


def test_there_may_be_no_object() -> None:
    assert object_span(b"") is None
    assert object_span(b' "a"') is None


def test_nesting_knows_strings_and_the_end_piece_by_piece() -> None:
    nesting = Nesting()
    seen = []
    for piece in (b'{"a', b'": "\\', b'"}', b'"', b", ", b"[]", b"}"):
        nesting.feed(piece)
        seen.append((nesting.in_string, nesting.done))
    inside, outside = (True, False), (False, False)
    assert seen == [inside, inside, inside, outside, outside, outside, (False, True)]
