"""Build the tokenizer of the embedded models from word lists, the system messages and the bundled problems.

    python scripts/build_tokenizer.py [FOLDER]

A name has one tokenisation, in a specification and in code: it never carries a space. Spaces go to keywords and words
of prose (one after them) and to operators (one on each side). A piece that is in the vocabulary is one token; names
that are not are written by their parts (`load`, `_value`), and any other piece by merges of bytes, so that every text
can be written and comes back as it was. The same input gives the same files, byte for byte.
"""

import itertools
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

from rtl_agent.problems import BUNDLED, load_problems
from rtl_agent.prompts import messages

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "rtl_agent" / "backends" / "models" / "tokenizer"
VOCABULARY = 1_376  # a multiple of 32; more is embedding that a model of a million weights has no use for
MERGES = 160  # for pieces that are not in the vocabulary
POSITIONS = 4_096
LONG_MESSAGES = ("default", "spec-aware")

# Control tokens end messages: no text that is encoded as text may contain them. Markup tokens are ordinary tokens of a
# model's answer (Qwen3 declares them the same way), so that `<tool_call>` in an answer is one token.
CONTROL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MARKUP = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>", "<think>", "</think>")
RESERVED = tuple(f"<|reserved_{number}|>" for number in range(15))

# ChatML, as `rtl_agent.envs.renderers` writes it.
CHAT_TEMPLATE = (
    "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' }}"
    "{%- if not loop.last or add_generation_prompt %}{{- '\\n' }}{%- endif %}{%- endfor %}"
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{%- endif %}"
)

WORDS = tomllib.loads((ROOT / "scripts" / "tokenizer_words.toml").read_text(encoding="utf-8"))


def words(kind: str) -> list[str]:
    return sorted(set(WORDS[kind].split()))


def alternatives(options: Iterable[str]) -> str:
    """The longest first: an alternation takes the first that matches."""
    return "|".join(re.escape(option) for option in sorted(set(options), key=lambda option: (-len(option), option)))


def pattern() -> str:
    """The pieces of a text. Every character is in one of them."""
    whole = [name for name in words("names") if "_" in name]
    return "|".join(
        (
            rf"(?<![A-Za-z0-9_])(?:{alternatives(spaced_words())})(?![A-Za-z0-9_]) ?",
            rf"(?<![A-Za-z0-9_])(?:{alternatives(whole)})(?![A-Za-z0-9_])",
            rf"(?:{alternatives(words('parts'))})(?![A-Za-z0-9])",
            r"[A-Za-z]+",
            r"_",
            r"[0-9]+",
            r"\n+ *",
            rf" ?(?:{alternatives(words('operators'))}|[!-/:-@\[-^`{{-~]) ?",
            r" +",
            r"[^ -~\n]+",
        )
    )


def spaced_words() -> list[str]:
    return sorted({*words("keywords"), *words("prose")} - set(words("names")))


def corpus() -> Iterator[str]:
    """What models are asked and answer: every bundled problem with the long system messages, and its reference."""
    for problem in load_problems(BUNDLED):
        for system in LONG_MESSAGES:  # the short one is made of words that are tokens already
            yield from (message.content for message in messages(problem, system=system))
        for path, text in sorted((problem.reference or {}).items()):
            yield f"```{'systemverilog' if path.endswith('.sv') else 'verilog'}\n{text}```"


def in_bytes() -> dict[int, str]:
    """The printable character that stands for each byte in a byte-level vocabulary."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + rank) for rank, byte in enumerate(others)}


BYTES = in_bytes()


def spelled(piece: str) -> str:
    return "".join(BYTES[byte] for byte in piece.encode())


def asked_for() -> list[str]:
    """The pieces that are tokens however rare they are here."""
    keywords = [form for word in words("keywords") for form in (word, f"{word} ")]
    indents = [lines + " " * size for lines in ("\n", "\n\n") for size in (0, *WORDS["indents"])]
    prose = [f"{word} " for word in words("prose")]
    binary = [f" {operator} " for operator in words("binary")]
    spaces = [" " * size for size in WORDS["indents"]]
    known = [word for kind in ("names", "ends", "parts", "numbers", "operators") for word in words(kind)]
    return [*keywords, *prose, *known, *binary, *indents, *spaces]


def merges_of(parts: Counter[str], known: Container[str], limit: int) -> list[tuple[str, str]]:
    """Byte pair encoding until `limit` tokens are new: the most frequent pair first, among equals the first by name."""
    found: list[tuple[str, str]] = []
    spelling = {part: tuple(part) for part in parts}
    new = 0
    while new < limit:
        pairs: Counter[tuple[str, str]] = Counter()
        for part, symbols in spelling.items():
            for pair in itertools.pairwise(symbols):
                pairs[pair] += parts[part]
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        found.append(best)
        new += "".join(best) not in known
        spelling = {part: joined(symbols, best) for part, symbols in spelling.items()}
    return found


def joined(symbols: tuple[str, ...], pair: tuple[str, str]) -> tuple[str, ...]:
    done: list[str] = []
    for symbol in symbols:
        if done and (done[-1], symbol) == pair:
            done[-1] += symbol
        else:
            done.append(symbol)
    return tuple(done)


def build() -> Tokenizer:
    """The whole tokenizer."""
    split = pre_tokenizers.Split(Regex(pattern()), "isolated")
    pieces: Counter[str] = Counter()
    for text in dict.fromkeys(corpus()):
        pieces.update(piece for piece, _ in split.pre_tokenize_str(text))
    tokens = dict.fromkeys([*BYTES.values(), *map(spelled, asked_for())])
    room = VOCABULARY - len(CONTROL) - len(MARKUP) - len(RESERVED) - MERGES - len(tokens)
    if room < 0:
        raise SystemExit(f"the word lists are {-room} tokens too long for a vocabulary of {VOCABULARY}")
    frequent = [piece for piece, _ in sorted(pieces.items(), key=lambda item: (-item[1], item[0]))
                if spelled(piece) not in tokens and piece.strip(" ")]  # fmt: skip
    tokens.update(dict.fromkeys(map(spelled, frequent[:room])))
    # Spaces in a row: by 2, 4, 8, 16.
    merges = [(spelled(" " * size), spelled(" " * size)) for size in (1, 2, 4, 8)]
    # Operators keep together when a space beside them has no token.
    operators = sorted(words("operators"), key=lambda operator: (len(operator), operator))
    merges += [(left, last) for left, last in ((o[:-1], o[-1]) for o in operators) if left in tokens]
    merges += merges_of(Counter({spelled(piece): pieces[piece] for piece in frequent[room:]}), tokens, MERGES)
    tokens.update(dict.fromkeys(left + right for left, right in merges))
    vocabulary = {token: number for number, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in CONTROL + RESERVED])
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in MARKUP])
    return tokenizer


def configuration(positions: int) -> dict[str, dict[str, object]]:
    """What stands beside tokenizer.json, by file name."""
    special = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": positions,
        "clean_up_tokenization_spaces": False,
        **special,
        "chat_template": CHAT_TEMPLATE,
    }
    return {"tokenizer_config.json": config, "special_tokens_map.json": dict(special)}


def write(folder: Path) -> Tokenizer:
    tokenizer = build()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(tokenizer.to_str(pretty=False) + "\n", encoding="utf-8")
    for name, content in configuration(POSITIONS).items():
        (folder / name).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return tokenizer


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    print(f"{target}: {write(target).get_vocab_size()} tokens")
