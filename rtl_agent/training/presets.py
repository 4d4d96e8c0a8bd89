"""Sets of options by name, and the rule by which one is chosen.

A preset is chosen by its name (`preset=demo`), or else by the student: the small models that come with the package
take `small`, every other model takes `none`. Nothing else chooses one, the backend least of all.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rtl_agent.registry import did_you_mean
from rtl_agent.training.errors import BadConfig

OWN_MODELS = "rtl-agent/"
FORMER_NAMES = {"embedded": "small"}


@dataclass(frozen=True)
class Preset:
    """`options` by their flat names; a mode leaves out those that it does not have."""

    about: str
    options: Mapping[str, object] = field(default_factory=dict)


_SMALL: Mapping[str, object] = {
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
    "entropy_topk": 16,
    "split_seed": 6,  # by seed 0 no family of the bundled single-shot problems is held out
}
_DEMO: Mapping[str, object] = {
    **_SMALL,
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
}
# The student, which knows calls that write, learns from the agent to read the specification by one: a first turn.
_CALLS: Mapping[str, object] = {
    **_SMALL,
    "env": "agentic",
    "cvdp_jsonl_path": "generated-workspaces",
    "teacher": "rtl-agent/agent",
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
}
_RECOMMENDED: Mapping[str, object] = {
    "max_steps": 100,
    "group_size": 4,
    "kl_penalty_coef": 0.5,
    "reward": "graded",
    "eval_every": 10,
    "max_tokens": 8192,
    "system": "spec-aware",
}
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
_QWEN3_8B: Mapping[str, object] = {
    "student": "Qwen/Qwen3-8B",
    "teacher": "Qwen/Qwen3-30B-A3B",
    "renderer_name": "qwen3",
}
_QWEN3_30B: Mapping[str, object] = {
    "student": "Qwen/Qwen3-30B-A3B-Instruct-2507",
    "teacher": "Qwen/Qwen3-235B-A22B-Instruct-2507",
    "renderer_name": "qwen3_instruct",
}

PRESETS: Mapping[str, Preset] = {
    "none": Preset("the defaults of the options alone"),
    "small": Preset("small models on generated problems: all weights, short prompts and answers", _SMALL),
    "demo": Preset("`make demo`: as long as a quarter of an hour on two cores allows", _DEMO),
    "calls": Preset("a small student learns from a small agent to read the specification by a tool call", _CALLS),
    "recommended": Preset(
        "large models: what the two seed experiments (docs/training.md) suggested next", _RECOMMENDED
    ),
    "seed-exp-1": Preset("the first seed experiment as it was run: one problem, one step", {**_SEED, **_QWEN3_8B}),
    "seed-exp-2": Preset("the second seed experiment as it was run", {**_SEED, **_QWEN3_30B}),
}


def preset_named(name: str) -> str:
    """The name of a preset, today's for a former one."""
    name = FORMER_NAMES.get(name, name)
    if name not in PRESETS:
        raise BadConfig(f"preset={name}: choose from {', '.join(PRESETS)}{did_you_mean(name, PRESETS)}")
    return name


def preset_for(student: str) -> str:
    """The preset of a run that names none."""
    return "small" if student.startswith(OWN_MODELS) else "none"
