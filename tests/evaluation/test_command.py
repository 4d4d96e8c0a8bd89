"""`rtl-agent eval` and `rtl-agent play` as a person meets them; and an evaluation that is killed."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from rtl_agent.cli import console
from rtl_agent.cli.main import run
from rtl_agent.problems import load_problems
from tests.evaluation.gates import expression_in, right, wrong
from tests.evaluation.scripted import Body, Scripted, Told, scripted

KEY = "sk-very-secret"


@pytest.fixture
def server() -> Iterator[Scripted]:
    with scripted(right) as script:
        yield script


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


RunCommand = Callable[..., Done]


@pytest.fixture
def rtl_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> RunCommand:
    """The command in this process: starting Python with its packages takes four seconds of CPU."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("A_KEY", KEY)
    monkeypatch.setattr(console.out, "width", 120)  # it was made by whichever test came first

    def command(*words: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["rtl-agent", *words])
        with pytest.raises(SystemExit) as ended:
            run()
        code = ended.value.code
        return Done(code if isinstance(code, int) else 0, *capsys.readouterr())

    return command


def test_eval_prints_a_table_and_goes_on_by_itself(
    rtl_agent: RunCommand, server: Scripted, gates: Path, tmp_path: Path
) -> None:
    words = ["eval", str(gates), "--model", "some/model", "--base-url", server.url, "--api-key-env", "A_KEY"]
    first = rtl_agent(*words, "--samples", "2")
    assert first.returncode == 0, first.stderr
    assert "pass@2" in first.stdout
    assert "100.0% (51% to 100%)" in first.stdout
    assert "cid004" in first.stdout
    (whole,) = (line for line in first.stdout.splitlines() if line.startswith("all "))
    assert whole.split()[-1] == "1.400", "a row is one line in a pipe"
    (result,) = (tmp_path / "evals").glob("*.json")
    assert json.loads(result.read_text())["summary"]["passed"] == 8
    again = rtl_agent(*words, "--samples", "2", "--json")
    assert len(server.requests) == 8
    assert json.loads(again.stdout)["summary"]["passed"] == 8
    files = "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    assert KEY not in files + first.stdout + first.stderr + again.stdout + again.stderr


def test_eval_with_the_harness_open_says_that_there_is_no_score(
    rtl_agent: RunCommand, server: Scripted, gates: Path
) -> None:
    server.answer = lambda body: Told("Done.")
    words = ["eval", str(gates), "--id", "rtl_and_gate_0001", "--model", "m", "--base-url", server.url]
    done = rtl_agent(*words, "--env", "agentic", "--level", "open")
    assert done.returncode == 0, done.stderr
    first, *others = done.stdout.splitlines()
    assert first.startswith("no reward and no pass@k: at level open")
    assert "reward" not in "".join(others)
    assert "pass@" not in "".join(others)
    assert "1 answer to 1 problem:" in done.stdout


def test_errors_are_left_out_and_told_by_the_exit_code(rtl_agent: RunCommand, server: Scripted, gates: Path) -> None:
    server.answer = lambda body: Told(status=400, error="too long") if expression_in(body) == "a | b" else right(body)
    done = rtl_agent("eval", str(gates), "--model", "m", "--base-url", server.url)
    assert done.returncode == 3
    assert "1 samples could not be obtained" in done.stderr
    assert "too long" in done.stderr


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["eval", "generated:nothing", "--model", "m"], "no family 'nothing'"),
        (["eval", "generated-workspaces:nothing", "--model", "m"], "generated-workspaces:nothing: "),
        (["eval", "nowhere.jsonl", "--model", "m"], "does not exist"),
        (["eval", "bundled", "--model", "m", "--env", "chat"], "choose from single, refine, agentic"),
        (["eval", "bundled", "--model", "m", "-k", "5"], "needs --samples 5"),
        (["eval", "bundled", "--model", "m", "--base-url", "somewhere"], "is not a URL"),
        (["play", "no_such_id", "--model", "m"], "has no problem no_such_id"),
    ],
)
def test_wrong_words_are_a_sentence_and_an_exit_code(rtl_agent: RunCommand, words: list[str], sentence: str) -> None:
    done = rtl_agent(*words)
    assert done.returncode == 2, done.stdout
    assert sentence in " ".join(done.stderr.replace("│", " ").split())
    assert "Traceback" not in done.stderr


def test_play_shows_turns_and_verdict_and_keeps_the_rollout(
    rtl_agent: RunCommand, server: Scripted, gates: Path, tmp_path: Path
) -> None:
    server.answer = lambda body: Told("\x1b[2J```verilog\nmodule gate; endmodule\n```")
    words = ["play", "rtl_xor_gate_0001", "--problems", str(gates), "--model", "m", "--base-url", server.url]
    done = rtl_agent(*words)
    assert done.returncode == 1, done.stderr
    assert "model, turn 1" in done.stdout
    assert "\x1b[2J" not in done.stdout  # what a terminal would obey is written out
    assert "\\x1b[2J" in done.stdout
    path = tmp_path / done.stdout.split("rollout: ")[1].strip()
    assert json.loads(path.read_text())["problem_id"] == "rtl_xor_gate_0001"


def test_play_takes_a_file_or_a_directory_of_problems_as_other_commands_do(
    rtl_agent: RunCommand, server: Scripted, gates: Path
) -> None:
    server.answer = wrong
    done = rtl_agent("play", str(gates), "--number", "1", "--model", "m", "--base-url", server.url)
    assert done.returncode == 1, done.stderr
    known = [problem.id for problem in load_problems(str(gates))]
    assert known[1] in done.stdout
    done = rtl_agent("play", str(gates), "--number", str(len(known)), "--model", "m", "--base-url", server.url)
    assert done.returncode == 2, done.stdout
    assert f"--number {len(known)} is not among them" in done.stderr


@pytest.mark.slow
def test_killed_at_any_moment_it_goes_on(rtl_agent: RunCommand, server: Scripted, gates: Path, tmp_path: Path) -> None:
    """SIGKILL while the third answer is being waited for; then the same command."""
    third = threading.Event()
    release = threading.Event()

    def slow(body: Body) -> Told:
        if len(server.requests) >= 3:
            third.set()
            release.wait(60)
        return wrong(body)

    server.answer = slow
    words = ["eval", str(gates), "--model", "m", "--base-url", server.url, "--out", "result.json", "--concurrency", "1"]
    process = subprocess.Popen([sys.executable, "-m", "rtl_agent.cli.main", *words], cwd=tmp_path)
    assert third.wait(400)
    process.send_signal(signal.SIGKILL)
    process.wait()
    release.set()
    assert not (tmp_path / "result.json").exists()
    server.answer = right
    done = rtl_agent(*words)
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "result.json").read_text())
    assert (told["summary"]["samples"], told["summary"]["passed"]) == (4, 2)
    lines = [json.loads(line) for line in (tmp_path / "result.jsonl").read_text().splitlines()]
    keys = [line["episode"]["problem_id"] for line in lines[1:]]
    assert len(keys) == len(set(keys)) == 4


def test_several_sets_are_one_table_and_two_models_are_compared_on_the_same_problems(
    rtl_agent: RunCommand, server: Scripted, gates: Path, tmp_path: Path
) -> None:
    """The first model is right, the second one wrong, on two sets of which the second is half of the first."""
    half = tmp_path / "half.jsonl"
    half.write_text("".join(gates.read_text().splitlines(keepends=True)[:2]))
    end = ("--base-url", server.url, "--api-key-env", "A_KEY")
    both = rtl_agent("eval", str(gates), str(half), "--model", "good", *end)
    assert both.returncode == 0, both.stderr
    (row,) = (line for line in both.stdout.splitlines() if line.startswith("half.jsonl"))
    assert "100.0%" in row
    refused = rtl_agent("eval", str(gates), str(half), "--model", "good", *end, "--out", "x.json")
    assert refused.returncode == 2
    server.answer = lambda body: wrong(body)
    assert rtl_agent("eval", str(gates), "--model", "bad", *end, "--out", "bad.json").returncode == 0
    good, of_half = sorted(map(str, (tmp_path / "evals").glob("good-*.json")))
    told = rtl_agent("evals", "compare", "bad.json", good)
    assert told.returncode == 0, told.stderr
    assert "b - a: +100.0 points" in told.stdout
    assert "McNemar's exact test: p = 0.125" in told.stdout
    unlike = rtl_agent("evals", "compare", "bad.json", of_half)
    assert unlike.returncode == 2
    assert "--common" in unlike.stderr
    assert rtl_agent("evals", "compare", "bad.json", of_half, "--common").returncode == 0
    shown = rtl_agent("evals", "export", "bad.json", good)
    assert len(json.loads(shown.stdout)["results"]) == 2
    listed = rtl_agent("evals", "table", "bad.json", good).stdout
    assert "bad" in listed
    assert "100.0%" in listed
