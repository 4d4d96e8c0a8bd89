"""Reading CVDP's records: every public shape, and a clear word about every line that is none."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from rtl_agent.problems import BadRecord, CocotbVersion, Kind, Needs, NoSuchProblems, parse_record, read_problems

COMPOSE = """
services:
  direct:
    image: __OSS_SIM_IMAGE__
    volumes:
      - ./src/:/src/:ro # the harness
    env_file    : ./src/.env
    command     : pytest -o cache_dir=/code/rundir/.cache /src/test_runner.py -v
"""
HARNESS = {
    "docker-compose.yml": COMPOSE,
    "src/.env": "SIM = icarus\nTOPLEVEL = first\nTOPLEVEL   = top  # the last one counts\nPYTHONPATH=/src\n",
    "src/test_runner.py": "from cocotb_tools.runner import get_runner\n",
}
SINGLE_SHOT: dict[str, Any] = {
    "id": "cvdp_copilot_some_topic_0007",
    "categories": ["cid004", "medium"],
    "input": {"prompt": "Change it.", "context": {"rtl/top.sv": "module top; endmodule\n"}},
    "output": {"response": "", "context": {"rtl/top.sv": "module top(input a); endmodule\n"}},
    "harness": {"files": HARNESS},
}
AGENTIC: dict[str, Any] = {
    "id": "cvdp_agentic_other_0001",
    "categories": ["cid003", "easy"],
    "system_message": "You have a shell.",
    "prompt": "Write it.",
    "context": {"docs/spec.md": "the specification"},
    "patch": {"rtl/new.sv": "@@ -0,0 +1,2 @@\n+module new_one;\n+endmodule\n"},
    "harness": HARNESS,
}


def write(path: Path, *lines: Any) -> Path:
    path.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
    return path


def test_a_single_shot_record() -> None:
    problem = parse_record(SINGLE_SHOT)
    assert (problem.family, problem.category, problem.difficulty) == ("some_topic", "cid004", "medium")
    assert problem.kind is Kind.SINGLE_SHOT
    assert problem.targets == ("rtl/top.sv",)
    assert problem.given == {"rtl/top.sv": "module top; endmodule\n"}
    assert problem.reference == SINGLE_SHOT["output"]["context"]


def test_an_agentic_record_and_its_patch() -> None:
    problem = parse_record(AGENTIC)
    assert problem.kind is Kind.AGENTIC
    assert problem.targets == ("rtl/new.sv",)
    assert problem.given == {}
    assert problem.reference == {"rtl/new.sv": "module new_one;\nendmodule\n"}


def test_services_follow_cvdps_conventions() -> None:
    service = parse_record(SINGLE_SHOT).harness.services[0]
    assert service.argv[0] == "pytest"
    assert service.argv[-2:] == ("/src/test_runner.py", "-v")
    assert service.env == {"SIM": "icarus", "TOPLEVEL": "top", "PYTHONPATH": "/src"}
    assert not service.src_writable


def test_shell_commands_writable_sources_and_build_are_understood() -> None:
    record = copy.deepcopy(SINGLE_SHOT)
    record["harness"]["files"]["docker-compose.yml"] = """
services:
  sanity:
    build: .
    volumes: [./src:/src/]
    env_file: [src/.env]
    environment: {EXTRA: 1}
    command: >
      sh -c "pip install aes && pytest /src/test_runner.py"
  lint:
    image: __OSS_SIM_IMAGE__
    volumes: [{type: bind, source: ./src, target: /src, read_only: true}]
    command: [pytest, /src/lint.py]
"""
    sanity, lint = parse_record(record).harness.services
    assert sanity.argv == ("sh", "-c", "pip install aes && pytest /src/test_runner.py")
    assert sanity.src_writable
    assert sanity.env["EXTRA"] == "1"
    assert lint.argv == ("pytest", "/src/lint.py")
    assert not lint.src_writable


def test_withheld_goldens_are_no_reference() -> None:
    record = copy.deepcopy(SINGLE_SHOT)
    record["output"]["context"]["rtl/top.sv"] = ""
    assert parse_record(record).reference is None
    record = copy.deepcopy(AGENTIC)
    record["patch"]["rtl/new.sv"] = ""
    assert parse_record(record).reference is None
    assert parse_record(record).targets == ("rtl/new.sv",)


def test_commercial_and_comprehension_problems_say_what_they_need() -> None:
    commercial = copy.deepcopy(SINGLE_SHOT)
    commercial["harness"]["files"]["Dockerfile"] = "FROM __VERIF_EDA_IMAGE__\n"
    assert parse_record(commercial).needs is Needs.COMMERCIAL
    prose = {**copy.deepcopy(SINGLE_SHOT), "harness": {}, "output": {"response": "because", "context": {}}}
    assert parse_record(prose).needs is Needs.TEXT
    assert parse_record(prose).answer == "because"


@pytest.mark.parametrize(
    ("tests", "cocotb_version"),
    [
        ("from cocotb_tools.runner import get_runner", CocotbVersion.V2),
        ("from cocotb.runner import get_runner", CocotbVersion.V1),
        ("from cocotb.runner import get_runner\nx = dut.y.value.to_unsigned()", CocotbVersion.V2),
        ("from cocotb.runner import get_runner\nClock(dut.clk, 10, unit='ns')", CocotbVersion.V2),
        ("from cocotb_tools.runner import get_runner\nx = dut.y.value.integer", CocotbVersion.V1),
        ("from cocotb_tools.runner import get_runner\nfrom cocotb.result import TestFailure", CocotbVersion.V1),
        ("from cocotb_tools.runner import get_runner\nx = (5).to_bytes(2)", CocotbVersion.V2),
        ("from cocotb_tools.runner import get_runner\nr.build(defines={'SIMULATION': None})", CocotbVersion.V1),
        ("from cocotb_tools.runner import get_runner\nr.build(defines={'SIMULATION': 1})", CocotbVersion.V2),
        ("this is no Python", CocotbVersion.V2),
    ],
)
def test_the_flavour_is_read_off_the_api_that_a_harness_uses(tests: str, cocotb_version: CocotbVersion) -> None:
    record = copy.deepcopy(SINGLE_SHOT)
    record["harness"]["files"]["src/test_runner.py"] = tests
    assert parse_record(record).harness.cocotb_version is cocotb_version


def change(path: str, value: Any) -> dict[str, Any]:
    record: dict[str, Any] = copy.deepcopy(SINGLE_SHOT)
    *parents, last = path.split("|")
    place = record
    for parent in parents:
        place = place[parent]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return record


@pytest.mark.parametrize(
    ("line", "field", "reason"),
    [
        ("{not json", "line", "is not valid JSON"),
        ("[1, 2]", "line", "is not a JSON object"),
        ("[" * 100_000, "line", "is not valid JSON"),
        (change("id", None), "id", "is missing"),
        (change("id", "lfsr"), "id", "is not of the form <set>_<topic>_<number>"),
        (change("categories", ["cid003"]), "categories", "should be"),
        (change("input|prompt", None), "input.prompt", "is missing"),
        (change("input|context", {"../x": "y"}), "input.context['../x']", "climbs out"),
        (change("input|context", {"rtl/x.sv": 5}), "input.context['rtl/x.sv']", "should be text"),
        (change("harness|files|docker-compose.yml", None), "harness.docker-compose.yml", "is missing"),
        (change("harness|files|docker-compose.yml", "a: [b"), "harness.docker-compose.yml", "is not valid YAML"),
        (change("harness|files|docker-compose.yml", "services: {}"), "harness.docker-compose.yml", "no services"),
        (change("harness|files|src/.env", None), "harness.docker-compose.yml.services.direct.env_file", "not among"),
        ({**AGENTIC, "patch": {"docs/spec.md": "@@ -9,1 +9,1 @@\n-a\n+b\n"}}, "patch", "a hunk starts at line 9"),
        ({**AGENTIC, "patch": {"docs/spec.md": "@@ -1,1 +1,1 @@\n-other\n+b\n"}}, "patch", "line 1 should be"),
    ],
)
def test_a_bad_line_names_file_line_field_and_reason(tmp_path: Path, line: Any, field: str, reason: str) -> None:
    file = write(tmp_path / "set.jsonl", SINGLE_SHOT, "", line)
    with pytest.raises(BadRecord) as caught:
        read_problems(file)
    assert (caught.value.file, caught.value.line, caught.value.field) == (file, 3, field)
    assert reason in caught.value.reason
    what = "the line " if field == "line" else f"{field}: "
    assert str(caught.value).startswith(f"{file}:3: {what}")


def test_skip_bad_goes_on_and_reports_what_it_left_out(tmp_path: Path) -> None:
    file = write(tmp_path / "set.jsonl", "{", SINGLE_SHOT, SINGLE_SHOT, AGENTIC)
    bad: list[BadRecord] = []
    problems = read_problems(file, skip_bad=True, on_bad=bad.append)
    assert [problem.id for problem in problems] == [SINGLE_SHOT["id"], AGENTIC["id"]]
    assert [(record.line, record.field) for record in bad] == [(1, "line"), (3, "id")]


def test_a_line_that_is_not_utf8(tmp_path: Path) -> None:
    (tmp_path / "set.jsonl").write_bytes(b'{"id": "\xff"}\n')
    with pytest.raises(BadRecord, match="is not UTF-8 at byte 8"):
        read_problems(tmp_path / "set.jsonl")


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    with pytest.raises(NoSuchProblems, match="cannot be read"):
        read_problems(tmp_path / "absent.jsonl")
    with pytest.raises(NoSuchProblems, match=r"no \*.jsonl"):
        read_problems(tmp_path)
    with pytest.raises(NoSuchProblems, match="has no problems"):
        read_problems(write(tmp_path / "empty.jsonl"))


@pytest.mark.cvdp
def test_every_record_of_cvdp_loads(cvdp: Path) -> None:
    files = sorted(cvdp.glob("*.jsonl"))
    for file in files:
        lines = sum(1 for line in file.read_bytes().splitlines() if line.strip())
        problems = read_problems(file)
        assert len(problems) == lines
        commercial = "_commercial" in file.name and "_no_commercial" not in file.name
        needs = Needs.COMMERCIAL if commercial else Needs.TEXT if "comprehension" in file.name else Needs.OPEN_TOOLS
        assert {problem.needs for problem in problems} == {needs}
        assert {problem.kind for problem in problems} == {
            Kind.SINGLE_SHOT if "nonagentic" in file.name else Kind.AGENTIC
        }
        if "with_solutions" in file.name and needs is not Needs.TEXT:
            assert all(problem.reference for problem in problems)
