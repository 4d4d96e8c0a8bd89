"""Longer settings of three families, drawn only where they are named: more to get right in one answer."""

from collections.abc import Sequence
from typing import ClassVar

from rtl_agent.problems.generate import names
from rtl_agent.problems.generate.families.alu import Alu
from rtl_agent.problems.generate.families.mux import ROLES, Mux
from rtl_agent.problems.generate.families.sequence_detector import Choices, SequenceDetector
from rtl_agent.problems.generate.spec import Values


class LongAlu(Alu):
    """Five to eight operations."""

    name = "long_alu"
    longer = True
    code_widths = (3,)
    counts = (5, 6, 7, 8)


class LongMux(Mux):
    """Five to eight inputs, and codes of three bits."""

    name = "long_mux"
    longer = True
    pools: ClassVar = {"select": names.SELECTS, **dict.fromkeys(ROLES, names.LETTERS), "result": names.DATA_OUT}
    customary: ClassVar = {"select": "sel", "result": "out", **dict(zip(ROLES, "abcdpqrs", strict=True))}
    code_width = 3
    inputs = (5, 6, 7, 8)


class LongSequenceDetector(SequenceDetector):
    """Patterns of six to eight bits."""

    name = "long_sequence_detector"
    longer = True
    lengths = (6, 8)

    def directed(self, choices: Choices) -> Sequence[Values]:
        """Every pattern that is wrong in one bit, too: chance rarely finds the longer ones."""
        pattern = choices.pattern
        flipped = {"0": "1", "1": "0"}
        wrong = (pattern[:at] + flipped[bit] + pattern[at + 1 :] for at, bit in enumerate(pattern))
        enable = {"enable": 1} if choices.enabled else {}
        return [*super().directed(choices), *({"serial": int(bit), **enable} for bit in "".join(wrong))]
