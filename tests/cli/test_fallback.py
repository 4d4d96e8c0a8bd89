"""Verdicts of tools that are not CVDP's say so: to whoever asks the doctor, grades, or trains."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from rtl_agent.training.errors import BadConfig
from rtl_agent.training.parse import parse
from rtl_agent.training.start import start

ARBITER = "rtl_fixed_priority_arbiter_0001"
SAID = "verdicts can differ from CVDP's: iverilog"


def rtl_agent(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rtl_agent.cli.main", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture
def system_icarus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RTL_AGENT_ICARUS", "/usr")


@pytest.mark.usefixtures("system_icarus")
def test_doctor_says_it() -> None:
    said = " ".join(rtl_agent("doctor").stdout.split())
    assert SAID in said
    assert "`rtl-agent setup` installs CVDP's" in said
    assert "iverilog" in json.loads(rtl_agent("doctor", "--json").stdout)["fallback"]


@pytest.mark.usefixtures("system_icarus")
def test_grade_says_it_beside_the_verdict() -> None:
    done = rtl_agent("grade", "bundled", "--id", ARBITER, "--reference", "--no-cache", "--json")
    assert SAID in done.stderr
    assert "iverilog" in json.loads(done.stdout)[0]["tools"]["fallback"]


@pytest.mark.usefixtures("system_icarus")
def test_training_says_it_at_its_start(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    config = parse("rl", ["preset=embedded", f"cvdp_jsonl_path={tmp_path / 'empty.jsonl'}"])
    console = Console(file=io.StringIO(), width=1000)
    with pytest.raises(BadConfig):
        start(config, console)
    assert SAID in console.file.getvalue()  # type: ignore[attr-defined]  # the file given above


def test_nothing_is_said_where_the_tools_are_cvdps() -> None:
    assert json.loads(rtl_agent("doctor", "--json").stdout)["fallback"] == ""
    done = rtl_agent("grade", "bundled", "--id", ARBITER, "--reference", "--no-cache")
    assert "differ from CVDP's" not in done.stdout + done.stderr
    assert "iverilog 13.0" in " ".join(done.stdout.split())
