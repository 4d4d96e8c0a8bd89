"""Several clients, and clients that go away."""

import asyncio
import subprocess
import sys

import tinker
from tinker import types

from rtl_agent.backends.conformance.subject import (
    Subject,
    cross_entropy_datum,
    expect,
    expect_close,
    logprobs_of,
    prompt,
    train_step,
)

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
