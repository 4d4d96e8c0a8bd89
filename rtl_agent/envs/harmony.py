"""gpt-oss's format with a fixed date, and with text that cannot write control tokens."""

from typing import Literal

import tinker
from tinker_cookbook.renderers.base import Message, RenderContext, RenderedMessage, ensure_text
from tinker_cookbook.renderers.gpt_oss import GptOssRenderer
from tinker_cookbook.tokenizer_utils import Tokenizer

# The system message names the date; today's would make every day's prompts, samples and resumed runs differ.
DATE = "2026-01-01"


class HarmonyRenderer(GptOssRenderer):
    """The cookbook's renderer, but for two things.

    The date is fixed. And the cookbook encodes a message together with its markup, so that `<|return|>` in a problem's
    text would become the control token: here the text of messages that no model wrote is encoded as text.
    """

    def __init__(self, tokenizer: Tokenizer, reasoning_effort: Literal["low", "medium", "high"] | None = None) -> None:
        super().__init__(
            tokenizer,
            use_system_prompt=reasoning_effort is not None,
            reasoning_effort=reasoning_effort,
            current_date=DATE,
        )

    def _warn_if_user_system_message(self, messages: list[Message]) -> None:
        """Two messages are meant: the model's own, and ours as the developer's."""

    def render_message(self, message: Message, ctx: RenderContext) -> RenderedMessage:
        if message["role"] not in ("system", "user"):
            return super().render_message(message, ctx)
        text = ensure_text(message["content"])
        role = "user"
        if message["role"] == "system":
            role, text = "developer", f"# Instructions\n\n{text}\n\n"
        tokens = [
            *self._control("<|message|>"),
            *self.tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True),
            *self._control("<|end|>"),
        ]
        return RenderedMessage(
            header=tinker.EncodedTextChunk(tokens=self._control(f"<|start|>{role}")),
            output=[tinker.EncodedTextChunk(tokens=tokens)],
        )

    def _control(self, markup: str) -> list[int]:
        tokens: list[int] = self.tokenizer.encode(markup, add_special_tokens=False)
        return tokens
