"""Servers and clients that end: closed, killed, restarted, silent."""

import asyncio
import gc
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import numpy as np
import pytest
import tinker
from tinker import types

from rtl_agent.backends.connect import CannotConnect, Connection, connect
from rtl_agent.backends.server.embedded import ServerDied

DATUM = types.Datum(
    model_input=types.ModelInput.from_ints([3, 4, 5]),
    loss_fn_inputs={
        "target_tokens": types.TensorData.from_numpy(np.array([4, 5, 6])),
        "weights": types.TensorData.from_numpy(np.ones(3, np.float32)),
    },
)


def eventually(truth: Callable[[], bool], seconds: float = 30.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if truth():
            return True
        time.sleep(0.1)
    return False


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def loss(model: tinker.TrainingClient) -> float:
    return model.forward([DATUM], "cross_entropy").result().metrics["loss:sum"]


def test_a_killed_server_is_said_by_the_sdk_and_its_checkpoints_survive(tiny_model: str, tmp_path: Path) -> None:
    with connect("embedded", models=[tiny_model], state=tmp_path) as first:
        model = first.service.create_lora_training_client(tiny_model, rank=2)
        sampler = model.save_weights_and_get_sampling_client()
        model.forward_backward([DATUM], "cross_entropy")
        model.optim_step(types.AdamParams(learning_rate=0.01)).result()
        path, before = model.save_state("kept").result().path, loss(model)
        assert first.server
        os.kill(first.server.pid, signal.SIGKILL)
        with pytest.raises(Exception, match=r"embedded server .* ended by signal 9"):
            model.forward_backward([DATUM], "cross_entropy").result(timeout=60)
        with pytest.raises(Exception, match=r"embedded server .* ended by signal 9"):
            sampler.sample(types.ModelInput.from_ints([3]), 1, types.SamplingParams(max_tokens=2)).result(timeout=60)
        with pytest.raises(ServerDied, match=r"server\.log"):
            first.check()
    with connect("embedded", models=[tiny_model], state=tmp_path) as second:
        again = second.service.create_training_client_from_state_with_optimizer(path)
        assert loss(again) == pytest.approx(before, abs=1e-5)


@pytest.mark.slow
def test_a_restarted_server_tells_an_old_client_so(tiny_model: str, tmp_path: Path) -> None:
    """As with `rtl-agent serve` behind a URL: same port, same key, another process."""
    with connect("embedded", models=[tiny_model], state=tmp_path) as connection:
        model = connection.service.create_lora_training_client(tiny_model, rank=2)
        sampler = model.save_weights_and_get_sampling_client()
        assert connection.server
        port = connection.server.port
        connection.server.close()
        again = [sys.executable, "-m", "rtl_agent.cli.main", "serve", tiny_model, "--port", str(port)]
        server = subprocess.Popen([*again, "--key", connection.api_key, "--state", tmp_path], stdout=subprocess.PIPE)
        try:
            assert server.stdout
            assert server.stdout.readline().startswith(b"base_url")
            with pytest.raises(tinker.NotFoundError, match=r"is not training.*create_training_client_from_state"):
                model.forward_backward([DATUM], "cross_entropy").result(timeout=60)
            with pytest.raises(tinker.NotFoundError, match="has no sampler"):
                sampler.compute_logprobs(types.ModelInput.from_ints([3, 4])).result(timeout=60)
        finally:
            server.terminate()
            assert server.wait(30) == 0


OWNER = """
import os, sys, time
from rtl_agent.backends.server.embedded import EmbeddedServer
from rtl_agent.backends.server.process import ServerSettings
server = EmbeddedServer(ServerSettings("tml-key", sys.argv[1], os.getpid()))
server.start()
print(server.pid, flush=True)
time.sleep(600)
"""


def test_a_killed_owner_takes_its_server_along(tmp_path: Path) -> None:
    owner = subprocess.Popen([sys.executable, "-c", OWNER, tmp_path], stdout=subprocess.PIPE, text=True)
    assert owner.stdout
    pid = int(owner.stdout.readline().split()[0])
    assert alive(pid)
    owner.kill()
    owner.wait()
    assert eventually(lambda: not alive(pid))


def test_a_silent_client_is_freed_and_closing_ends_the_process(tiny_model: str) -> None:
    with connect("embedded", models=[tiny_model], silent_seconds=2) as connection:
        assert connection.server
        pid, state = connection.server.pid, connection.server.log.parent
        http = httpx.Client(base_url=f"{connection.base_url}/api/v1", headers={"X-API-Key": connection.api_key})
        session = http.post("create_session", json={}).json()["session_id"]
        created = http.post(
            "create_model", json={"session_id": session, "model_seq_id": 0, "base_model": tiny_model}
        ).json()
        made = http.post("retrieve_future", json=created).json()
        assert made["model_id"] == f"{session}:train:0"
        assert session in http.get("sessions").json()["sessions"]
        assert eventually(lambda: session not in http.get("sessions").json()["sessions"])
        gone = http.post("get_info", json={"model_id": made["model_id"]})
        assert gone.status_code == 404
        assert http.post("session_heartbeat", json={"session_id": session}).status_code == 410
    assert not alive(pid)
    assert not state.exists(), "a temporary state directory is removed"
    connection.close()


@pytest.mark.slow
def test_a_server_that_cannot_start_says_why() -> None:
    with pytest.raises(ServerDied, match="nobody/nothing"):
        connect("embedded", models=["nobody/nothing"])


def test_specs_that_lead_nowhere(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TINKER_API_KEY", raising=False)
    with pytest.raises(CannotConnect, match="TINKER_API_KEY"):
        connect("tinker")
    with pytest.raises(CannotConnect, match="embedded, tinker, or the URL"):
        connect("nowhere")
    with pytest.raises(CannotConnect, match="needs a key"):
        connect("http://127.0.0.1:9")
    with pytest.raises(CannotConnect, match="no server answers"):
        connect("http://127.0.0.1:9", api_key="tml-x")
    with pytest.raises(CannotConnect, match="refuses the key"):
        connect(str(connection.base_url), api_key="tml-wrong")


def test_closing_a_connection_to_a_url_ends_the_session_only(connection: Connection, tiny_model: str) -> None:
    with connect(str(connection.base_url), api_key=connection.api_key) as other:
        model = other.service.create_lora_training_client(tiny_model, rank=2)
        assert loss(model) > 0
    http = httpx.Client(base_url=f"{connection.base_url}/api/v1", headers={"X-API-Key": connection.api_key})
    assert http.post("get_info", json={"model_id": model.model_id}).status_code == 404
    assert connection.service.get_server_capabilities().supported_models


def test_a_cloud_that_does_not_answer_is_said_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A host that accepts connections and says nothing: the SDK would try for minutes."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("TINKER_BASE_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        monkeypatch.setattr("rtl_agent.backends.connect.ANSWER_SECONDS", 0.5)
        with pytest.raises(CannotConnect, match="did not answer within"):
            connect("tinker", api_key="tml-x")
    with pytest.raises(CannotConnect, match="starts with tml-"):
        connect("tinker", api_key="sk-of-another-service")


def test_a_key_that_the_cloud_refuses_is_said(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TINKER_BASE_URL", str(connection.base_url))
    with pytest.raises(CannotConnect, match="refuses the key"):
        connect("tinker", api_key="tml-wrong")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (tinker.RequestFailedError("cancelled", "7", types.RequestErrorCategory.Server), False),
        (ValueError("ours"), True),
    ],
)
def test_a_request_that_nobody_waits_for_fails_without_a_traceback(
    connection: Connection, caplog: pytest.LogCaptureFixture, error: Exception, said: bool
) -> None:
    """As after Ctrl-C, when the server refuses samples that were cancelled."""

    async def abandoned() -> None:
        async def fail() -> None:
            raise error

        task = asyncio.create_task(fail())
        await asyncio.sleep(0.01)
        del task

    asyncio.run(abandoned())
    gc.collect()
    assert ("was never retrieved" in caplog.text) == said
