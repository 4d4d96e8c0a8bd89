"""Samples and logprobs of prompts."""

import asyncio
import pickle
from itertools import pairwise

import tinker
from tinker import types

from rtl_agent.backends.conformance.subject import (
    PROMPT,
    Subject,
    cross_entropy_datum,
    expect,
    expect_close,
    logprobs_of,
    prompt,
    train_step,
)

NO_STOP: list[int] = []


def _params(
    max_tokens: int = 8,
    *,
    seed: int | None = 5,
    temperature: float = 1.0,
    top_k: int = -1,
    top_p: float = 1.0,
    stop: list[int] | list[str] | None = NO_STOP,
) -> types.SamplingParams:
    return types.SamplingParams(
        max_tokens=max_tokens, seed=seed, temperature=temperature, top_k=top_k, top_p=top_p, stop=stop
    )


async def _sampler(subject: Subject) -> tinker.SamplingClient:
    return await (await subject.trained()).save_weights_and_get_sampling_client_async()


async def check_sampler_logprobs_are_the_trainers(subject: Subject) -> None:
    """Logprobs of sampled tokens equal the trainer's on the same sequence, at any temperature."""
    model = await subject.trained()
    sampler = await model.save_weights_and_get_sampling_client_async()
    for temperature in (1.0, 0.5):
        response = await sampler.sample_async(prompt(), 2, _params(temperature=temperature))
        for sequence in response.sequences:
            tokens = [*PROMPT, *sequence.tokens]
            trainers = await logprobs_of(model, tokens[:-1], tokens[1:])
            expect_close(sequence.logprobs, trainers[len(PROMPT) - 1 :], f"logprobs at temperature {temperature}")


async def check_prompt_logprobs_are_the_trainers(subject: Subject) -> None:
    """compute_logprobs has one entry for each token, the first None, the others the trainer's."""
    model = await subject.trained()
    sampler = await model.save_weights_and_get_sampling_client_async()
    found = await sampler.compute_logprobs_async(prompt())
    expect(len(found) == len(PROMPT) and found[0] is None, f"expected {len(PROMPT)} entries, the first None: {found}")
    expect_close(found[1:], await logprobs_of(model, PROMPT[:-1], PROMPT[1:]), "prompt logprobs")


async def check_prompt_logprobs_of_the_last_tokens(subject: Subject) -> None:
    """prompt_logprobs_last_n scores the last tokens only, with the same values."""
    sampler = await _sampler(subject)
    whole = await sampler.compute_logprobs_async(prompt())
    last = await sampler.compute_logprobs_async(prompt(), prompt_logprobs_last_n=2)
    expect(last[:-2] == [None] * (len(PROMPT) - 2), f"earlier entries are not None: {last}")
    expect_close(last[-2:], whole[-2:], "the last two logprobs")


async def check_topk_prompt_logprobs(subject: Subject) -> None:
    """topk_prompt_logprobs: k falling logprobs for each token but the first; a prompt token among them has its own."""
    sampler = await _sampler(subject)
    response = await sampler.sample_async(prompt(), 1, _params(1), include_prompt_logprobs=True, topk_prompt_logprobs=5)
    rows, logprobs = response.topk_prompt_logprobs, response.prompt_logprobs
    expect(rows is not None and len(rows) == len(PROMPT) and rows[0] is None, f"unexpected rows: {rows}")
    for token, row, logprob in list(zip(PROMPT, rows or [], logprobs or [], strict=True))[1:]:
        expect(row is not None and len(row) == 5, f"a row has not 5 entries: {row}")
        values = [value for _, value in row or []]
        expect(values == sorted(values, reverse=True), f"a row does not fall: {row}")
        by_token = dict(row or [])
        if token in by_token:
            expect_close(by_token[token], logprob, "the prompt token's logprob in its row")
        else:
            expect((logprob or 0.0) <= values[-1] + 1e-4, "a prompt token above the k-th is not in the row")


async def check_topk_sample_logprobs(subject: Subject) -> None:
    """topk_sample_logprobs: for each sampled token k pairs; a greedy sample is the first of them."""
    sampler = await _sampler(subject)
    response = await sampler.sample_async(prompt(), 1, _params(4, temperature=0.0), topk_sample_logprobs=3)
    sequence = response.sequences[0]
    rows = sequence.topk_logprobs or []
    expect(len(rows) == 4, f"{len(rows)} rows for 4 tokens")
    for token, logprob, row in zip(sequence.tokens, sequence.logprobs or [], rows, strict=True):
        expect(row is not None and row[0][0] == token, f"the greedy token {token} is not first in {row}")
        expect_close((row or [(0, 0.0)])[0][1], logprob, "its logprob")


async def check_seeds_repeat(subject: Subject) -> None:
    """The same seed gives the same tokens, whatever is sampled at the same time; another seed gives others."""
    sampler = await _sampler(subject)
    alone = await sampler.sample_async(prompt(), 1, _params(16))
    seeds = [_params(16, seed=seed) for seed in (5, 6, 7, 8)]
    together = await asyncio.gather(*(sampler.sample_async(prompt(), 1, params) for params in seeds))
    expect(together[0].sequences[0].tokens == alone.sequences[0].tokens, "a seed does not repeat among other samples")
    tokens = {tuple(response.sequences[0].tokens) for response in together}
    expect(len(tokens) == 4, "four seeds gave fewer than four samples")


async def check_samples_of_one_request_differ(subject: Subject) -> None:
    """num_samples gives that many sequences, each its own, with distinct sequence ids."""
    response = await (await _sampler(subject)).sample_async(prompt(), 4, _params(16))
    expect(len({tuple(sequence.tokens) for sequence in response.sequences}) == 4, "the samples are copies")
    expect(len({sequence.sequence_id for sequence in response.sequences}) == 4, "sequence ids repeat")


async def check_max_tokens(subject: Subject) -> None:
    """Without a stop a sample has max_tokens tokens and the stop reason length."""
    for count in (1, 7):
        sequence = (await (await _sampler(subject)).sample_async(prompt(), 1, _params(count))).sequences[0]
        expect(len(sequence.tokens) == count, f"{len(sequence.tokens)} tokens, max_tokens is {count}")
        expect(sequence.stop_reason == "length", f"stop_reason is {sequence.stop_reason}")


async def check_stop_tokens(subject: Subject) -> None:
    """A stop token ends the sample, is its last token, and has a logprob."""
    sampler = await _sampler(subject)
    free = (await sampler.sample_async(prompt(), 1, _params(16))).sequences[0].tokens
    stop = free[6]
    sequence = (await sampler.sample_async(prompt(), 1, _params(16, stop=[stop]))).sequences[0]
    wanted = free[: free.index(stop) + 1]
    expect(sequence.tokens == wanted, f"{sequence.tokens}, expected {wanted}")
    expect(sequence.stop_reason == "stop", f"stop_reason is {sequence.stop_reason}")
    expect(len(sequence.logprobs or []) == len(wanted), "a logprob is missing")


async def check_stop_texts(subject: Subject) -> None:
    """A stop text ends the sample at the token that completes it."""
    model = await subject.trained()
    sampler = await model.save_weights_and_get_sampling_client_async()
    tokenizer = model.get_tokenizer()
    free = (await sampler.sample_async(prompt(), 1, _params(16))).sequences[0].tokens
    texts = [str(tokenizer.decode(free[: count + 1])) for count in range(len(free))]
    added = [now.removeprefix(before) if now.startswith(before) else "" for before, now in pairwise(texts)]
    stop = next((text for text in added[3:] if text), None)
    if stop is None:
        return  # this model's sample decodes to nothing that could be a stop
    wanted = next(count + 1 for count, text in enumerate(texts) if stop in text)
    sequence = (await sampler.sample_async(prompt(), 1, _params(16, stop=[stop]))).sequences[0]
    expect(len(sequence.tokens) == wanted, f"{len(sequence.tokens)} tokens until {stop!r}, expected {wanted}")
    expect(sequence.stop_reason == "stop", f"stop_reason is {sequence.stop_reason}")


async def check_greedy_is_the_most_likely(subject: Subject) -> None:
    """Temperature 0, top_k 1 and a tiny top_p all take the most likely token."""
    sampler = await _sampler(subject)
    params = (_params(temperature=0.0), _params(top_k=1), _params(top_p=1e-6))
    found = [(await sampler.sample_async(prompt(), 1, each)).sequences[0].tokens for each in params]
    expect(found[0] == found[1] == found[2], f"they differ: {found}")


async def check_top_k_and_top_p_limit_the_choice(subject: Subject) -> None:
    """Sampled tokens lie among the k most likely, and within the nucleus of probability p."""
    sampler = await _sampler(subject)
    response = await sampler.sample_async(prompt(), 8, _params(4, top_k=3), topk_sample_logprobs=3)
    for sequence in response.sequences:
        for token, row in zip(sequence.tokens, sequence.topk_logprobs or [], strict=True):
            expect(token in dict(row or []), f"top_k 3 gave {token}, not among {row}")
    free = (await sampler.sample_async(prompt(), 64, _params(1))).sequences
    narrow = (await sampler.sample_async(prompt(), 64, _params(1, top_p=0.2))).sequences
    kinds = [len({sequence.tokens[0] for sequence in sequences}) for sequences in (free, narrow)]
    expect(kinds[1] < kinds[0], f"top_p 0.2 gave {kinds[1]} distinct tokens, 1.0 gave {kinds[0]}")


async def check_options_are_per_request(subject: Subject) -> None:
    """Requests that run at the same time keep their own temperature, length and seed."""
    sampler = await _sampler(subject)
    greedy, short = _params(8, temperature=0.0), _params(3, seed=9)
    alone = [(await sampler.sample_async(prompt(), 1, each)).sequences[0].tokens for each in (greedy, short)]
    mixed = await asyncio.gather(
        *(sampler.sample_async(prompt(), 1, each) for each in (_params(16, seed=2), greedy, short, _params(5, top_k=2)))
    )
    expect([mixed[1].sequences[0].tokens, mixed[2].sequences[0].tokens] == alone, "a neighbour changed a sample")


async def check_a_sampler_is_a_snapshot(subject: Subject) -> None:
    """Training on does not change a sampler made before; a sampler made after has the new weights."""
    model = await subject.trained()
    sampler = await model.save_weights_and_get_sampling_client_async()
    before = await sampler.compute_logprobs_async(prompt())
    await train_step(model, [cross_entropy_datum()])
    expect_close((await sampler.compute_logprobs_async(prompt()))[1:], before[1:], "logprobs after training on", 1e-6)
    later = await model.save_weights_and_get_sampling_client_async()
    moved = max(
        abs((a or 0.0) - (b or 0.0)) for a, b in zip(await later.compute_logprobs_async(prompt()), before, strict=True)
    )
    expect(moved > 1e-3, "a sampler made after training has the old weights")


async def check_the_base_model_can_be_sampled(subject: Subject) -> None:
    """create_sampling_client(base_model=...) samples the untrained weights."""
    sampler = await subject.service.create_sampling_client_async(base_model=subject.base_model)
    base = await sampler.compute_logprobs_async(prompt())
    untrained = await logprobs_of(await subject.model(), PROMPT[:-1], PROMPT[1:])
    expect_close(base[1:], untrained, "logprobs of base model and of an untrained adapter")
    expect(await sampler.get_base_model_async() == subject.base_model, "get_base_model names another model")


async def check_a_sampler_can_be_pickled(subject: Subject) -> None:
    """A pickled sampling client is another client of the same snapshot."""
    sampler = await _sampler(subject)
    copy: tinker.SamplingClient = pickle.loads(pickle.dumps(sampler))  # noqa: S301  # our own object
    found = [await each.compute_logprobs_async(prompt()) for each in (sampler, copy)]
    expect_close(found[1][1:], found[0][1:], "logprobs of the copy", 1e-6)
