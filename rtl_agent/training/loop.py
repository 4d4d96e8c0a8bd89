"""The loop: sample, grade, ask the teacher, learn. One step reads from top to bottom.

A batch's groups all start at once from one snapshot of the student. Each is graded and scored by the teacher as soon as
its tokens are there, while others still sample, and goes to the trainer in the order of the data set, whatever order
they ended in: sums of floats depend on their order, and a run must repeat exactly. With max_steps_off_policy the next
batches are played meanwhile (`ahead.py`).
"""

from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, TypeVar

import tinker
from tinker_cookbook.rl.metrics import compute_post_kl

from rtl_agent.difficulty import PassRates, TriesOf
from rtl_agent.envs.rollout import Policy, seed_of
from rtl_agent.problems import Problem, problem_digest
from rtl_agent.processes import cpu_seconds
from rtl_agent.runs import Checkpoint, RunWriter
from rtl_agent.teachers.scorer import ScoringError
from rtl_agent.training.advisor import Advisor
from rtl_agent.training.ahead import Ahead, Drawn, OnTail, Weights
from rtl_agent.training.clock import Clock
from rtl_agent.training.config import Config
from rtl_agent.training.curriculum import Curriculum, Outcome, step_line
from rtl_agent.training.errors import TrainingError
from rtl_agent.training.evaluate import AFTER, BEFORE, TEACHER, Evaluation, Exam, evaluate
from rtl_agent.training.interrupt import Interrupted, Stop
from rtl_agent.training.metrics import (
    ALIGNED,
    UNSCORED,
    episode_metrics,
    off_policy_metrics,
    policy_metrics,
    signal_metrics,
)
from rtl_agent.training.models import EvaluatedTeacher
from rtl_agent.training.monitor import Display, Trackers
from rtl_agent.training.objective import Objective, TrainingBatch, reference_batch, training_batch
from rtl_agent.training.preflight import Preflight
from rtl_agent.training.record import records
from rtl_agent.training.rollouts import Group, play_group
from rtl_agent.training.spending import Spending
from rtl_agent.training.student import Passes, Student, learning_rate
from rtl_agent.training.tasks import TrainingTasks
from rtl_agent.training.teacher_options import TeacherSpec

T = TypeVar("T")


@dataclass
class Loop:
    """One run from its first step, or from a checkpoint, to its last."""

    config: Config
    objective: Objective
    tasks: TrainingTasks
    student: Student
    advisor_of: Callable[[Problem], Advisor | None]
    run: RunWriter
    spending: Spending
    display: Display
    trackers: Trackers
    total: int
    best: float | None = None
    tested_teacher: EvaluatedTeacher | None = None
    preflight: Preflight | None = None
    exam: Exam | None = None
    curriculum: Curriculum | None = None
    pass_rates: PassRates | None = None
    stop: Stop = field(default_factory=Stop)
    done: int = 0  # steps whose weights, metrics and rollouts are there
    limit: str = ""  # the one that ended the run before its last step
    clock: Clock = field(default_factory=Clock)
    _published: dict[int, str] = field(default_factory=dict)  # where the weights after so many steps are kept
    _resumable: Mapping[str, Any] = field(default_factory=dict)  # what was in flight at the last checkpoint
    _committed: bool = False  # the step under way has asked its optimizer for something: it cannot be dropped

    async def train(self, first: int) -> None:
        """Steps first..total-1. An evaluation is in the line of the step after it; the last one has its own line.

        Interrupted, after a checkpoint was saved, if a stop is requested meanwhile.
        """
        self.done = first
        self.weights = await self._weights_after(first)
        await self._restore(first)
        self.stop.on_request = self._say_stop
        try:
            async with aclosing(self.ahead):  # whatever fails, no episode goes on alone
                await self._train(first)
        except Interrupted:
            await self._save_stopped()
            raise
        except ScoringError:  # a teacher's server is gone; the student's is not
            if not self._committed:
                await self._save_stopped()
            raise

    async def _train(self, first: int) -> None:
        if self.preflight and first == 0:
            self.display.doing("asking teacher and student")
            await self._droppable(self.preflight.compare(self.weights.client))
            self.display.doing("training")
        await self._droppable(self._examine(BEFORE, self.weights.client if first == 0 else None))
        if self.exam and first < self.total:
            self.exam.forget(AFTER)
        for step in range(first, self.total):
            if self.limit:
                await self._save_stopped()
                return
            metrics: dict[str, float] = {}
            if self._due(step, self.config.eval.every):
                metrics |= await self._droppable(self._evaluate(step))
            metrics |= await self._droppable(self._step(step))
            metrics |= self.spending.settle(metrics)
            self.limit = self.spending.reached()
            self._log(step, metrics)
            self.done, self._committed = step + 1, False
            if self._due(self.done, self.config.run.save_every) or self.done == self.total:
                await self._save(f"{self.done:06d}", self.done)
            self.display.step(step, metrics)
        if metrics := await self._droppable(self._evaluate(self.total)):
            metrics |= self.spending.settle(metrics)
            self._log(self.total, metrics)
            self.display.step(self.total - 1, metrics)
        await self._droppable(self._examine(AFTER, self.weights.client))
        if self.tested_teacher is not None:
            await self._droppable(self._examine(TEACHER, self.tested_teacher.client, self._teachers_tasks))

    async def _droppable(self, work: Coroutine[Any, Any, T]) -> T:
        self._committed = False
        return await self.stop.unless_requested(work, lambda: not self._committed)

    def _say_stop(self) -> None:
        how = f"finishing step {self.done + 1}" if self._committed else "dropping what is not finished"
        self.display.note(f"stopping: {how}, then a checkpoint is saved (Ctrl-C again stops at once)")

    async def _save_stopped(self) -> None:
        last = self.run.last_checkpoint
        if self.done and (last is None or last.step < self.done):
            await self._save(f"{self.done:06d}", self.done)

    def _log(self, step: int, metrics: dict[str, float]) -> None:
        self.run.log_metrics(step, metrics)
        for fault in self.trackers.log(step, metrics):
            self.display.note(fault)

    async def _step(self, step: int) -> dict[str, float]:
        self.clock.begin()
        cpu = cpu_seconds()
        during = partial(self.clock.during, batch=step)
        rate = learning_rate(step, self.total, self.config.optim)
        before = self.tasks.counters()
        groups: list[Group] = []
        batches: list[TrainingBatch] = []
        passes: list[Passes] = []
        waiting = 0
        steps: list[Any] = []
        seen = 0
        async with aclosing(self._batches(step)) as taught:
            async for group, batch in taught:
                seen += 1
                if group is not None:
                    groups.append(group)
                if batch is not None:
                    passes.append(await self.student.submit(batch, during))
                    batches.append(batch)
                    waiting += 1
                if waiting and seen % self._per_substep == 0:
                    self._committed = True
                    steps.append(await self.student.step(rate))
                    waiting = 0
        self._committed = True
        if waiting:
            steps.append(await self.student.step(rate))
        with during("train"):
            trained, losses = await self.student.finish(passes)
            optim = [await one for one in steps]
            self.weights = await self._weights_after(step + 1)
        self.ahead.settle(step + 1)
        await self._forget_weights()
        self.run.log_rollouts(step, [record for group in groups for record in self._records(group, step)])
        metrics = {
            **episode_metrics(groups),
            **signal_metrics(groups, batches),
            **self._learn_difficulty(step, groups),
            **policy_metrics(batches, trained),
            **off_policy_metrics(groups, batches, trained, self.config.overlap),
            **losses,
            **{f"optim/{name}": float(value) for one in optim for name, value in (one.metrics or {}).items()},
            **self.tasks.since(before),
            "optim/lr": rate,
            "optim/steps": float(len(steps)),
            "time/cpu": cpu_seconds() - cpu,
        }
        self._check_alignment(step, metrics)
        if self.config.objective.compute_post_kl and batches:
            metrics |= await self._post_kl(groups)
        lap = self.clock.lap()
        self.run.log_timeline(step, lap.line())
        times = lap.metrics()
        tokens = metrics.get("env/all/total_ac_tokens", 0.0)
        return metrics | times | {"throughput/tokens_per_second": tokens / max(times["time/total"], 1e-9)}

    def _learn_difficulty(self, step: int, groups: Sequence[Group]) -> dict[str, float]:
        """What the step found of its problems: for all later runs, and for this one's next draws."""
        if self.pass_rates is not None:
            found = [
                TriesOf(problem_digest(group.problem), group.solved, len(group.rollouts) - group.solved)
                for group in groups
                if group.rollouts
            ]
            self.pass_rates.record(self.config.starts_from, f"{self.run.identity} {step}", step, found)
        if self.curriculum is None:
            return {}
        outcomes = [Outcome(group.problem.id, group.solved, len(group.rollouts)) for group in groups]
        pools = {problem: standing.pool for problem, standing in self.curriculum.standings.items()}
        self.run.log_curriculum(step, step_line(outcomes, pools))
        return self.curriculum.learn(step, outcomes)

    def _check_alignment(self, step: int, metrics: dict[str, float]) -> None:
        """A teacher that could be asked about little of what was written teaches something else."""
        aligned, least = metrics.get(ALIGNED), self.config.model.min_aligned
        if aligned is not None and aligned < least:
            causes = {name.rpartition("/")[2]: share for name, share in metrics.items() if name.startswith(UNSCORED)}
            told = ", ".join(f"{cause} {share:.0%}" for cause, share in sorted(causes.items(), key=lambda one: -one[1]))
            raise TrainingError(
                f"step {step + 1}: the teacher scored {aligned:.0%} of the text that it shares with the student, less "
                f"than min_aligned={least:g} (tokens not scored: {told or 'none'}). Check the two renderers, or lower "
                "min_aligned"
            )

    @property
    def _per_substep(self) -> int:
        return -(-self.config.optim.batch_size // self.config.optim.num_substeps)

    async def _batches(self, step: int) -> AsyncGenerator[tuple[Group | None, TrainingBatch | None], None]:
        """What the step's problems teach, in their order, with the group of rollouts that it came from."""
        if self.config.mode == "supervised":
            problems = self.tasks.batch(step)
            for start in range(0, len(problems), self._per_substep):  # one pass: the server computes them together
                some = [self.tasks.builder(problem, 1) for problem in problems[start : start + self._per_substep]]
                yield None, reference_batch(some)
                for _ in some[1:]:
                    yield None, None
            return
        self.ahead.start(step, self.weights)
        async with aclosing(self.ahead.groups(step)) as played:
            async for group in played:
                yield group, training_batch(group, self.objective) if self._teaches(group) else None

    @cached_property
    def ahead(self) -> Ahead:
        return Ahead(self.config.overlap, self.total, self._draw, self._play, self._teaches)

    def _draw(self, batch: int) -> Drawn:
        wanted = self.config.objective.groups_without_signal == "resample"
        return Drawn(tuple(self.tasks.batch(batch)), tuple(self.tasks.spare(batch)) if wanted else ())

    async def _play(self, problem: Problem, batch: int, weights: Weights, on_tail: OnTail) -> Group:
        policy = Policy(
            weights.client,
            self.config.episode.max_tokens,
            self.config.model.temperature,
            seed_of(self.config.run.seed, batch),
            partial(self.clock.during, batch=batch),
            self.config.model.entropy_topk,
            self.config.overlap.tail_tokens,
            on_tail,
            self.spending.sampled(),
        )
        builder = self.tasks.builder(problem, self.config.optim.group_size)
        return await play_group(builder, policy, self.advisor_of(problem))

    async def _weights_after(self, steps: int) -> Weights:
        """To sample from. Where batches are sampled ahead, a resumed run will want them too, so they have a name."""
        if self.config.overlap.is_on_policy:
            return Weights(steps, await self.student.snapshot())
        client, self._published[steps] = await self.student.publish(f"{steps:06d}-ahead")
        return Weights(steps, client, self._published[steps])

    async def _forget_weights(self) -> None:
        """Those that neither the last checkpoint nor the next one names."""
        named = {str(self.weights.after), *self._resumable.get("weights", ()), *self.ahead.state.get("weights", ())}
        for after in [one for one in self._published if str(one) not in named]:
            await self.student.forget(self._published.pop(after))

    async def _restore(self, first: int) -> None:
        """What was in flight at the checkpoint, sampled again by the weights that sampled it."""
        checkpoint = self.run.last_checkpoint
        state: Mapping[str, Any] = checkpoint.extra.get("ahead", {}) if checkpoint and first else {}
        found: dict[int, Weights] = {}
        for name, path in state.get("weights", {}).items():
            try:
                found[int(name)] = Weights(int(name), await self.student.published(path), path)
            except tinker.TinkerError as error:
                self.display.note(
                    f"warning: the weights after step {name} cannot be found ({error}): what they had in flight is "
                    f"sampled by those after step {first}, so this run will not repeat an unbroken one exactly"
                )
            else:
                self._published[int(name)] = path
        if found:
            again = ", ".join(str(int(number) + 1) for number in state.get("batches", {}))
            self.display.note(
                f"in flight at the checkpoint: what steps {again} train on is sampled again by the same weights and "
                "seeds; the run goes on as an unbroken one where samples repeat (embedded backend, engine qwen3)"
            )
        self._resumable = state
        self.ahead.restore(state, found, self.weights, self.tasks.sampler.problems)

    def _records(self, group: Group, step: int) -> list[dict[str, Any]]:
        return records(group, step, self.objective if self._teaches(group) else None)

    def _teaches(self, group: Group) -> bool:
        """A group that lost its rollouts never does; one with equal rewards does by its teacher, or is kept."""
        if not group.rollouts:
            return False
        return group.differs or group.advised or self.config.objective.groups_without_signal == "keep"

    async def _evaluate(self, steps_done: int) -> dict[str, float]:
        if not self.tasks.tests or not self.config.eval.every:
            return {}
        self.display.doing("evaluating")
        level: dict[str, float] = {}
        if self.tested_teacher is not None and not self.run.has_rollouts("teacher"):
            tested = await self._test(self.tested_teacher.client, steps_done, "teacher", self._teachers_tasks)
            level = {f"teacher/{name}": value for name, value in tested.metrics.items()}
        found = await self._test(self.weights.client, steps_done, "eval")
        value = found.metrics.get("test/env/all/reward/total")
        if value is not None and (self.best is None or value >= self.best):  # of equals the one that learned more
            self.best = value
            await self._save(f"{steps_done:06d}-best", steps_done, best=True)
        self.display.doing("training")
        return found.metrics | level

    @property
    def _teachers_tasks(self) -> TrainingTasks:
        """The same questions in the teacher's own tokens."""
        assert self.tested_teacher is not None
        return self.tasks.asked_of(self.tested_teacher.model, self.tested_teacher.renderer_name)

    def _asked(self, who: str) -> TeacherSpec | None:
        """None is the student; of several teachers the first is tested."""
        return self.config.teachers[0] if who == TEACHER else None

    async def _examine(
        self, who: str, client: tinker.SamplingClient | None, tasks: TrainingTasks | None = None
    ) -> None:
        if self.exam and client is not None and who in self.config.eval.exam_of.split(","):
            self.display.doing(f"exam: {who}")
            await self.exam.examine(who, client, tasks, self.spending.sampled(self._asked(who)))
            self.display.doing("training")

    async def _test(
        self, client: tinker.SamplingClient, steps_done: int, kind: str, tasks: TrainingTasks | None = None
    ) -> Evaluation:
        """Every test set, asked of the student or its teacher in the same way; the answers are kept."""
        temperature, seed = self.config.eval.temperature, seed_of(self.config.run.seed, "eval")
        topk = self.config.model.entropy_topk if kind == "eval" else 0  # a teacher's server may not know of it
        spent = self.spending.sampled(self._asked(kind))
        policy = Policy(client, self.config.episode.max_tokens, temperature, seed, entropy_topk=topk, spent=spent)
        found = await evaluate(tasks or self.tasks, policy, self.config.eval.samples)
        episodes = [record for group in found.groups for record in records(group, steps_done)]
        self.run.log_rollouts(steps_done, episodes, kind=kind)
        return found

    async def _save(self, name: str, steps_done: int, *, best: bool = False) -> None:
        """The line is written when the weights are there, so that what it names can be loaded."""
        state, sampler = await self.student.save(name)
        value = self.best if best else None
        flying = self.ahead.state
        extra = {"best": self.best, **({"ahead": flying} if flying else {})}
        self.run.add_checkpoint(Checkpoint(name, steps_done, state, sampler, best=best, value=value, extra=extra))
        self._resumable = flying
        await self._forget_weights()

    @staticmethod
    def _due(steps_done: int, every: int) -> bool:
        return every > 0 and steps_done % every == 0

    async def _post_kl(self, groups: Sequence[Group]) -> dict[str, float]:
        data = [datum for group in groups for rollout in group.rollouts for datum in rollout.data]
        return {name: float(value) for name, value in (await compute_post_kl(data, self.weights.client)).items()}


def first_step(run: RunWriter) -> tuple[int, Checkpoint | None]:
    """Where a run resumes, after what came later was dropped."""
    checkpoint = run.last_checkpoint
    step = checkpoint.step if checkpoint else 0
    run.rewind(step)
    return step, checkpoint


def ensure_steps(total: int, first: int) -> None:
    if first > total:
        raise TrainingError(f"the run has done {first} steps already, and max_steps is {total}")
