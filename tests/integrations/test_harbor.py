"""Tasks for Harbor: what is written, what their verifier says, and real trials by Harbor's own code."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from rtl_agent.cli.main import app
from rtl_agent.problems import Problem
from tests.integrations.environments import ROOT, environment

RUNNER = CliRunner()
ALU = "rtl_alu_0001"


def export(out: Path, *options: str) -> Path:
    done = RUNNER.invoke(app, ["export", "harbor", "bundled", str(out), "--id", ALU, *options])
    assert done.exit_code == 0, done.output
    return out / ALU


@pytest.fixture
def task(tmp_path: Path) -> Path:
    return export(tmp_path / "tasks")


def test_a_task_has_harbors_files_and_a_verifier_of_its_own(task: Path) -> None:
    written = {path.relative_to(task).as_posix() for path in task.rglob("*") if path.is_file()}
    assert written == {
        "instruction.md",
        "task.toml",
        "environment/Dockerfile",
        "environment/workspace/prompt.json",
        "environment/workspace/rtl/alu.sv",
        "tests/Dockerfile",
        "tests/problem.jsonl",
        "tests/test.sh",
        "solution/solve.sh",
        "solution/files/rtl/alu.sv",
    }
    config = tomllib.loads((task / "task.toml").read_text())
    assert config["verifier"]["environment_mode"] == "separate"
    assert config["verifier"]["environment"]["network_mode"] == "no-network"
    assert config["artifacts"] == ["/code/rtl"]
    assert config["task"]["name"] == f"rtl-agent/{ALU}"


def test_nothing_of_the_tests_or_the_reference_is_in_the_agents_image(task: Path, bundled: dict[str, Problem]) -> None:
    problem = bundled[ALU]
    assert problem.reference is not None
    shown = [task / "instruction.md", *(task / "environment").rglob("*")]
    texts = "\n".join(path.read_text() for path in shown if path.is_file())
    for text in (*problem.harness.files.values(), *problem.reference.values()):
        lines = {line.strip() for line in text.splitlines() if len(line.strip()) > 40}
        hidden = lines - {line.strip() for given in problem.context.values() for line in given.splitlines()}
        assert not [line for line in hidden if line in texts and line not in problem.prompt]


def test_at_level_spec_the_agents_image_has_no_simulator(tmp_path: Path) -> None:
    dockerfile = (export(tmp_path / "tasks", "--level", "spec") / "environment" / "Dockerfile").read_text()
    assert "iverilog" not in dockerfile
    assert "iverilog" in (export(tmp_path / "more") / "environment" / "Dockerfile").read_text()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--level", "feedback"], "spec or own-tests"),
        (["--reward", "best"], "'best' is not a weight"),
        (["--grader-image", "x\nRUN rm -rf /"], "is not the name of an image"),
        (["--id", "no_such_0001"], "no_such_0001"),
    ],
)
def test_what_cannot_be_written_is_refused_in_a_sentence(options: list[str], sentence: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "rtl_agent.cli.main", "export", "harbor", "bundled", str(tmp_path / "tasks")]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 2, done.stderr
    assert sentence in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "tasks").exists()


# what tests/test.sh does


class Verifier:
    """Runs test.sh as Harbor does, but for the places, which need no root directory of their own here."""

    def __init__(self, task: Path, place: Path) -> None:
        self.task, self.code, self.logs = task, place / "code", place / "logs"
        self.code.mkdir(parents=True)
        self.logs.mkdir()

    def fill(self, *folders: str) -> None:
        for folder in folders:
            subprocess.run(["cp", "-R", f"{self.task / folder}/.", self.code], check=True)

    def judge(self, **env: str) -> tuple[int, dict[str, float] | None]:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        places = {"RTL_AGENT_CODE": str(self.code), "RTL_AGENT_LOGS": str(self.logs)}
        script = ["/bin/sh", str(self.task / "tests" / "test.sh")]
        done = subprocess.run(script, env={**os.environ, "PATH": path, **places, **env}, capture_output=True)
        file = self.logs / "reward.json"
        return done.returncode, json.loads(file.read_text()) if file.exists() else None


@pytest.fixture
def verifier(task: Path, tmp_path: Path) -> Verifier:
    return Verifier(task, tmp_path / "verifier")


def test_the_reference_earns_the_whole_reward(verifier: Verifier) -> None:
    verifier.fill("environment/workspace", "solution/files")
    stages = {"format": 1.0, "interface": 1.0, "syntax": 1.0, "tests": 1.0}
    assert verifier.judge() == (0, {"reward": 1.0, "passed": 1.0, **stages})
    assert json.loads((verifier.logs / "grade.json").read_text())["outcome"] == "passed"


def test_a_wrong_design_and_one_that_was_left_alone_earn_nothing(verifier: Verifier) -> None:
    verifier.fill("environment/workspace")
    code, rewards = verifier.judge()
    assert code == 0
    assert rewards is not None
    assert (rewards["reward"], rewards["format"]) == (0.0, 0.0)
    (verifier.code / "rtl" / "alu.sv").write_text("module alu; endmodule\n")
    code, rewards = verifier.judge()
    assert code == 0
    assert rewards is not None
    assert (rewards["reward"], rewards["format"], rewards["tests"]) == (0.0, 1.0, 0.0)


def test_a_link_in_the_place_of_a_design_is_not_followed(verifier: Verifier) -> None:
    verifier.fill("environment/workspace")
    (verifier.code / "rtl" / "alu.sv").unlink()
    (verifier.code / "rtl" / "alu.sv").symlink_to(verifier.task / "solution" / "files" / "rtl" / "alu.sv")
    code, rewards = verifier.judge()
    assert code == 0
    assert rewards is not None
    assert rewards["reward"] == 0.0


def test_an_error_writes_no_reward_and_takes_away_one_that_was_there(verifier: Verifier, tmp_path: Path) -> None:
    verifier.fill("environment/workspace", "solution/files")
    (verifier.logs / "reward.json").write_text('{"reward": 1.0}')
    bare = tmp_path / "bin"  # a machine without simulators
    bare.mkdir()
    for program in ("dirname", "rm"):
        (bare / program).symlink_to(f"/usr/bin/{program}")
    (bare / "rtl-agent").symlink_to(Path(sys.executable).parent / "rtl-agent")
    code, rewards = verifier.judge(PATH=str(bare), RTL_AGENT_HOME=str(tmp_path / "empty"))
    assert (code, rewards) == (3, None)


def test_a_workspace_that_was_lost_on_its_way_is_an_error(verifier: Verifier) -> None:
    assert verifier.judge() == (3, None)


# Harbor itself


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.python(3, 12)
def test_harbor_runs_trials_with_a_separate_verifier(task: Path, tmp_path: Path) -> None:
    """Its own trial: the oracle agent, one that does nothing, and a verifier that cannot judge. Containers are
    replaced: tests/integrations/harbor_trial.py says by what."""
    harbor = environment("harbor")

    def trials(*agents: str, **env: str) -> dict[str, Any]:
        script = ROOT / "tests" / "integrations" / "harbor_trial.py"
        done = harbor.python(script, task, tmp_path / "trials", *agents, cwd=tmp_path, env=env)
        found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        return found

    found = trials("oracle", "nop")
    assert found["oracle"]["mode"] == "separate"
    assert (found["oracle"]["rewards"]["reward"], found["oracle"]["exception"]) == (1.0, "")
    assert (found["nop"]["rewards"]["reward"], found["nop"]["exception"]) == (0.0, "")
    broken = trials("oracle", RTL_AGENT_SANDBOX="no-such-sandbox")
    assert broken["oracle"]["rewards"] is None
    assert broken["oracle"]["exception"] == "RewardFileNotFoundError"
