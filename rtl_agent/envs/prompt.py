"""What a model is asked with, in tokens, no longer than allowed; and what it answered, in text."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import tinker
from tinker_cookbook.exceptions import RendererError
from tinker_cookbook.renderers import Message as RendererMessage
from tinker_cookbook.renderers import Renderer

from rtl_agent.envs.dialects.dialect import Dialect
from rtl_agent.envs.episode_config import EpisodeConfig
from rtl_agent.envs.session import EnvironmentKind
from rtl_agent.envs.single_shot import SingleShotKind
from rtl_agent.problems import Problem
from rtl_agent.prompts import Message, PromptTooLong, as_dicts
from rtl_agent.prompts.messages import TOKENS_AROUND_A_MESSAGE

_FINAL = "<|channel|>final<|message|>"
_ANALYSIS = "<|channel|>analysis<|message|>"


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
    """The prompt of a single answer, its context files cut to fit. `PromptTooLong` where the task alone does not."""
    return answer_prompt(SingleShotKind(), problem, EpisodeConfig(system=system), renderer, max_prompt_tokens)


def answer_prompt(
    kind: EnvironmentKind,
    problem: Problem,
    config: EpisodeConfig,
    renderer: Renderer,
    max_prompt_tokens: int | None = None,
) -> Prompt:
    """For a kind of environment without tools."""
    if max_prompt_tokens is None:
        return _rendered(kind.messages(problem, config), renderer)

    # What the renderer writes around two messages, and before the answer, against what `messages` reckons with.
    nothing = _rendered([Message("system", ""), Message("user", "")], renderer)
    around = len(nothing.tokens) - 2 * TOKENS_AROUND_A_MESSAGE

    def count(text: str) -> int:
        return len(renderer.tokenizer.encode(text, add_special_tokens=False))

    while True:
        most = max_prompt_tokens - around
        try:
            asked = kind.messages(problem, config, max_prompt_tokens=most, count_tokens=count)
        except PromptTooLong as error:
            raise PromptTooLong(problem, error.needed + around, max_prompt_tokens) from None
        prompt = _rendered(asked, renderer)
        excess = len(prompt.tokens) - max_prompt_tokens
        if excess <= 0:
            return prompt
        if sum(count(message.content) + TOKENS_AROUND_A_MESSAGE for message in asked) > most:  # it cannot be cut
            raise PromptTooLong(problem, len(prompt.tokens), max_prompt_tokens)
        around += excess  # text and markup can be a token longer together than apart


def tool_prompt(
    kind: EnvironmentKind,
    problem: Problem,
    config: EpisodeConfig,
    dialect: Dialect,
    max_prompt_tokens: int | None = None,
) -> Prompt:
    """For a kind of environment with tools. Nothing in it can be cut: `PromptTooLong` where it does not fit."""
    asked = tuple(kind.messages(problem, config))
    prompt = Prompt(asked, dialect.first(asked, kind.tools(config)))
    if max_prompt_tokens is not None and len(prompt.tokens) > max_prompt_tokens:
        raise PromptTooLong(problem, len(prompt.tokens), max_prompt_tokens)
    return prompt


def _rendered(asked: Sequence[Message], renderer: Renderer) -> Prompt:
    conversation = cast(list[RendererMessage], as_dicts(asked))
    return Prompt(tuple(asked), renderer.build_generation_prompt(conversation))


def answer_text(renderer: Renderer, tokens: Sequence[int]) -> str:
    """What the model said to us. An answer that was cut off is what there is of it, without unfinished thinking."""
    try:
        message, termination = renderer.parse_response(list(tokens))
    except RendererError:  # e.g. two ends of a message: whoever sampled did not stop at the first
        return _without_harmony_thinking(str(renderer.tokenizer.decode(list(tokens))))
    content = message["content"]
    if not isinstance(content, str):
        return "".join(part["text"] for part in content if part["type"] == "text")
    # Qwen3's <think> blocks are left out by the grader's own reader of replies.
    return content if termination.is_clean else _without_harmony_thinking(content)


def _without_harmony_thinking(raw: str) -> str:
    """gpt-oss's raw text: the final channel, or nothing while it still thinks."""
    if _FINAL in raw:
        return raw.rpartition(_FINAL)[2]
    return "" if raw.startswith(_ANALYSIS) else raw
