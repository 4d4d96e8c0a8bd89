"""Turns of an agent that knows what it will do."""

from typing import Any

from rtl_agent.envs.agentic import AgenticConfig, AgenticSession, Reply
from rtl_agent.envs.dialects.dialect import ToolCall, Turn


def call(name: str, **arguments: Any) -> Turn:
    return Turn("", "", (ToolCall(name, arguments),))


def bash(command: str) -> Turn:
    return call("execute_bash", command=command)


def write(path: str, text: str) -> Turn:
    return bash(f"cat > {path} <<'END_OF_FILE'\n{text}\nEND_OF_FILE")


def answer(text: str = "Done.") -> Turn:
    return Turn(text, "", ())


SUBMIT = call("submit")


async def shown(session: AgenticSession, turn: Turn) -> str:
    """What the model sees after a turn that does not end the episode."""
    reply = await session.take(turn)
    assert reply.ended is None, reply
    return told(reply)


def told(reply: Reply) -> str:
    return "\n".join(result.text for result in reply.results)


__all__ = ["SUBMIT", "AgenticConfig", "answer", "bash", "call", "shown", "told", "write"]
