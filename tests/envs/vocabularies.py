"""Qwen's, gpt-oss's and Llama 3's tokenizers as they are, from vocabulary files that installed packages carry."""

import base64
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from tinker_cookbook.tokenizer_utils import Tokenizer as AnyTokenizer
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers
from transformers import PreTrainedTokenizerFast

_QWEN_PIECES = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_SUFFIX = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_O200K_PIECES = (
    rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_SUFFIX}|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_SUFFIX}"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN_CONTROL = [
    "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|object_ref_start|>", "<|object_ref_end|>", "<|box_start|>",
    "<|box_end|>", "<|quad_start|>", "<|quad_end|>", "<|vision_start|>", "<|vision_end|>", "<|vision_pad|>",
    "<|image_pad|>", "<|video_pad|>",
]  # fmt: skip
_QWEN_MARKUP = [
    "<tool_call>", "</tool_call>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>", "<|fim_pad|>",
    "<|repo_name|>", "<|file_sep|>", "<tool_response>", "</tool_response>", "<think>", "</think>",
]  # fmt: skip
LLAMA_PIECES = _QWEN_PIECES.replace(r"\p{N}| ?", r"\p{N}{1,3}| ?")  # up to three digits in one
_LLAMA = {
    128000: "<|begin_of_text|>", 128001: "<|end_of_text|>", 128006: "<|start_header_id|>",
    128007: "<|end_header_id|>", 128008: "<|eom_id|>", 128009: "<|eot_id|>", 128010: "<|python_tag|>",
}  # fmt: skip
_HARMONY = {
    "<|startoftext|>": 199998, "<|endoftext|>": 199999, "<|return|>": 200002, "<|constrain|>": 200003,
    "<|channel|>": 200005, "<|start|>": 200006, "<|end|>": 200007, "<|message|>": 200008, "<|call|>": 200012,
}  # fmt: skip


def package_file(package: str, path: str) -> Path:
    spec = find_spec(package)
    assert spec is not None, f"{package} is not installed"
    assert spec.origin is not None
    return Path(spec.origin).parent / path


O200K = package_file("tml_renderers", "data/o200k_base.tiktoken")
LLAMA = package_file("llama_models", "llama3/tokenizer.model")


@cache
def qwen3() -> AnyTokenizer:
    """Qwen/Qwen3-8B's."""
    tokenizer = byte_level(package_file("dashscope", "resources/qwen.tiktoken"), _QWEN_PIECES)
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in _QWEN_CONTROL])
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in _QWEN_MARKUP])
    return _fast(tokenizer, "<|im_end|>")


@cache
def qwen2_5() -> AnyTokenizer:
    """Qwen/Qwen2.5-Coder-1.5B-Instruct's: Qwen3's without tokens for <think> and <tool_response>."""
    tokenizer = byte_level(package_file("dashscope", "resources/qwen.tiktoken"), _QWEN_PIECES)
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in _QWEN_CONTROL])
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in _QWEN_MARKUP[:8]])
    return _fast(tokenizer, "<|im_end|>")


@cache
def gpt_oss() -> AnyTokenizer:
    """openai/gpt-oss-20b's."""
    tokenizer = byte_level(O200K, _O200K_PIECES)
    names = {number: name for name, number in _HARMONY.items()}
    every = [names.get(number, f"<|reserved_{number}|>") for number in range(199998, 200019)]
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in every])
    return _fast(tokenizer, "<|return|>")


@cache
def llama3() -> AnyTokenizer:
    """meta-llama/Llama-3.1-8B-Instruct's. No merges lead to some of its tokens: whole pieces are looked up first."""
    tokenizer = byte_level(LLAMA, LLAMA_PIECES, whole_pieces=True)
    every = [_LLAMA.get(number, f"<|reserved_{number}|>") for number in range(128000, 128256)]
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in every])
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=_LLAMA[128000], eos_token=_LLAMA[128009])
    return cast(AnyTokenizer, fast)


def _fast(tokenizer: Tokenizer, end: str) -> AnyTokenizer:
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=end, pad_token="<|endoftext|>")
    return cast(AnyTokenizer, fast)  # the cookbook's name for both kinds stands, for type checkers, for the slow one


def byte_level(ranks_file: Path, pieces: str, *, whole_pieces: bool = False) -> Tokenizer:
    """Ranks as tiktoken has them -> the same byte pair encoding for `tokenizers`."""
    ranks = {}
    for line in ranks_file.read_bytes().splitlines():
        token, number = line.split()
        ranks[base64.b64decode(token)] = int(number)
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    characters = {byte: chr(byte) for byte in printable} | {byte: chr(256 + at) for at, byte in enumerate(others)}
    table = [characters[byte] for byte in range(256)]
    merges: list[tuple[int, int, int, bytes, bytes]] = []
    for token, rank in ranks.items():
        for cut in range(1, len(token)):
            left, right = token[:cut], token[cut:]
            if left in ranks and right in ranks:
                merges.append((rank, ranks[left], ranks[right], left, right))
    merges.sort()

    def spelled(token: bytes) -> str:
        return "".join([table[byte] for byte in token])

    vocabulary = {spelled(token): rank for token, rank in ranks.items()}
    for unused in range(len(vocabulary), max(vocabulary.values())):
        vocabulary.setdefault(f"<unused {unused}>", unused)
    model = models.BPE(
        vocab=vocabulary, merges=[(spelled(one[3]), spelled(one[4])) for one in merges], ignore_merges=whole_pieces
    )
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pieces), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer
