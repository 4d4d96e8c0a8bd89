"""Bad input is refused with a sentence, and neither it nor a client that goes away disturbs others."""

import asyncio
import subprocess
import sys
from collections.abc import Awaitable
from typing import Any

import tinker
from tinker import types

from rtl_agent.backends.conformance.subject import (
    PROMPT,
    TARGETS,
    Subject,
    cross_entropy_datum,
    datum,
    expect,
    expect_close,
    logprobs_of,
    loss_sum,
    prompt,
    train_step,
)

OUTSIDE = 5_000_000  # larger than any vocabulary


async def _refused(call: Awaitable[Any], what: str) -> str:
    """The first await submits, the second waits; either may raise."""
    try:
        result = await call
        if isinstance(result, tinker.APIFuture):
            await result.result_async()
    except Exception as error:
        expect(len(str(error)) > 20, f"{what}: the error says nothing: {error!r}")
        expect("Traceback" not in str(error), f"{what}: the error is a traceback")
        return str(error)
    raise AssertionError(f"{what} was accepted")


async def check_unknown_model(subject: Subject) -> None:
    """An unknown base model is an error for training and for sampling, and names the model."""
    name = "nobody/no-such-model"
    training = await _refused(subject.service.create_lora_training_client_async(name, rank=4), "an unknown model")
    sampling = await _refused(subject.service.create_sampling_client_async(base_model=name), "an unknown model")
    expect(name in training and name in sampling, f"the model is not named: {training} / {sampling}")


async def check_unknown_checkpoint(subject: Subject) -> None:
    """A checkpoint that does not exist, or a path that climbs out, is an error."""
    for path in ("tinker://no-such-run/weights/x", "tinker://../weights/x", "tinker://a/weights/..", "tinker://a/b"):
        await _refused(subject.service.create_sampling_client_async(model_path=path), path)


async def check_bad_checkpoint_names(subject: Subject) -> None:
    """Names that would leave the run's directory are refused."""
    model = await subject.model()
    for name in ("../x", "a/b", "..", ".", "", "x" * 300, "a\0b"):
        if name:
            await _refused(model.save_state_async(name), repr(name))


async def check_bad_training_data(subject: Subject) -> None:
    """Wrong tokens, shapes, losses and settings are errors; the model trains on after each of them."""
    model = await subject.model()
    good = cross_entropy_datum()
    cases: dict[str, tuple[types.Datum, str]] = {
        "a token outside the vocabulary": (cross_entropy_datum((*PROMPT[:-1], OUTSIDE)), "cross_entropy"),
        "a target outside the vocabulary": (cross_entropy_datum(targets=(*TARGETS[:-1], OUTSIDE)), "cross_entropy"),
        "targets of another length": (datum(PROMPT, target_tokens=[1, 2], weights=[1.0, 1.0]), "cross_entropy"),
        "no target_tokens": (datum(PROMPT, weights=[1.0] * 6), "cross_entropy"),
        "an unknown loss": (good, "no_such_loss"),
        "a loss without its inputs": (good, "ppo"),
        "no tokens": (cross_entropy_datum((), ()), "cross_entropy"),
    }
    for what, (one, loss) in cases.items():
        await _refused(model.forward_backward_async([one], loss), what)  # type: ignore[arg-type]  # no such loss
    other = await subject.model()
    found = [loss_sum((await train_step(each, [good])).metrics) for each in (model, other)]
    expect(abs(found[0] - found[1]) < 1e-4, f"after refused requests the model is another: {found}")


async def check_too_long(subject: Subject) -> None:
    """A sequence longer than the context is an error for training and sampling."""
    models = (await subject.service.get_server_capabilities_async()).supported_models
    context = next(model.max_context_length for model in models if model.model_name == subject.base_model) or 0
    long = [PROMPT[index % len(PROMPT)] for index in range(context + 1)]
    model = await subject.model()
    await _refused(model.forward_backward_async([cross_entropy_datum(long, long)], "cross_entropy"), "too long a datum")
    sampler = await model.save_weights_and_get_sampling_client_async()
    params = types.SamplingParams(max_tokens=1)
    await _refused(sampler.sample_async(prompt(long), 1, params), "too long a prompt")
    await _refused(sampler.sample_async(prompt(), 1, types.SamplingParams(max_tokens=context)), "too large max_tokens")
    await logprobs_of(model)


async def check_bad_sampling(subject: Subject) -> None:
    """An empty prompt, unknown tokens and impossible settings are errors."""
    sampler = await subject.service.create_sampling_client_async(base_model=subject.base_model)
    good = types.SamplingParams(max_tokens=2)
    await _refused(sampler.sample_async(prompt(()), 1, good), "an empty prompt")
    await _refused(sampler.sample_async(prompt((OUTSIDE,)), 1, good), "a token outside the vocabulary")
    for params in (
        types.SamplingParams(max_tokens=2, temperature=-1.0),
        types.SamplingParams(max_tokens=2, top_p=1.5),
        types.SamplingParams(max_tokens=-1),
    ):
        await _refused(sampler.sample_async(prompt(), 1, params), str(params))
    await _refused(sampler.sample_async(prompt(), 0, good), "no samples")
    expect(len((await sampler.sample_async(prompt(), 1, good)).sequences) == 1, "the sampler stopped working")


async def check_wrong_key(subject: Subject) -> None:
    """Another key is refused."""
    try:
        tinker.RestClient(base_url=subject.base_url, api_key="tml-not-the-key").list_training_runs().result()
    except tinker.APIStatusError as error:
        expect(error.status_code in (401, 403), f"the status is {error.status_code}")
        return
    raise AssertionError("a wrong key was accepted")


# Starts work that takes a while and is killed with requests under way.
VANISHING = """
import os, sys, tinker
from tinker import types
url, key, model = sys.argv[1:]
service = tinker.ServiceClient(base_url=url or None, api_key=key)
trainer = service.create_lora_training_client(model, rank=4)
datum = types.Datum(
    model_input=types.ModelInput.from_ints([3, 4, 5]), loss_fn_inputs={"target_tokens": [4, 5, 6], "weights": [1.0] * 3}
)
sampler = trainer.save_weights_and_get_sampling_client()
for _ in range(8):
    trainer.forward_backward([datum], "cross_entropy")
    sampler.sample(types.ModelInput.from_ints([3, 4]), 8, types.SamplingParams(max_tokens=64))
trainer.forward_backward([datum], "cross_entropy").result()
print("working", flush=True)
os.kill(os.getpid(), 9)
"""


async def check_a_client_that_disappears(subject: Subject) -> None:
    """A client killed with requests under way does not disturb others."""
    model = await subject.trained()
    before = await logprobs_of(model)
    argv = [sys.executable, "-c", VANISHING, subject.base_url or "", subject.api_key or "", subject.base_model]
    vanished = await asyncio.create_subprocess_exec(*argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    output, errors = await vanished.communicate()
    expect(output == b"working\n", f"the other client did not get to work: {errors.decode()[-500:]}")
    expect_close(await logprobs_of(model), before, "logprobs of this client's model", 1e-6)
    await train_step(model, [cross_entropy_datum()])


async def check_two_clients_at_once(subject: Subject) -> None:
    """Two sessions train at the same time, each its own model."""
    second = tinker.ServiceClient(base_url=subject.base_url, api_key=subject.api_key)
    one = await subject.model()
    two = await second.create_lora_training_client_async(subject.base_model, rank=subject.rank, seed=1)
    for _ in range(3):
        await asyncio.gather(*(train_step(model, [cross_entropy_datum()]) for model in (one, two)))
    expect_close(await logprobs_of(one), await logprobs_of(two), "logprobs of two clients that did the same")
    await second.close("success")


async def check_sampling_while_training(subject: Subject) -> None:
    """Samples and training steps under way at the same time all finish."""
    model = await subject.trained()
    sampler = await model.save_weights_and_get_sampling_client_async()
    params = types.SamplingParams(max_tokens=24, seed=3, stop=[])
    samples = [asyncio.ensure_future(sampler.sample_async(prompt(), 2, params)) for _ in range(8)]
    for _ in range(3):
        await train_step(model, [cross_entropy_datum()])
    tokens = {tuple(sequence.tokens) for response in await asyncio.gather(*samples) for sequence in response.sequences}
    expect(len(tokens) == 2, f"one seed gave {len(tokens)} different samples for two places")
