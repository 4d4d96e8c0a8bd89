"""verifiers' own programs over our taskset, in an environment of its own: vf-eval, vf-validate, tool use."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rtl_agent.backends.connect import connect
from rtl_agent.problems import Problem
from tests.evaluation.scripted import Body, Told, scripted
from tests.integrations.environments import ROOT, environment

pytestmark = pytest.mark.slow
EXAMPLE = ROOT / "examples" / "integrations" / "verifiers_eval.toml"
KEY = "RTL_AGENT_SERVE_KEY"
SECONDS = 3600  # half a minute each on an idle machine; a busy one must not fail them
ARBITER = "rtl_fixed_priority_arbiter_0002"


def evaluated(
    folder: Path, url: str, *options: str, key: str = "none", exit_code: int | None = 0
) -> list[dict[str, Any]]:
    """The traces of `vf-eval @ verifiers_eval.toml` with other options over it."""
    where = ["--client.base-url", url, "--run.dir", "run", "--output-dir", str(folder), "--no-rich"]
    environment("verifiers").run(
        "vf-eval",
        "@",
        EXAMPLE,
        *where,
        *options,
        cwd=folder,
        env={KEY: key, "RTL_AGENT_GRADE_KEY": "k" * 32},
        exit_code=exit_code,
        seconds=SECONDS,
    )
    lines = (folder / "run" / "traces.jsonl").read_text().splitlines()
    return [trace for line in lines for trace in json.loads(line)["traces"]]


def scores(trace: dict[str, Any]) -> dict[str, float]:
    return {name: reward["score"] for name, reward in trace["rewards"].items()}


def test_the_example_asks_an_embedded_model(tmp_path: Path) -> None:
    with connect("embedded", models=["rtl-agent/student"], state=tmp_path / "state") as connection:
        traces = evaluated(tmp_path, f"{connection.base_url}/v1", key=connection.api_key)
    assert len(traces) == 4
    logged = (tmp_path / "run" / "logs" / "latest" / "eval.log").read_text()
    assert "model call failed" not in logged  # all four ask at once, the server's first requests
    assert all(trace["ok"] and set(trace["rewards"]) == {"format", "syntax", "tests"} for trace in traces)
    assert all("format_valid" in trace["metrics"] for trace in traces)


def told(text: str | None, calls: Sequence[tuple[str, str, str]] = ()) -> Told:
    """A chat completion as OpenAI's servers write it: verifiers takes no shorter one. `calls`: id, name, arguments."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if calls:
        message["tool_calls"] = [
            {"id": call, "type": "function", "function": {"name": name, "arguments": arguments}}
            for call, name, arguments in calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    whole = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    return Told(raw=json.dumps(whole))


def test_each_stage_is_a_reward_and_nothing_of_the_harness_is_recorded(
    tmp_path: Path, bundled: dict[str, Problem]
) -> None:
    (text,) = (bundled[ARBITER].reference or {}).values()
    replies = iter([f"```systemverilog\n{text}\n```", "I would rather not."])
    with scripted(lambda body: told(next(replies))) as server:
        one = ("--select.limit", "1", "--select.include.names", ARBITER, "--max-concurrent", "1")
        traces = evaluated(tmp_path, server.url, *one)
    best, worst = sorted(traces, key=lambda trace: -sum(scores(trace).values()))
    assert scores(best) == {"format": 0.1, "syntax": 0.3, "tests": 1.0}
    assert best["metrics"]["pass_rate"] == 1.0
    assert sum(scores(worst).values()) == 0
    assert worst["info"]["rtl_agent"]["outcome"] == "invalid"
    hidden = next(iter(bundled[ARBITER].harness.files.values()))
    assert json.dumps(hidden)[1:-1] not in json.dumps(traces)


def test_an_answer_that_cannot_be_graded_is_an_error_without_a_reward(
    tmp_path: Path, bundled: dict[str, Problem], unused_tcp_port: int
) -> None:
    (text,) = (bundled[ARBITER].reference or {}).values()
    nobody = f"http://127.0.0.1:{unused_tcp_port}"
    with scripted(lambda body: told(f"```systemverilog\n{text}\n```")) as server:
        one = ("--select.limit", "1", "--select.include.names", ARBITER, "--num-rollouts", "1")
        (trace,) = evaluated(tmp_path, server.url, *one, "--env.taskset.task.executor", nobody, exit_code=None)
    assert not trace["ok"]
    assert trace["rewards"] == {}
    assert nobody in trace["errors"][-1]["message"]


def test_a_model_with_tools_works_in_our_workspace(tmp_path: Path, bundled: dict[str, Problem]) -> None:
    ((path, text),) = (bundled[ARBITER].reference or {}).items()
    write = {"command": f"cat > {path} <<'END'\n{text}\nEND\nid -u; ls /"}

    def answer(body: Body) -> Told:
        if body["messages"][-1]["role"] == "tool":
            return told("Done.")
        assert [tool["function"]["name"] for tool in body["tools"]] == ["execute_bash"]
        return told(None, [("a", "execute_bash", json.dumps(write)), ("b", "execute_bash", "{")])

    with scripted(answer) as server:
        one = ("--select.limit", "1", "--select.include.names", ARBITER, "--num-rollouts", "1")
        (trace,) = evaluated(tmp_path, server.url, *one, "--env.taskset.task.kind", "agentic")
    shown = {message["tool_call_id"]: message["content"] for message in server.requests[-1]["messages"][-2:]}
    assert shown["a"].splitlines()[-1] == "[exit code 0]"
    assert "not valid JSON" in shown["b"]
    assert scores(trace) == {"format": 0.1, "syntax": 0.3, "tests": 1.0}
    assert trace["metrics"]["tool_calls"] == 1


def test_validate_passes_references_and_fails_what_is_untouched(tmp_path: Path) -> None:
    environment("verifiers").run(
        *(
            "vf-validate",
            "rtl-agent-tasks",
            "--taskset.limit",
            "2",
            "-o",
            tmp_path,
            "--run.dir",
            "run",
            "--no-rich",
            "--runtime.type",
            "subprocess",
        ),
        cwd=tmp_path,
        seconds=SECONDS,
    )
    rows = [json.loads(line) for line in (tmp_path / "run" / "results.jsonl").read_text().splitlines()]
    assert [row["reason"] for row in rows] == ["valid", "valid"]
    assert all(row["gold"]["valid"] and row["noop"]["reward"] == 0 for row in rows)
