"""Which dialect goes with which renderer, and so with which model.

A package adds one with an entry point of the group `rtl_agent.dialects`, whose name is the renderer's and whose object
makes a dialect of a renderer: docs/dialects.md.
"""

from collections.abc import Callable

from tinker_cookbook.renderers import Renderer

from rtl_agent.envs.dialects.dialect import Dialect
from rtl_agent.envs.dialects.harmony import HarmonyDialect
from rtl_agent.envs.dialects.qwen import QwenDialect
from rtl_agent.envs.dialects.qwen_xml import Qwen35Dialect, QwenCoderDialect
from rtl_agent.envs.dialects.text import TextDialect
from rtl_agent.envs.renderers import HarmonyRenderer, default_renderer, renderer_for
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.registry import Registry


def _harmony(renderer: Renderer) -> Dialect:
    assert isinstance(renderer, HarmonyRenderer)
    return HarmonyDialect(renderer)


def _brief(renderer: Renderer) -> Dialect:
    return QwenDialect(renderer, brief=True)


DIALECTS: Registry[Callable[[Renderer], Dialect]] = Registry(
    "dialect",
    "rtl_agent.dialects",
    {
        "qwen2_5": QwenDialect,
        "qwen3": QwenDialect,
        "qwen3_disable_thinking": QwenDialect,
        "qwen3_instruct": QwenDialect,
        "qwen3_coder": QwenCoderDialect,
        "qwen3_5": Qwen35Dialect,
        "qwen3_5_disable_thinking": Qwen35Dialect,
        "rtl_agent": _brief,
        "gpt_oss_no_sysprompt": _harmony,
        "gpt_oss_low_reasoning": _harmony,
        "gpt_oss_medium_reasoning": _harmony,
        "gpt_oss_high_reasoning": _harmony,
    },
)


def turn_reader(renderer_name: str, renderer: Renderer) -> Dialect:
    """The dialect of this renderer, or one that knows text alone: to read and write turns, not to call tools."""
    return DIALECTS[renderer_name](renderer) if renderer_name in DIALECTS else TextDialect(renderer)


def reading_dialect(model_name: str, renderer_name: str = "") -> Dialect:
    """How this model reads a conversation; of a model without tool calls, one that has none."""
    name = renderer_name or default_renderer(model_name)
    return turn_reader(name, renderer_for(name, tokenizer_for(model_name)))


class UnknownDialect(ValueError):
    """With this renderer nobody has said how tools are called."""


def dialect_for(model_name: str, renderer_name: str = "") -> Dialect:
    """The dialect of this model; `renderer_name` in place of the renderer that goes with its name."""
    name = renderer_name or default_renderer(model_name)
    renderer = renderer_for(name, tokenizer_for(model_name))
    if name not in DIALECTS:
        raise UnknownDialect(
            f"{model_name} is asked with the renderer {name}, for which no tool calls are known: set renderer_name to "
            f"one of {', '.join(DIALECTS)}, or play it without tools"
        )
    return DIALECTS[name](renderer)
