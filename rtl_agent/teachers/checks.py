"""What every teacher must do: a conformance suite for one of your own.

    for fault in await check_teacher(teacher, tokens):
        print(fault)

`tokens` is a sequence that a student could have written, of ten tokens or more.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Sequence

from rtl_agent.teachers.reading import Reading, Span
from rtl_agent.teachers.teacher import Teacher

Check = Callable[[Teacher, Sequence[int]], AsyncIterator[str]]
TOLERANCE = 1e-3  # nats: a server may compute a longer sequence in another order


async def check_teacher(teacher: Teacher, tokens: Sequence[int]) -> list[str]:
    """What is wrong with a teacher, a sentence each; [] for one that conforms."""
    return [f"{check.__name__}: {fault}" for check in CHECKS async for fault in check(teacher, list(tokens))]


async def advises_on_every_token(teacher: Teacher, tokens: Sequence[int]) -> AsyncIterator[str]:
    """A finite logprob for each but the first, which has nothing before it."""
    advice = await teacher.advise(Reading.verbatim(tokens))
    if len(advice.logprobs) != len(tokens):
        yield f"{len(advice.logprobs)} logprobs for {len(tokens)} tokens"
    for at, logprob in enumerate(advice.logprobs[1:], start=1):
        if logprob is None or not math.isfinite(logprob) or logprob > TOLERANCE:
            yield f"token {at} has the logprob {logprob}"


async def tells_its_likeliest_tokens(teacher: Teacher, tokens: Sequence[int]) -> AsyncIterator[str]:
    """Where it tells any, for every token, with logprobs whose probabilities do not exceed 1."""
    advice = await teacher.advise(Reading.verbatim(tokens))
    if advice.top and len(advice.top) != len(tokens):
        yield f"likeliest tokens at {len(advice.top)} of {len(tokens)} positions"
    for at, top in enumerate(advice.top):
        if top is None:
            continue
        if len(top.tokens) != len(top.logprobs) or len(set(top.tokens)) != len(top.tokens):
            yield f"at position {at} tokens and logprobs do not match, or a token comes twice"
        if sum(map(math.exp, top.logprobs)) > 1 + TOLERANCE:
            yield f"at position {at} the probabilities add up to more than 1"


async def repeats(teacher: Teacher, tokens: Sequence[int]) -> AsyncIterator[str]:
    """The same advice on the same tokens, also while it advises on others."""
    whole, half = Reading.verbatim(tokens), Reading.verbatim(tokens[: len(tokens) // 2])
    alone = await teacher.advise(whole)
    others = [teacher.advise(whole), teacher.advise(half), teacher.advise(whole)]
    first, _, last = await asyncio.gather(*others)
    for again in (first, last):
        if _differs(alone.logprobs, again.logprobs):
            yield "two pieces of advice on the same tokens differ"


async def looks_back_only(teacher: Teacher, tokens: Sequence[int]) -> AsyncIterator[str]:
    """A token's logprob depends on those before it: what comes later must not change it."""
    whole = (await teacher.advise(Reading.verbatim(tokens))).logprobs
    for length in (2, len(tokens) // 2, len(tokens) - 1):
        if _differs(whole[:length], (await teacher.advise(Reading.verbatim(tokens[:length]))).logprobs):
            yield f"the first {length} tokens have other logprobs without those after them"


async def leaves_out_what_it_is_not_asked(teacher: Teacher, tokens: Sequence[int]) -> AsyncIterator[str]:
    """After another prompt: a value for each token of the span, None for all others, and none for the prompt."""
    half = len(tokens) // 2
    prompt = tokens[:half]
    reading = Reading((*prompt, *tokens), 2 + len(tokens) - half, (Span(2, 2 * half, len(tokens) - half),))
    advice = await teacher.advise(reading)
    if len(advice.logprobs) != reading.length:
        yield f"{len(advice.logprobs)} logprobs for a sequence of {reading.length} tokens"
    elif any(one is not None for one in advice.logprobs[:2]):
        yield "tokens outside of every span have a logprob"
    elif any(one is None for one in advice.logprobs[2:]):
        yield "tokens of a span have no logprob"


def _differs(one: Sequence[float | None], other: Sequence[float | None]) -> bool:
    return len(one) != len(other) or any(
        (a is None) != (b is None) or (a is not None and b is not None and abs(a - b) > TOLERANCE)
        for a, b in zip(one, other, strict=True)
    )


CHECKS: tuple[Check, ...] = (
    advises_on_every_token,
    tells_its_likeliest_tokens,
    repeats,
    looks_back_only,
    leaves_out_what_it_is_not_asked,
)
