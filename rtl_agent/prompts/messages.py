"""Problem -> the messages that a model is asked with: one answer, an agent's workspace, or another round."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import Literal

from rtl_agent.problems.problem import Kind, Needs, Problem
from rtl_agent.prompts.system_message import stands_alone, system_message

TOKENS_AROUND_A_MESSAGE = 8  # role and delimiters in chat templates
_AGENTIC_TEXTS = files("rtl_agent.prompts") / "agentic"
LANGUAGES = {".sv": "systemverilog", ".svh": "systemverilog", ".v": "verilog", ".vh": "verilog", ".py": "python",
             ".md": "markdown", ".tcl": "tcl", ".json": "json"}  # fmt: skip


@dataclass(frozen=True)
class Message:
    role: Literal["system", "user", "assistant"]
    content: str


def as_dicts(messages: Iterable[Message]) -> list[dict[str, str]]:
    """For renderers and chat templates."""
    return [{"role": message.role, "content": message.content} for message in messages]


class PromptTooLong(Exception):
    """Not even the task without its context files fits."""

    def __init__(self, problem: Problem, needed: int, allowed: int) -> None:
        super().__init__(
            f"{problem.id}: the prompt without its context files has {needed} tokens, {allowed} are allowed; "
            "allow more, or leave the problem out"
        )
        self.needed, self.allowed = needed, allowed


def estimate_tokens(text: str) -> int:
    """Three bytes of UTF-8 to a token: an upper guess, as code and English take three to four."""
    return -(-len(text.encode("utf-8", "replace")) // 3)


def messages(
    problem: Problem,
    *,
    system: str = "default",
    inline_context: bool | None = None,
    max_prompt_tokens: int | None = None,
    count_tokens: Callable[[str], int] | None = None,
) -> list[Message]:
    """The system and the user message.

    `inline_context` puts the context files into the text: by default for single-shot problems only, as an agent has
    them in its workspace. With `max_prompt_tokens` the longest of them lose their ends first, and the text says so
    in their place; the task itself is never cut. `count_tokens` is the model's own counter; without it, see
    `estimate_tokens`.
    """
    inline = problem.kind is Kind.SINGLE_SHOT if inline_context is None else inline_context
    first = Message("system", system_message(problem, system))
    brief = stands_alone(system)

    def asked(limit: int) -> list[Message]:
        context = {path: _head(path, text, limit) for path, text in problem.context.items()}
        return [first, Message("user", _user_message(problem, context, inline=inline, brief=brief))]

    longest = max(map(len, problem.context.values()), default=0)
    whole = asked(longest)
    if max_prompt_tokens is None:
        return whole
    count = count_tokens or estimate_tokens

    def tokens(of: list[Message]) -> int:
        return sum(count(message.content) + TOKENS_AROUND_A_MESSAGE for message in of)

    if tokens(whole) <= max_prompt_tokens:
        return whole
    if (least := tokens(asked(0))) > max_prompt_tokens:
        raise PromptTooLong(problem, least, max_prompt_tokens)
    # The largest limit that fits, the same for every file: those below it stay whole.
    fits, fails = 0, longest
    while fails - fits > 1:
        middle = (fits + fails) // 2
        if tokens(asked(middle)) <= max_prompt_tokens:
            fits = middle
        else:
            fails = middle
    return asked(fits)


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
        return [Message("system", f"{_agentic_text(system)} {_agentic_text(ending)}"), user]
    parts = [first.content, _agentic_text("spec" if level == "spec" else "own-tests")]
    if level in ("feedback", "open"):
        parts.append(_agentic_text(level).format(tries=tries))
    return [Message("system", "\n\n".join((*parts, _agentic_text(ending)))), user]


@cache
def _agentic_text(stem: str) -> str:
    return (_AGENTIC_TEXTS / f"{stem}.txt").read_text(encoding="utf-8").strip()


def refine_message(failures: str) -> Message:
    """`failures` is text that the model may see: nothing of the harness."""
    return Message("user", _refine_text().replace("{failures}", failures))


def reference_reply(problem: Problem) -> str:
    """The reference in the form that a reply has: a fenced block for one file, JSON for several. "" without one."""
    if not problem.reference:
        return ""
    if len(problem.targets) == 1:
        return f"```verilog\n{problem.reference[problem.targets[0]]}```"
    return json.dumps({"code": [{path: problem.reference[path]} for path in problem.targets]})


def with_reference(asked: Sequence[Message], reference: str, *, agent: bool, brief: bool) -> list[Message]:
    """What somebody is told who knows a right answer: as a turn that was answered so, then asked again.

    An agent answers by tools, so to it a right design is part of the task. `brief` says nothing about the answer.
    """
    *before, task = asked
    if agent:
        told = _privileged_text("reference_of_task").replace("{reference}", reference)
        return [*before, Message("user", f"{task.content}\n\n{told}")]
    again = task.content if brief else f"{_privileged_text('reference')}\n\n{task.content}"
    return [*asked, Message("assistant", reference), Message("user", again)]


def with_feedback(asked: Sequence[Message], answer: str, failures: str, *, agent: bool) -> list[Message]:
    """The same for somebody who knows what is wrong with an answer: nothing of the harness."""
    *before, task = asked
    if agent:
        told = _privileged_text("feedback_of_task").replace("{failures}", failures)
        return [*before, Message("user", f"{task.content}\n\n{told}")]
    return [*asked, Message("assistant", answer), refine_message(failures)]


@cache
def _privileged_text(stem: str) -> str:
    return (files("rtl_agent.prompts") / "privileged" / f"{stem}.txt").read_text(encoding="utf-8").strip()


@cache
def _refine_text() -> str:
    return (files("rtl_agent.prompts") / "refine" / "again.txt").read_text(encoding="utf-8").strip()


# the user message: the given files, the task, and how to answer


def _user_message(problem: Problem, context: Mapping[str, str], *, inline: bool, brief: bool = False) -> str:
    """`context` are the problem's context files, as long as they may be; `inline` puts them into the text.

    `brief` says the form of an answer in a few words, where one file is asked.
    """
    parts = [problem.prompt.strip()]
    if inline and context:
        shown = [_fenced(path, text) for path, text in context.items()]
        parts = ["These files are given.", *shown, "The task:", *parts]
    if problem.kind is Kind.AGENTIC:
        parts.append(_workspace(problem))
    else:
        parts.append(_answer_format(problem, brief=brief))
    return "\n\n".join(parts)


def _workspace(problem: Problem) -> str:
    if not problem.context:
        return "The workspace has no files yet."
    listed = "\n".join(f"  {path}" for path in sorted(problem.context))
    return f"Files in the workspace, below /code:\n{listed}"


def _answer_format(problem: Problem, *, brief: bool) -> str:
    if problem.needs is Needs.TEXT or not problem.targets:
        return (
            "Answer with one JSON object and nothing else, your whole answer being the value of `response`:\n"
            '{"response": "<your answer>"}'
        )
    if len(problem.targets) == 1:
        path = problem.targets[0]
        if brief:
            return f"Answer with one ```{_language_of(path)} block."
        return (
            f"Answer with the complete text of `{path}`, from its first line to its last, in a single fenced code "
            f"block, which begins with ```{_language_of(path)} and ends with ```. Write no other code block."
        )
    entries = ",\n  ".join(f'{{"{path}": "<complete text of the file>"}}' for path in problem.targets)
    return (
        f"The answer is {len(problem.targets)} files. Give them as one JSON object and nothing else: the path of each "
        'file as a key, its complete text as a JSON string (line breaks as \\n, quotes as \\").\n'
        f'{{"code": [\n  {entries}\n]}}'
    )


def _language_of(path: str) -> str:
    return LANGUAGES.get(PurePosixPath(path).suffix, "")


def _fenced(path: str, text: str) -> str:
    """The fence is longer than any inside the text, so that a specification in Markdown does not end it."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"`{path}`:\n{fence}{_language_of(path)}\n{text.rstrip()}\n{fence}"


def _head(path: str, text: str, limit: int) -> str:
    """The first lines that have at most `limit` characters together, and a line that says what is missing."""
    if len(text) <= limit:
        return text
    lines = text.rstrip().splitlines()
    kept, size = 0, 0
    while kept < len(lines) and size + len(lines[kept]) + 1 <= limit:
        size += len(lines[kept]) + 1
        kept += 1
    left_out = len(lines) - kept
    if left_out == 0:
        return text
    count = "1 line" if left_out == 1 else f"{left_out} lines"
    return "\n".join((*lines[:kept], f"[... {count} of {path} left out to fit the prompt ...]"))
