"""Every option of a run, with the names that the seed experiments and tinker-cookbook's users know."""

from dataclasses import replace
from typing import Any, Literal

import chz

from rtl_agent.grading import DEFAULT_EXTRACTION, RewardWeights
from rtl_agent.grading import PRESETS as REWARDS
from rtl_agent.training.errors import BadConfig

STUDENT, TEACHER = "rtl-agent/student", "rtl-agent/teacher"
LossFn = Literal["importance_sampling", "ppo", "cispo", "dro"]
IfExists = Literal["delete", "resume", "ask", "raise"]
NoSignal = Literal["keep", "drop", "resample"]
Env = Literal["single", "refine", "agentic"]
Level = Literal["spec", "own-tests", "feedback", "open"]  # the last is refused by `check`, with a cause
Counted = Literal["best", "last"]
HowRead = Literal["forgiving", "cvdp"]  # the values of Extraction
Schedule = Literal["constant", "linear", "cosine"]


@chz.chz
class Config:
    """Options of both modes."""

    # where
    backend: str = chz.field(default="embedded", doc="embedded, tinker (the cloud), or http://host:port")
    log_path: str = chz.field(default="", doc="the run directory; empty: runs/<mode>-<student>-<date>")
    behavior_if_log_dir_exists: IfExists = chz.field(default="ask", doc="delete, resume, ask or raise")

    # what is learned from
    cvdp_jsonl_path: str = chz.field(
        default="bundled", doc="a CVDP JSONL file or folder, `bundled`, `generated` or `generated-workspaces`"
    )
    problems: str = chz.field(default="", doc="only these problem ids, families or globs, separated by commas")
    generated_problems: int = chz.field(default=800, doc="how many problems `generated` draws")
    emphasis: str = chz.field(default="", doc="families that `generated` draws more often to learn from: alu*4,mux*2")
    limit: int = chz.field(default=0, doc="only the first so many problems; 0 for all")
    system: str = chz.field(default="default", doc="the system message: default, spec-aware or short")
    heldout_fraction: float = chz.field(default=0.2, doc="share of families that is held out")
    split_seed: int = chz.field(default=0, doc="which families are held out")
    heldout: bool = chz.field(default=True, doc="keep the held-out families for evaluation; false trains on all")

    # the student
    renderer_name: str = chz.field(default="", doc="how messages become tokens; empty: by the model's name")
    load_checkpoint_path: str = chz.field(default="", doc="begin with these weights: a tinker:// path that was saved")
    lora_rank: int = chz.field(default=32, doc="rank of the trained adapter; 0 trains all weights (own server only)")
    max_tokens: int = chz.field(default=1024, doc="most tokens of an answer")
    max_prompt_tokens: int = chz.field(default=0, doc="context files are cut to fit; 0: the model's context decides")
    temperature: float = chz.field(default=1.0, doc="of sampling while training")

    # the episode
    env: Env = chz.field(default="single", doc="single (one answer), refine (told what was wrong) or agentic (a shell)")
    level: Level = chz.field(default="own-tests", doc="what an agent may know: spec, own-tests or feedback")
    extra_tools: bool = chz.field(default=False, doc="lint, simulate and submit beside the shell")
    max_turns: int = chz.field(default=50, doc="turns of an agentic episode")
    tries: int = chz.field(default=3, doc="submits of an agent that is told what failed (level=feedback)")
    rounds: int = chz.field(default=2, doc="answers after the first one (env=refine)")
    refine_reward: Counted = chz.field(default="last", doc="the round that earns the reward: best or last (env=refine)")
    episode_tokens: int = chz.field(default=0, doc="most tokens of a conversation; 0: the model's context")
    episode_seconds: float = chz.field(default=3600.0, doc="seconds that an agent's tools may take together")
    command_seconds: float = chz.field(default=60.0, doc="longest command of an agent")

    # a step
    batch_size: int = chz.field(default=8, doc="problems in a step")
    group_size: int = chz.field(default=4, doc="rollouts of each problem")
    learning_rate: float = chz.field(default=1e-4, doc="of Adam")
    lr_schedule: Schedule = chz.field(default="constant", doc="constant, linear or cosine, down to 0 at the end")
    warmup_steps: int = chz.field(default=0, doc="steps of rising learning rate")
    grad_clip_norm: float = chz.field(default=0.0, doc="longest gradient; 0: not clipped")
    loss_fn: LossFn = chz.field(default="importance_sampling", doc="importance_sampling, ppo, cispo or dro")
    one_pass: bool = chz.field(
        default=False, doc="all terms as one weighted cross-entropy: half the cost, on one's own server"
    )
    num_substeps: int = chz.field(default=1, doc="optimiser steps in a step")
    groups_without_signal: NoSignal = chz.field(
        default="keep", doc="groups that teach nothing: keep, drop, or resample other problems in their place"
    )
    compute_post_kl: bool = chz.field(default=False, doc="also measure how far each step moved the student")
    max_steps: int = chz.field(default=0, doc="steps in all; 0: as many as the epochs have")
    epochs: int = chz.field(default=1, doc="passes over the problems, unless max_steps says")
    seed: int = chz.field(default=0, doc="of data order, sampling and new weights")

    # the reward
    reward: str = chz.field(default="staged", doc=f"a preset: {', '.join(REWARDS)}; *_coef change single weights")
    format_coef: float | None = chz.field(default=None, doc="for an answer that is RTL in the right form")
    interface_coef: float | None = chz.field(default=None, doc="for the ports that the specification names")
    syntax_coef: float | None = chz.field(default=None, doc="for RTL that compiles")
    test_coef: float | None = chz.field(default=None, doc="for tests that pass; 0 skips the simulation")
    compile_coef: float = chz.field(default=0.0, doc="accepted for old command lines; compiling is the syntax stage")
    reward_coef: float = chz.field(default=1.0, doc="weight of the reward in the advantage; 0 only measures it")
    extraction: HowRead = chz.field(
        default=DEFAULT_EXTRACTION.value, doc="how a reply is read: forgiving, or cvdp (as its runner does)"
    )
    timeout_seconds: float = chz.field(default=60.0, doc="longest simulation of a service")
    grading_jobs: int = chz.field(default=0, doc="grades at a time; 0: one for each core")
    workspace_dir: str = chz.field(default="", doc="accepted for old command lines; boxes are in memory")
    oss_sim_image: str = chz.field(default="", doc="accepted for old command lines; there is no Docker sandbox yet")

    # looking
    eval_every: int = chz.field(default=10, doc="evaluate on held-out problems every so many steps; 0: never")
    eval_problems: int = chz.field(default=0, doc="at most so many held-out problems; 0 for all")
    eval_samples: int = chz.field(default=1, doc="answers to each held-out problem")
    eval_temperature: float = chz.field(default=0.0, doc="of sampling in evaluations; 0: the likeliest token")
    exam_problems: int = chz.field(default=0, doc="before and after, an exam of so many other problems (`generated`)")
    exam_seed: int = chz.field(default=91_000, doc="which problems the exam has; the same for every seed of a run")
    exam_of: str = chz.field(default="before,after,teacher", doc="who takes it")
    exam_samples: int = chz.field(default=1, doc="answers at temperature 1 to each problem of the exam")
    save_every: int = chz.field(default=5, doc="checkpoint every so many steps; 0: at the end only")
    wandb_project: str = chz.field(default="", doc="also log to this Weights & Biases project")
    trackio_project: str = chz.field(default="", doc="also log to this trackio project")

    @property
    def mode(self) -> str:
        raise NotImplementedError

    @property
    def student(self) -> str:
        raise NotImplementedError

    @property
    def teacher(self) -> str:
        """ "" without one."""
        return ""

    def weights(self) -> RewardWeights:
        """The preset, with single weights replaced."""
        if self.reward not in REWARDS:
            raise BadConfig(f"reward={self.reward}: choose from {', '.join(REWARDS)}")
        given: dict[str, Any] = {
            "format": self.format_coef,
            "interface": self.interface_coef,
            "syntax": self.syntax_coef,
            "tests": self.test_coef,
        }
        return replace(REWARDS[self.reward], **{name: value for name, value in given.items() if value is not None})


@chz.chz
class Distill(Config):
    """A student learns from a teacher's advice on its own tokens, and from the reward."""

    student_model: str = chz.field(default=STUDENT, doc="the model that learns")
    teacher_model: str = chz.field(default=TEACHER, doc="the model that advises")
    eval_teacher: bool = chz.field(default=False, doc="the teacher answers the held-out problems, too, once")
    kl_penalty_coef: float = chz.field(default=1.0, doc="weight of log p_student - log p_teacher in the advantage")
    kl_discount_factor: float = chz.field(default=0.0, doc="how much of later tokens' KL an earlier token bears")
    forward_kl_coef: float = chz.field(default=0.0, doc="weight of cross-entropy to the teacher's likeliest tokens")
    forward_kl_topk: int = chz.field(default=8, doc="how many of the teacher's likeliest tokens")
    prefix_trust: float = chz.field(
        default=0.0, doc="1: advice counts by how likely the teacher would have written the text so far; 0: all alike"
    )
    reward_weighted: bool = chz.field(default=False, doc="advice counts by the rollout's share of the full reward")

    @property
    def mode(self) -> str:
        return "distill"

    @property
    def student(self) -> str:
        return self.student_model

    @property
    def teacher(self) -> str:
        return self.teacher_model


@chz.chz
class RL(Config):
    """A student learns from the reward alone."""

    model_name: str = chz.field(default=STUDENT, doc="the model that learns")

    @property
    def mode(self) -> str:
        return "rl"

    @property
    def student(self) -> str:
        return self.model_name


@chz.chz
class Supervised(Config):
    """A student learns the references by heart, and never from what it writes itself: the control of a comparison."""

    model_name: str = chz.field(default=STUDENT, doc="the model that learns")

    @property
    def mode(self) -> str:
        return "supervised"

    @property
    def student(self) -> str:
        return self.model_name
