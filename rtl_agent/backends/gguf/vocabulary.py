"""The tokenizer in a GGUF file's metadata -> tokenizer.json, tokenizer_config.json and the ids that end an answer.

Byte-level BPE only (`tokenizer.ggml.model` is gpt2). How a text is cut before anything is merged is not in the file: it
has a name for it, `tokenizer.ggml.pre`, and a wrong cut makes other tokens without anybody noticing. So each name that
is taken is compared with llama.cpp's own tokenizer (tests/backends/gguf/test_llamacpp.py); others are refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rtl_agent.backends.gguf.header import BadGguf, GgufFile

NORMAL, CONTROL, USER_DEFINED, UNUSED = 1, 3, 4, 5  # tokenizer.ggml.token_type
# What ends an answer beside eos_token_id, by the names that llama.cpp looks for too.
ENDS = ("<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|end_of_text|>", "<|eom_id|>")
LONGEST_TOKEN = 1024

_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
_REST = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def _split(digits: str) -> list[dict[str, Any]]:
    rule = {"type": "Split", "pattern": {"Regex": f"{_WORDS}|{digits}|{_REST}"}, "behavior": "Isolated"}
    return [rule | {"invert": False}, _bytes(cut=False)]


def _bytes(*, cut: bool) -> dict[str, Any]:
    return {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": cut}


@dataclass(frozen=True)
class Cut:
    """How a text is cut. `nfc`: it is brought into that form first, which llama.cpp leaves out."""

    steps: list[dict[str, Any]]
    nfc: bool = False
    ignore_merges: bool = False  # a piece that is a token is not merged


_DIGIT_BY_DIGIT = Cut([{"type": "Digits", "individual_digits": True}, _bytes(cut=True)])
_LLAMA = Cut(_split(r"\p{N}{1,3}"), ignore_merges=True)
CUTS: Mapping[str, Cut] = {
    "gpt-2": Cut([_bytes(cut=True)]),
    "llama-bpe": _LLAMA,
    "llama-v3": _LLAMA,
    "llama3": _LLAMA,
    "qwen2": Cut(_split(r"\p{N}"), nfc=True),
    "refact": _DIGIT_BY_DIGIT,
    "smollm": _DIGIT_BY_DIGIT,
    "starcoder": _DIGIT_BY_DIGIT,
}


@dataclass(frozen=True)
class Vocabulary:
    """The JSON files of a tokenizer, and the ids of the tokens with a role."""

    tokenizer: dict[str, Any]
    config: dict[str, Any]
    bos: int | None
    eos: int
    ends: list[int]

    @property
    def chats(self) -> bool:
        return "chat_template" in self.config


def read_vocabulary(file: GgufFile, rows: int) -> Vocabulary:
    """`rows` of the embedding: no token may lie beyond them."""
    cut = _cut(file)
    tokens, types = _tokens(file, rows)
    ids = {text: number for number, text in enumerate(tokens) if types[number] != UNUSED}
    if len(ids) < sum(kind != UNUSED for kind in types):
        raise BadGguf(f"{file.path} cannot be imported: two tokens of its vocabulary are the same.")
    added = [
        _added(number, text, special=types[number] == CONTROL)
        for number, text in enumerate(tokens)
        if types[number] in (CONTROL, USER_DEFINED)
    ]
    bos, eos, pad = (_role(file, name, len(tokens)) for name in ("bos", "eos", "padding"))
    if eos is None:
        raise BadGguf(f"{file.path} cannot be imported: it does not name the token that ends a text (eos_token_id).")
    begins = bos is not None and file.fields.get("tokenizer.ggml.add_bos_token") is True
    tokenizer = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": {"type": "NFC"} if cut.nfc else None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": cut.steps},
        "post_processor": _beginning(tokens[bos], bos) if begins and bos is not None else None,
        "decoder": _bytes(cut=True),
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "ignore_merges": cut.ignore_merges,
            "vocab": ids,
            "merges": _merges(file, ids),
        },
    }
    config: dict[str, Any] = {
        # Not the model's own class: transformers 5 would cut the text by that class's rule, not by tokenizer.json's.
        "tokenizer_class": "PreTrainedTokenizerFast",
        "clean_up_tokenization_spaces": False,
        "eos_token": tokens[eos],
    }
    named = [("bos_token", bos), ("pad_token", pad)]
    config |= {name: tokens[number] for name, number in named if number is not None}
    template = file.fields.get("tokenizer.chat_template")
    if isinstance(template, str) and template.strip():
        config["chat_template"] = template
    special = {one["content"]: one["id"] for one in added if one["special"]}
    ends = [eos, *(number for text in ENDS if (number := special.get(text, eos)) != eos)]
    return Vocabulary(tokenizer, config, bos, eos, ends)


def check_loads(tokenizer: str, file: GgufFile) -> None:
    """Let the library that will read it say so now if it cannot."""
    from tokenizers import Tokenizer

    try:
        Tokenizer.from_str(tokenizer)
    except Exception as error:  # the library raises nothing more precise
        raise BadGguf(f"{file.path} cannot be imported: its tokenizer cannot be rebuilt: {str(error)[:300]}.") from None


def _cut(file: GgufFile) -> Cut:
    model = file.fields.get("tokenizer.ggml.model")
    if model != "gpt2":
        raise BadGguf(
            f"{file.path} cannot be imported: its tokenizer is of the kind {str(model)[:40]!r}, and only gpt2 "
            "(byte-level BPE) is known."
        )
    name = file.fields.get("tokenizer.ggml.pre")
    if not isinstance(name, str) or name not in CUTS:
        raise BadGguf(
            f"{file.path} cannot be imported: its pre-tokenizer is {str(name)[:40]!r} (tokenizer.ggml.pre), and "
            f"{', '.join(CUTS)} are known."
        )
    return CUTS[name]


def _tokens(file: GgufFile, rows: int) -> tuple[list[str], list[int]]:
    tokens = file.fields.get("tokenizer.ggml.tokens")
    if not isinstance(tokens, list) or not tokens or not isinstance(tokens[0], str):
        raise BadGguf(f"{file.path} cannot be imported: it has no vocabulary (tokenizer.ggml.tokens).")
    if len(tokens) > rows:
        raise BadGguf(f"{file.path} cannot be imported: it has {len(tokens):,} tokens for {rows:,} rows of embedding.")
    if (longest := max(map(len, tokens))) > LONGEST_TOKEN:
        raise BadGguf(f"{file.path} cannot be imported: a token has {longest:,} characters, over {LONGEST_TOKEN:,}.")
    types = file.fields.get("tokenizer.ggml.token_type", [NORMAL] * len(tokens))
    if not isinstance(types, list) or len(types) != len(tokens):
        raise BadGguf(f"{file.path} cannot be imported: tokenizer.ggml.token_type has not one entry for each token.")
    return tokens, types


def _merges(file: GgufFile, ids: Mapping[str, int]) -> list[list[str]]:
    merges = file.fields.get("tokenizer.ggml.merges")
    if not isinstance(merges, list):
        raise BadGguf(f"{file.path} cannot be imported: it has no merges (tokenizer.ggml.merges).")
    found = []
    for merge in merges:
        left, space, right = str(merge).partition(" ")
        if not (left and space and right and left in ids and right in ids and left + right in ids):
            raise BadGguf(f"{file.path} cannot be imported: {str(merge)[:40]!r} is not a merge of two of its tokens.")
        found.append([left, right])
    return found


def _added(number: int, text: str, *, special: bool) -> dict[str, Any]:
    said = {"id": number, "content": text, "special": special}
    return said | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)


def _role(file: GgufFile, name: str, tokens: int) -> int | None:
    key = f"tokenizer.ggml.{name}_token_id"
    found = file.fields.get(key)
    if found is None:
        return None
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < tokens:
        raise BadGguf(f"{file.path} cannot be imported: {key} is {str(found)[:40]}, and it has {tokens:,} tokens.")
    return found


def _beginning(text: str, number: int) -> dict[str, Any]:
    """Llama 3's: a text that is encoded with special tokens begins with one."""
    first = {"SpecialToken": {"id": text, "type_id": 0}}
    one, two = {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}
    return {
        "type": "TemplateProcessing",
        "single": [first, one],
        "pair": [first, one, {"SpecialToken": {"id": text, "type_id": 1}}, two],
        "special_tokens": {text: {"id": text, "ids": [number], "tokens": [text]}},
    }
