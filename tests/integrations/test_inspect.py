"""Inspect itself runs our problems: its command, its agents in our boxes, its log."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from math import isnan
from pathlib import Path
from typing import Any

import pytest

import rtl_agent as ra
from tests.integrations.environments import ROOT, Environment, environment

pytestmark = [pytest.mark.slow, pytest.mark.long]
SINGLE, AGENTIC = "rtl_barrel_shifter_0001", "rtl_alu_0001"
PASSED = {"passed": 1.0, "reward": 1.4, "format": 1.0, "interface": 1.0, "syntax": 1.0, "tests": 1.0}
FAILED = {"passed": 0.0, "reward": 0.1, "format": 1.0, "interface": 0.0, "syntax": 0.0, "tests": 0.0}
READ_LOG = """
import json, sys
from inspect_ai.log import list_eval_logs, read_eval_log
(info,) = list_eval_logs(sys.argv[1])
log = read_eval_log(info)
print(json.dumps({"status": log.status, "task": log.eval.task, "epochs": log.eval.config.epochs, "samples": [
    {"id": sample.id, "error": bool(sample.error), "values": {name: one.value for name, one in sample.scores.items()},
     "explanation": sample.scores["rtl"].explanation} for sample in log.samples]}))
"""


@pytest.fixture(scope="module")
def inspect() -> Environment:
    return environment("inspect")


@pytest.fixture(scope="module")
def episodes(inspect: Environment, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    script = ROOT / "tests" / "integrations" / "inspect_episodes.py"
    done = inspect.python(script, cwd=tmp_path_factory.mktemp("episodes"))
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_an_answer_has_a_value_for_every_stage_and_samples_make_pass_at_k(episodes: dict[str, Any]) -> None:
    single = episodes["single"]
    assert [sample["score"]["rtl"] for sample in single["samples"]] == [PASSED, FAILED]
    assert single["metrics"]["mean/passed"]["mean"] == 0.5
    assert single["metrics"]["mean/reward"]["mean"] == pytest.approx(0.75)
    assert single["metrics"]["pass_at_2/passed"]["mean"] == 1.0


def test_what_could_not_be_graded_is_an_error_of_the_sample_and_no_score(episodes: dict[str, Any]) -> None:
    (sample,) = episodes["error"]["samples"]
    assert sample["score"] == {}
    assert "nobody is there" in sample["error"]
    assert episodes["error"]["metrics"] == {}


def test_a_refined_answer_is_asked_for_again_with_what_was_wrong(episodes: dict[str, Any]) -> None:
    (sample,) = episodes["refine"]["samples"]
    assert sample["score"]["rtl"] == PASSED
    assert "It does not compile" in sample["messages"][3]
    assert len(sample["messages"]) == 5


def test_inspects_agent_works_in_our_workspace_which_is_what_is_graded(episodes: dict[str, Any]) -> None:
    (sample,) = episodes["agentic"]["samples"]
    assert sample["score"]["rtl"] == PASSED
    looked = sample["messages"][3]
    assert "/code" in looked
    assert "Icarus Verilog version" in looked
    assert "cannot access '/src'" in looked, "the tests are not in the workspace"


def test_an_agent_with_feedback_submits_and_is_told_what_failed(episodes: dict[str, Any]) -> None:
    (sample,) = episodes["feedback"]["samples"]
    assert sample["score"]["rtl"] == PASSED
    assert any("It does not pass." in message for message in sample["messages"])


def test_who_has_seen_the_tests_is_not_scored(episodes: dict[str, Any]) -> None:
    (sample,) = episodes["open"]["samples"]
    assert isnan(sample["score"]["rtl"])
    assert sample["unscored"] == ["level=open"]


def test_our_boxes_pass_inspects_own_tests_of_a_sandbox(episodes: dict[str, Any]) -> None:
    """But one: a box has a single user, and no way to become another."""
    checks = episodes["checks"]
    assert len(checks) >= 44
    failed = {name: said for name, said in checks.items() if said != "passed"}
    assert list(failed) == ["test_exec_as_user"]
    assert failed["test_exec_as_user"].startswith("SandboxUserUnsupportedError")


class Endpoint(BaseHTTPRequestHandler):
    """An OpenAI-compatible server that knows one answer."""

    reply = ""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        message = {"role": "assistant", "content": self.reply}
        answer = {
            **{"id": "x", "object": "chat.completion", "created": 0, "model": "m"},
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[str]:
    problem = next(one for one in ra.load_problems("bundled") if one.id == SINGLE)
    (design,) = (problem.reference or {}).values()
    Endpoint.reply = f"```systemverilog\n{design}```"
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()


def test_the_command_runs_and_its_log_opens(inspect: Environment, endpoint: str, tmp_path: Path) -> None:
    other = "rtl_sync_fifo_0001"
    inspect.run(
        "inspect",
        *("eval", "rtl_agent/cvdp", "-T", "problems=bundled", "--model", "openai-api/local/m"),
        *("--sample-id", f"{SINGLE},{other}", "--log-dir", "logs", "--display", "plain", "--no-fail-on-error"),
        cwd=tmp_path,
        env={"LOCAL_BASE_URL": endpoint, "LOCAL_API_KEY": "none"},
    )
    log = json.loads(inspect.python("-c", READ_LOG, "logs", cwd=tmp_path).stdout)
    assert (log["status"], log["task"]) == ("success", "rtl_agent/cvdp")
    by_id = {sample["id"]: sample for sample in log["samples"]}
    assert by_id[SINGLE]["values"] == {"rtl": PASSED}
    assert by_id[other]["values"]["rtl"]["passed"] == 0.0
    assert "sync_fifo" in by_id[other]["explanation"]


def test_a_problem_set_that_is_not_there_is_said_in_a_sentence(inspect: Environment, tmp_path: Path) -> None:
    done = inspect.run(
        "inspect", "eval", "rtl_agent/cvdp", "-T", "problems=nowhere", "--model", "none", cwd=tmp_path, exit_code=None
    )
    assert done.returncode != 0
    assert "nowhere does not exist" in done.stdout + done.stderr


def test_the_example_runs(inspect: Environment, tmp_path: Path) -> None:
    done = inspect.python(ROOT / "examples" / "integrations" / "inspect_eval.py", cwd=tmp_path)
    assert "mean: 0.50" in done.stdout
    assert "pass_at_2: 1.00" in done.stdout
