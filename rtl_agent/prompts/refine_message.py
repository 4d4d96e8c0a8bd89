"""What a model is told when its answer did not pass and it may answer again."""

from functools import cache
from importlib.resources import files

from rtl_agent.prompts.message import Message


def refine_message(failures: str) -> Message:
    """`failures` is text that the model may see: nothing of the harness."""
    return Message("user", _text().replace("{failures}", failures))


@cache
def _text() -> str:
    return (files("rtl_agent.prompts") / "refine" / "again.txt").read_text(encoding="utf-8").strip()
