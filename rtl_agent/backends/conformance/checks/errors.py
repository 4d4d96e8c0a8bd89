"""Bad input is refused with a sentence, and the server goes on."""

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
    expect(len((await sampler.sample_async(prompt(), 1, good)).sequences) == 1, "the sampler does not go on")


async def check_wrong_key(subject: Subject) -> None:
    """Another key is refused."""
    try:
        tinker.RestClient(base_url=subject.base_url, api_key="tml-not-the-key").list_training_runs().result()
    except tinker.APIStatusError as error:
        expect(error.status_code in (401, 403), f"the status is {error.status_code}")
        return
    raise AssertionError("a wrong key was accepted")
