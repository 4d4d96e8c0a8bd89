"""Problem -> the messages that a model is asked with, cut to a number of tokens if need be."""

from collections.abc import Callable

from rtl_agent.problems.problem import Kind, Problem
from rtl_agent.prompts.files_in_text import head
from rtl_agent.prompts.message import Message
from rtl_agent.prompts.system_message import stands_alone, system_message
from rtl_agent.prompts.user_message import user_message

TOKENS_AROUND_A_MESSAGE = 8  # role and delimiters in chat templates


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
        context = {path: head(path, text, limit) for path, text in problem.context.items()}
        return [first, Message("user", user_message(problem, context, inline=inline, brief=brief))]

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
