"""How messages become tokens and tokens a message, by the renderer's name; which renderer goes with which model."""

from collections.abc import Callable, Mapping

from tinker_cookbook.model_info import get_model_attributes
from tinker_cookbook.renderers import Renderer, get_renderer, register_renderer
from tinker_cookbook.tokenizer_utils import Tokenizer

from rtl_agent.envs.chatml import ChatMLRenderer
from rtl_agent.envs.harmony import HarmonyRenderer

Factory = Callable[[Tokenizer, object], Renderer]

# Registered with the cookbook under names of our own, so that its own `gpt_oss_*` stay what its users know.
_OWN: Mapping[str, Factory] = {
    "rtl_agent": lambda tokenizer, _: ChatMLRenderer(tokenizer),
    "gpt_oss_no_sysprompt": lambda tokenizer, _: HarmonyRenderer(tokenizer),
    "gpt_oss_low_reasoning": lambda tokenizer, _: HarmonyRenderer(tokenizer, "low"),
    "gpt_oss_medium_reasoning": lambda tokenizer, _: HarmonyRenderer(tokenizer, "medium"),
    "gpt_oss_high_reasoning": lambda tokenizer, _: HarmonyRenderer(tokenizer, "high"),
}
_COOKBOOK = ("qwen3", "qwen3_disable_thinking", "qwen3_instruct", "llama3", "role_colon")
RENDERERS = tuple(sorted((*_OWN, *_COOKBOOK)))

_THINKING = ("qwen3", "gpt_oss_no_sysprompt", "gpt_oss_medium_reasoning", "gpt_oss_high_reasoning")
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
    """The renderer for single-shot answers of this model: the one that thinks least where it can be chosen."""
    name = model_name.rpartition("/")[2].lower()
    if is_base(model_name):
        return "role_colon"
    if model_name.startswith("rtl-agent/"):
        return "rtl_agent"
    if name.startswith("gpt-oss"):
        return "gpt_oss_low_reasoning"
    if name.startswith("qwen3-"):
        if "-thinking-" in f"{name}-":
            return "qwen3"
        return "qwen3_instruct" if "-instruct" in name else "qwen3_disable_thinking"
    if name.startswith("llama-3"):
        return "llama3"
    raise UnknownRenderer(f"no renderer is known for {model_name}: set renderer_name to one of {', '.join(RENDERERS)}")


def is_base(model_name: str) -> bool:
    """A model that was never taught to follow instructions, by the cookbook's list or else by its name."""
    if model_name.startswith("rtl-agent/"):
        return model_name.endswith("-base")
    try:
        return not get_model_attributes(model_name).is_chat
    except (KeyError, ValueError):
        name = model_name.rpartition("/")[2].lower()
        return name.endswith("-base") or (name.startswith("llama-3") and "instruct" not in name)


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
