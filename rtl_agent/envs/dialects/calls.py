"""A call in parts: read from the JSON that a model wrote, and written again as JSON or as the values one by one."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from rtl_agent.envs.conversation import Part, PartKind
from rtl_agent.envs.dialects.json_spans import Member, Unescaped, escaped, object_span, unescaped
from rtl_agent.envs.dialects.segments import Quoted, Segment

_LITERAL = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null")
_WORDS = {b"true": b"True", b"false": b"False", b"null": b"None"}  # as a template writes them that knows no JSON


@dataclass
class PartsOfCall:
    """One call of a turn: as the JSON that was written, where it was JSON, or else the values."""

    number: int
    name: str
    arguments: Part | None = None
    values: list[Part] = field(default_factory=list)


def said_in_order(parts: Iterable[Part], *, thinking: bool) -> list[Part | PartsOfCall]:
    """Text, thinking and calls, each of these once; without `thinking` that is left out."""
    found: list[Part | PartsOfCall] = []
    calls: dict[int, PartsOfCall] = {}
    for part in parts:
        if part.kind in (PartKind.TEXT, PartKind.THINKING):
            if thinking or part.kind is PartKind.TEXT:
                found.append(part)
            continue
        if part.call not in calls:
            calls[part.call] = PartsOfCall(part.call, part.name)
            found.append(calls[part.call])
        if part.kind is PartKind.ARGUMENTS:
            calls[part.call].arguments = part
        else:
            calls[part.call].values.append(part)
    return found


def read_arguments(segment: Segment, begin: int, end: int, *, call: int, name: str) -> Iterator[Part]:
    """The arguments that stand here as JSON, and of each that is a string its value."""
    yield segment.part(PartKind.ARGUMENTS, begin, end, call=call, name=name)
    found = object_span(segment.data[:end], begin)
    for member in found.members if found else ():
        said = member.is_string and unescaped(segment.data[member.begin : member.end], closed=member.closed)
        if said:
            yield segment.part(
                PartKind.ARGUMENT, member.begin, member.end, said=said, call=call, name=name, argument=member.key
            )


def is_finished(call: PartsOfCall) -> bool:
    """Whether its JSON is whole. Of values alone nobody can say."""
    found = object_span(call.arguments.text) if call.arguments else None
    return found is not None and found.closed


def as_json(call: PartsOfCall, *, cut_off: bool) -> list[bytes | Quoted]:
    """The JSON as it was written, to the byte; made of the values where it was none."""
    if call.arguments is not None:
        text = call.arguments.text
        return [Quoted(PartKind.ARGUMENTS, text)] if text else [b"{}"]
    pieces: list[bytes | Quoted] = [b"{"]
    for at, part in enumerate(call.values):
        key = json.dumps(part.argument, ensure_ascii=False).encode("utf-8", "replace")
        pieces.append((b", " if at else b"") + key + b": ")
        last = at == len(call.values) - 1
        if _LITERAL.fullmatch(part.text):
            pieces.append(Quoted(PartKind.ARGUMENT, part.text, None, part.argument))
            continue
        raw, said = escaped(part.text)
        pieces += [b'"', Quoted(PartKind.ARGUMENT, raw, said, part.argument), b"" if cut_off and last else b'"']
    return [*pieces, b"" if cut_off and call.values else b"}"]


def as_values(call: PartsOfCall) -> list[tuple[str, bytes, bool]]:
    """Names and values, and which of these were strings."""
    if call.arguments is None:
        return [(part.argument, part.text, True) for part in call.values]
    text = call.arguments.text
    found = object_span(text)
    return [(member.key, *_value(text, member)) for member in (found.members if found else ())]


def _value(text: bytes, member: Member) -> tuple[bytes, bool]:
    raw = text[member.begin : member.end]
    said: Unescaped | None = unescaped(raw, closed=member.closed) if member.is_string else None
    return (said.text, True) if said else (_WORDS.get(raw, raw), False)
