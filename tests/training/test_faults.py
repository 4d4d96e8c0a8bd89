"""What can go wrong: a sentence, an exit code, and what was done so far is kept."""

import io
import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from rich.console import Console

from rtl_agent.backends.connect import Connection
from rtl_agent.envs.env import ProblemGroupBuilder, live_grader
from rtl_agent.envs.rollout import Policy
from rtl_agent.grading import Grade, Grader
from rtl_agent.grading.executors import GradeJob, LocalExecutor
from rtl_agent.grading.job import error_grade
from rtl_agent.problems import load_problems
from rtl_agent.teachers import SAME_TOKENS, TEACHERS, TeacherSetup, TinkerScorer
from rtl_agent.training.advisor import Advisor
from rtl_agent.training.config import STUDENT, TEACHER
from rtl_agent.training.errors import BackendGone, BadConfig, LossNotFinite, TrainingError
from rtl_agent.training.objective import Objective, training_batch
from rtl_agent.training.parse import parse
from rtl_agent.training.readers import Verbatim
from rtl_agent.training.rollouts import play_group
from rtl_agent.training.start import start
from tests.training.conftest import RunIn

GROUP = 8


class NeverGrades(LocalExecutor):
    """A real executor on a machine where one problem always makes the sandbox fail."""

    async def run(self, job: GradeJob) -> Grade:
        if "xor" in job.problem.id:
            return error_grade(job, "the sandbox did not start")
        return await super().run(job)


async def test_a_group_that_cannot_be_graded_leaves_with_all_that_belongs_to_it(
    server: Connection, gates: Path, taught: str
) -> None:
    student = await server.service.create_training_client_from_state_async(taught)
    policy = Policy(await student.save_weights_and_get_sampling_client_async(), 48, 1.0, 7)
    client = await server.service.create_sampling_client_async(base_model=TEACHER)
    teacher = TEACHERS[SAME_TOKENS](TeacherSetup(TinkerScorer(client, TEACHER)))
    advisor = Advisor(lambda client: teacher, Verbatim())
    executor = NeverGrades(jobs=1, timeout_seconds=60)
    groups = []
    try:
        async with Grader(executor=executor, timeout_seconds=60) as grader:
            with live_grader(grader):
                for problem in load_problems(str(gates)):
                    builder = ProblemGroupBuilder(problem, GROUP, STUDENT, "rtl_agent")
                    groups.append(await play_group(builder, policy, advisor))
    finally:
        await executor.aclose()
    by_name = {group.problem.id: group for group in groups}
    lost = by_name["rtl_xor_gate_0001"]
    assert any("the sandbox did not start" in why for why in lost.lost)
    assert len(lost.rollouts) + len(lost.lost) == GROUP
    for name, group in by_name.items():
        for rollout in group.rollouts:  # prompt, tokens, advice and record are of one problem and one length
            assert rollout.episode.problem_id == name
            prompt, sampled = rollout.episode.prompt_tokens, rollout.episode.sampled_tokens
            assert len(rollout.advice[0].logprobs) == len(prompt) + len(sampled)
            assert tuple(rollout.trajectory.transitions[0].ac.tokens) == sampled
        assert len(training_batch(group, Objective(kl_penalty_coef=1.0)).policy) == len(group.rollouts)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["cvdp_jsonl_path=absent.jsonl"], "absent.jsonl does not exist"),
        (["problems=no_such_*"], "no_such"),
        (["model_name=rtl-agent/giant"], "rtl-agent/giant"),
        (["max_prompt_tokens=20"], "longer than 20 tokens"),
        (["max_tokens=4096"], "4096"),
        (["renderer_name=morse"], "morse"),
        (["heldout_fraction=1"], "heldout=false"),
    ],
)
def test_bad_input_is_said(run_in: RunIn, words: list[str], said: str) -> None:
    with pytest.raises(TrainingError, match=said) as failure:
        run_in("rl", *words)
    assert failure.value.exit_code == 2


def test_an_empty_file_is_said(run_in: RunIn, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    with pytest.raises(BadConfig, match="empty"):
        run_in("rl", f"cvdp_jsonl_path={tmp_path / 'empty.jsonl'}")


def test_without_a_key_the_cloud_says_what_to_do(gates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TINKER_API_KEY", raising=False)
    config = parse("rl", ["preset=seed-exp-1", f"cvdp_jsonl_path={gates}", f"log_path={tmp_path / 'run'}"])
    with pytest.raises(BadConfig, match="TINKER_API_KEY"):
        start(config, Console(file=io.StringIO()))


def test_a_loss_that_is_no_number_ends_the_run_and_keeps_what_was_done(run_in: RunIn, tmp_path: Path) -> None:
    with pytest.raises(LossNotFinite, match="lower learning_rate") as failure:
        run_in("distill", "learning_rate=1e30", "grad_clip_norm=0", "max_steps=4", "eval_every=0", "save_every=1")
    assert failure.value.exit_code == 4
    assert (tmp_path / "run" / "metrics.jsonl").read_text().count("\n") >= 1


def test_a_server_that_dies_is_said_and_the_run_goes_on_afterwards(gates: Path, tmp_path: Path) -> None:
    words = [f"cvdp_jsonl_path={gates}", f"log_path={tmp_path / 'run'}", "batch_size=2", "group_size=2"]
    words += ["max_tokens=12", "max_steps=3", "save_every=1", "eval_every=0"]
    config = parse("distill", words)
    metrics = tmp_path / "run" / "metrics.jsonl"

    def kill_the_server() -> None:
        while not metrics.exists() or not metrics.read_text():
            time.sleep(0.05)
        os.kill(server_of(os.getpid(), tmp_path / "run"), signal.SIGKILL)

    killer = threading.Thread(target=kill_the_server, daemon=True)
    killer.start()
    with pytest.raises(BackendGone, match="resume"):
        start(config, Console(file=io.StringIO()))
    killer.join()
    again = parse("distill", [*words, "behavior_if_log_dir_exists=resume"])
    start(again, Console(file=io.StringIO()))
    assert [json.loads(line)["step"] for line in metrics.read_text().splitlines()] == [0, 1, 2]


def server_of(owner: int, state: Path) -> int:
    """The embedded server's process: a child of this one that has the run's directory open for its log."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((process / "stat").read_text().rpartition(")")[2].split()[1])
            files = [str(fd.readlink()) for fd in (process / "fd").iterdir()]
        except (OSError, IndexError, ValueError):
            continue
        if parent == owner and any(str(state / "checkpoints") in file for file in files):
            return int(process.name)
    raise AssertionError("no server was found")
