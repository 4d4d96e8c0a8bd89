"""Turns of an agent that knows what it will do."""

from typing import Any

from rtl_agent.envs.agentic.session import AgenticSession
from rtl_agent.envs.agentic.workspace import Workshop
from rtl_agent.envs.episode_config import AGENTIC, EpisodeConfig
from rtl_agent.envs.kinds import kind_of, resolved
from rtl_agent.envs.session import Reply, ToolCall, Turn
from rtl_agent.grading import Grader
from rtl_agent.problems import Problem


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


def rules(**given: Any) -> EpisodeConfig:
    """Of an agentic episode, with its level and system message."""
    return resolved(EpisodeConfig(AGENTIC, **given))


def begun(problem: Problem, grader: Grader, where: Workshop, config: EpisodeConfig, **options: Any) -> AgenticSession:
    """A session that was asked as its kind asks."""
    return AgenticSession(problem, config, kind_of(config).messages(problem, config), grader, where, **options)


__all__ = ["SUBMIT", "answer", "bash", "begun", "call", "rules", "shown", "told", "write"]
