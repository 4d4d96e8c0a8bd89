"""Longer settings of three families, drawn only where they are named: more to get right in one answer."""

from typing import ClassVar

from rtl_agent.problems.generate import names
from rtl_agent.problems.generate.families.alu import Alu
from rtl_agent.problems.generate.families.mux import ROLES, Mux
from rtl_agent.problems.generate.families.sequence_detector import SequenceDetector


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
