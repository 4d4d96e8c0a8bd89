"""`Instance` -> `Problem` in CVDP's form, and the texts that a model is trained on."""

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from rtl_agent.problems.generate.instance import Instance
from rtl_agent.problems.generate.vectors import Step, plan
from rtl_agent.problems.problem import Problem
from rtl_agent.problems.reader import parse_record

COMPOSE = """\
services:
  direct:
    image: __OSS_SIM_IMAGE__
    volumes:
      - ./src/:/src/:ro
    env_file : ./src/.env
    command : pytest -o cache_dir=/code/rundir/.cache /src/test_runner.py -v
"""


def as_problem(instance: Instance) -> Problem:
    """A full problem: task, hidden harness, reference."""
    return parse_record(as_record(instance), source="generated")


def as_record(instance: Instance) -> dict[str, Any]:
    """A line of a CVDP data set, single-shot."""
    return {
        "id": identifier(instance),
        "categories": ["cid003", "easy"],
        "input": {"prompt": instance.text, "context": {}},
        "output": {"response": "", "context": {instance.target: instance.reference}},
        "harness": {"files": harness_files(instance)},
    }


def identifier(instance: Instance) -> str:
    """By content, so that the same instance has the same id whatever list it is in."""
    content = f"{instance.text}\n{instance.reference}\n{instance.seed}"
    return f"rtl_generated_{instance.spec.family}_{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def harness_files(instance: Instance) -> dict[str, str]:
    spec = instance.spec
    ports = instance.family.ports(spec.choices)
    by_direction = {
        direction: [(spec[port.role], port.width) for port in ports if port.direction == direction]
        for direction in ("input", "output")
    }
    env = {
        "SIM": "icarus",
        "TOPLEVEL_LANG": "verilog",
        "VERILOG_SOURCES": f"/code/{instance.target}",
        "TOPLEVEL": spec.module,
        "MODULE": "replay",
        "PYTHONPATH": "/src",
    }
    return {
        "docker-compose.yml": COMPOSE,
        "src/.env": "".join(f"{key} = {value}\n" for key, value in env.items()),
        "src/test_runner.py": _fixed("test_runner.py"),
        "src/replay.py": _fixed("replay.py"),
        "src/ports.py": f'"""The ports of the design."""\n\nINPUTS = {by_direction["input"]}\n'
        f"OUTPUTS = {by_direction['output']}\n",
        "src/all_ports.v": _all_ports(instance),
        "src/vectors.txt": _packed(vectors_json(instance)),
    }


def _all_ports(instance: Instance) -> str:
    """A second top module, which compiles only if every port is one: cocotb would take a signal inside as well."""
    spec = instance.spec
    connected = ", ".join(f".{spec[port.role]}()" for port in instance.family.ports(spec.choices))
    return f"module all_ports;\n  {spec.module} connected ({connected});\nendmodule\n"


def _packed(text: str) -> str:
    """A design can open its harness's files: with `$fscanf` it could read plain vectors, but it cannot inflate them."""
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def vectors_json(instance: Instance) -> str:
    ports = instance.family.ports(instance.spec.choices)
    inputs = {port.role: at for at, port in enumerate(port for port in ports if port.direction == "input")}
    widths = {port.role: port.width for port in ports if port.direction == "output"}
    steps = plan(instance.family, instance.spec, f"vectors {instance.seed}")
    return json.dumps(list(_as_data(steps, inputs, widths)), separators=(",", ":"))


def _as_data(steps: list[Step], inputs: Mapping[str, int], widths: Mapping[str, int]) -> list[Any]:
    """Only what changes: a write costs as much as a look."""
    now: dict[str, int] = {}
    data = []
    for step in steps:
        changes = [[inputs[role], value] for role, value in step.changes.items() if now.get(role) != value]
        now.update(step.changes)
        outputs = step.outputs
        expected = None if outputs is None else [f"{outputs[role]:0{width}b}" for role, width in widths.items()]
        data.append([changes, expected])
    return data


@cache
def _fixed(name: str) -> str:
    return (files("rtl_agent.problems.generate") / "harness" / name).read_text()


def answer(design: str) -> str:
    """A design as a reply: one fenced block."""
    return f"```verilog\n{design}```"
