"""`rtl-agent serve`: what it prints, what it refuses, and the self-check's exit code."""

import subprocess
import sys
from pathlib import Path

import pytest

from rtl_agent.backends.connect import Connection, connect
from tests.backends.test_conformance_can_fail import KEY, BrokenEngine, MeanLoss, served


def rtl_agent(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rtl_agent.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=400)


def test_refusals_before_anything_is_loaded() -> None:
    done = rtl_agent("serve", "rtl-agent/student", "--key", "secret")
    assert done.returncode == 2
    assert "tml-" in done.stderr


@pytest.mark.slow
def test_serving_prints_what_a_script_needs_and_ends_on_a_signal(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rtl_agent.cli.main", "serve", "rtl-agent/student", "--port", "0"]
    server = subprocess.Popen([*command, "--state", str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout
        url, key = (server.stdout.readline().split()[1] for _ in range(2))
        assert url.startswith("http://127.0.0.1:")
        model = connect(url, api_key=key).service.create_lora_training_client("rtl-agent/student", rank=0)
        assert model.get_tokenizer().decode(model.get_tokenizer().encode("assign y = a;")) == "assign y = a;"
        again = rtl_agent("serve", "rtl-agent/student", "--port", url.rsplit(":", 1)[1], "--state", str(tmp_path))
        assert again.returncode == 2
        assert "cannot serve" in again.stderr
    finally:
        server.terminate()
        assert server.wait(30) == 0


@pytest.mark.slow
def test_self_check_of_a_good_server(connection: Connection) -> None:
    done = rtl_agent("serve", "--self-check", str(connection.base_url), "--key", connection.api_key)
    assert done.returncode == 0, done.stdout
    assert "FAIL" not in done.stdout


@pytest.mark.slow
def test_self_check_of_a_broken_server(tiny_model: str, tmp_path: Path) -> None:
    engine = BrokenEngine(tiny_model)
    engine.kind = MeanLoss
    with served(engine, tmp_path) as url:
        done = rtl_agent("serve", "--self-check", url, "--key", KEY)
    assert done.returncode == 1
    assert "FAIL loss_cross_entropy" in done.stdout
    assert "ok   seeds_repeat" in done.stdout
