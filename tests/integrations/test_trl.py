"""TRL: what it is given is tested here, and its own trainer in an environment of its own."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from transformers.utils.chat_template_utils import get_json_schema

from rtl_agent.envs.agentic.tools import EXECUTE_BASH, LINT, SIMULATE, SUBMIT_ONCE
from rtl_agent.integrations.trl import RTLEnvironment, RTLSpec
from rtl_agent.options import BadOption
from tests.integrations.environments import ROOT, environment

ARBITER = "rtl_fixed_priority_arbiter_0002"


@pytest.fixture(scope="module")
def spec() -> RTLSpec:
    return RTLSpec("bundled")


def reference(spec: RTLSpec, name: str = ARBITER) -> tuple[str, str]:
    ((path, text),) = (spec.problems[name].reference or {}).items()
    return path, text


def reply(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": f"```systemverilog\n{text}\n```"}]


def test_a_row_has_the_messages_and_names_its_problem(spec: RTLSpec) -> None:
    rows = spec.train_dataset
    assert rows.column_names == ["prompt", "problem"]
    assert [message["role"] for message in rows[0]["prompt"]] == ["system", "user"]
    assert set(rows["problem"]) == set(spec.problems)
    assert "harness" not in str(rows[0]).lower()


def test_answers_of_a_batch_are_rewarded_and_measured(spec: RTLSpec) -> None:
    _, text = reference(spec)
    logged: dict[str, float] = {}
    rewards = spec.rtl_reward(
        [reply(text), "no code", reply(text.replace("endmodule", ""))],
        [ARBITER] * 3,
        log_metric=lambda name, value: logged.update({name: value}),
    )
    assert rewards == [1.4, 0.0, 0.1]
    assert logged["rtl/errors"] == 0
    assert logged["rtl/pass_rate"] == pytest.approx(1 / 3)


def test_what_cannot_be_graded_is_none_and_never_zero(unused_tcp_port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTL_AGENT_GRADE_KEY", "k" * 32)
    nobody = RTLSpec("bundled", limit=1, executor=f"http://127.0.0.1:{unused_tcp_port}")
    (name,) = nobody.problems
    logged: dict[str, float] = {}
    completions = [reply(reference(nobody, name)[1]), "no code"]
    rewards = nobody.rtl_reward(completions, [name] * 2, log_metric=lambda name, value: logged.update({name: value}))
    assert rewards == [None, 0.0]
    assert logged["rtl/errors"] == 0.5


@pytest.fixture
def agentic() -> RTLSpec:
    return RTLSpec("bundled", limit=2, env="agentic", extra_tools=True)


def test_an_environment_is_a_workspace_that_is_graded_and_used_again(agentic: RTLSpec) -> None:
    first, second = agentic.problems
    path, text = reference(agentic, first)
    worker: Any = agentic.environment_factory()
    idler = agentic.environment_factory()
    worker.reset(problem=first, prompt=[])
    idler.reset(problem=first, prompt=[])
    shown = worker.execute_bash(command=f"cat > {path} <<'END'\n{text}\nEND\nwc -l < {path}")
    assert shown.splitlines()[-1] == "[exit code 0]"
    said = [[{"role": "assistant", "content": "Done."}]] * 2
    assert agentic.rtl_reward(said, [first] * 2, environments=[worker, idler]) == [1.4, 0.0]
    worker.reset(problem=second, prompt=[])
    assert "No such file" in worker.execute_bash(command=f"cat {path}")


def test_an_environment_of_another_kind_is_left_to_others(agentic: RTLSpec) -> None:
    (name, *_) = agentic.problems
    assert agentic.rtl_reward(["moved left"], [name], environments=[object()]) == [None]


def test_the_tools_are_told_as_every_other_agent_is_told(agentic: RTLSpec) -> None:
    environment = agentic.environment_factory()
    for spec in (EXECUTE_BASH, LINT, SIMULATE, SUBMIT_ONCE):
        told = get_json_schema(getattr(environment, spec.name))["function"]
        assert " ".join(told["description"].split()) == spec.description
        assert set(told["parameters"]["properties"]) == set(spec.parameters["properties"])
        assert told["parameters"].get("required", []) == spec.parameters["required"]


@pytest.mark.parametrize(
    ("options", "tools"),
    [
        ({}, {"execute_bash"}),
        ({"level": "spec", "extra_tools": True}, {"execute_bash", "submit"}),
        ({"level": "feedback"}, {"execute_bash", "submit"}),
        ({"extra_tools": True}, {"execute_bash", "lint", "simulate", "submit"}),
    ],
)
def test_an_environment_has_the_tools_of_its_rules(options: dict[str, Any], tools: set[str]) -> None:
    environment = RTLSpec("bundled", limit=1, env="agentic", **options).environment_factory()
    public = {name for name in dir(environment) if not name.startswith("_") and callable(getattr(environment, name))}
    assert public - {"reset"} == tools


@pytest.mark.parametrize("wrong", [lambda: RTLSpec(env="refine"), lambda: RTLSpec(limit=1).environment_factory])
def test_what_trl_cannot_play_is_refused(wrong: Callable[[], RTLSpec | type[RTLEnvironment]]) -> None:
    with pytest.raises(BadOption, match="env="):
        wrong()


@pytest.mark.slow
def test_the_example_trains_with_trl(tmp_path: Path) -> None:
    done = environment("trl").python(ROOT / "examples" / "integrations" / "trl_grpo.py", cwd=tmp_path)
    printed = [line.split() for line in done.stdout.splitlines() if line[:2] in ("1 ", "2 ")]
    assert [(row[0], row[-1]) for row in printed] == [("1", "0.0"), ("2", "0.0")]  # steps, and no errors


@pytest.mark.slow
def test_an_agent_works_in_our_workspaces_under_its_trainer(tmp_path: Path) -> None:
    done = environment("trl").python(Path(__file__).parent / "trl_agent.py", "bundled", cwd=tmp_path)
    row = json.loads(done.stdout.splitlines()[-1])
    assert row["reward"] == pytest.approx(0.7)  # of two: one wrote the reference, one did nothing
    assert row["rtl/tool_calls"] == 1.0
    assert row["rtl/end/submit"] == 0.5
