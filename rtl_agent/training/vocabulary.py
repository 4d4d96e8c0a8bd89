"""Whether a teacher can read a student's tokens: advice on other tokens is noise."""

from typing import Any

from rtl_agent.training.errors import BadConfig

_PROBE = "module arbiter #(parameter WIDTH = 8) (input logic clk); // assign grant_valid <= |req;\n"


def check_same_vocabulary(student: Any, teacher: Any, names: tuple[str, str]) -> None:
    """Tokenizers, compared by what they do and by every token they have."""
    same = student.encode(_PROBE) == teacher.encode(_PROBE) and student.get_vocab() == teacher.get_vocab()
    if not same:
        raise BadConfig(
            f"{names[0]} and {names[1]} have different vocabularies ({len(student.get_vocab()):,} and "
            f"{len(teacher.get_vocab()):,} tokens): a teacher must read the student's own tokens. Take one of the "
            "same family"
        )
