"""Sets of options by name."""

from collections.abc import Mapping

_SEED: Mapping[str, object] = {
    "backend": "tinker",
    "limit": 1,
    "batch_size": 1,
    "group_size": 1,
    "max_steps": 1,
    "learning_rate": 1e-4,
    "kl_penalty_coef": 1.0,
    "kl_discount_factor": 0.0,
    "lora_rank": 32,
    "max_tokens": 4096,
    "loss_fn": "importance_sampling",
    "num_substeps": 1,
    "compute_post_kl": False,
    "timeout_seconds": 300.0,
    "heldout": False,
    "eval_every": 5,
    "save_every": 5,
}

# Everything on this machine's CPU: small models, all weights, short questions and answers.
_EMBEDDED: Mapping[str, object] = {
    "backend": "embedded",
    "cvdp_jsonl_path": "generated",
    "generated_problems": 200,
    "eval_problems": 24,
    "system": "short",
    "lora_rank": 0,
    "max_tokens": 256,
    "learning_rate": 3e-4,
    # What measures best (docs/comparison.md).
    "kl_penalty_coef": 0.1,
    "forward_kl_coef": 1.0,
    "prefix_trust": 0.5,
    "one_pass": True,
    "grad_clip_norm": 1.0,
    "max_steps": 20,
    "split_seed": 6,  # by seed 0 no family of the bundled single-shot problems is held out
}

PRESETS: Mapping[str, Mapping[str, object]] = {
    "none": {},
    "embedded": _EMBEDDED,
    # `make demo`: as long as a quarter of an hour on two cores allows.
    "demo": {
        **_EMBEDDED,
        "generated_problems": 3840,
        "emphasis": "alu*4,mux*3,comparator*2,sequence_detector*2",  # what it reads worst
        # The student is nearly sure of what it writes: two answers to one problem were the same answer. Without a
        # second one the reward has nothing to be compared with, and is measured only.
        "batch_size": 16,
        "group_size": 1,
        "reward_coef": 0.0,
        "max_steps": 240,
        # None to speak of: norms are 30 to 500, and clipped to 1 a batch without a mistake counts as much as one full
        # of them.
        "grad_clip_norm": 1000.0,
        "learning_rate": 6e-4,
        "lr_schedule": "linear",
        "eval_every": 40,
        "eval_problems": 36,
        "eval_teacher": True,
        "exam_problems": 180,
        "save_every": 40,
    },
    # The student, which knows calls that write, learns from the agent to read the specification by one: a first turn.
    "calls": {
        **_EMBEDDED,
        "env": "agentic",
        "cvdp_jsonl_path": "generated-workspaces",
        "teacher_model": "rtl-agent/agent",
        "generated_problems": 1280,
        "batch_size": 8,
        "group_size": 1,
        "max_turns": 1,
        "max_tokens": 64,
        "max_steps": 160,
        "learning_rate": 2e-3,
        "lr_schedule": "linear",
        "grad_clip_norm": 1000.0,
        "reward_coef": 0.0,
        "kl_penalty_coef": 0.0,
        "eval_every": 40,
        "eval_problems": 12,
        "save_every": 40,
    },
    # What the seed experiments asked for next.
    "recommended": {
        "max_steps": 100,
        "group_size": 4,
        "kl_penalty_coef": 0.5,
        "reward": "graded",
        "eval_every": 10,
        "max_tokens": 8192,
        "system": "spec-aware",
    },
    # As they were run: one problem, one step, one rollout.
    "seed-exp-1": {
        **_SEED,
        "student_model": "Qwen/Qwen3-8B",
        "teacher_model": "Qwen/Qwen3-30B-A3B",
        "renderer_name": "qwen3",
    },
    "seed-exp-2": {
        **_SEED,
        "student_model": "Qwen/Qwen3-30B-A3B-Instruct-2507",
        "teacher_model": "Qwen/Qwen3-235B-A22B-Instruct-2507",
        "renderer_name": "qwen3_instruct",
    },
}
