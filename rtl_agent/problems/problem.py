"""What is asked: one `Problem`, as data."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from rtl_agent.problems.harness import Harness


class Kind(StrEnum):
    """How an answer is given: in one reply, or as edits in a workspace."""

    SINGLE_SHOT = "single-shot"
    AGENTIC = "agentic"


class Needs(StrEnum):
    """What it takes to judge an answer."""

    OPEN_TOOLS = "open-tools"
    COMMERCIAL = "commercial"  # Cadence Xcelium and its licence server
    TEXT = "text"  # an answer in prose: BLEU, ROUGE or a judging model, no simulator


NEEDS_IN_WORDS = {
    Needs.OPEN_TOOLS: "open tools (Icarus Verilog, cocotb, Verilator, Yosys)",
    Needs.COMMERCIAL: "Cadence Xcelium and its licence server",
    Needs.TEXT: "a text score (BLEU, ROUGE or a judging model): the answer is prose, not RTL",
}


@dataclass(frozen=True)
class Problem:
    """One record of a data set. The harness and the reference are never shown to a model."""

    id: str
    family: str  # the design the record is about; siblings share RTL and must stay on one side of a split
    category: str  # "cid003"
    difficulty: str  # "easy", "medium", "hard"
    kind: Kind
    needs: Needs
    prompt: str
    context: Mapping[str, str]  # path -> text, shown to the model
    targets: tuple[str, ...]  # the files an answer may write
    harness: Harness
    reference: Mapping[str, str] | None = None  # target path -> text; None where it was withheld
    system_message: str | None = None
    answer: str | None = None  # the reference of a comprehension problem
    source: str = field(default="", compare=False)  # the file it was read from

    @property
    def given(self) -> Mapping[str, str]:
        """The targets that the model is handed to complete, modify or debug, as they are handed over."""
        return {path: self.context[path] for path in self.targets if path in self.context}
