"""Saving, loading, listing and deleting."""

import tinker

from rtl_agent.backends.conformance.subject import (
    ADAM,
    Subject,
    cross_entropy_datum,
    expect,
    expect_close,
    logprobs_of,
    prompt,
    train_step,
)


def _rest(subject: Subject) -> tinker.RestClient:
    return tinker.RestClient(base_url=subject.base_url, api_key=subject.api_key)


async def check_checkpoint_with_optimizer(subject: Subject) -> None:
    """Saved with optimizer state and loaded, training continues exactly as if never interrupted."""
    model = await subject.trained(3)
    saved = await (await model.save_state_async("with-optimizer"))
    expect(saved.path.startswith("tinker://"), f"the path is {saved.path}")
    loaded = await subject.service.create_training_client_from_state_with_optimizer_async(saved.path)
    expect_close(await logprobs_of(loaded), await logprobs_of(model), "logprobs of the loaded model", 1e-5)
    for each in (model, loaded):
        await train_step(each, [cross_entropy_datum()], ADAM)
    expect_close(await logprobs_of(loaded), await logprobs_of(model), "logprobs after one more step", 1e-5)


async def check_checkpoint_without_optimizer(subject: Subject) -> None:
    """Loaded without optimizer state, weights are the same and Adam starts afresh."""
    model = await subject.trained(3)
    saved = await (await model.save_state_async("without-optimizer"))
    loaded = await subject.service.create_training_client_from_state_async(saved.path)
    expect_close(await logprobs_of(loaded), await logprobs_of(model), "logprobs of the loaded model", 1e-5)
    for each in (model, loaded):
        await train_step(each, [cross_entropy_datum()], ADAM)
    moved = float(abs(await logprobs_of(loaded) - await logprobs_of(model)).max())
    expect(moved > 1e-5, "the next step is that of the old optimizer state")


async def check_a_checkpoint_is_a_copy(subject: Subject) -> None:
    """What was saved does not change when training continues."""
    model = await subject.trained()
    before = await logprobs_of(model)
    saved = await (await model.save_state_async("copy"))
    await train_step(model, [cross_entropy_datum()])
    loaded = await subject.service.create_training_client_from_state_async(saved.path)
    expect_close(await logprobs_of(loaded), before, "logprobs of the loaded model", 1e-5)


async def check_sampler_weights_by_path(subject: Subject) -> None:
    """save_weights_for_sampler(name) gives a path from which any client can sample."""
    model = await subject.trained()
    saved = await (await model.save_weights_for_sampler_async("by-path"))
    here = await model.save_weights_and_get_sampling_client_async()
    there = await subject.service.create_sampling_client_async(model_path=saved.path)
    found = [await sampler.compute_logprobs_async(prompt()) for sampler in (here, there)]
    expect_close(found[1][1:], found[0][1:], "logprobs by path")


async def check_names_are_not_overwritten(subject: Subject) -> None:
    """A name is used once, unless overwrite is asked for."""
    model = await subject.trained()
    await (await model.save_state_async("once"))
    try:
        await (await model.save_state_async("once"))
    except Exception:
        await train_step(model, [cross_entropy_datum()])
        saved = await (await model.save_state_async("once", overwrite=True))
        loaded = await subject.service.create_training_client_from_state_async(saved.path)
        expect_close(await logprobs_of(loaded), await logprobs_of(model), "logprobs of the new checkpoint", 1e-5)
        return
    raise AssertionError("the second save_state under one name went through")


async def check_checkpoints_are_listed_and_deleted(subject: Subject) -> None:
    """The REST client lists a run's checkpoints, tells what they were trained from, and deletes them."""
    model = await subject.trained()
    saved = await (await model.save_state_async("listed", ttl_seconds=3600))
    sampled = await (await model.save_weights_for_sampler_async("listed"))
    rest = _rest(subject)
    run = await rest.get_training_run_by_tinker_path_async(saved.path)
    expect(run.base_model == subject.base_model and run.lora_rank == subject.rank, f"the run is {run}")
    listed = {each.tinker_path: each for each in (await rest.list_checkpoints_async(run.training_run_id)).checkpoints}
    expect(set(listed) == {saved.path, sampled.path}, f"listed are {sorted(listed)}")
    expect(listed[saved.path].checkpoint_type == "training", "save_state is not listed as training")
    expect(listed[saved.path].expires_at is not None, "the time to live is not listed")
    await rest.delete_checkpoint_from_tinker_path_async(saved.path)
    left = [each.tinker_path for each in (await rest.list_checkpoints_async(run.training_run_id)).checkpoints]
    expect(left == [sampled.path], f"after deletion there are {left}")
