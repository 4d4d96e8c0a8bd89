"""Before the first step: teacher and student answer the same training problems, once each.

A teacher that is not better than its student makes it worse: two public runs of on-policy distillation fell that way.
"""

import asyncio
import json
import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import tinker

from rtl_agent.envs.rollout import Policy, gather_or_cancel, seed_of
from rtl_agent.problems import Problem
from rtl_agent.runs import write_whole
from rtl_agent.teachers.scorer import ScoringError
from rtl_agent.training.config import Config
from rtl_agent.training.errors import BadConfig
from rtl_agent.training.models import asked_topk
from rtl_agent.training.rollouts import Group, play_group
from rtl_agent.training.spending import Spending
from rtl_agent.training.tasks import TrainingTasks
from rtl_agent.training.teachers import OpenTeacher, Teachers, check_scores

FILE = "preflight.json"
SAID_AFTER = 15.0  # seconds without an answer: a server may load a model for minutes
LONGEST = 4  # prompts that are tried against a teacher's context
log = logging.getLogger("rtl_agent.training")


@dataclass(frozen=True)
class Comparison:
    """What both did on the problems that both answered."""

    teacher: str
    problems: int
    teacher_passed: int
    student_passed: int
    teacher_reward: float
    student_reward: float

    @property
    def better(self) -> bool:
        ours = (self.student_passed, self.student_reward)
        return (self.teacher_passed, self.teacher_reward) > ours

    @property
    def line(self) -> str:
        return (
            f"of {self.problems} training problems the teacher {self.teacher} passes {self.teacher_passed} (mean "
            f"reward {self.teacher_reward:.2f}), the student {self.student_passed} ({self.student_reward:.2f})"
        )


@dataclass(frozen=True)
class Preflight:
    """Asks once, when a run begins; a resumed run has been through it."""

    config: Config
    tasks: TrainingTasks
    teachers: Teachers
    directory: Path
    say: Callable[[str], None]
    spending: Spending

    async def compare(self, student: tinker.SamplingClient) -> None:
        """Greedy answers. A teacher that cannot be sampled is said, and no reason to stop: it is there to score."""
        count = self.config.eval.preflight_problems
        if not count:
            return
        found = []
        for teacher in self.teachers.all:
            try:
                one = await self._compare(teacher, student, count)
            except ScoringError as error:
                self._warn(f"the teacher could not answer problems itself: {error}")
                continue
            if one is None:
                self._warn(f"no answer of the teacher {teacher.name} or of the student could be graded")
                continue
            self.say(one.line)
            log.info("%s", one.line)
            if not one.better:
                self._warn(
                    f"{teacher.name} is not better than the student at what it is to teach, and such a teacher makes a "
                    f"student worse: choose another, or try more than {one.problems} problems (preflight_problems)"
                )
            found.append(asdict(one))
        write_whole(self.directory / FILE, json.dumps(found, indent=1).encode())

    async def _compare(self, teacher: OpenTeacher, student: tinker.SamplingClient, count: int) -> Comparison | None:
        problems = [one for one in self.tasks.sampler.problems if self.teachers.of(one) is teacher]
        random.Random(f"{self.config.run.seed}/preflight").shuffle(problems)
        groups = await gather_or_cancel(
            self._answer(problem, client, advisor)
            for problem in problems[:count]
            for client, advisor in ((teacher.sampler, teacher), (student, None))
        )
        pairs = [
            (theirs.rollouts[0], ours.rollouts[0])
            for theirs, ours in zip(groups[::2], groups[1::2], strict=True)
            if theirs.rollouts and ours.rollouts
        ]
        if not pairs:
            return None
        return Comparison(
            teacher.name,
            len(pairs),
            sum(theirs.episode.passed for theirs, _ in pairs),
            sum(ours.episode.passed for _, ours in pairs),
            sum(theirs.reward for theirs, _ in pairs) / len(pairs),
            sum(ours.reward for _, ours in pairs) / len(pairs),
        )

    async def _answer(self, problem: Problem, client: tinker.SamplingClient, teacher: OpenTeacher | None) -> Group:
        tasks = self.tasks if teacher is None else tasks_of(teacher, self.tasks)
        seed = seed_of(self.config.run.seed, "preflight")
        spent = self.spending.sampled(teacher.spec if teacher else None)
        policy = Policy(client, self.config.episode.max_tokens, 0.0, seed, spent=spent)
        return await play_group(tasks.builder(problem, 1), policy)

    def _warn(self, text: str) -> None:
        self.say(f"warning: {text}")
        log.warning("%s", text)


async def check_teachers(config: Config, teachers: Sequence[OpenTeacher], say: Callable[[str], None]) -> None:
    """Each scores a known text. BadConfig where its scores cannot be those of a model."""
    for teacher in teachers:
        checking = asyncio.ensure_future(check_scores(teacher, asked_topk(config, teacher)))
        await asyncio.wait([checking], timeout=SAID_AFTER)
        if not checking.done():
            say(f"waiting for {teacher.scorer.name} to score a known Verilog module")
        line, doubt = await checking
        say(line)
        if doubt:
            say(f"warning: {doubt}")


def check_contexts(config: Config, tasks: TrainingTasks, teachers: Teachers) -> None:
    """BadConfig for a teacher that cannot read the longest problems that it is to teach, and an answer to them."""
    for teacher in teachers.all:
        if teacher.context is None:
            continue
        for problem in _longest([one for one in tasks.sampler.problems if teachers.of(one) is teacher]):
            builder = replace(tasks_of(teacher, tasks).builder(problem, 1), context=None)
            length = len(builder.prompt().tokens)
            if length + config.episode.max_tokens > teacher.context:
                raise BadConfig(
                    f"teacher {teacher.name}: its server takes {teacher.context} tokens, and {problem.id} has {length} "
                    f"of the teacher's before an answer of up to {config.episode.max_tokens}: start the server with a "
                    "longer context, lower max_tokens, or leave long problems out by max_prompt_tokens"
                )


def tasks_of(teacher: OpenTeacher, tasks: TrainingTasks) -> TrainingTasks:
    """The same problems, asked in the teacher's own tokens, as long as its server takes."""
    asked = tasks.asked_of(teacher.tokenizer, teacher.renderer)
    return replace(asked, template=replace(asked.template, context=teacher.context))


def _longest(problems: Sequence[Problem]) -> list[Problem]:
    """By their texts: rendering every prompt in other tokens would take longer than it is worth."""
    return sorted(problems, key=lambda one: -len(one.prompt) - sum(map(len, one.context.values())))[:LONGEST]
