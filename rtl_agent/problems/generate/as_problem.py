"""`Instance` -> `Problem` as the CVDP reader would make it, asked in one reply or in a workspace."""

import base64
import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from random import Random
from typing import Any

from rtl_agent.problems.generate.instance import Instance
from rtl_agent.problems.generate.vectors import Step, plan
from rtl_agent.problems.problem import CocotbVersion, Harness, Kind, Needs, Problem, Service, family_of

COMPOSE = """\
services:
  direct:
    image: __OSS_SIM_IMAGE__
    volumes:
      - ./src/:/src/:ro
    env_file : ./src/.env
    command : pytest -o cache_dir=/code/rundir/.cache /src/test_runner.py -v
"""
_COMMAND = ("pytest", "-o", "cache_dir=/code/rundir/.cache", "/src/test_runner.py", "-v")  # of COMPOSE

SPECIFICATION = "docs/specification.md"
_OPENINGS = (
    "Write the module `{module}` in the new file `{path}`.",
    "Create `{path}` with the Verilog module `{module}`.",
    "Implement the module `{module}`. It belongs in `{path}`, which is not there yet.",
    "The file `{path}` is missing: write it, with the module `{module}` as its content.",
)
_WHERE = (
    "Its specification is `{document}`.",
    "What it does is described in `{document}`.",
    "Ports, reset and behaviour are given in `{document}`; keep to it exactly.",
    "Read `{document}` first and follow it in every detail.",
)
_MORE = (
    "No other file needs to change.",
    "It must compile with `iverilog -g2012`.",
    "The code has to be synthesisable.",
    "Names, widths and timing are checked.",
    "You may write a bench of your own below `verif`.",
)


def as_problem(instance: Instance) -> Problem:
    """A full problem: task, hidden harness, reference. Equal to what is read back from its CVDP record."""
    text, reference, env = instance.text, instance.reference, _env(instance)
    name = _by_content(instance, text, reference)
    service = Service("direct", _COMMAND, env, src_writable=False)
    return Problem(
        id=name,
        family=family_of(name),
        category="cid003",
        difficulty="easy",
        kind=Kind.SINGLE_SHOT,
        needs=Needs.OPEN_TOOLS,
        prompt=text,
        context={},
        targets=(instance.target,),
        harness=Harness(_harness_files(instance, env), (service,), CocotbVersion.V2),
        reference={instance.target: reference},
        source="generated",
    )


def identifier(instance: Instance) -> str:
    """By content, so that the same instance has the same id whatever list it is in."""
    return _by_content(instance, instance.text, instance.reference)


def _by_content(instance: Instance, text: str, reference: str) -> str:
    content = f"{text}\n{reference}\n{instance.seed}"
    return f"rtl_generated_{instance.spec.family}_{hashlib.sha256(content.encode()).hexdigest()[:12]}"


def _env(instance: Instance) -> dict[str, str]:
    return {
        "SIM": "icarus",
        "TOPLEVEL_LANG": "verilog",
        "VERILOG_SOURCES": f"/code/{instance.target}",
        "TOPLEVEL": instance.spec.module,
        "MODULE": "replay",
        "PYTHONPATH": "/src",
    }


def _harness_files(instance: Instance, env: Mapping[str, str]) -> dict[str, str]:
    spec = instance.spec
    ports = instance.family.ports(spec.choices)
    by_direction = {
        direction: [(spec[port.role], port.width) for port in ports if port.direction == direction]
        for direction in ("input", "output")
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


def as_workspace(problem: Problem) -> Problem:
    """The same design asked for in another way, in words that depend on the problem's id alone."""
    random = Random(f"workspace {problem.id}")
    (path,) = problem.targets
    names = {"module": PurePosixPath(path).stem, "path": path, "document": SPECIFICATION}
    said = [random.choice(_OPENINGS), random.choice(_WHERE), *random.sample(_MORE, random.randrange(3))]
    between = random.choice((" ", "\n", "\n\n"))
    return replace(
        problem,
        id=_identifier(problem),
        kind=Kind.AGENTIC,
        prompt=between.join(said).format(**names),
        context={SPECIFICATION: f"{problem.prompt}\n"},
    )


def _identifier(problem: Problem) -> str:
    stem, _, digest = problem.id.rpartition("_")
    return f"{stem}_{hashlib.sha256(f'workspace {digest}'.encode()).hexdigest()[:12]}"
