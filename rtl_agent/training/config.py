"""Every option of a run, in groups. The names are those of the seed experiments and of tinker-cookbook.

    Config(mode="rl", model=ModelConfig(student="Qwen/Qwen3-8B", backend="tinker"), optim=OptimConfig(max_steps=100))

Plain frozen dataclasses whose fields carry their own help, bounds and resume policy (`rtl_agent.options`): no library
is needed to read them, and the group of the episode is the very one that `eval` and `play` use. On a command line an
option can be written with its group or without: `objective.kl_penalty_coef=0.5` and `kl_penalty_coef=0.5` are the same.
"""

from dataclasses import dataclass, fields
from math import isfinite
from typing import Any, Literal, get_args

from rtl_agent.envs.episode_config import SINGLE, EpisodeConfig
from rtl_agent.grading.executors import EXECUTORS, GRADE_SERVER, is_executor
from rtl_agent.grading.reward import PRESETS as REWARDS
from rtl_agent.options import BadOption, NamedOption, check_options, named_options, option
from rtl_agent.prompts import system_names
from rtl_agent.training.cost import BudgetConfig
from rtl_agent.training.curriculum_options import CurriculumConfig, check_curriculum
from rtl_agent.training.grading_options import GradingConfig
from rtl_agent.training.overlap_options import OverlapConfig
from rtl_agent.training.teacher_options import SELF, TeacherSpec, check_teachers, teacher_specs

STUDENT, TEACHER = "rtl-agent/student", "rtl-agent/teacher"
Mode = Literal["distill", "rl", "supervised"]
LossFn = Literal["importance_sampling", "ppo", "cispo", "dro"]
IfExists = Literal["delete", "resume", "ask", "raise"]
NoSignal = Literal["keep", "drop", "resample"]
Credit = Literal["covering", "chunk", "share"]
Sees = Literal["reference", "feedback", "spec-aware"]
SelfWeights = Literal["current", "start"]
Thinking = Literal["hidden", "shown", "scored"]
Schedule = Literal["constant", "linear", "cosine"]

MODES: dict[Mode, str] = {
    "distill": "A student learns from a teacher's advice on its own tokens, and from the reward.",
    "rl": "A student learns from the reward alone.",
    "supervised": "A student learns the problems' reference solutions: the control of a comparison.",
}
DISTILL = ("distill",)


@dataclass(frozen=True)
class DataConfig:
    """The problems to learn from, and those held out."""

    source: str = option(
        "bundled",
        "`bundled`, a CVDP JSONL file, a folder of problems, `generated`, or `generated-workspaces`",
        alias="cvdp_jsonl_path",
    )
    problems: str = option("", "only these problem ids, families or globs, separated by commas")
    generated_problems: int = option(800, "number of problems that `generated` draws", at_least=1)
    emphasis: str = option("", "families that `generated` draws more often for training: alu*4,mux*2")
    limit: int = option(0, "train on the first N problems only; 0: all", at_least=0)
    heldout: bool = option(True, "keep the held-out families for evaluation; false trains on all of them")
    heldout_fraction: float = option(0.2, "fraction of the families that is held out", at_least=0, at_most=1)
    split_seed: int = option(0, "seed of the split into training and held-out families")
    trust: str = option("", "only problems whose tests have this grade of an audit or a better one: A to F; empty: all")
    trust_table: str = option("", "your own audits beside the shipped ones: the folder of `problems audit --out`")


@dataclass(frozen=True)
class ModelConfig:
    """The models, where they run, and how the student is sampled."""

    student: str = option(STUDENT, "the model that is trained", also=("student_model", "model_name"))
    teacher: str = option(
        TEACHER,
        "the model that advises it; several are separated by commas (see teacher_for); `self`: the student, told more",
        also=("teacher_model",),
        modes=DISTILL,
    )
    teacher_sees: Sees = option(
        "reference",
        "what teacher_model=self is told: the reference solution, feedback on its answer, or a system message "
        "that insists on the specification (spec-aware)",
        choices=get_args(Sees),
        modes=DISTILL,
    )
    teacher_weights: SelfWeights = option(
        "current",
        "whose weights teacher_model=self has: the student's current ones, or those that it started from (start)",
        choices=get_args(SelfWeights),
        modes=DISTILL,
    )
    teacher_renderer_name: str = option(
        "", "how messages become the teacher's tokens, if it has another tokenizer; empty: by its name", modes=DISTILL
    )
    teacher_kind: str = option(
        "auto",
        "how the teacher reads what the student wrote: same-tokens, other-tokens, or a plug-in; auto compares the "
        "two tokenizers",
        modes=DISTILL,
    )
    teacher_thinking: Thinking = option(
        "hidden",
        "the student's thinking, to a teacher with another tokenizer: hidden, shown (and not scored), or scored",
        choices=get_args(Thinking),
        modes=DISTILL,
    )
    min_aligned: float = option(
        0.9,
        "stop if a teacher with another tokenizer scores less than this fraction of a step's text",
        modes=DISTILL,
        at_least=0,
        at_most=1,
        resume=True,
    )
    teacher_backend: str = option(
        "same",
        "where the teacher runs: same (as the student), embedded, tinker, http://host:port (Tinker's API) or "
        "openai:http://host:port/v1 (vLLM, SGLang, llama.cpp, rtl-agent serve); one for all teachers, or one for each",
        modes=DISTILL,
        resume=True,
    )
    teacher_tokenizer: str = option(
        "", "the teacher's tokenizer, a folder or a name on the hub; empty: by its name", modes=DISTILL
    )
    teacher_api_key_env: str = option(
        "", "the environment variable that holds the key of the teacher's server", modes=DISTILL, resume=True
    )
    teacher_for: str = option(
        "",
        "with several teachers, which one teaches what: cid016:NAME,fifo*:NAME; the first takes the rest",
        modes=DISTILL,
    )
    teacher_patience: float = option(
        1800.0, "seconds that a run waits for a teacher that stops answering", modes=DISTILL, at_least=0, resume=True
    )
    backend: str = option("embedded", "embedded (this machine), tinker (the cloud), or http://host:port", resume=True)
    engine: str = option("", "on this machine: qwen3 or transformers; empty: by the model", resume=True, advanced=True)
    renderer_name: str = option("", "how messages become tokens; empty: by the model's name")
    load_checkpoint_path: str = option(
        "", "start from these weights: a tinker:// path of a saved checkpoint, or an adapter's name or folder"
    )
    lora_rank: int = option(32, "rank of the LoRA adapter; 0 trains all weights (own server only)", at_least=0)
    train_unembed: bool = option(True, "the adapter covers the output layer too", advanced=True)
    temperature: float = option(1.0, "sampling temperature in training", at_least=0)
    entropy_topk: int = option(
        0,
        "record the student's entropy at each token, from so many of its likeliest ones; 0: not recorded",
        at_least=0,
        resume=True,
    )


@dataclass(frozen=True)
class ObjectiveConfig:
    """What the student learns from."""

    reward_coef: float = option(1.0, "weight of the reward in the advantage; 0 only measures it", resume=True)
    kl_penalty_coef: float = option(
        1.0, "weight of log p_student - log p_teacher in the advantage (reverse KL)", modes=DISTILL, resume=True
    )
    kl_discount_factor: float = option(
        0.0, "discount at which a token bears the KL of later tokens; 0: its own only", modes=DISTILL, resume=True
    )
    kl_credit: Credit = option(
        "covering",
        "a teacher with another tokenizer judges chunks of tokens; each token bears its part by what the teacher would "
        "have written up to there (covering), all of the chunk (chunk), or an equal share (share)",
        choices=get_args(Credit),
        modes=DISTILL,
        resume=True,
    )
    forward_kl_coef: float = option(
        0.0, "weight of cross-entropy to the teacher's most likely tokens (forward KL)", modes=DISTILL, resume=True
    )
    forward_kl_topk: int = option(
        8, "number of the teacher's most likely tokens", modes=DISTILL, at_least=1, resume=True
    )
    forward_kl_guard: bool = option(
        True,
        "with another tokenizer, leave out positions where the teacher's likeliest tokens are not the same actions",
        modes=DISTILL,
        resume=True,
    )
    prefix_trust: float = option(
        0.0,
        "1: advice counts by how likely the teacher would have written the text so far; 0: all advice counts alike",
        modes=DISTILL,
        resume=True,
    )
    reward_weighted: bool = option(
        False, "weigh a rollout's advice by its fraction of the full reward", modes=DISTILL, resume=True
    )
    loss_fn: LossFn = option(
        "importance_sampling", "policy loss: importance_sampling, ppo, cispo or dro", choices=get_args(LossFn)
    )
    one_pass: bool = option(
        False, "all terms as one weighted cross-entropy: half the cost, but it needs a server of your own", resume=True
    )
    groups_without_signal: NoSignal = option(
        "keep",
        "groups whose rewards are all equal: keep, drop, or resample other problems in their place, by the curriculum",
        choices=get_args(NoSignal),
        resume=True,
    )
    compute_post_kl: bool = option(False, "also measure how far each step moved the student", resume=True)


@dataclass(frozen=True)
class OptimConfig:
    """A step, and how many of them."""

    batch_size: int = option(8, "problems in a step", at_least=1)
    group_size: int = option(4, "rollouts of each problem", at_least=1)
    num_substeps: int = option(1, "optimizer steps in a step", at_least=1)
    learning_rate: float = option(1e-4, "peak learning rate of Adam", above=0, resume=True)
    lr_schedule: Schedule = option(
        "constant", "constant, or linear or cosine decay to 0 at the end", choices=get_args(Schedule), resume=True
    )
    warmup_steps: int = option(0, "steps of linear warm-up", at_least=0, resume=True)
    grad_clip_norm: float = option(0.0, "maximum gradient norm; 0 disables clipping", at_least=0, resume=True)
    max_steps: int = option(0, "number of steps; 0: as many as the epochs have", at_least=0, resume=True)
    epochs: int = option(1, "passes over the problems, if max_steps is 0", at_least=1, resume=True)


@dataclass(frozen=True)
class EvalConfig:
    """Evaluation on held-out problems, and the exam before and after."""

    every: int = option(
        10, "evaluate on held-out problems every N steps; 0: never", alias="eval_every", at_least=0, resume=True
    )
    problems: int = option(0, "number of held-out problems; 0: all", alias="eval_problems", at_least=0, resume=True)
    samples: int = option(1, "answers to each held-out problem", alias="eval_samples", at_least=1, resume=True)
    temperature: float = option(
        0.0, "sampling temperature in evaluations; 0: greedy", alias="eval_temperature", at_least=0, resume=True
    )
    teacher: bool = option(False, "evaluate the teacher once, too", alias="eval_teacher", modes=DISTILL, resume=True)
    preflight_problems: int = option(
        8,
        "training problems that teacher and student answer before the first step, to see which is better; 0: none",
        modes=DISTILL,
        at_least=0,
        resume=True,
    )
    exam_problems: int = option(
        0, "number of other problems in an exam before and after training (`generated` only)", at_least=0, resume=True
    )
    exam_seed: int = option(91_000, "seed of the exam's problems; the same for every seed of a run")
    exam_of: str = option("before,after,teacher", "who takes the exam", resume=True)
    exam_samples: int = option(1, "answers at temperature 1 to each problem of the exam", at_least=1, resume=True)


@dataclass(frozen=True)
class RunConfig:
    """The run directory, checkpoints and trackers."""

    log_path: str = option("", "the run directory; empty: runs/<mode>-<student>-<date>", resume=True)
    behavior_if_log_dir_exists: IfExists = option(
        "ask", "if the directory holds a run: delete, resume, ask or raise", choices=get_args(IfExists), resume=True
    )
    seed: int = option(0, "seed of the data order, of sampling and of new weights")
    save_every: int = option(5, "save a checkpoint every N steps; 0: at the end only", at_least=0, resume=True)
    pack_rollouts: bool = option(
        True, "keep rollouts as .jsonl.gz (zcat reads them); false: as plain .jsonl", resume=True, advanced=True
    )
    rollout_tokens_every: int = option(
        1,
        "keep tokens, logprobs and advice in the rollouts of every N-th step; 0: of none; texts and grades are kept of "
        "all",
        at_least=0,
        resume=True,
        advanced=True,
    )
    wandb_project: str = option("", "also log to this Weights & Biases project", resume=True)
    trackio_project: str = option("", "also log to this trackio project", resume=True)


@dataclass(frozen=True)
class Config:
    """A run: its mode and its options in groups. `configure` makes one from flat names and a preset.

    Args:
        mode: distill, rl or supervised.
        data: which problems are learned from, and which are held out.
        curriculum: which of them a step draws.
        model: student and teacher, where they run, and how the student is sampled.
        episode: how a problem is asked, and how its answer is read and simulated.
        objective: what the student learns from.
        optim: a step, and how many of them.
        overlap: sampling while the step before trains.
        grading: the reward, and how answers are graded.
        eval: evaluation on held-out problems, and the exam.
        budget: what the run may cost.
        run: the run directory, checkpoints and trackers.

    Raises:
        BadOption: a ValueError that says which value cannot work, and why.

    Example:
        >>> import rtl_agent as ra
        >>> config = ra.Config(mode="rl", optim=ra.OptimConfig(max_steps=4, group_size=8))
        >>> config.optim.max_steps, config.model.student
        (4, 'rtl-agent/student')
    """

    mode: Mode = "distill"
    data: DataConfig = DataConfig()
    curriculum: CurriculumConfig = CurriculumConfig()
    model: ModelConfig = ModelConfig()
    episode: EpisodeConfig = EpisodeConfig()
    objective: ObjectiveConfig = ObjectiveConfig()
    optim: OptimConfig = OptimConfig()
    overlap: OverlapConfig = OverlapConfig()
    grading: GradingConfig = GradingConfig()
    eval: EvalConfig = EvalConfig()
    budget: BudgetConfig = BudgetConfig()
    run: RunConfig = RunConfig()

    @property
    def student(self) -> str:
        return self.model.student

    @property
    def starts_from(self) -> str:
        """The model whose pass rates count before the first step."""
        path = self.model.load_checkpoint_path
        return f"{self.student} from {path}" if path else self.student

    @property
    def teacher(self) -> str:
        """ "" in modes without one."""
        return self.model.teacher if self.mode == "distill" else ""

    @property
    def teachers(self) -> tuple[TeacherSpec, ...]:
        """Each with its server; none in modes without one, and where the student teaches itself."""
        return teacher_specs(self.model) if self.mode == "distill" and self.model.teacher != SELF else ()

    def __post_init__(self) -> None:
        for field in fields(self):
            if field.name != "mode":
                check_options(getattr(self, field.name))
        _check(self)


def _check(config: Config) -> None:
    """What the bounds of single fields cannot say."""
    if config.mode not in MODES:
        raise BadOption("mode", config.mode, f"choose from {', '.join(MODES)}")
    try:
        weights = config.grading.weights()
    except ValueError as error:
        raise BadOption("reward", config.grading.reward, f"choose from {', '.join(REWARDS)}; {error}") from error
    if not is_executor(config.grading.executor):
        known = f"{', '.join(EXECUTORS)} or {GRADE_SERVER} of a grade server"
        raise BadOption("executor", config.grading.executor, f"choose from {known}")
    if not isfinite(weights.total):
        raise BadOption("reward", config.grading.reward, "its weights must be finite")
    if unknown := {name.strip() for name in config.eval.exam_of.split(",")} - {"before", "after", "teacher", ""}:
        raise BadOption("exam_of", config.eval.exam_of, f"{', '.join(unknown)} is not one of before, after, teacher")
    if config.optim.num_substeps > config.optim.batch_size:
        raise BadOption(
            "num_substeps", config.optim.num_substeps, f"more than the {config.optim.batch_size} groups of a step"
        )
    if config.mode == "distill":
        check_teachers(config.model)
    check_curriculum(config.curriculum, config.mode)
    if config.mode == "supervised" and config.episode.kind != SINGLE:
        raise BadOption("env", config.episode.kind, "supervised training has single answers only")
    if config.episode.system and config.episode.system not in system_names():
        raise BadOption("system", config.episode.system, f"choose from {', '.join(system_names())}")
    if config.episode.level == "open":
        raise BadOption(
            "level",
            "open",
            "the model could read the tests, so every reward is 0 and nothing would be learned; choose spec, own-tests "
            "or feedback (`rtl-agent play --level open` is for finding faults in problems)",
        )


OPTIONS: tuple[NamedOption, ...] = named_options(Config)
BY_NAME = {name: known for known in OPTIONS for name in known.names}
FIXED = ("mode", *(known.flat for known in OPTIONS if not known.option.resume))
"""Names in config.json that a resumed run cannot change: the steps already done depend on them."""


def options_for(mode: Mode) -> tuple[NamedOption, ...]:
    return tuple(known for known in OPTIONS if not known.option.modes or mode in known.option.modes)


def to_json(config: Config) -> dict[str, Any]:
    """As it is kept in config.json: one level, by the flat names, so that runs of all versions can be compared."""
    found = {"mode": config.mode, "student": config.student, "teacher": config.teacher}
    return found | {known.flat: known.of(config) for known in options_for(config.mode)}
