"""The embedded models' format: ChatML without thinking, as Qwen3's instruct models have it."""

from tinker_cookbook.renderers.qwen3 import Qwen3InstructRenderer


class ChatMLRenderer(Qwen3InstructRenderer):
    """`<|im_start|>role`, a line break, the text, `<|im_end|>`; a line break between messages.

    Text is encoded with `split_special_tokens`: `<|im_end|>` inside a specification is written as plain characters and
    ends nothing. `<tool_call>` and `<think>` are ordinary tokens there and here.
    """
