"""Problem -> the messages that an agent is asked with: the task, the workspace, and what it may use there."""

from dataclasses import replace
from functools import cache
from importlib.resources import files

from rtl_agent.problems.problem import Kind, Problem
from rtl_agent.prompts.message import Message
from rtl_agent.prompts.messages import messages
from rtl_agent.prompts.system_message import stands_alone

_TEXTS = files("rtl_agent.prompts") / "agentic"


def agentic_messages(
    problem: Problem, *, level: str, can_submit: bool, tries: int = 1, system: str = "default"
) -> list[Message]:
    """`level` is spec, own-tests, feedback or open; `system` as for `messages`. Context files are in the workspace.

    A problem that asks for one reply can be played by an agent too: then the files that are judged are named, as its
    text may leave that to the format of the reply.
    """
    first, user = messages(replace(problem, kind=Kind.AGENTIC), system=system, inline_context=False)
    if problem.kind is not Kind.AGENTIC:
        judged = ", ".join(f"`{path}`" for path in problem.targets)
        user = Message("user", f"{user.content}\n\nWrite the complete text of {judged}, below /code.")
    ending = "stop_by_submit" if can_submit else "stop_by_answer"
    if stands_alone(system):
        return [Message("system", f"{_text(system)} {_text(ending)}"), user]
    parts = [first.content, _text("spec" if level == "spec" else "own-tests")]
    if level in ("feedback", "open"):
        parts.append(_text(level).format(tries=tries))
    return [Message("system", "\n\n".join((*parts, _text(ending)))), user]


@cache
def _text(stem: str) -> str:
    return (_TEXTS / f"{stem}.txt").read_text(encoding="utf-8").strip()
