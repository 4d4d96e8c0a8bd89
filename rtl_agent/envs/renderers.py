"""How messages become tokens and tokens a message, by the renderer's name; which renderer goes with which model."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal

import tinker
from tinker_cookbook.model_info import get_model_attributes
from tinker_cookbook.renderers import Renderer, get_renderer, register_renderer
from tinker_cookbook.renderers.base import Message, RenderContext, RenderedMessage, Role, TrainOnWhat, ensure_text
from tinker_cookbook.renderers.gpt_oss import GptOssRenderer
from tinker_cookbook.renderers.qwen3 import Qwen3InstructRenderer
from tinker_cookbook.tokenizer_utils import Tokenizer

from rtl_agent.local_models import known_as

if TYPE_CHECKING:
    import torch

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


class ChatMLRenderer(Qwen3InstructRenderer):
    """The embedded models' format: ChatML without thinking, as Qwen3's instruct models have it.

    `<|im_start|>role`, a line break, the text, `<|im_end|>`; a line break between messages.

    Text is encoded with `split_special_tokens`: `<|im_end|>` inside a specification is written as plain characters and
    ends nothing. `<tool_call>` and `<think>` are ordinary tokens there and here.
    """


class QwenCoderRenderer(Qwen3InstructRenderer):
    """Qwen3-Coder's messages are those of Qwen3's instruct models; its tool calls are its dialect's."""


class Qwen35Renderer(Qwen3InstructRenderer):
    """Qwen3.5's, for text. The header of a turn opens <think>, or closes it again where thinking is disabled.

    The cookbook's encodes a message together with its markup, so that <|im_end|> in a problem's text would end it.
    """

    def __init__(self, tokenizer: Tokenizer, *, thinks: bool) -> None:
        super().__init__(tokenizer)
        self._header = "<think>\n" if thinks else "<think>\n\n</think>\n\n"
        self._opened = tokenizer.encode(self._header, add_special_tokens=False) if thinks else []

    def render_message(self, message: Message, ctx: RenderContext) -> RenderedMessage:
        return super().render_message({**message, "content": ensure_text(message["content"]).strip()}, ctx)

    def _get_generation_suffix(self, role: str, ctx: RenderContext) -> list[int]:
        header = super()._get_generation_suffix(role, ctx)
        return [*header, *self.tokenizer.encode(self._header, add_special_tokens=False)]

    def _normalize_response_tokens(self, response: list[int]) -> list[int]:
        """A turn with the <think> that its prompt had opened."""
        return [*self._opened, *response]


class ToldByDefaultRenderer(Qwen3InstructRenderer):
    """ChatML for models whose template writes a system message of its own where a conversation has none.

    Our prompts always have one. A teacher's or a user's conversation may not, and a model that was never without one
    answers differently then.
    """

    def __init__(self, tokenizer: Tokenizer, default_system: str) -> None:
        super().__init__(tokenizer)
        self.default_system = default_system

    def build_generation_prompt(
        self, messages: list[Message], role: Role = "assistant", prefill: str | None = None
    ) -> tinker.ModelInput:
        return super().build_generation_prompt(self._told(messages), role, prefill)

    def build_supervised_example(
        self, messages: list[Message], train_on_what: TrainOnWhat = TrainOnWhat.LAST_ASSISTANT_MESSAGE
    ) -> "tuple[tinker.ModelInput, torch.Tensor]":
        return super().build_supervised_example(self._told(messages), train_on_what)

    def _told(self, messages: list[Message]) -> list[Message]:
        if not messages or messages[0]["role"] == "system":
            return messages
        return [Message(role="system", content=self.default_system), *messages]


QWEN2_5_SYSTEM = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
SMOLLM2_SYSTEM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"

Factory = Callable[[Tokenizer, object], Renderer]

# Registered with the cookbook under names of our own, so that its own `gpt_oss_*` stay what its users know.
_OWN: Mapping[str, Factory] = {
    "rtl_agent": lambda tokenizer, _: ChatMLRenderer(tokenizer),
    "qwen2_5": lambda tokenizer, _: ToldByDefaultRenderer(tokenizer, QWEN2_5_SYSTEM),
    "smollm2": lambda tokenizer, _: ToldByDefaultRenderer(tokenizer, SMOLLM2_SYSTEM),
    "qwen3_coder": lambda tokenizer, _: QwenCoderRenderer(tokenizer),
    "qwen3_5": lambda tokenizer, _: Qwen35Renderer(tokenizer, thinks=True),
    "qwen3_5_disable_thinking": lambda tokenizer, _: Qwen35Renderer(tokenizer, thinks=False),
    "gpt_oss_no_sysprompt": lambda tokenizer, _: HarmonyRenderer(tokenizer),
    "gpt_oss_low_reasoning": lambda tokenizer, _: HarmonyRenderer(tokenizer, "low"),
    "gpt_oss_medium_reasoning": lambda tokenizer, _: HarmonyRenderer(tokenizer, "medium"),
    "gpt_oss_high_reasoning": lambda tokenizer, _: HarmonyRenderer(tokenizer, "high"),
}
_COOKBOOK = ("qwen3", "qwen3_disable_thinking", "qwen3_instruct", "llama3", "role_colon")
RENDERERS = tuple(sorted((*_OWN, *_COOKBOOK)))

_THINKING = ("qwen3", "qwen3_5", "gpt_oss_no_sysprompt", "gpt_oss_medium_reasoning", "gpt_oss_high_reasoning")
THINKING_NEEDS = 4_096  # tokens; Qwen3-8B spent all of them on thinking and wrote no code block

for _name, _factory in _OWN.items():
    register_renderer(f"rtl_agent/{_name}", _factory)


class UnknownRenderer(ValueError):
    """No renderer has this name, or none is known for this model."""


def renderer_for(name: str, tokenizer: Tokenizer) -> Renderer:
    """The renderer of this name."""
    if name not in RENDERERS:
        raise UnknownRenderer(f"no renderer is called {name!r}; there are: {', '.join(RENDERERS)}")
    return get_renderer(f"rtl_agent/{name}" if name in _OWN else name, tokenizer)


def default_renderer(model_name: str) -> str:
    """The renderer for single-shot answers of this model: the one that thinks least where it can be chosen.

    By the name; of a directory, by what its card or its config.json says that the model is called.
    """
    card = known_as(model_name)
    if card is not None and card.renderer in RENDERERS:
        return card.renderer
    if card is not None and not card.chats:
        raise UnknownRenderer(
            f"{model_name} has no chat template, so nobody has said how it is asked: set renderer_name to one of "
            f"{', '.join(RENDERERS)} (role_colon for a model that was never taught to answer)"
        )
    for name in dict.fromkeys((_called(model_name), model_name)):
        if found := _by_name(name.rstrip("/")):
            return found
    raise UnknownRenderer(f"no renderer is known for {model_name}: set renderer_name to one of {', '.join(RENDERERS)}")


def _by_name(model_name: str) -> str:
    name = model_name.rpartition("/")[2].lower()
    if _is_base_by_name(model_name):
        return "role_colon"
    if model_name.startswith("rtl-agent/"):
        return "rtl_agent"
    if name.startswith("gpt-oss"):
        return "gpt_oss_low_reasoning"
    if name.startswith("qwen2.5-"):
        return "qwen2_5"
    if name.startswith("smollm2-"):
        return "smollm2"
    if name.startswith("qwen3-coder"):
        return "qwen3_coder"
    if name.startswith("qwen3.5-"):
        return "qwen3_5_disable_thinking"
    if name.startswith("qwen3-"):
        if "-thinking-" in f"{name}-":
            return "qwen3"
        return "qwen3_instruct" if "-instruct" in name else "qwen3_disable_thinking"
    return "llama3" if name.startswith("llama-3") else ""


def is_base(model_name: str) -> bool:
    """A model that was never taught to follow instructions, by the cookbook's list or else by its name."""
    return _is_base_by_name(_called(model_name))


def _is_base_by_name(model_name: str) -> bool:
    if model_name.startswith("rtl-agent/"):
        return model_name.endswith("-base")
    try:
        return not get_model_attributes(model_name).is_chat
    except (KeyError, ValueError):
        name = model_name.rpartition("/")[2].lower()
        named_by_task = name.startswith(
            ("llama-3", "qwen2.5-", "smollm2-")
        )  # theirs have "instruct" or are base models
        return name.endswith("-base") or (named_by_task and "instruct" not in name)


def _called(model_name: str) -> str:
    """The model's own name, where this is a directory that knows it."""
    card = known_as(model_name)
    return card.name if card is not None else model_name


def warnings_for(model_name: str, renderer_name: str, max_tokens: int) -> list[str]:
    """Why a run with this model, renderer and length of answers will probably score 0."""
    said = []
    if is_base(model_name):
        said.append(
            f"{model_name} is a base model: it was not taught to answer, so it will probably write no code block, "
            "score 0 in every episode, and leave the reward nothing to teach by; take an instruction-tuned model, or "
            "teach it the format first"
        )
    if renderer_name in _THINKING and max_tokens <= THINKING_NEEDS:
        said.append(
            f"{renderer_name} lets the model think before it answers, and max_tokens is {max_tokens}: it will probably "
            f"score 0, as Qwen3-8B with the renderer qwen3 spent {THINKING_NEEDS:,} tokens on thinking and never wrote "
            "a code block; allow more tokens, or take a renderer that does not think (qwen3_disable_thinking, "
            "gpt_oss_low_reasoning)"
        )
    return said
