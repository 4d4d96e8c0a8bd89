"""Text from outside -> tokens that are text and nothing else; sampled tokens -> text, whatever the tokens are."""

import re
from collections.abc import Sequence

from tinker_cookbook.tokenizer_utils import Tokenizer

_IDS = 2**31  # within it, ids that no token has decode to nothing; beyond it `tokenizers` raises OverflowError


def sound(text: str) -> str:
    """Without halves of surrogate pairs, which JSON can write and no tokenizer, file or terminal takes."""
    return text.encode("utf-8", "replace").decode("utf-8")


class PlainText:
    """Encodes what a command printed. Markup in it (`<|im_end|>`, `</tool_response>`) becomes its characters.

    `split_special_tokens` alone is not enough: Qwen3's `<tool_call>`, `</tool_response>` and `<think>` are added tokens
    that are not special, and stay whole. Cut behind its first character none is found, and the text decodes the same.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        added = sorted(tokenizer.get_added_vocab(), key=len, reverse=True)
        inside = "|".join(f"(?<={re.escape(one[0])})(?={re.escape(one[1:])})" for one in added if len(one) > 1)
        self._cuts = re.compile(inside or r"(?!)")

    def encode(self, text: str) -> list[int]:
        tokens: list[int] = []
        for piece in self._cuts.split(sound(text)):
            tokens += self._tokenizer.encode(piece, add_special_tokens=False, split_special_tokens=True)
        return tokens

    def decode(self, tokens: Sequence[int]) -> str:
        """Models have more rows than their tokenizers have tokens: such ids are left out."""
        known = [int(token) for token in tokens if 0 <= token < _IDS]
        return sound(str(self._tokenizer.decode(known, clean_up_tokenization_spaces=False)))
