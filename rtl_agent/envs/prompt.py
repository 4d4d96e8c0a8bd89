"""Problem -> the messages and tokens that a model is asked with, no longer than allowed."""

from dataclasses import dataclass
from typing import cast

import tinker
from tinker_cookbook.renderers import Message as RendererMessage
from tinker_cookbook.renderers import Renderer

from rtl_agent.problems import Problem
from rtl_agent.prompts import Message, PromptTooLong, as_dicts, messages
from rtl_agent.prompts.messages import TOKENS_AROUND_A_MESSAGE


@dataclass(frozen=True)
class Prompt:
    messages: tuple[Message, ...]
    observation: tinker.ModelInput

    @property
    def tokens(self) -> tuple[int, ...]:
        return tuple(self.observation.to_ints())


def prompt_for(
    problem: Problem, renderer: Renderer, *, system: str = "default", max_prompt_tokens: int | None = None
) -> Prompt:
    """The prompt, its context files cut to fit. `PromptTooLong` where the task alone does not."""
    if max_prompt_tokens is None:
        return _rendered(messages(problem, system=system), renderer)

    def count(text: str) -> int:
        return len(renderer.tokenizer.encode(text, add_special_tokens=False))

    # What the renderer writes around two messages, and before the answer, against what `messages` reckons with.
    nothing = _rendered([Message("system", ""), Message("user", "")], renderer)
    around = len(nothing.tokens) - 2 * TOKENS_AROUND_A_MESSAGE
    while True:
        try:
            asked = messages(problem, system=system, max_prompt_tokens=max_prompt_tokens - around, count_tokens=count)
        except PromptTooLong as error:
            raise PromptTooLong(problem, error.needed + around, max_prompt_tokens) from None
        prompt = _rendered(asked, renderer)
        if (excess := len(prompt.tokens) - max_prompt_tokens) <= 0:
            return prompt
        around += excess  # text and markup can be a token longer together than apart


def _rendered(asked: list[Message], renderer: Renderer) -> Prompt:
    conversation = cast(list[RendererMessage], as_dicts(asked))
    return Prompt(tuple(asked), renderer.build_generation_prompt(conversation))
