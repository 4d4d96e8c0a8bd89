"""The conformance suite that a dialect of one's own is run through: ours pass it, a careless one does not."""

from collections.abc import Sequence

import pytest

from rtl_agent.envs.conversation import Part, PartKind, WrittenTurn
from rtl_agent.envs.dialects.checks import ANSWER, COMMAND, WrittenTurns, check_dialect
from rtl_agent.envs.dialects.qwen import QwenDialect
from rtl_agent.envs.dialects.registry import DIALECTS
from rtl_agent.envs.renderers import renderer_for
from rtl_agent.envs.session import ToolResult, Turn
from tests.envs.dialects.spoken import Spoken, spoken


def written(said: Spoken) -> WrittenTurns:
    call = said.turn(("execute_bash", {"command": COMMAND}))
    return WrittenTurns(said.decode(call), said.decode(said.turn(text=ANSWER)))


@pytest.mark.parametrize("name", DIALECTS)
def test_every_dialect_conforms(name: str) -> None:
    said = spoken(name)
    assert check_dialect(said.dialect, said.tokenizer, written(said)) == []


class Careless(QwenDialect):
    """Encodes what a command printed with its markup, and takes what was cut off for an answer."""

    def parse(self, tokens: Sequence[int]) -> Turn:
        turn = super().parse(tokens)
        return Turn(turn.text, turn.thinking, turn.calls)

    def follow(self, sampled: Sequence[int], results: Sequence[ToolResult]) -> list[int]:
        text = "".join(result.text.encode("utf-8", "replace").decode() for result in results)
        return [*self._control(text), *super().follow(sampled, [])]


class Deaf(QwenDialect):
    """Finds no calls in a turn, and writes what another model said with its markup."""

    def read(self, sampled: Sequence[int]) -> WrittenTurn:
        turn = super().read(sampled)
        return WrittenTurn(turn.tokens, tuple(part for part in turn.parts if part.kind is PartKind.TEXT), turn.end)

    def write(self, parts: Sequence[Part], *, ended: bool, thinking: bool) -> WrittenTurn:
        text = b"".join(part.text for part in parts).decode(errors="replace")
        return WrittenTurn(tuple(self._control(text)), ())


def test_a_dialect_that_cannot_read_and_write_turns_is_told_so() -> None:
    said = spoken("qwen3")
    faults = check_dialect(Deaf(renderer_for("qwen3", said.tokenizer)), said.tokenizer, written(said))
    found = {fault.partition(":")[0] for fault in faults}
    assert found == {"finds_the_parts_of_a_turn", "writes_what_it_reads", "text_is_written_as_text"}


def test_a_dialect_that_breaks_the_contract_is_told_how() -> None:
    said = spoken("qwen3")
    careless = Careless(renderer_for("qwen3", said.tokenizer))
    faults = check_dialect(careless, said.tokenizer, written(said))
    found = {fault.partition(":")[0] for fault in faults}
    assert {"a_cut_turn_is_no_answer", "text_never_becomes_markup", "ends_a_cut_turn"} <= found
    assert "reads_a_call" not in found
