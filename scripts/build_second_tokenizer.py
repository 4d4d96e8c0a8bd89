"""Build the second tokenizer of the embedded models: another vocabulary and another pre-tokenizer than the first.

    python scripts/build_second_tokenizer.py [FOLDER]

It is there so that a student can learn from a teacher that reads other tokens (docs/teachers.md). What differs is what
differs between the tokenizers of large models: every digit is a token (the first has `16` and `255` as one), an
identifier is one piece with its underscores and is cut where frequency says (the first cuts it at underscores), a
semicolon takes the line break and the indentation after it along, and merges are learned from generated problems. The
same input gives the same files, byte for byte.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from build_tokenizer import (
    CONTROL,
    MARKUP,
    POSITIONS,
    RESERVED,
    ROOT,
    alternatives,
    configuration,
    corpus,
    in_bytes,
    spaced_words,
    words,
)
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from rtl_agent.problems.generate import TRAINED, answer, instances

FOLDER = ROOT / "rtl_agent" / "backends" / "models" / "teacher-2"
VOCABULARY = 1_024
INSTANCES = 4_096
SEED = 77_000


def pattern() -> str:
    """The pieces of a text. Every character is in one of them."""
    return "|".join(
        (
            rf"(?<![A-Za-z0-9_])(?:{alternatives(spaced_words())})(?![A-Za-z0-9_]) ?",
            r"[A-Za-z_]+",
            r"[0-9]",
            r";\n+ *",
            r"\n+ *",
            rf" ?(?:{alternatives(words('operators'))}|[!-/:-@\[-^`{{-~]) ?",
            r" +",
            r"[^ -~\n]+",
        )
    )


def texts() -> Iterator[str]:
    yield from dict.fromkeys(corpus())
    for instance in instances(SEED, INSTANCES, families=TRAINED):
        yield f"{instance.text}\n{answer(instance.reference)}"


def build() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(ignore_merges=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern()), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    room = VOCABULARY - len(CONTROL) - len(MARKUP) - len(RESERVED)
    trainer = trainers.BpeTrainer(
        vocab_size=room, initial_alphabet=list(in_bytes().values()), show_progress=False, min_frequency=2
    )
    tokenizer.train_from_iterator(texts(), trainer)
    tokenizer.add_special_tokens([AddedToken(text, special=True, normalized=False) for text in CONTROL + RESERVED])
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in MARKUP])
    return tokenizer


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
