"""The conformance suite of teachers: the usual one passes it, also with its likeliest tokens, a wrong one does not."""

from dataclasses import dataclass

import pytest

from rtl_agent.backends.connect import Connection
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.teachers import SAME_TOKENS, TEACHERS, Advice, Reading, TeacherSetup, TinkerScorer
from rtl_agent.teachers.checks import check_teacher
from rtl_agent.teachers.scorer import TooLong
from rtl_agent.training.advisor import advice_if_it_fits
from rtl_agent.training.config import TEACHER
from tests.training.conftest import answer

TOKENS = tokenizer_for(TEACHER).encode(answer("a & b"))


@pytest.mark.parametrize("topk", [0, 4])
async def test_the_usual_teacher_conforms(topk: int, server: Connection) -> None:
    client = await server.service.create_sampling_client_async(base_model=TEACHER)
    teacher = TEACHERS[SAME_TOKENS](TeacherSetup(TinkerScorer(client, TEACHER), topk))
    assert await check_teacher(teacher, TOKENS) == []


@dataclass(frozen=True)
class LooksAhead:
    """Judges every token by the length of the whole, and forgets the last one."""

    name: str = "wrong"

    async def advise(self, reading: Reading) -> Advice:
        return Advice((None, *[-1.0 / reading.length] * (reading.length - 2)))


async def test_a_teacher_that_breaks_the_contract_is_told_how() -> None:
    faults = await check_teacher(LooksAhead(), TOKENS)
    found = {fault.partition(":")[0] for fault in faults}
    assert found == {"advises_on_every_token", "looks_back_only", "leaves_out_what_it_is_not_asked"}


class Short:
    """A teacher whose server takes three tokens."""

    name = "short"

    async def advise(self, reading: Reading) -> Advice:
        if len(reading.tokens) > 3:
            raise TooLong(f"short takes 3 tokens, and the text has {len(reading.tokens)}")
        return Advice((None, *[-1.0] * (reading.length - 1)))


async def test_of_a_conversation_that_does_not_fit_a_teacher_says_nothing() -> None:
    assert (await advice_if_it_fits(Short(), Reading.verbatim([1, 2, 3]))).logprobs == (None, -1.0, -1.0)
    assert (await advice_if_it_fits(Short(), Reading.verbatim([1, 2, 3, 4]))).logprobs == (None,) * 4
