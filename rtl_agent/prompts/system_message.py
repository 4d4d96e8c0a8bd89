"""The system message: a text for the kind of problem, the category's sentence, and further texts on request."""

import tomllib
from functools import cache
from importlib.resources import files

from rtl_agent.problems.problem import Kind, Problem

_TEXTS = files("rtl_agent.prompts") / "system"
_ALONE = ("short",)  # for models whose context and memory are small: this text and nothing else
_BASE = {Kind.SINGLE_SHOT: "default", Kind.AGENTIC: "agentic"}


class UnknownSystemMessage(ValueError):
    """No text has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no system message is called {name!r}; there are: {', '.join(system_names())}")


def system_names() -> tuple[str, ...]:
    """What `system` may be: the base, the base with one of the other texts after it, or a text that stands alone."""
    texts = {entry.name.removesuffix(".txt") for entry in _TEXTS.iterdir() if entry.name.endswith(".txt")}
    return ("default", *sorted(name.replace("_", "-") for name in texts - set(_BASE.values())))


def stands_alone(name: str) -> bool:
    """Whether this text is for small models: all else is said in few words too."""
    return name in _ALONE


def system_message(problem: Problem, name: str) -> str:
    """The text for this problem."""
    if name not in system_names():
        raise UnknownSystemMessage(name)
    if stands_alone(name):
        return _text(name)
    parts = [_text(_BASE[problem.kind]), _categories().get(problem.category, "")]
    if name != "default":
        parts.append(_text(name.replace("-", "_")))
    return "\n\n".join(part for part in parts if part)


@cache
def _text(stem: str) -> str:
    return (_TEXTS / f"{stem}.txt").read_text(encoding="utf-8").strip()


@cache
def _categories() -> dict[str, str]:
    return {cid: str(text) for cid, text in tomllib.loads((_TEXTS / "categories.toml").read_text("utf-8")).items()}
