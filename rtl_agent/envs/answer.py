"""Sampled tokens -> the text that is graded, thinking left out."""

from collections.abc import Sequence

from tinker_cookbook.exceptions import RendererError
from tinker_cookbook.renderers import Renderer

_FINAL = "<|channel|>final<|message|>"
_ANALYSIS = "<|channel|>analysis<|message|>"


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
