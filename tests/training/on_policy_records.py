"""What the loop recorded before it could sample ahead: with max_steps_off_policy=0 it must record the same.

on_policy_records.json is of version bdab3c9. To write it anew, after a change that is meant to change what is sampled
or learned: train with `OPTIONS[name]` and `log_path=FOLDER/name` for each name, then

    python -m tests.training.on_policy_records FOLDER
"""

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from rtl_agent.runs.directory import rollout_files
from rtl_agent.runs.files import read_lines

KEPT = Path(__file__).with_name("on_policy_records.json")
_SMALL = [
    "cvdp_jsonl_path=generated", "generated_problems=12", "batch_size=3", "group_size=2", "max_tokens=96",
    "max_steps=3", "eval_every=2", "eval_problems=2", "save_every=1", "learning_rate=3e-4", "seed=3",
]  # fmt: skip
OPTIONS: dict[str, list[str]] = {
    "distill": ["distill", *_SMALL, "preflight_problems=0"],
    "rl": ["rl", *_SMALL, "groups_without_signal=resample", "num_substeps=2", "loss_fn=ppo"],
    "agentic": [
        "distill", "env=agentic", "cvdp_jsonl_path=generated-workspaces", "model_name=rtl-agent/agent",
        "teacher_model=rtl-agent/agent", "generated_problems=6", "batch_size=2", "group_size=2", "max_turns=2",
        "max_tokens=48", "max_steps=2", "eval_every=0", "save_every=1", "preflight_problems=0", "seed=3",
    ],
}  # fmt: skip
# Times, what follows from them, and where grades came from.
UNEQUAL = ("time/", "throughput/", "cost/", "grading/cache_hits", "grading/judged", "grading/shared")


def processor() -> str:
    """Floats are the same to the bit on one kind of processor only."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")


def recorded(run: Path) -> dict[str, Any]:
    """Metrics as they are, and of each episode what was sampled, by whom it was judged how, and what was learned."""
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    metrics = [{name: value for name, value in line.items() if not name.startswith(UNEQUAL)} for line in lines]
    episodes = {
        file.path.name.removesuffix(".gz"): [_episode(one) for one in read_lines(file.path)]
        for file in rollout_files(run)
    }
    return {"metrics": metrics, "episodes": episodes}


def _episode(one: dict[str, Any]) -> list[Any]:
    learned = [one.get(name) for name in ("sampled_logprobs", "teacher_logprobs", "advantages")]
    return [one["problem_id"], one.get("reward"), _digest(one.get("sampled_tokens")), _digest(learned)]


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()[:12]


if __name__ == "__main__":
    runs = {name: recorded(Path(sys.argv[1]) / name) for name in OPTIONS}
    KEPT.write_text(json.dumps({"processor": processor(), "runs": runs}) + "\n")
