"""The problems of a run: which it learns from, which it is tested on, their order, and the environments over them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from rtl_agent.audit.filtering import NotTrusted, TrustFilter
from rtl_agent.envs.env import ProblemGroupBuilder
from rtl_agent.envs.episode_config import AGENTIC
from rtl_agent.envs.kinds import kind_of
from rtl_agent.envs.task_sampler import TaskSampler, fitting, gradable, partition
from rtl_agent.grading import Grader
from rtl_agent.problems import (
    BadRecord,
    Kind,
    NoSuchProblems,
    Problem,
    ProblemGenerator,
    Split,
    find_source,
    load_problems,
)
from rtl_agent.problems.sources import GENERATED, TEST_SEED, WORKSPACES, emphasised_families, matches
from rtl_agent.registry import did_you_mean
from rtl_agent.training.config import Config
from rtl_agent.training.curriculum import Curriculum
from rtl_agent.training.errors import BadConfig

TEST, NEW = "test", "new"  # prefixes of metrics: problems of the held-out side, and families never trained on


@dataclass(frozen=True)
class ProblemSets:
    """`tests` by the prefix of their metrics; empty sets are left out."""

    train: tuple[Problem, ...]
    tests: Mapping[str, tuple[Problem, ...]] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()


def problem_sets(config: Config) -> ProblemSets:
    """From files, or drawn anew by the run's seed."""
    generator = _generator(config)
    sets = _trusted(config, _read(config) if generator is None else _drawn(config, generator))
    most = config.eval.problems or None
    tests = {name: problems[:most] for name, problems in sets.tests.items() if problems}
    return ProblemSets(sets.train[: config.data.limit or None], tests, sets.left_out)


def trust_filter(config: Config) -> TrustFilter:
    return TrustFilter(config.data.trust, config.data.trust_table)


def _trusted(config: Config, sets: ProblemSets) -> ProblemSets:
    """Without the problems whose tests are not trusted enough: a reward from such tests teaches to cheat them."""
    chosen = trust_filter(config)
    try:
        train, left_out = chosen.apply(sets.train)
        tests = {}
        for name, problems in sets.tests.items():
            kept, more = chosen.apply(problems)
            tests[name] = tuple(kept)
            left_out += more
    except NotTrusted as error:
        raise BadConfig(str(error)) from error
    if sets.train and not train:
        raise BadConfig(f"trust={config.data.trust} leaves no problem of {config.data.source}: {left_out[0]}")
    return ProblemSets(tuple(train), tests, (*sets.left_out, *left_out))


def exam_sets(config: Config) -> dict[str, tuple[Problem, ...]]:
    """Problems for the exam alone: the test sets' families and sides, drawn by another seed."""
    if not config.eval.exam_problems:
        return {}
    generator = _generator(config)
    if generator is None:
        wanted = f"cvdp_jsonl_path={GENERATED} or {WORKSPACES}"
        raise BadConfig(f"exam_problems needs {wanted}: files have one held-out side, the test's")
    return _tests(config, generator, config.eval.exam_seed, config.eval.exam_problems)


def _generator(config: Config) -> ProblemGenerator | None:
    """The source, if it draws as many problems as are wanted; None for one that has the problems it has."""
    try:
        source, argument = find_source(config.data.source)
    except NoSuchProblems as error:
        raise BadConfig(f"cvdp_jsonl_path={config.data.source}: {error}") from error
    if not isinstance(source, ProblemGenerator):
        return None
    if argument:
        name = config.data.source.partition(":")[0]
        raise BadConfig(
            f"cvdp_jsonl_path={config.data.source}: write cvdp_jsonl_path={name}; problems= chooses families, "
            "generated_problems= says how many, seed= which"
        )
    return source


def _read(config: Config) -> ProblemSets:
    try:
        problems = load_problems(config.data.source)
    except (BadRecord, NoSuchProblems, OSError) as error:
        raise BadConfig(f"cvdp_jsonl_path={config.data.source}: {error}") from error
    named = _named(config, problems)
    found, left_out = gradable(named, kinds_for(config, named))
    if not found:
        first = f" ({left_out[0]})" if left_out else ""
        raise BadConfig(
            f"{config.data.source} has no problem for env={config.episode.kind} that can be graded here{first}"
        )
    if not config.data.heldout:
        return ProblemSets(tuple(found), {}, tuple(left_out))
    sides = partition(found, held_out=config.data.heldout_fraction, seed=config.data.split_seed)
    return ProblemSets(sides.train, {TEST: sides.held_out}, tuple(left_out))


def kinds_for(config: Config, problems: Sequence[Problem]) -> tuple[Kind, ...]:
    """One reply can answer single-shot problems only. An agent is given agentic ones; others if there are none."""
    if config.episode.kind != AGENTIC:
        return kind_of(config.episode).problem_kinds
    agentic = any(problem.kind is Kind.AGENTIC for problem in problems)
    return (Kind.AGENTIC,) if agentic else (Kind.SINGLE_SHOT,)


def _drawn(config: Config, generator: ProblemGenerator) -> ProblemSets:
    """The families that `problems` names, or all. Tests are the same for every seed of a run."""
    families = _families(config, generator, config.data.emphasis)
    train = tuple(generator.draw(config.run.seed, config.data.generated_problems, families=families))
    if config.episode.kind != AGENTIC and any(problem.kind is Kind.AGENTIC for problem in train):
        raise BadConfig(f"cvdp_jsonl_path={config.data.source} needs env=agentic: one reply cannot read a file")
    if not config.data.heldout:
        return ProblemSets(train)
    count = config.eval.problems or 8 * len(_families(config, generator))
    return ProblemSets(train, _tests(config, generator, TEST_SEED, count))


def _tests(config: Config, generator: ProblemGenerator, seed: int, count: int) -> dict[str, tuple[Problem, ...]]:
    """Unseen instances of the chosen families; as many of each that is held out whole, unless families were chosen."""
    families, new = _families(config, generator), generator.new_families
    tests = {TEST: tuple(generator.draw(seed, count, families=families, split=Split.HELD_OUT))}
    if new and not config.data.problems:
        of_new = max(1, count * len(new) // len(families))
        tests[NEW] = tuple(generator.draw(seed, of_new, families=new, split=Split.HELD_OUT))
    return tests


def _families(config: Config, generator: ProblemGenerator, emphasis: str = "") -> list[str]:
    try:
        return emphasised_families(generator, config.data.problems, emphasis)
    except NoSuchProblems as error:
        raise BadConfig(str(error)) from error


def _named(config: Config, problems: Sequence[Problem]) -> list[Problem]:
    found = [problem for problem in problems if matches(config.data.problems, problem.id, problem.family)]
    if not found:
        near = did_you_mean(config.data.problems, {name for one in problems for name in (one.id, one.family)})
        raise BadConfig(
            f"problems={config.data.problems}: nothing in {config.data.source} has such an id or family{near}"
        )
    return found


def asked_as(template: ProblemGroupBuilder, model: str, renderer_name: str) -> ProblemGroupBuilder:
    """The same questions, asked of another model in its own tokens and markup."""
    return replace(
        template, model_name=model, renderer_name=renderer_name, config=template.rules, context=None, rendered={}
    )


@dataclass(frozen=True)
class TrainingTasks:
    """Problems to learn from and sets of them to be tested on, and how they are asked."""

    sampler: TaskSampler | Curriculum
    tests: Mapping[str, tuple[Problem, ...]]
    template: ProblemGroupBuilder
    grader: Grader
    left_out: tuple[str, ...] = ()

    @property
    def all_problems(self) -> list[Problem]:
        """To learn from and to be tested on."""
        return [*self.sampler.problems, *(problem for problems in self.tests.values() for problem in problems)]

    def batch(self, step: int) -> Sequence[Problem]:
        return self.sampler.batch(step)

    def spare(self, step: int) -> Sequence[Problem]:
        """Other problems for a step, in the place of groups without signal."""
        return self.sampler.spare(step)

    def builder(self, problem: Problem, count: int) -> ProblemGroupBuilder:
        return replace(self.template, problem=problem, group_size=count)

    def asked_of(self, model: str, renderer_name: str) -> "TrainingTasks":
        """The same problems with the same words, in another model's tokens and markup."""
        return replace(self, template=asked_as(self.template, model, renderer_name))

    def counters(self) -> dict[str, float]:
        """Grades since the start, by where they came from."""
        stats = self.grader.stats
        return {
            "grading/cache_hits": float(stats.hits),
            "grading/judged": float(stats.misses),
            "grading/shared": float(stats.joins),
        }

    def since(self, before: dict[str, float]) -> dict[str, float]:
        return {name: value - before[name] for name, value in self.counters().items()}


def open_tasks(config: Config, sets: ProblemSets, renderer_name: str, grader: Grader, context: int) -> TrainingTasks:
    """Everything that can be asked of a model with so long a context."""
    if not sets.train:
        raise BadConfig("no problem is left to learn from: all are of held-out families (heldout=false trains on them)")
    template = ProblemGroupBuilder(
        sets.train[0], config.optim.group_size, config.student, renderer_name, config.episode, context
    )
    train, too_long = fitting(sets.train, lambda problem: replace(template, problem=problem))
    if not train:
        most = template.budget.prompt
        raise BadConfig(f"every prompt is longer than {most} tokens: raise max_prompt_tokens or lower max_tokens")
    tests = {}
    for name, problems in sets.tests.items():
        kept, more = fitting(problems, lambda problem: replace(template, problem=problem))
        tests[name] = tuple(kept)
        too_long += more
    sampler = TaskSampler(tuple(train), config.optim.batch_size, seed=config.run.seed, epochs=config.optim.epochs)
    return TrainingTasks(sampler, tests, template, grader, (*sets.left_out, *too_long))
