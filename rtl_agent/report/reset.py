"""How a design is reset, as far as its `always` blocks say it plainly."""

import re
from dataclasses import dataclass

# Spaces are single by then, and no pattern can begin twice at one place: time by the length of a hostile text.
_COMMENT = re.compile(r"//[^\n]*|/\*(?:.*?\*/|.*)", re.DOTALL)  # one that never ends takes the rest
_BLOCK = re.compile(r"\balways(?:_ff)? ?@ ?\(([^()]{1,300})\) ?(?:begin ?(?:: ?\w+ ?)?)?if ?\(([^()]{1,100})\)")
_EDGE = re.compile(r"\b(posedge|negedge) (\w+)")
_HIGH = re.compile(r"(\w+)(?: ?===? ?1(?:'[bdh]1)?)?")
_LOW = re.compile(r"[!~] ?(\w+)|(\w+) ?===? ?(?:1'[bdh])?0")
_LIKE_A_RESET = re.compile(r"rst|reset|clr|clear|flush", re.IGNORECASE)
_MOST_LETTERS = 100_000


@dataclass(frozen=True)
class Reset:
    name: str
    asynchronous: bool
    active_low: bool

    def __str__(self) -> str:
        kind = "asynchronous" if self.asynchronous else "synchronous"
        return f"{kind}, active {'low' if self.active_low else 'high'}"


def read_reset(text: str, known_name: str = "") -> Reset | None:
    """None where there is none, or several that differ, or it is not the first thing that a clocked block asks.

    Without an edge of its own it is told from an enable by its name: `known_name`, or one that resets have.
    """
    if len(text) > _MOST_LETTERS:
        return None
    found = {
        reset
        for events, condition in _BLOCK.findall(" ".join(_COMMENT.sub(" ", text).split()))
        if (reset := _of_block(events, condition.strip(), known_name))
    }
    return found.pop() if len(found) == 1 else None


def is_like_a_reset(name: str) -> bool:
    return bool(_LIKE_A_RESET.search(name))


def reset_difference(reference: str, answer: str) -> str | None:
    """Another name alone is the ports' matter."""
    asked = read_reset(reference)
    written = read_reset(answer, asked.name) if asked else None
    if asked is None or written is None or str(asked) == str(written):
        return None
    name = "" if asked.name == written.name else f"`{asked.name}`, "
    return f"reset `{written.name}` is {written}; asked: {name}{asked}"


def _of_block(events: str, condition: str, known_name: str) -> Reset | None:
    edges = {name: edge for edge, name in _EDGE.findall(events)}
    low, high = _LOW.fullmatch(condition), _HIGH.fullmatch(condition)
    if not edges or not (low or high):
        return None
    name = (low[1] or low[2]) if low else high[1] if high else ""
    if name in edges and len(edges) > 1:
        # An edge and a level that contradict each other are no reset that can be named.
        return Reset(name, True, bool(low)) if (edges[name] == "negedge") == bool(low) else None
    if name not in edges and (name == known_name or is_like_a_reset(name)):
        return Reset(name, False, bool(low))
    return None
