"""The command line as people and programs meet it: tables, JSON, sentences instead of tracebacks, exit codes."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from rtl_agent.problems import Problem, load_near_misses
from tests.cli.conftest import Here

ARBITER = "rtl_fixed_priority_arbiter_0001"


def rtl_agent(*arguments: str | Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command: Sequence[str] = [sys.executable, "-m", "rtl_agent.cli.main", *map(str, arguments)]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False, timeout=300)


def as_json(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def test_help_lists_the_commands() -> None:
    done = rtl_agent("--help")
    assert done.returncode == 0
    for command in ("problems", "grade", "doctor", "demo", "setup", "eval", "play"):
        assert command in done.stdout


def test_list_for_people_and_for_programs(here: Here, bundled: dict[str, Problem]) -> None:
    assert f"{len(bundled)} problems" in rtl_agent("problems", "list").stdout
    listed = as_json(here("problems", "list", "bundled", "--kind", "agentic", "--json"))
    assert {problem["kind"] for problem in listed} == {"agentic"}
    assert "harness" not in listed[0]


def test_show_gives_the_task_but_not_the_harness(here: Here, bundled: dict[str, Problem]) -> None:
    shown = here("problems", "show", ARBITER, "--json")
    assert as_json(shown)["prompt"] == bundled[ARBITER].prompt
    assert "cocotb.test" not in shown.stdout
    assert rtl_agent("problems", "show", ARBITER).returncode == 0


def test_stats_count_everything(here: Here, bundled: dict[str, Problem]) -> None:
    counted = as_json(here("problems", "stats", "--json"))
    assert counted["problems"] == len(bundled)
    for field in ("category", "difficulty", "kind", "family", "split"):
        assert sum(counted[field].values()) == len(bundled)


def test_validate_trusts_a_good_problem_and_doubts_an_empty_one(tmp_path: Path, bundled: dict[str, Problem]) -> None:
    good = as_json(rtl_agent("problems", "validate", "bundled", "--id", ARBITER, "--json"))
    assert good[0]["trusted"]
    assert good[0]["reference"]["outcome"] == "passed"
    assert good[0]["empty"]["outcome"] == "failed"
    source = Path(bundled[ARBITER].source)
    record = next(json.loads(line) for line in source.read_text().splitlines() if ARBITER in line)
    name = next(path for path in record["harness"] if path.endswith("/test_fixed_priority_arbiter.py"))
    record["harness"] = {path: text for path, text in record["harness"].items() if "library" not in path}
    record["harness"][name] = "import cocotb\n@cocotb.test()\nasync def sees_nothing(dut):\n    pass\n"
    (tmp_path / "weak.jsonl").write_text(json.dumps(record) + "\n")
    weak = rtl_agent("problems", "validate", tmp_path / "weak.jsonl", "--json")
    assert weak.returncode == 1
    assert any("no assert" in doubt for doubt in as_json(weak)[0]["doubts"])


def test_grade_passes_a_reference_with_exit_code_0() -> None:
    done = rtl_agent("grade", "bundled", "--id", ARBITER, "--reference")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
    assert "1.4 of 1.4" in done.stdout


def test_grade_fails_a_wrong_design_with_exit_code_1_and_says_why(tmp_path: Path) -> None:
    reversed_priority = (ARBITER, "reversed_priority")
    miss = next(miss for miss in load_near_misses() if (miss.problem_id, miss.name) == reversed_priority)
    for path, text in miss.files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    done = rtl_agent("grade", "bundled", "--id", ARBITER, "--files", tmp_path)
    assert done.returncode == 1
    assert "FAIL" in done.stdout
    assert "expected" in done.stdout
    graded = as_json(
        rtl_agent("grade", "bundled", "--id", ARBITER, "--files", tmp_path, "--json", "--reward", "graded")
    )
    assert graded[0]["outcome"] == "failed"
    assert 0.6 <= graded[0]["reward"]["total"] < 1.6


def test_grade_takes_replies_from_stdin_and_many_from_jsonl(
    here: Here, tmp_path: Path, bundled: dict[str, Problem]
) -> None:
    problem = bundled[ARBITER]
    assert problem.reference is not None
    reply = f"```verilog\n{next(iter(problem.reference.values()))}```"
    assert rtl_agent("grade", "bundled", "--id", ARBITER, "--response", "-", stdin=reply).returncode == 0
    lines = [
        {"id": ARBITER, "response": reply},
        {"id": ARBITER, "response": "no"},
        {"id": ARBITER, "files": dict.fromkeys(problem.targets, "// nothing\n")},
    ]
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    done = here("grade", "bundled", "--response", file, "--json", "--jobs", "2")
    assert done.returncode == 1
    assert [grade["outcome"] for grade in as_json(done)] == ["passed", "invalid", "failed"]
    shell_first = f"```bash\nls\n```\n{reply}"
    for extraction, outcome in (("forgiving", "passed"), ("cvdp", "failed")):
        options = ("--id", ARBITER, "--response", "-", "--extraction", extraction, "--json")
        (grade,) = as_json(rtl_agent("grade", "bundled", *options, stdin=shell_first))
        assert (grade["outcome"], grade["extraction"]) == (outcome, extraction)
    table = here("grade", "bundled", "--response", file)
    assert "3 graded: 1 passed, 1 failed, 1 invalid" in table.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["grade", "bundled"], "give one of --response FILE, --files DIR and --reference"),
        (["grade", "bundled", "--reference", "--reward", "best"], "is not a weight"),
        (["grade", "bundled", "--reference", "--id", "rtl_nothing_0001"], "has no problem rtl_nothing_0001"),
        (["grade", "absent.jsonl", "--reference"], "does not exist"),
        (["grade", "bundled", "--response", "absent.txt", "--id", ARBITER], "cannot be read"),
        (["grade", "bundled", "--response", "/dev/null"], "choose one with --id"),
        (["grade", "bundled", "--files", "absent-directory", "--id", ARBITER], "is not a directory"),
        (["problems", "list", "bundled", "--family", "nothing"], "bundled has no family nothing"),
        (["problems", "nonsense"], "No such command"),
    ],
)
def test_bad_usage_is_a_sentence_and_exit_code_2(here: Here, arguments: list[str], words: str) -> None:
    done = here(*arguments)
    assert done.returncode == 2
    said = " ".join((done.stdout + done.stderr).replace("│", " ").split())
    assert words in said
    assert "Traceback" not in said


def test_a_bad_line_is_named_and_can_be_skipped(tmp_path: Path, bundled: dict[str, Problem]) -> None:
    file = tmp_path / "set.jsonl"
    file.write_text("{broken\n" + Path(bundled[ARBITER].source).read_text())
    done = rtl_agent("problems", "list", file)
    assert done.returncode == 2
    assert f"{file}:1: the line is not valid JSON" in " ".join(done.stderr.split())
    skipped = rtl_agent("problems", "list", file, "--skip-bad", "--json")
    assert skipped.returncode == 0
    assert "left out" in skipped.stderr
    assert as_json(skipped)


def test_a_machine_without_the_tools_is_our_fault(tmp_path: Path) -> None:
    """No iverilog to be found: exit code 3, what is missing, and how to get it."""
    command = [sys.executable, "-m", "rtl_agent.cli.main", "grade", "bundled", "--id", ARBITER, "--reference"]
    env = {"PATH": str(tmp_path), "HOME": str(tmp_path), "RTL_AGENT_HOME": str(tmp_path / "empty")}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 3, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert "iverilog" in done.stderr


@pytest.mark.parametrize(
    ("command", "code", "unbuffered"),
    [
        (("grade", "bundled", "--id", ARBITER, "--reference"), 0, ""),
        (("grade", "bundled", "--id", ARBITER, "--reference", "--json"), 0, "1"),
        (("grade", "bundled", "--id", ARBITER, "--response", "-"), 1, ""),
        (("grade", "bundled", "--id", "nobody", "--reference"), 2, ""),
        (("problems", "list", "bundled"), 0, "1"),
        (("--help",), 0, ""),
    ],
)
def test_the_exit_code_is_the_commands_own_when_nobody_reads(
    command: tuple[str, ...], code: int, unbuffered: str
) -> None:
    """As with `| head -c0` or `2>&1 | true`: the reader of both streams is gone before anything is written."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = subprocess.run(
            [sys.executable, "-m", "rtl_agent.cli.main", *command],
            env={**os.environ, "PYTHONUNBUFFERED": unbuffered},
            input=b"I do not know.",
            stdout=writer,
            stderr=writer,
            check=False,
            timeout=300,
        )
    finally:
        os.close(writer)
    assert done.returncode == code


def test_a_reader_that_leaves_early_gets_no_traceback() -> None:
    command = f"{sys.executable} -m rtl_agent.cli.main problems show {ARBITER} --json | head -n 1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("{")


def answers(tmp_path: Path, *lines: object) -> Path:
    file = tmp_path / "answers.jsonl"
    file.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return file


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("nonsense", "answers.jsonl:2: the line is not valid JSON"),
        ("[]", "answers.jsonl:2: the line is not a JSON object"),
        ({"response": "x"}, "answers.jsonl:2: id: is missing"),
        ({"id": 3, "response": "x"}, "answers.jsonl:2: id: is not a string"),
        ({"id": "rtl_fixed_priority_arbitr_0001", "response": "x"}, f"(did you mean {ARBITER}"),
        ({"id": ARBITER}, "answers.jsonl:2: response: is missing"),
        ({"id": ARBITER, "response": None}, "answers.jsonl:2: response: is not a string"),
        ({"id": ARBITER, "files": "x"}, "answers.jsonl:2: files: is not an object"),
        ({"id": ARBITER, "files": {"rtl/a.sv": 1}}, "answers.jsonl:2: files.rtl/a.sv: is not a string"),
    ],
)
def test_an_error_in_an_answers_file_names_line_and_field_and_can_be_skipped(
    here: Here, tmp_path: Path, line: object, words: str
) -> None:
    good = json.dumps({"id": ARBITER, "response": "I cannot\u2028do it."}, ensure_ascii=False)
    file = answers(tmp_path, good, line)
    done = here("grade", "bundled", "--response", file)
    assert done.returncode == 2
    assert words in done.stderr
    assert "--skip-bad" in done.stderr
    skipped = here("grade", "bundled", "--response", file, "--skip-bad", "--json")
    assert skipped.returncode == 1
    assert words in skipped.stderr
    assert [grade["label"] for grade in as_json(skipped)] == [f"{ARBITER}:1"]


def test_an_answers_file_without_a_good_line_is_an_error_even_when_bad_ones_are_skipped(
    here: Here, tmp_path: Path
) -> None:
    done = here("grade", "bundled", "--response", answers(tmp_path, "nonsense"), "--skip-bad")
    assert done.returncode == 2
    assert "has no answer that can be graded" in done.stderr


def test_one_answer_whose_simulation_does_not_end_says_so(bundled: dict[str, Problem]) -> None:
    problem = bundled[ARBITER]
    assert problem.reference is not None
    endless = next(iter(problem.reference.values())).replace("endmodule", "  initial while (1) ;\nendmodule")
    options = ("--id", ARBITER, "--response", "-", "--timeout", "3")
    done = rtl_agent("grade", "bundled", *options, stdin=f"```verilog\n{endless}\n```")
    assert done.returncode == 1
    assert "stopped after 3 s: the simulation does not end" in done.stdout


def in_a_terminal(*arguments: str | Path, columns: int = 80) -> str:
    """What a terminal of that width shows, without colours."""
    command = f"stty cols {columns}; {sys.executable} -m rtl_agent.cli.main {' '.join(map(str, arguments))}"
    env = {**os.environ, "TERM": "dumb"}
    env.pop("COLUMNS", None)
    done = subprocess.run(["script", "-qc", command, "/dev/null"], env=env, capture_output=True, text=True, check=False)
    return done.stdout.replace("\r", "")


def test_a_narrow_terminal_and_a_pipe_hide_no_name_and_no_line_number(tmp_path: Path) -> None:
    miss = next(miss for miss in load_near_misses() if (miss.problem_id, miss.name) == (ARBITER, "reversed_priority"))
    file = answers(tmp_path, {"id": ARBITER, "files": dict(miss.files)}, {"id": ARBITER, "files": dict(miss.files)})
    for path, text in miss.files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    one = ("grade", "bundled", "--id", ARBITER, "--files", tmp_path)
    (graded,) = as_json(rtl_agent(*one, "--json"))
    failing = [test for test in graded["tests"] if not test["passed"] and test["where"]]
    assert failing
    many = ("grade", "bundled", "--response", file)
    for shown, table in (
        (in_a_terminal(*one), in_a_terminal(*many)),
        (rtl_agent(*one).stdout, rtl_agent(*many).stdout),
    ):
        for test in failing:
            assert test["name"].rpartition(".")[2] in shown
            assert test["where"] in shown
        assert f"{ARBITER}:1 " in table
        assert f"{ARBITER}:2 " in table


def test_doctor_prints_whole_paths_and_one_line_for_each_tool() -> None:
    tools = as_json(rtl_agent("doctor", "--json"))["tools"]
    for shown in (in_a_terminal("doctor"), rtl_agent("doctor").stdout):
        for tool in tools:
            (line,) = [line for line in shown.splitlines() if line.endswith(tool["path"])]
            assert line.startswith(tool["name"])
            assert tool["version"] in line


def test_ctrl_c_is_said() -> None:
    """Typer ends the process without a word."""
    code = (
        "import rtl_agent.cli.main as main\n"
        "def interrupted(*_, **__): raise KeyboardInterrupt\n"
        "main.console.chosen = interrupted\n"
        "import sys; sys.argv = ['rtl-agent', 'problems', 'list']\n"
        "main.run()\n"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (ended.returncode, ended.stderr.strip()) == (130, "error: interrupted")
