"""JSON in a reply: files by their paths, or strings that hold an answer, wherever the object begins."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rtl_agent.grading.replies.cleaned import with_line_ends
from rtl_agent.grading.replies.rtl_text import RtlText

_START = re.compile(r'\{\s*+"')
_DECODER = json.JSONDecoder(strict=False)  # models write raw line ends into strings
_PATH_KEYS = ("path", "file", "filename", "file_name", "file_path", "filepath", "name")
_TEXT_KEYS = ("content", "contents", "code", "text", "source", "body", "file_text", "new_str")
# A key and its string where the object around them is not JSON: a comma too many, comments, other quotes, a lost end.
_PAIR = re.compile(
    r"""[{,]\s*+(?://[^\n]{0,200}+\n\s*+){0,5}+(?:"(?P<key>[^"\\\n]{1,200})"|'(?P<other_key>[^'\\\n]{1,200})'|(?P<bare_key>[A-Za-z_]\w{0,50}+))\s*+:\s*+"""
    r"""(?:\"{3}(?P<raw>(?s:.*?))\"{3}|"(?P<value>(?:[^"\\]++|\\(?s:.))*+)(?P<end>"?)"""
    r"""|'(?P<other>(?:[^'\\]++|\\(?s:.))*+)(?P<other_end>'?))"""
)
_ESCAPE = re.compile(r"\\(?s:.)")
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "\n": ""}
_WHOLE_STRING = re.compile(r'\s*+"(?:[^"\\]++|\\(?s:.))*+"\s*+')


@dataclass(frozen=True)
class Document:
    """An object that could be read, and where it stands."""

    start: int
    end: int
    texts: tuple[tuple[str, str], ...]  # key or path -> text, in order
    cut: bool = False  # the reply ended inside of it


def unwrapped(text: str) -> str:
    """A reply that is one string of JSON, as a program would store it, is what the string says."""
    for _ in range(3):
        if not text.lstrip().startswith('"') or _WHOLE_STRING.fullmatch(text) is None:
            break
        try:
            text = json.loads(text, strict=False)
        except ValueError:
            break
    return text


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


def almost_documents_in(text: str) -> Iterator[Document]:
    """Keys with strings that hold RTL, in what was meant to be JSON."""
    for pair in _PAIR.finditer(text):
        quote, value = ("'", pair["other"]) if pair["other"] is not None else ('"', pair["value"])
        code = pair["raw"] if pair["raw"] is not None else with_line_ends(_unescaped(value, quote))
        if ("module" in code or "package" in code) and RtlText(code).units:
            cut = pair["raw"] is None and not (pair["end"] or pair["other_end"])
            yield Document(
                pair.start(), pair.end(), ((pair["key"] or pair["other_key"] or pair["bare_key"], code),), cut
            )


def _unescaped(value: str, quote: str) -> str:
    if quote == '"':
        try:
            return str(json.loads(f'"{value}"', strict=False))
        except ValueError:
            pass
    return _ESCAPE.sub(lambda escape: _ESCAPED.get(escape[0][1], escape[0][1]), value)


def _texts(document: Any) -> Iterator[tuple[str, str]]:
    """Not by recursion: hostile JSON may be as deep as the decoder takes it."""
    waiting: list[tuple[str, Any]] = [("", document)]
    while waiting:
        key, value = waiting.pop()
        if isinstance(value, str):
            inner = _document_in_a_string(value)
            if inner is None:
                yield key, with_line_ends(value)
            else:
                waiting.append((key, inner))
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


def _document_in_a_string(value: str) -> Any:
    """A tool call's arguments are JSON in a string. Each level of quotes doubles the length of the one below."""
    if not _START.match(value.lstrip()):
        return None
    try:
        return json.loads(value, strict=False)
    except (ValueError, RecursionError):
        return None


def _first(entry: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((entry[key] for key in keys if isinstance(entry.get(key), str)), None)
