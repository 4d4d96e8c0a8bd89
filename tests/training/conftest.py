"""Problems small enough that a run of several steps takes seconds."""

import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
import tinker
from rich.console import Console

from rtl_agent.backends.connect import Connection, connect
from rtl_agent.envs.prompt import prompt_for
from rtl_agent.envs.renderers import renderer_for
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.problems import load_problems
from rtl_agent.training.config import STUDENT, TEACHER, Mode
from rtl_agent.training.parse import parse
from rtl_agent.training.start import start

RunIn = Callable[..., Path]
SECOND_TEACHER = "rtl-agent/teacher-2"  # reads other tokens
SURE = 1.0  # nats per answer at which teaching stops: about a third of the answers are right then

RUNNER = """\
from cocotb_tools.runner import get_runner


def test_gate():
    runner = get_runner("icarus")
    runner.build(sources=["/code/rtl/gate.sv"], hdl_toplevel="gate", always=True, timescale=("1ns", "1ns"))
    runner.test(hdl_toplevel="gate", test_module="checks")
"""
CHECKS = """\
import cocotb
from cocotb.triggers import Timer


@cocotb.test()
async def computes(dut):
    for value in range(4):
        a, b = value & 1, value >> 1
        dut.a.value, dut.b.value = a, b
        await Timer(1, "ns")
        assert int(dut.y.value) == {expression}
"""
COMPOSE = """\
services:
  direct:
    image: __OSS_SIM_IMAGE__
    volumes:
      - ./src/:/src/:ro
    working_dir: /code/rundir
    env_file: ./src/.env
    command: pytest -o cache_dir=/code/rundir/.cache /src/test_runner.py -v
"""
GATES = {"and": "a & b", "or": "a | b", "xor": "a ^ b", "keep": "a & (a | b)"}


def record(name: str, expression: str) -> dict[str, object]:
    prompt = f"Write rtl/gate.sv: module gate(input a, input b, output y) with y = {expression}."
    files = {
        "docker-compose.yml": COMPOSE,
        "src/.env": "SIM=icarus\nTOPLEVEL_LANG=verilog\nPYTHONPATH=/src\n",
        "src/test_runner.py": RUNNER,
        "src/checks.py": CHECKS.format(expression=expression),
    }
    return {
        "id": f"rtl_{name}_gate_0001",
        "categories": ["cid003", "easy"],
        "input": {"prompt": prompt, "context": {}},
        "output": {"response": "", "context": {"rtl/gate.sv": design(expression)}},
        "harness": {"files": files},
    }


def design(expression: str) -> str:
    return f"module gate(input a, input b, output y);\n  assign y = {expression};\nendmodule\n"


def answer(expression: str) -> str:
    return f"```verilog\n{design(expression)}```"


@pytest.fixture(scope="session")
def gates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of four problems, a family each."""
    file = tmp_path_factory.mktemp("gates") / "gates.jsonl"
    file.write_text("".join(json.dumps(record(*gate)) + "\n" for gate in GATES.items()))
    return file


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """One server for all runs of a test process: starting one takes seconds."""
    state = tmp_path_factory.mktemp("state")
    with connect("embedded", models=[STUDENT, TEACHER, SECOND_TEACHER], state=state) as connection:
        yield connection


@pytest.fixture(scope="session")
def taught(server: Connection, gates: Path) -> str:
    """A student that has seen the answers until it writes some of them right at temperature 1, and others not."""
    problems = load_problems(str(gates))
    renderer = renderer_for("rtl_agent", tokenizer_for(STUDENT))
    data = []
    for problem, expression in zip(problems, GATES.values(), strict=True):
        asked = prompt_for(problem, renderer, system="short").tokens
        said = renderer.tokenizer.encode(answer(expression) + "<|im_end|>")
        tokens = [*asked, *said]
        weights = [0.0] * (len(asked) - 1) + [1.0] * len(said)
        data.append(
            tinker.Datum(
                model_input=tinker.ModelInput.from_ints(tokens[:-1]),
                loss_fn_inputs={
                    "target_tokens": tinker.TensorData.from_numpy(np.array(tokens[1:])),
                    "weights": tinker.TensorData.from_numpy(np.array(weights, np.float32)),
                },
            )
        )
    client = server.service.create_lora_training_client(STUDENT, rank=0, seed=0)
    for _ in range(300):
        loss = client.forward_backward(data, "cross_entropy").result().metrics["loss:sum"]
        rate = 1e-3 if loss > SURE * len(data) else 0.0  # 0: the last look's gradients go away
        client.optim_step(tinker.AdamParams(learning_rate=rate)).result()
        if not rate:
            break
    else:
        pytest.fail("the student does not learn these answers")
    return str(client.save_state("taught").result().path)


@pytest.fixture
def run_in(server: Connection, gates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunIn:
    """Train on the gates by the shared server; words are options."""
    monkeypatch.setenv("TINKER_API_KEY", server.api_key)

    def run(mode: Mode, *words: str) -> Path:
        where = [f"backend={server.base_url}", f"cvdp_jsonl_path={gates}", f"log_path={tmp_path / 'run'}"]
        small = ["batch_size=3", "group_size=2", "max_tokens=48", "max_steps=2", "eval_every=1", "split_seed=0"]
        small += ["grading_jobs=1"]  # a second warm box takes half a second of CPU to start
        small += ["preflight_problems=0"] if mode == "distill" else []
        config = parse(mode, ["preset=embedded", *where, *small, *words])
        return start(config, Console(file=io.StringIO()))

    return run
