"""What a run keeps of its steps, as the viewer shows it: advantages, the teacher's word, references, commands."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rtl_agent.cli.view import decode
from rtl_agent.runs.directory import rollout_files
from rtl_agent.runs.files import read_lines
from rtl_agent.runs.index import index_path, open_regular, read_index, read_rows
from rtl_agent.view import Library
from tests.training.conftest import GATES, SECOND_TEACHER, RunIn, design

PLAIN = ("kl_penalty_coef=0.5", "prefix_trust=0", "reward_weighted=false", "kl_discount_factor=0")


def shown(path: Path) -> list[dict[str, Any]]:
    library = Library([path], decode)
    of = library.opened(path.name)
    return [library.rollout(of, row, seconds=60) for row in range(len(of.table.rows))]


def rollouts(path: Path, kind: str = "step") -> list[dict[str, Any]]:
    return [one for one in shown(path) if one["kind"] == kind]


def test_what_a_step_kept_is_shown_and_its_commands_work(run_in: RunIn, taught: str, tmp_path: Path) -> None:
    path = run_in("distill", f"load_checkpoint_path={taught}", "forward_kl_coef=0.5", *PLAIN)
    for file in rollout_files(path):
        with open_regular(file.path) as lines:
            assert read_index(index_path(file.path)) == read_rows(lines, file.kind, file.step)
    steps = rollouts(path)
    assert len(steps) == 12
    for one in steps:
        of = one["tokens"]
        same = [other for other in steps if all(other[name] == one[name] for name in ("step", "problem_id"))]
        centred = one["reward"] - sum(other["reward"] for other in same) / len(same)
        assert of["advantage"] == pytest.approx([centred - 0.5 * kl for kl in of["kl"]], abs=1e-4)
        assert "".join(of["text"]).startswith(one["text"][:10])
        for place, likeliest in enumerate(of["top"]):
            assert (likeliest is None) == (of["teacher"][place] > -0.0513)
            assert likeliest is None or likeliest == sorted(likeliest, key=lambda pair: -pair[1])[:5]
        assert (one["category"], one["difficulty"]) == ("cid003", "easy")
        assert one["reference"] == {"rtl/gate.sv": design(GATES[one["problem_id"].split("_")[1]])}
    (last, *_) = rollouts(path, "eval")
    assert last["before"]["step"] == 0
    assert last["after"]["step"] == 2
    grade = next(command["command"] for command in steps[0]["commands"] if " grade " in command["command"])
    done = pasted(f"{grade} --json", tmp_path)
    (graded,) = json.loads(done.stdout)
    assert [graded[name] for name in ("outcome", "seed")] == [steps[0]["grade"][name] for name in ("outcome", "seed")]
    assert graded["reward"]["total"] == steps[0]["reward"]


def pasted(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """By a shell that finds this package's `rtl-agent`."""
    program = folder / "bin" / "rtl-agent"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m rtl_agent.cli.main "$@"\n')
    program.chmod(0o755)
    paths = {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return subprocess.run(
        ["sh", "-c", command], cwd=folder, env={**os.environ, **paths}, capture_output=True, text=True
    )


def test_a_teacher_with_other_tokens_judges_chunks(run_in: RunIn, taught: str) -> None:
    words = (f"teacher={SECOND_TEACHER}", "max_steps=1", "eval_every=0", "min_aligned=0")
    for one in rollouts(run_in("distill", f"load_checkpoint_path={taught}", *words)):
        chunk = one["tokens"]["chunk"]
        assert len(chunk) == len(one["tokens"]["text"])
        assert all(chunk[first] == first for first in chunk)


def test_of_a_run_by_reward_alone_every_token_has_the_rollouts_advantage(run_in: RunIn, taught: str) -> None:
    path = run_in("rl", f"load_checkpoint_path={taught}", "max_steps=1", "eval_every=0", "env=refine", "rounds=1")
    steps = rollouts(path)
    for one in steps:
        assert one["turns"]
        assert len(set(one["tokens"]["advantage"])) == 1
        assert one["tokens"]["teacher"] is None
    strip(path)
    assert [one["tokens"]["advantage"] for one in rollouts(path)] == [
        pytest.approx(one["tokens"]["advantage"]) for one in steps
    ], "runs of before did not keep it, and it is derived"


def strip(path: Path) -> None:
    for file in rollout_files(path):
        kept = list(read_lines(file.path))
        for one in kept:
            del one["advantages"]
        file.path.write_text("".join(json.dumps(one) + "\n" for one in kept))
