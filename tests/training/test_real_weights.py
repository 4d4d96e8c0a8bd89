"""A real model learns from another real one with another tokenizer. It downloads 1.2 GB if they are not there."""

from pathlib import Path
from statistics import mean

import pytest

from rtl_agent.backends.models.fetch import fetch
from rtl_agent.backends.models.pins import FETCHABLE
from rtl_agent.training import configure, train

STEPS = 10
SETTINGS = {
    "cvdp_jsonl_path": "generated",
    "problems": "generated_counter,generated_mux,generated_gray",
    "system": "short",
    "max_tokens": 64,
    "batch_size": 8,
    "group_size": 1,
    "kl_penalty_coef": 0.0,
    "forward_kl_coef": 1.0,
    "reward_coef": 0.0,
    "learning_rate": 1e-3,
    "grad_clip_norm": 1.0,
    "lora_rank": 8,
    "preflight_problems": 0,
    "eval_every": 0,
    "save_every": 0,
    "max_steps": STEPS,
}


@pytest.mark.slow
def test_smollm2_learns_from_qwen_by_the_text_that_they_share(tmp_path: Path) -> None:
    student, teacher = (FETCHABLE[name] for name in ("smollm2-135m-instruct", "qwen2.5-coder-1.5b-instruct"))
    for one in (student, teacher):
        fetch(one)
    run = configure(
        "distill", model_name=student.name, teacher_model=teacher.name, log_path=str(tmp_path / "run"), **SETTINGS
    )
    lines = train(run).record.metrics
    per_byte = [line["teacher_kl_per_byte"] for line in lines]
    print(" ".join(f"{one:.3f}" for one in per_byte))
    assert len(per_byte) == STEPS
    assert min(line["align/content"] for line in lines) > 0.9
    assert mean(per_byte[-3:]) < 0.8 * mean(per_byte[:3])
