"""An adapter's folder is a model to evaluate, and weights to train on from, on a server that did not write it."""

import asyncio
import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tinker
from safetensors.torch import load_file, save_file

from rtl_agent.backends import adapters
from rtl_agent.backends.adapters import ABOUT, WEIGHTS, find_adapter
from rtl_agent.backends.connect import CannotConnect, Connection, connect
from rtl_agent.backends.engine.contract import EngineError
from rtl_agent.backends.server.checkpoint_store import CheckpointStore, parse
from rtl_agent.evaluation.models import ModelSpec, open_model
from rtl_agent.training import BadConfig, configure
from rtl_agent.training.config import STUDENT
from rtl_agent.training.models import check_embedded_models

TOKENS = tinker.ModelInput.from_ints([5, 9, 33, 7, 120, 64, 8])


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, list[float | None]]]:
    """An adapter's folder, and what its model says of a text."""
    state = tmp_path_factory.mktemp("state")
    with connect(models=[STUDENT], state=state) as connection:
        client = connection.service.create_lora_training_client(STUDENT, rank=4, seed=0)
        ones = tinker.TensorData.from_numpy(np.ones(6, np.float32))
        targets = tinker.TensorData.from_numpy(np.arange(40, 46))
        inputs = {"target_tokens": targets, "weights": ones}
        datum = tinker.Datum(model_input=tinker.ModelInput.from_ints([5, 9, 33, 7, 120, 64]), loss_fn_inputs=inputs)
        for _ in range(2):
            client.forward_backward([datum], "cross_entropy").result()
            client.optim_step(tinker.AdamParams(learning_rate=0.01)).result()
        path = client.save_weights_for_sampler("taught").result().path
        said = connection.service.create_sampling_client(model_path=path).compute_logprobs(TOKENS).result()
        yield CheckpointStore(state).directory(parse(path)), list(said)


def test_an_adapters_folder_is_evaluated_and_trained_on_from(trained: tuple[Path, list[float | None]]) -> None:
    folder, said = trained

    async def ask() -> tuple[list[float | None], str, int]:
        async with open_model(ModelSpec(str(folder))) as model:
            logprobs = await model.client.compute_logprobs_async(TOKENS)  # type: ignore[union-attr]  # asked by tokens
            connection: Connection = model.connection  # type: ignore[union-attr]
            adapter = find_adapter(str(folder))
            assert adapter is not None
            again = await connection.service.create_training_client_from_state_async(connection.adopt(adapter))
            return list(logprobs), model.weights, (await again.get_info_async()).lora_rank or 0

    found, weights, rank = asyncio.run(ask())
    assert found == said
    assert len(weights) == 16
    assert rank == 4


def test_half_the_bytes_are_the_same_adapter(trained: tuple[Path, list[float | None]], tmp_path: Path) -> None:
    folder, said = trained
    half = shutil.copytree(folder, tmp_path / "half")
    save_file({key: value.bfloat16() for key, value in load_file(half / WEIGHTS).items()}, half / WEIGHTS)
    adapter = find_adapter(str(half))
    assert adapter is not None
    with connect(models=[STUDENT]) as connection:
        sampler = connection.service.create_sampling_client(model_path=connection.adopt(adapter))
        found = sampler.compute_logprobs(TOKENS).result()
    pairs = [(one, other) for one, other in zip(found, said, strict=True) if one is not None and other is not None]
    assert len(pairs) == len(said) - 1
    assert max(abs(one - other) for one, other in pairs) < 0.2


def test_what_cannot_be_used_is_said(
    trained: tuple[Path, list[float | None]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _ = trained
    assert find_adapter("rtl-agent/student") is None
    assert find_adapter("tinker://run/weights/one") is None
    alone = shutil.copytree(folder, tmp_path / "alone")
    (alone / ABOUT).unlink()
    with pytest.raises(EngineError, match="only checkpoints of rtl-agent can be used"):
        find_adapter(str(alone))
    (alone / ABOUT).write_text(json.dumps({"base": STUDENT, "lora": {"rank": 4, "colour": 1}}))
    with pytest.raises(EngineError, match=r"checkpoint\.json cannot be read"):
        find_adapter(str(alone))
    monkeypatch.setattr(adapters, "SHIPPED_ADAPTERS", {"rtl-agent/gone": tmp_path / "gone"})
    with pytest.raises(EngineError, match="They are in the repository"):
        find_adapter("rtl-agent/gone")
    adapter = find_adapter(str(folder))
    assert adapter is not None
    elsewhere = Connection.__new__(Connection)
    elsewhere.server = None
    with pytest.raises(CannotConnect, match="only backend=embedded reads"):
        elsewhere.adopt(adapter)
    for path, said in (
        (str(folder), "was trained from rtl-agent/student, not from rtl-agent/teacher"),
        ("nobody/nothing", "nor a folder with adapter_model"),
    ):
        with pytest.raises(BadConfig, match=said):
            check_embedded_models(configure("rl", load_checkpoint_path=path, model_name="rtl-agent/teacher"))
