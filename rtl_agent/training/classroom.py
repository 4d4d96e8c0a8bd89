"""What a student is asked: problems in their order, environments over them, and what grading has cost."""

import fnmatch
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from rtl_agent.envs import EmptyDataset, ProblemDataset, SingleShotGroupBuilder, fitting, gradable, partition
from rtl_agent.grading import Grader
from rtl_agent.problems import BadRecord, NoSuchProblems, Problem, load_problems
from rtl_agent.training.config import Config
from rtl_agent.training.errors import BadConfig


@dataclass(frozen=True)
class Classroom:
    """Problems to learn from and problems held out, and how they are asked."""

    dataset: ProblemDataset
    heldout: tuple[Problem, ...]
    template: SingleShotGroupBuilder
    grader: Grader
    left_out: tuple[str, ...] = ()

    def batch(self, step: int) -> Sequence[Problem]:
        return self.dataset.batch(step)

    def spare(self, step: int) -> Sequence[Problem]:
        """Other problems for a step, in an order of its own: at most as many as the step has already."""
        taken = {problem.id for problem in self.batch(step)}
        others = [problem for problem in self.dataset.problems if problem.id not in taken]
        random.Random(f"{self.dataset.seed}/{step}/spare").shuffle(others)
        return others[: self.dataset.batch_size]

    def builder(self, problem: Problem, count: int) -> SingleShotGroupBuilder:
        return replace(self.template, problem=problem, group_size=count)

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


def open_classroom(
    config: Config, problems: Sequence[Problem], renderer_name: str, grader: Grader, prompt_room: int
) -> Classroom:
    """Everything that can be asked and graded here. `prompt_room` is what the model's context leaves for a prompt."""
    found, left_out = gradable(problems)
    if not found:
        first = f" ({left_out[0]})" if left_out else ""
        raise BadConfig(f"{config.cvdp_jsonl_path} has no problem that can be asked in one turn and graded here{first}")
    most = min(config.max_prompt_tokens or prompt_room, prompt_room)
    template = SingleShotGroupBuilder(
        problem=found[0],
        group_size=config.group_size,
        model_name=config.student,
        renderer_name=renderer_name,
        system=config.system,
        max_prompt_tokens=most,
    )
    kept, too_long = fitting(found, lambda problem: replace(template, problem=problem))
    if not kept:
        raise BadConfig(f"every prompt is longer than {most} tokens: raise max_prompt_tokens or lower max_tokens")
    sides = partition(kept, held_out=config.heldout_fraction, seed=config.split_seed)
    train, heldout = (sides.train, sides.held_out) if config.heldout else (tuple(kept), ())
    if config.limit:
        train = train[: config.limit]
    try:
        dataset = ProblemDataset(train, config.batch_size, seed=config.seed, epochs=config.epochs)
    except EmptyDataset as error:
        raise BadConfig(f"{error} (all of them are of held-out families: heldout=false trains on them)") from error
    return Classroom(dataset, heldout, template, grader, (*left_out, *too_long))


def chosen(config: Config) -> list[Problem]:
    """The problems that the options name."""
    try:
        problems = load_problems(config.cvdp_jsonl_path)
    except (BadRecord, NoSuchProblems, OSError) as error:
        raise BadConfig(f"cvdp_jsonl_path={config.cvdp_jsonl_path}: {error}") from error
    patterns = [pattern.strip() for pattern in config.problems.split(",") if pattern.strip()]
    if not patterns:
        return list(problems)
    found = [one for one in problems if any(_named(one, pattern) for pattern in patterns)]
    if not found:
        raise BadConfig(f"problems={config.problems}: nothing in {config.cvdp_jsonl_path} has such an id or family")
    return found


def _named(problem: Problem, pattern: str) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for name in (problem.id, problem.family))
