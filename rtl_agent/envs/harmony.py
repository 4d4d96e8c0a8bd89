"""gpt-oss's format with a fixed date, and with text that cannot write control tokens."""

from typing import Literal

import tinker
from tinker_cookbook.renderers.base import Message, RenderContext, RenderedMessage, ensure_text
from tinker_cookbook.renderers.gpt_oss import GptOssRenderer
from tinker_cookbook.tokenizer_utils import Tokenizer

# The system message names the date; today's would make every day's prompts, samples and resumed runs differ.
DATE = "2026-01-01"
CALLS_GO_TO = "Calls to these tools must go to the commentary channel: 'functions'."


class HarmonyRenderer(GptOssRenderer):
    """The cookbook's renderer, but for three things.

    The date is fixed. The cookbook encodes a message together with its markup, so that `<|return|>` in a problem's text
    would become the control token: here the text of messages that no model wrote is encoded as text. And where there
    are tools the system message itself says so, as OpenAI's renderer has it, instead of a second system message.
    """

    def __init__(self, tokenizer: Tokenizer, reasoning_effort: Literal["low", "medium", "high"] | None = None) -> None:
        super().__init__(
            tokenizer,
            use_system_prompt=reasoning_effort is not None,
            reasoning_effort=reasoning_effort,
            current_date=DATE,
        )
        self._effort, self._tools = reasoning_effort, False

    def with_tools(self) -> "HarmonyRenderer":
        """The same, for prompts that tell of tools."""
        twin = HarmonyRenderer(self.tokenizer, self._effort)
        twin._tools = True
        return twin

    def _warn_if_user_system_message(self, messages: list[Message]) -> None:
        """Two messages are meant: the model's own, and ours as the developer's."""

    def _get_system_message(self) -> Message | None:
        own = super()._get_system_message()
        if not self._tools:
            return own
        lines = [ensure_text(own["content"])] if own else []
        return Message(role=self._INTERNAL_SYSTEM_ROLE, content="\n".join([*lines, CALLS_GO_TO]))

    def render_message(self, message: Message, ctx: RenderContext) -> RenderedMessage:
        role, channel = message["role"], ""
        if role not in ("system", "developer", "user", "tool"):
            return super().render_message(message, ctx)
        text = ensure_text(message["content"])
        if role == "system":
            role, text = "developer", f"# Instructions\n\n{text}\n\n"
        elif role == "tool":
            role, channel = f"functions.{message['name']} to=assistant", "<|channel|>commentary"
        tokens = [
            *self._control(f"{channel}<|message|>"),
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
