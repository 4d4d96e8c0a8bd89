"""What hostile or broken input looks like: text, JSON and mutations of true records."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st

settings.register_profile("repeatable", max_examples=100, deadline=None, derandomize=True)
settings.load_profile("repeatable")

# Surrogates as well: json.loads makes them of an escape that is no character.
any_text = st.text(st.characters(exclude_categories=()), max_size=200)
FENCES = [
    "```",
    "```verilog\n",
    "~~~",
    "\n```\n",
    "`",
    "<think>",
    "</think>",
    "> ",
    "- ",
    "<answer>",
    "</answer>",
    "### ",
]
CODE = [
    "module m;\n",
    "endmodule\n",
    "endmodule```",
    "// rtl/alu.sv\n",
    "/*",
    "*/",
    "&lt;=",
    "\u00a0",
    "\ufeff",
    "package p;",
    "//",
    "\\",
    "\n",
    "\r\n",
    " ",
    "\0",
    "\ud800",
]
JSON = ["{", "}", '{"response": "', '{"path": "rtl/alu.sv", "content": "', '{"code": [', '"rtl/alu.sv": "', "[" * 2000]
reply_text = st.lists(st.one_of(st.sampled_from([*FENCES, *CODE, *JSON]), any_text), max_size=15).map("".join)
any_json = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), any_text),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(any_text, inner, max_size=4)),
    max_leaves=12,
)


def places(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to every part of a JSON document, but for the document itself."""
    found = [here] if here else []
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inner:
        found += places(part, (*here, key))
    return found


def put(document: Any, place: tuple[Any, ...], new: Any) -> None:
    """Replace the part at `place`."""
    for key in place[:-1]:
        document = document[key]
    document[place[-1]] = new


def drop(document: Any, place: tuple[Any, ...]) -> None:
    """Take the part at `place` away."""
    for key in place[:-1]:
        document = document[key]
    del document[place[-1]]
