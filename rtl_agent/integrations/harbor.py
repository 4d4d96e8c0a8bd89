"""Harbor: a problem as a task directory, with a verifier of its own that holds the tests and the grader.

    instruction.md            what an agent is asked
    task.toml                 names, limits, and which directories are handed to the verifier
    environment/              the agent's image: the given files in /code, and tools for tests of its own
    tests/                    the verifier's image: the problem with its tests, and test.sh
    solution/                 the reference, where there is one

Harbor starts `tests/test.sh` in the verifier's container, where the agent never was, with what the agent left below
/code. It writes /logs/verifier/reward.json; a grade that is `error` writes none, and so the trial is an error, too.
"""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from rtl_agent.envs.episode_config import AGENTIC, EpisodeConfig, Level
from rtl_agent.envs.hosted import first_messages
from rtl_agent.grading import Grade, Outcome, StageName, SyncGrader, parse_weights, submit_directory
from rtl_agent.grading.cache_key import GRADING_VERSION
from rtl_agent.problems import Problem, as_record, load_problems, problem_digest
from rtl_agent.toolchain.pins import CVDP_PINS

SCHEMA = "1.4"
LEVELS = (Level.SPEC, Level.OWN_TESTS)
CODE, LOGS, PROBLEM = "/code", "/logs/verifier", "problem.jsonl"
REWARD, GRADE = "reward.json", "grade.json"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*")
_DIRECTORIES = "docs rtl verif rundir"


@dataclass(frozen=True)
class HarborOptions:
    """How tasks are written.

    Args:
        level: what an agent may know: spec, or own-tests, where its image has simulators.
        reward: what `reward` in reward.json is: a reward preset, with weights over it.
        system: the system message that the instruction begins with: default, spec-aware or short.
        agent_image: what the agent's image is made of.
        grader_image: what the verifier's image is made of: it has `rtl-agent` and its tools.
        agent_seconds: how long an agent may work.
        timeout_seconds: maximum seconds of each service of a harness.
    """

    level: Level = Level.OWN_TESTS
    reward: str = "binary"
    system: str = "default"
    agent_image: str = "debian:trixie-slim"
    grader_image: str = "rtl-agent:core"
    agent_seconds: float = 3600.0
    timeout_seconds: float = EpisodeConfig().timeout_seconds


def why_not(problem: Problem) -> str:
    """Why a problem cannot be a task; "" where it can. Harbor's names are narrower than ours."""
    return "" if _NAME.fullmatch(problem.id) else f"{problem.id!r} has characters that Harbor's names cannot have"


def task_files(problem: Problem, options: HarborOptions) -> Mapping[str, str]:
    """The files of a task directory. Nothing of the tests is outside of tests/, and nothing of the reference outside of
    solution/; no text of the problem is part of a script or a Dockerfile."""
    config = EpisodeConfig(kind=AGENTIC, level=options.level, system=options.system)
    asked = "\n\n".join(message.content for message in first_messages(problem, config))
    files = {
        "instruction.md": asked.rstrip() + "\n",
        "task.toml": _task_toml(problem, options),
        "environment/Dockerfile": _environment(problem, options),
        "environment/workspace/prompt.json": json.dumps({"prompt": problem.prompt}) + "\n",
        **{f"environment/workspace/{path}": text for path, text in problem.context.items()},
        "tests/Dockerfile": _VERIFIER.format(image=options.grader_image, problem=PROBLEM),
        "tests/test.sh": _test_sh(options),
        f"tests/{PROBLEM}": json.dumps(as_record(problem)) + "\n",
    }
    if problem.reference is not None:
        files["solution/solve.sh"] = _SOLVE
        files |= {f"solution/files/{path}": text for path, text in problem.reference.items()}
    return files


def _places(problem: Problem) -> tuple[list[str], list[str]]:
    """What of /code the verifier is given: the directories that targets are in, and targets that are in none."""
    directories = {target.partition("/")[0] for target in problem.targets if "/" in target}
    return sorted(directories), sorted(target for target in problem.targets if "/" not in target)


def _task_toml(problem: Problem, options: HarborOptions) -> str:
    directories, files = _places(problem)
    handed_over = [f"{CODE}/{place}" for place in (*directories, *files)]
    # So that a directory is there whatever an agent did: one that the verifier does not find was lost on its way.
    hook = shlex.join(["mkdir", "-p", CODE, *(f"{CODE}/{place}" for place in directories)])
    judging = len(problem.harness.services) * options.timeout_seconds
    about: dict[str, object] = {
        "category": problem.category,
        "difficulty": problem.difficulty,
        "family": problem.family,
        "level": options.level.value,
        "reward": options.reward,
        "problem_digest": problem_digest(problem),
        "grading_version": GRADING_VERSION,
    }
    sections: dict[str, dict[str, object]] = {
        "task": {"name": f"rtl-agent/{problem.id}", "description": f"RTL design: {problem.family}, {problem.category}"},
        "metadata": about,
        "agent": {"timeout_sec": options.agent_seconds},
        "environment": {"build_timeout_sec": 1800.0, "cpus": 2, "memory_mb": 4096, "storage_mb": 10240},
        "verifier": {"environment_mode": "separate", "timeout_sec": judging + 300.0},
        "verifier.environment": {
            "build_timeout_sec": 1800.0,
            "cpus": 2,
            "memory_mb": 4096,
            "network_mode": "no-network",
        },
    }
    lines = [f"schema_version = {_toml(SCHEMA)}", f"artifacts = {_toml(handed_over)}"]
    for name, values in sections.items():
        lines += ["", f"[{name}]", *(f"{key} = {_toml(value)}" for key, value in values.items())]
    lines += ["", "[[verifier.collect]]", f"command = {_toml(hook)}"]
    return "\n".join(lines) + "\n"


def _toml(value: object) -> str:
    """JSON is TOML for strings, numbers and lists of them; but TOML has no escapes for halves of a character."""
    return json.dumps(value, ensure_ascii=False)


def _environment(problem: Problem, options: HarborOptions) -> str:
    cocotb = problem.harness.cocotb_version.value
    tools = [] if options.level is Level.SPEC else [_TOOLS.format(cocotb=cocotb, pytest=CVDP_PINS["pytest"])]
    made = f"RUN mkdir -p {' '.join(f'{CODE}/{name}' for name in _DIRECTORIES.split())}"
    lines = [f"FROM {options.agent_image}", *tools, made, f"COPY workspace/ {CODE}/", f"WORKDIR {CODE}"]
    return "\n".join(lines) + "\n"


_TOOLS = """\
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \\
        iverilog verilator yosys python3-venv libpython3-dev g++ make ca-certificates && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /opt/cocotb && /opt/cocotb/bin/pip install --no-cache-dir cocotb=={cocotb} pytest=={pytest}
ENV PATH=/opt/cocotb/bin:$PATH"""
_VERIFIER = """\
# The tests and the grader. An agent never sees this image, nor a container of it.
FROM {image}
USER root
COPY test.sh {problem} /tests/
RUN chmod 755 /tests/test.sh && mkdir -p /logs/verifier /code
"""
_SOLVE = """\
#!/bin/sh
# The reference, for Harbor's oracle agent.
set -eu
cp -R "$(dirname "$0")/files/." "${RTL_AGENT_CODE:-/code}/"
"""


def _test_sh(options: HarborOptions) -> str:
    words = ["--reward", options.reward, "--timeout", str(options.timeout_seconds)]
    return f"""\
#!/bin/sh
# Judges what the agent left in /code by the problem beside this file. Without a reward file Harbor counts the trial as
# an error: that is meant, where rtl-agent could not judge.
set -u
logs=${{RTL_AGENT_LOGS:-{LOGS}}}
rm -f "$logs/{REWARD}"
exec rtl-agent export harbor-reward "$(dirname "$0")/{PROBLEM}" "${{RTL_AGENT_CODE:-{CODE}}}" "$logs" \\
    {shlex.join(words)}
"""


# in the verifier


class NotHandedOver(Exception):
    """What the agent left did not reach the verifier. The message says what is missing."""


def judge(problem_file: Path, code: Path, logs: Path, *, reward: str, timeout_seconds: float) -> Grade:
    """Grade a workspace, and write reward.json unless the grade is `error`; grade.json in any case, for people."""
    (problem,) = load_problems(f"files:{problem_file}")
    for place in _places(problem)[0]:
        if not (code / place).is_dir():
            raise NotHandedOver(f"{code / place} is not here: what the agent left was lost on its way to the verifier")
    with SyncGrader(weights=parse_weights(reward), jobs=1, timeout_seconds=timeout_seconds) as grader:
        grade = grader.grade(problem, submit_directory(problem, code))
    logs.mkdir(parents=True, exist_ok=True)
    (logs / GRADE).write_text(json.dumps(grade.to_json()))
    if grade.outcome is not Outcome.ERROR:
        # At once: half a file would be a reward that cannot be read.
        beside = logs / f".{REWARD}"
        beside.write_text(json.dumps(rewards(grade)))
        beside.replace(logs / REWARD)
    return grade


def rewards(grade: Grade) -> dict[str, float]:
    """`reward`, and what is right of each stage. Harbor takes finite numbers only: what was not judged is left out."""
    found = {"reward": grade.reward.total, "passed": float(grade.outcome is Outcome.PASSED)}
    for name in StageName:
        stage = grade.stage(name)
        if stage.passed is None and grade.outcome is not Outcome.INVALID:
            continue
        found[name.value] = stage.score if name is StageName.TESTS else float(bool(stage.passed))
    return found
