"""Order, futures and the accumulation of gradients."""

import asyncio

from rtl_agent.backends.conformance.subject import (
    ADAM,
    NEARLY_SGD,
    OTHER,
    OTHER_TARGETS,
    PROMPT,
    TARGETS,
    Subject,
    cross_entropy_datum,
    expect,
    expect_close,
    logprobs_of,
    loss_sum,
    train_step,
)


async def check_capabilities_name_the_model(subject: Subject) -> None:
    """get_server_capabilities lists the model under test with its context length."""
    found = await subject.service.get_server_capabilities_async()
    models = {model.model_name: model for model in found.supported_models}
    expect(subject.base_model in models, f"{subject.base_model} is not among {sorted(map(str, models))}")
    expect((models[subject.base_model].max_context_length or 0) > 0, "no max_context_length")


async def check_info_of_a_model(subject: Subject) -> None:
    """get_info names base model, rank and tokenizer of a training client."""
    info = await (await subject.model()).get_info_async()
    expect(info.model_data.model_name == subject.base_model, f"model_name is {info.model_data.model_name}")
    expect(info.lora_rank == subject.rank, f"lora_rank is {info.lora_rank}, asked for {subject.rank}")


async def check_training_lowers_the_loss(subject: Subject) -> None:
    """Ten steps of cross-entropy on one sequence lower its loss."""
    model = await subject.model()
    losses = [loss_sum((await train_step(model, [cross_entropy_datum()])).metrics) for _ in range(10)]
    expect(losses[-1] < losses[0], f"the loss went from {losses[0]:.3f} to {losses[-1]:.3f}")


async def check_calls_run_in_submission_order(subject: Subject) -> None:
    """Calls queued without awaiting see the effects of those before them, and of none after."""
    model = await subject.model()
    data = [cross_entropy_datum()]
    passes, steps = [], []
    for _ in range(3):
        passes.append(await model.forward_backward_async(data, "cross_entropy"))
        steps.append(await model.optim_step_async(ADAM))
    await asyncio.gather(*(step.result_async() for step in reversed(steps)))
    queued_losses = [loss_sum((await each.result_async()).metrics) for each in passes]
    other = await subject.model()
    awaited_losses = [loss_sum((await train_step(other, data)).metrics) for _ in range(3)]
    expect_close(queued_losses, awaited_losses, "losses of queued and of awaited steps")
    expect(len(set(queued_losses)) == 3, "the loss did not change between steps")


async def check_results_wait_until_asked(subject: Subject) -> None:
    """A future can be awaited long after, in any order, and more than once."""
    model = await subject.model()
    first = await model.forward_backward_async([cross_entropy_datum()], "cross_entropy")
    second = await model.forward_backward_async([cross_entropy_datum(OTHER, OTHER_TARGETS)], "cross_entropy")
    late = await second.result_async()
    early = await first.result_async()
    expect(len(early.loss_fn_outputs[0]["logprobs"].data) == 6, "the first future has another request's result")
    expect(len(late.loss_fn_outputs[0]["logprobs"].data) == 4, "the second future has another request's result")
    expect(await first.result_async() is early, "a second await gave another result")


async def check_outputs_keep_the_datum_order(subject: Subject) -> None:
    """loss_fn_outputs come in the order of the data, whatever their lengths."""
    model = await subject.model()
    pairs = ((PROMPT, TARGETS), (OTHER, OTHER_TARGETS), (OTHER[:2], OTHER[1:3]))
    data = [cross_entropy_datum(tokens, targets) for tokens, targets in pairs]
    together = await (await model.forward_async(data, "cross_entropy"))
    for index, one in enumerate(data):
        alone = await (await model.forward_async([one], "cross_entropy"))
        expect_close(
            together.loss_fn_outputs[index]["logprobs"].to_numpy(),
            alone.loss_fn_outputs[0]["logprobs"].to_numpy(),
            f"logprobs of datum {index}",
        )


async def check_gradients_add_up_until_the_step(subject: Subject) -> None:
    """Two forward_backward calls and a step equal one call with both data and a step."""
    halves, whole = await subject.model(), await subject.model()
    one, two = cross_entropy_datum(), cross_entropy_datum(OTHER, OTHER_TARGETS)
    for data in ([one], [two]):
        await (await halves.forward_backward_async(data, "cross_entropy"))
    await (await halves.optim_step_async(NEARLY_SGD))
    await train_step(whole, [one, two], NEARLY_SGD)
    expect_close(await logprobs_of(halves), await logprobs_of(whole), "logprobs after the step")


async def check_a_step_clears_the_gradients(subject: Subject) -> None:
    """A step without a new forward_backward changes nothing (Adam without momentum)."""
    model = await subject.model()
    await train_step(model, [cross_entropy_datum()], NEARLY_SGD)
    before = await logprobs_of(model)
    await (await model.optim_step_async(NEARLY_SGD))
    expect_close(await logprobs_of(model), before, "logprobs after an empty step", 1e-6)


async def check_forward_leaves_no_gradient(subject: Subject) -> None:
    """forward computes the loss and nothing that a step would apply."""
    model = await subject.model()
    before = await logprobs_of(model)
    await (await model.forward_async([cross_entropy_datum()], "cross_entropy"))
    await (await model.optim_step_async(NEARLY_SGD))
    expect_close(await logprobs_of(model), before, "logprobs after forward and a step", 1e-6)


async def check_seeds_of_adapters_repeat(subject: Subject) -> None:
    """Two models of one seed, trained alike, are alike; models are apart from each other."""
    one, two, idle = await subject.trained(), await subject.trained(), await subject.model()
    expect_close(await logprobs_of(one), await logprobs_of(two), "logprobs of two models of one seed")
    moved = abs(await logprobs_of(one) - await logprobs_of(idle)).max()
    expect(float(moved) > 1e-3, "training one model moved another, or none")
