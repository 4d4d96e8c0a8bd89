"""What a student is asked: problems in their order, environments over them, and what grading has cost."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from rtl_agent.envs.env import ProblemGroupBuilder
from rtl_agent.envs.task_sampler import TaskSampler, fitting
from rtl_agent.grading import Grader
from rtl_agent.problems import Problem
from rtl_agent.training.config import Config
from rtl_agent.training.errors import BadConfig
from rtl_agent.training.sources import ProblemSets


def asked_as(template: ProblemGroupBuilder, model: str, renderer_name: str) -> ProblemGroupBuilder:
    """The same questions, asked of another model in its own tokens and markup."""
    return replace(
        template, model_name=model, renderer_name=renderer_name, config=template.rules, context=None, rendered={}
    )


@dataclass(frozen=True)
class TrainingTasks:
    """Problems to learn from and sets of them to be tested on, and how they are asked."""

    sampler: TaskSampler
    tests: Mapping[str, tuple[Problem, ...]]
    template: ProblemGroupBuilder
    grader: Grader
    left_out: tuple[str, ...] = ()

    def batch(self, step: int) -> Sequence[Problem]:
        return self.sampler.batch(step)

    def spare(self, step: int) -> Sequence[Problem]:
        """Other problems for a step, in an order of its own: at most as many as the step has already."""
        taken = {problem.id for problem in self.batch(step)}
        others = [problem for problem in self.sampler.problems if problem.id not in taken]
        random.Random(f"{self.sampler.seed}/{step}/spare").shuffle(others)
        return others[: self.sampler.batch_size]

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
