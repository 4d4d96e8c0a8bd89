"""The real model's jobs go on where they were stopped, and its page says what was measured and nothing else."""

import importlib.util
import json
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from rtl_agent.backends.adapters import WEIGHTS, find_adapter
from rtl_agent.backends.engine.contract import Lora
from rtl_agent.backends.models import registry
from rtl_agent.backends.server.checkpoint_store import CheckpointStore, StoredRun, address
from rtl_agent.runs import Checkpoint, RunWriter

SCRIPTS = Path(__file__).parents[2] / "scripts"


def _load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.delenv("RTL_AGENT_CVDP", raising=False)
    module = _load("real_model")
    monkeypatch.setattr(module, "RESULTS", tmp_path / "results")
    return module


@pytest.fixture
def page(jobs: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = _load("real_model_page")
    monkeypatch.setattr(module, "PAGE", tmp_path / "page.md")
    names = ("passes", "stages", "mistakes", "families", "costs", "answers")
    module.PAGE.write_text("".join(f"{name}:\n<!-- {name} -->\nold\n<!-- end of {name} -->\n" for name in names))
    return module


def evaluation(passed: int, samples: int, family: str = "generated_gray") -> dict[str, Any]:
    share = passed / samples
    at = {"k": 1, "unbiased": share, "cvdp": share, "low": 0.25, "high": 0.5, "problems": samples}
    rates = {"format_valid": 1.0, "interface_valid": 0.5, "syntax_valid": 0.5, "tests_passed": share}
    summary = {"problems": samples, "samples": samples, "passed": passed, "pass_at": [at], "rates": rates}
    return {
        "summary": {**summary, "reward": 0.4, "cut_off": 0},
        "by": {"family": {family: {"passed": passed, "samples": samples}}},
        "mistakes": {"reset": samples - passed},
    }


def keep(jobs: ModuleType, name: str, found: object) -> None:
    jobs.RESULTS.mkdir(exist_ok=True)
    (jobs.RESULTS / f"{name}.json").write_text(json.dumps(found))


def test_a_job_that_left_its_result_is_not_run_again(
    jobs: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started: list[str] = []

    def pretend(job: Any, until: float) -> bool:
        started.append(job.name)
        return len(started) != 3  # stopped in the third

    monkeypatch.setattr(jobs, "run", pretend)
    monkeypatch.setattr(jobs, "keep", lambda job: keep(jobs, job.result.stem, {}))
    (tmp_path / "runs").mkdir()
    words = ["run", "--out", str(tmp_path / "runs")]
    assert jobs.main(words) == 0
    assert started == ["fetch", "before-trained", "before-new"]
    assert jobs.main([*words, "--only", "before-*"]) == 0
    assert started[3:] == ["before-new", "before-bundled", "before-trained-8", "before-new-8"]


def test_without_cvdps_files_their_jobs_are_left_out_and_it_is_said(
    jobs: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert jobs.main(["list"]) == 0
    assert "before-cvdp: left out, RTL_AGENT_CVDP does not name the folder" in capsys.readouterr().out


def test_a_short_try_leaves_the_documents_alone(jobs: ModuleType, tmp_path: Path) -> None:
    place = jobs.Place(tmp_path / "short", tmp_path / "short" / "results", 2)
    every = list(place.jobs())
    assert all(tmp_path / "short" in job.result.parents for job in every)
    training = next(job for job in every if job.name == "train-both")
    assert "max_steps=2" in training.command
    assert training.command.count("batch_size=1") == 1


def test_a_stopped_job_ends_in_order(jobs: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A real process: it is interrupted as Ctrl-C would, and has time to save."""
    ready, saved = tmp_path / "ready", tmp_path / "saved"
    code = (
        f"import time\ntry:\n  open({str(ready)!r}, 'w').close()\n  time.sleep(60)\n"
        f"except KeyboardInterrupt:\n  open({str(saved)!r}, 'w').close()"
    )
    start = subprocess.Popen

    def started(words: list[str]) -> "subprocess.Popen[bytes]":
        process = start([sys.executable, "-c", code])
        while not ready.exists():
            time.sleep(0.01)
        return process

    monkeypatch.setattr(jobs.subprocess, "Popen", started)
    # As where it was started in the background of a script: such a process ignores Ctrl-C, and so would its children.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        job = jobs.Job("train-self", ("train",), tmp_path / "result.json")
        assert jobs.run(job, jobs.time.monotonic() + 0.1) is False
    finally:
        signal.signal(signal.SIGINT, before)
    assert saved.exists()


def test_the_curve_has_what_each_step_cost(jobs: ModuleType, tmp_path: Path) -> None:
    line = {"env/all/reward/total": 0.3, "teacher_kl": 0.1, "time/total": 4.0, "time/cpu": 6.0}
    line |= {"env/all/total_episodes": 8.0, "cost/tokens_trained_on": 900.0, "loss/imitation": 70.0}
    (tmp_path / "metrics.jsonl").write_text(json.dumps(line) + "\n")
    assert jobs.curve(tmp_path)["curve"] == [
        {"step": 1, "reward": 0.3, "passed": None, "teacher_kl": 0.1, "seconds": 4.0, "cpu": 6.0, "answers": 8.0}
        | {"tokens": 0, "trained": 900.0, "loss": 70.0}
    ]


def test_the_page_has_what_was_measured_and_says_what_was_not(jobs: ModuleType, page: ModuleType) -> None:
    keep(jobs, "before-trained", evaluation(4, 72))
    keep(jobs, "before-new", evaluation(1, 32))
    keep(jobs, "self-trained", evaluation(36, 72))
    point = {"step": 1, "reward": 0.3, "passed": 0.0, "teacher_kl": 0.1, "seconds": 3600, "cpu": 7200}
    keep(jobs, "train-self", {"curve": [{**point, "answers": 8, "tokens": 1500, "trained": 4000}]})
    assert page.main() == 0
    text = page.PAGE.read_text()
    assert "\nold\n" not in text
    assert "| set | problems | before | self |" in text
    assert "| 72 | 5.6 % (25 to 50) | 50.0 % (25 to 50) |" in text
    assert "| 32 | 3.1 % (25 to 50) | - |" in text
    assert "| gray | trained | 4 of 72 | 36 of 72 |" in text
    assert "| self: itself, told the reference | 1 | 8 | 1,500 | 4,000 | 2.00 | 1.00 |" in text
    assert "Not yet evaluated on both sides." in text
    assert (jobs.RESULTS / "curves.png").stat().st_size > 1000


def test_what_a_model_wrote_stays_inside_its_block(jobs: ModuleType, page: ModuleType) -> None:
    told = {"asked": "Write it.\n# not a heading", "outcome": "failed", "reason": "1 of 1 failed"}
    for who in ("before", "self"):
        keep(jobs, f"{who}-trained", evaluation(1, 2))
        keep(jobs, f"{who}-answers", {"one": {**told, "text": "```verilog\nmodule a;\nendmodule\n```\n# heading"}})
    assert page.main() == 0
    block = page.PAGE.read_text().split("<!-- answers -->")[1]
    assert "> # not a heading" in block
    assert block.count("```") == 4
    assert block.index("# heading") < block.rindex("```")


def test_a_shipped_adapter_is_half_as_large_and_stands_in_for_the_run_that_is_gone(
    jobs: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "runs" / "self"
    lora = Lora(rank=2)
    value = torch.linspace(-1, 1, 64).view(2, 32)

    def saved(folder: Path) -> None:
        folder.mkdir()
        save_file({"base_model.model.q.lora_A.weight": value}, folder / WEIGHTS)
        (folder / "adapter_config.json").write_text('{"r": 2}')
        (folder / "checkpoint.json").write_text(json.dumps({"base": jobs.MODEL, "lora": asdict(lora), "format": 1}))

    where = address("one", "sampler_weights", "000003")
    record = StoredRun("one", jobs.MODEL, lora, None, "")
    with RunWriter.create(run, {"mode": "distill"}, if_exists="raise") as writer:
        CheckpointStore(run / "checkpoints").write(record, where, saved)
        writer.add_checkpoint(Checkpoint("000003", 3, "tinker://one/weights/000003", where.path))
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    monkeypatch.setattr(registry, "SHIPPED", shipped)
    keep(jobs, "train-self", {"curve": []})
    place = jobs.Place(tmp_path / "runs", jobs.RESULTS)
    assert place._taught("self", run) == str(run)
    assert jobs.main(["ship", "self", "--out", str(place.runs)]) == 0
    folder = shipped / jobs.ADAPTER.partition("/")[2]
    (kept,) = load_file(folder / WEIGHTS).values()
    assert kept.dtype == torch.bfloat16
    assert torch.equal(kept, value.bfloat16())
    found = find_adapter(str(folder))
    assert found is not None
    assert (found.base, found.lora) == (jobs.MODEL, lora)
    shutil.rmtree(run)
    assert place._taught("self", run) == jobs.ADAPTER
    assert place._taught("reward", run.with_name("reward")) == str(run.with_name("reward"))
