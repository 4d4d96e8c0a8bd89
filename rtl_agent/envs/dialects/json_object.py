"""Reads the JSON object of a call that a model wrote, and says in a sentence what is wrong with it."""

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, NoReturn

DEEPEST = 32  # arguments that nest deeper could be read, but not written into a record without a RecursionError
SHOWN = 60  # characters
_HALF_OF_A_PAIR = re.compile(r"[\ud800-\udfff]")


class Unreadable(Exception):
    """Why, worded for the model."""


def read_object(text: str, start: int = 0) -> tuple[Mapping[str, Any], int]:
    """The object that begins at `start` and the position behind it. `Unreadable` if there is none.

    Line breaks inside of strings are taken as they are: models write them, and they can mean one thing only.
    """
    if not text.startswith("{", start):
        raise Unreadable(
            f"a JSON object was expected, which begins with {{, but there is {shown(text[start : start + 2 * SHOWN])}"
        )
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        where = text[max(start, error.pos - SHOWN // 2) : error.pos + SHOWN // 2]
        raise Unreadable(
            f"this is not valid JSON: {error.msg} at character {error.pos - start}, near {shown(where)}"
        ) from error
    except RecursionError as error:
        raise Unreadable(f"the JSON is nested deeper than {DEEPEST} levels") from error
    except ValueError as error:  # an integer of more digits than Python reads
        raise Unreadable("a number in the JSON has too many digits") from error
    _check(value, DEEPEST)
    return value, end


def read_whole_object(text: str) -> Mapping[str, Any]:
    """The object that is all of this text, but for space around it."""
    text = text.strip()
    value, end = read_object(text)
    if end < len(text):
        raise Unreadable(f"after the JSON object there is {shown(text[end:])}")
    return value


def shown(text: str) -> str:
    """The beginning of it in quotes, on one line."""
    return json.dumps(_beginning(text), ensure_ascii=False) if text else "nothing"


def shown_value(value: Any) -> str:
    """The beginning of a value that was read, as JSON."""
    return _beginning(json.dumps(value, ensure_ascii=False))


def _beginning(text: str) -> str:
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def _check(value: Any, levels: int) -> None:
    if levels == 0:
        raise Unreadable(f"the JSON is nested deeper than {DEEPEST} levels")
    if isinstance(value, str):
        if _HALF_OF_A_PAIR.search(value):
            raise Unreadable("a string holds half of a surrogate pair (\\ud800 to \\udfff), which is not a character")
    elif isinstance(value, dict):
        for key, one in value.items():
            _check(key, levels)
            _check(one, levels - 1)
    elif isinstance(value, list):
        for one in value:
            _check(one, levels - 1)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
        raise Unreadable(f"the key {shown(twice)} is in one object twice")
    return made


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise Unreadable(f"the number {shown(digits)} is too large")
    return number


def _no_constant(name: str) -> NoReturn:
    raise Unreadable(f"{name} is not valid JSON; write null or a number")


_DECODER = json.JSONDecoder(
    strict=False, object_pairs_hook=_without_doubles, parse_float=_finite, parse_constant=_no_constant
)
