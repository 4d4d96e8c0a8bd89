"""A run that cannot start: said in a sentence, in time, and without a trace in the file system."""

import io
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from rich.console import Console

from rtl_agent.backends import connect as connecting
from rtl_agent.backends.connect import Connection
from rtl_agent.training.errors import BadConfig, TrainingError
from rtl_agent.training.parse import parse
from rtl_agent.training.start import train, train_async
from tests.threads import serving_in_a_thread


class Refuses(BaseHTTPRequestHandler):
    """Takes no key."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(401)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        pass


class Half(Refuses):
    """Answers the first question as a Tinker server does, and no other one."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        if not self.path.endswith(("client/config", "create_session", "session_heartbeat", "telemetry")):
            threading.Event().wait()
        body = b'{"session_id": "s", "type": "create_session"}' if "create_session" in self.path else b"{}"
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        threading.Event().wait()


class Drips(Refuses):
    """Sends a byte of its headers now and then: no single read ever times out."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.wfile.write(b"HTTP/1.1 200 OK\r\nx: ")
        for _ in range(600):
            try:
                self.wfile.write(b"x")
                self.wfile.flush()
            except OSError:
                return
            threading.Event().wait(0.1)


@contextmanager
def serving(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    with serving_in_a_thread(server):
        yield f"http://127.0.0.1:{server.server_port}"


@contextmanager
def silent() -> Iterator[str]:
    """Accepts connections, and that is all."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


@contextmanager
def closed() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    yield f"http://127.0.0.1:{port}"


@pytest.fixture
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server has two seconds to answer; by default all waits are 10 s together."""
    assert connecting.ANSWER_SECONDS <= 10
    monkeypatch.setattr(connecting, "ANSWER_SECONDS", 2.0)
    monkeypatch.setenv("TINKER_API_KEY", "tml-wrong")


@pytest.mark.usefixtures("soon")
@pytest.mark.parametrize("cloud", [False, True], ids=["a server", "the cloud"])
@pytest.mark.parametrize(
    ("place", "said"),
    [
        (lambda: serving(Refuses), "refuses the key"),
        (silent, "did not answer within"),
        (lambda: serving(Drips), "did not answer within"),
        (lambda: serving(Half), "did not answer within"),
        (closed, "no server answers"),
    ],
    ids=["refused", "silent", "dripping", "half", "closed"],
)
def test_a_wrong_key_and_a_silent_host_are_said_and_leave_nothing(
    place: Callable[[], Iterator[str]],
    said: str,
    cloud: bool,
    gates: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with place() as url:  # type: ignore[attr-defined]  # context managers, all of them
        monkeypatch.setenv("TINKER_BASE_URL", url)
        backend = "tinker" if cloud else url
        where = tmp_path / "runs" / "new"
        words = [f"backend={backend}", f"cvdp_jsonl_path={gates}", f"log_path={where}"]
        with pytest.raises(BadConfig, match=said) as failure:
            train(parse("rl", words), console=Console(file=io.StringIO()))
    assert failure.value.exit_code == 2
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "words",
    [
        ["model_name=rtl-agent/studnet"],
        ["model_name=Nobody/Has-This-1B"],
        ["max_tokens=4096"],
        ["max_prompt_tokens=20"],
        ["renderer_name=morse"],
        ["wandb_project=none-such"],
    ],
)
def test_a_start_that_fails_leaves_no_run_directory(words: list[str], gates: Path, tmp_path: Path) -> None:
    where = tmp_path / "runs" / "new"
    config = parse("rl", ["preset=small", f"cvdp_jsonl_path={gates}", f"log_path={where}", *words])
    with pytest.raises(TrainingError) as failure:
        train(config, console=Console(file=io.StringIO()))
    assert failure.value.exit_code == 2
    assert not list(tmp_path.iterdir())


def test_an_unknown_model_is_said_to_be_unknown_before_its_renderer_is_looked_for(gates: Path, tmp_path: Path) -> None:
    config = parse("rl", ["student=no/such-model", f"cvdp_jsonl_path={gates}", f"log_path={tmp_path / 'run'}"])
    with pytest.raises(BadConfig, match="no model 'no/such-model'"):
        train(config, console=Console(file=io.StringIO()))


@pytest.mark.parametrize("embedded", [True, False])
def test_a_model_that_is_nearly_named_is_suggested(
    gates: Path, server: Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedded: bool
) -> None:
    monkeypatch.setenv("TINKER_API_KEY", server.api_key)
    backend = "embedded" if embedded else server.base_url
    words = [f"backend={backend}", f"cvdp_jsonl_path={gates}", f"log_path={tmp_path / 'run'}"]
    config = parse("distill", [*words, "teacher_model=rtl-agent/teachre"])
    with pytest.raises(BadConfig, match="did you mean rtl-agent/teacher"):
        train(config, console=Console(file=io.StringIO()))


def test_a_run_that_was_there_survives_a_start_that_fails(gates: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.json").write_text('{"mode": "rl"}')
    (run / "metrics.jsonl").write_text('{"step": 0}\n')
    words = ["preset=small", f"cvdp_jsonl_path={gates}", f"log_path={run}", "behavior_if_log_dir_exists=resume"]
    with pytest.raises(TrainingError):
        train(parse("rl", [*words, "max_tokens=4096"]), console=Console(file=io.StringIO()))
    assert (run / "metrics.jsonl").read_text() == '{"step": 0}\n'


async def test_training_runs_from_a_loop_and_in_a_loop(
    server: Connection, gates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINKER_API_KEY", server.api_key)
    words = [f"backend={server.base_url}", f"cvdp_jsonl_path={gates}", "max_steps=1", "max_tokens=12", "eval_every=0"]
    words += ["batch_size=1", "group_size=1", "kl_penalty_coef=0", "forward_kl_coef=0", "reward_coef=0"]
    quiet = Console(file=io.StringIO())
    first = await train_async(parse("distill", [*words, f"log_path={tmp_path / 'a'}"]), console=quiet)
    second = train(parse("distill", [*words, f"log_path={tmp_path / 'b'}"]), console=quiet)
    for result in (first, second):
        assert (result.steps, result.resumed_at) == (1, 0)
        assert result.metrics["step"] == 0
        assert result.checkpoint.startswith("tinker://")
