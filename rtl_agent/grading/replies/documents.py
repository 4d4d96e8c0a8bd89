"""JSON in a reply: files by their paths, or strings that hold an answer, wherever the object begins."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rtl_agent.grading.replies.cleaned import with_line_ends

_START = re.compile(r'\{\s*+"')
_DECODER = json.JSONDecoder(strict=False)  # models write raw line ends into strings
_PATH_KEYS = ("path", "file", "filename", "file_name", "file_path", "filepath", "name")
_TEXT_KEYS = ("content", "contents", "code", "text", "source", "body")


@dataclass(frozen=True)
class Document:
    """An object that could be read, and where it stands."""

    start: int
    end: int
    texts: tuple[tuple[str, str], ...]  # key or path -> text, in order


def documents_in(text: str) -> Iterator[Document]:
    """Every object that is whole. What is tried in vain costs at most twice the text's length, whatever it is."""
    budget = 2 * len(text) + 10_000
    at = 0
    while budget > 0 and (start := _START.search(text, at)):
        try:
            found, at = _DECODER.raw_decode(text, start.start())
        except json.JSONDecodeError as error:
            budget -= max(error.pos - start.start(), 100)
            at = start.end()
        except (ValueError, RecursionError):  # a number of 5,000 digits is a ValueError of its own
            budget -= len(text)
            at = start.end()
        else:
            yield Document(start.start(), at, tuple(_texts(found)))


def _texts(document: Any) -> Iterator[tuple[str, str]]:
    """Not by recursion: hostile JSON may be as deep as the decoder takes it."""
    waiting: list[tuple[str, Any]] = [("", document)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, str):
            yield key, with_line_ends(value)
        elif isinstance(value, dict):
            path, text = _first(value, _PATH_KEYS), _first(value, _TEXT_KEYS)
            if path is not None and text is not None:
                yield path, with_line_ends(text)
            else:
                waiting += reversed(list(value.items()))
        elif isinstance(value, list) and len(value) > 1 and all(isinstance(part, str) for part in value):
            yield key, "\n".join(value)  # lines
        elif isinstance(value, list):
            waiting += [("" if isinstance(part, str) else key, part) for part in reversed(value)]


def _first(entry: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((entry[key] for key in keys if isinstance(entry.get(key), str)), None)
