"""From an episode to a teacher's advice on it: how the teacher reads it, and who is asked."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import tinker

from rtl_agent.byte_vocabulary import ByteVocabulary, NotBytes
from rtl_agent.envs.env import ProblemGroupBuilder
from rtl_agent.envs.rollout import PlayedEpisode, gather_or_cancel
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.teachers import Advice, Reading, Teacher
from rtl_agent.teachers.scorer import TooLong
from rtl_agent.training.readers import Reader

log = logging.getLogger("rtl_agent.training")
TeacherOf = Callable[[tinker.SamplingClient], Teacher]


@dataclass(frozen=True)
class Advisor:
    """A teacher and its way of reading. `teacher` is made of the student's present weights where it is the student."""

    teacher: TeacherOf
    reader: Reader
    spent: Callable[[int], None] = lambda tokens: None  # is told the tokens of each text that the teacher scores

    async def advise(
        self,
        builder: ProblemGroupBuilder,
        played: PlayedEpisode,
        data: Sequence[tinker.Datum],
        client: tinker.SamplingClient,
    ) -> tuple[Advice, ...]:
        """On each datum of an episode. `client` samples from the weights that played it."""
        teacher = self.teacher(client)
        tokens = [tokens_of(datum) for datum in data]
        readings = [self.reader.read(builder, played, one) for one in tokens]
        found = await gather_or_cancel(advice_if_it_fits(teacher, reading) for reading in readings)
        self.spent(sum(len(reading.tokens) for reading in readings))
        return tuple(
            replace(advice, text_bytes=scored_bytes(builder.model_name, one, datum, advice))
            for advice, one, datum in zip(found, tokens, data, strict=True)
        )


async def advice_if_it_fits(teacher: Teacher, reading: Reading) -> Advice:
    """Nothing of a conversation that has become longer than the teacher's server takes: its tokens are not scored."""
    try:
        return await teacher.advise(reading)
    except TooLong as error:
        log.warning("%s: the teacher says nothing of this conversation", error)
        return Advice((None,) * reading.length)


def tokens_of(datum: tinker.Datum) -> list[int]:
    """The whole sequence again, which inputs and targets have shifted against each other."""
    targets = datum.loss_fn_inputs["target_tokens"].to_numpy()
    return [*datum.model_input.to_ints(), int(targets[-1])]


def scored_bytes(model: str, tokens: Sequence[int], datum: tinker.Datum, advice: Advice) -> int:
    """Bytes of text that the student sampled and the teacher scored; markers have none. 0 if tokens have no bytes."""
    vocabulary = _vocabulary(model)
    if vocabulary is None:
        return 0
    mask = datum.loss_fn_inputs["mask"].to_numpy()
    return sum(
        len(vocabulary.get(token) or b"")
        for token, action, logprob in zip(tokens[1:], mask, advice.logprobs[1:], strict=True)
        if action > 0 and logprob is not None
    )


@cache
def _vocabulary(model: str) -> ByteVocabulary | None:
    try:
        return ByteVocabulary.from_tokenizer(tokenizer_for(model))
    except NotBytes:
        return None
