"""Sampling ahead of training: which weights sample which batch, and what goes on while earlier batches train.

Batch k is sampled by the weights after step k - N, N = max_steps_off_policy, and never by the newest that happen to be
there. So what is sampled does not depend on how fast anything was: a run repeats, and a resumed one samples again
exactly what was in flight when it was killed, for a checkpoint names the weights of every batch that had begun.

A group with an answer longer than `tail_tokens` is trained one step later, two steps if it is longer than twice that.
Tokens decide, not seconds, for the same reason. Its answers are not cut: training on what ended in time alone would
teach to be short. Nor do newer weights finish them: one policy per answer keeps its ratios and its teacher's advice
those of one model, and the server need not read the beginning again.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import tinker

from rtl_agent.problems import Problem
from rtl_agent.training.overlap_options import OverlapConfig
from rtl_agent.training.rollouts import Group


@dataclass(frozen=True)
class Weights:
    """The student after so many steps, to sample from."""

    after: int
    client: tinker.SamplingClient
    path: str = ""  # where they can be found again; "": in memory only


@dataclass(frozen=True)
class Drawn:
    """The problems of a batch, and others in the place of those that teach nothing."""

    problems: tuple[Problem, ...]
    spare: tuple[Problem, ...] = ()


OnTail = Callable[[int], None]
Play = Callable[[Problem, int, Weights, OnTail], Coroutine[Any, Any, Group]]


class GroupInPlay:
    """One group from its first prompt until a step has taken it."""

    def __init__(self, problem: Problem, batch: int, index: int, weights: Weights, play: Play) -> None:
        self.problem, self.batch, self.index, self.weights = problem, batch, index, weights
        self._tails = 0
        self._longer = asyncio.Event()
        self._task = asyncio.create_task(play(problem, batch, weights, self._on_tail))

    def _on_tail(self, tails: int) -> None:
        self._tails = max(self._tails, tails)
        self._longer.set()

    async def ended(self, tails: int) -> Group | None:
        """The group; None as soon as an answer of it is longer than so many tails, however long it takes from then."""
        while self._tails <= tails and not self._task.done():
            self._longer.clear()
            longer = asyncio.ensure_future(self._longer.wait())
            try:
                await asyncio.wait({self._task, longer}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                longer.cancel()
        return None if self._tails > tails else await self._task

    async def whole(self) -> Group:
        """However long it is."""
        return await asyncio.shield(self._task)

    def cancel(self) -> asyncio.Task[Group]:
        self._task.cancel()
        return self._task

    @property
    def is_over(self) -> bool:
        return self._task.done()


class Batch:
    """The groups of one batch in their order, whatever order they end in; all of them are played meanwhile."""

    def __init__(self, drawn: Drawn, start: Callable[[Problem, int], GroupInPlay], teaches: Callable[[Group], bool]):
        self._playing = [start(problem, index) for index, problem in enumerate(drawn.problems)]
        self._start, self._teaches = start, teaches
        self._ready: asyncio.Queue[tuple[GroupInPlay, Group | None] | Exception | None] = asyncio.Queue()
        self._task = asyncio.create_task(self._run(iter(drawn.spare)))

    async def _run(self, spare: Iterator[Problem]) -> None:
        """Spares begin as soon as it is known that they are needed, not when the batch's step comes."""
        try:
            for one in self._playing:
                group = await one.ended(tails=0)
                self._ready.put_nowait((one, group))
                if group is not None and not self._teaches(group) and (other := next(spare, None)) is not None:
                    self._playing.append(self._start(other, len(self._playing)))
            self._ready.put_nowait(None)
        except Exception as error:  # raised in the step that this batch is for
            self._ready.put_nowait(error)

    async def groups(self) -> AsyncGenerator[tuple[GroupInPlay, Group | None], None]:
        """Each with None as soon as it is known to be late."""
        while (found := await self._ready.get()) is not None:
            if isinstance(found, Exception):
                raise found
            yield found

    def cancel(self) -> asyncio.Task[None]:
        """It begins no more of them."""
        self._task.cancel()
        return self._task


@dataclass
class Ahead:
    """All batches in flight. `draw` says what a batch asks, `play` plays a group, `total` is the number of steps.

    `state` is what a checkpoint keeps of them: what a resumed run needs to sample the same.
    """

    options: OverlapConfig
    total: int
    draw: Callable[[int], Drawn]
    play: Play
    teaches: Callable[[Group], bool]
    state: dict[str, Any] = field(default_factory=dict)
    _weights: dict[int, Weights] = field(default_factory=dict)
    _drawn: dict[int, Drawn] = field(default_factory=dict)
    _batches: dict[int, Batch] = field(default_factory=dict)
    _late: list[GroupInPlay] = field(default_factory=list)
    _playing: list[GroupInPlay] = field(default_factory=list)  # all of them

    def start(self, step: int, weights: Weights) -> None:
        """A step begins, and these are its weights: so does every batch that they are the ones to sample."""
        self._weights[step] = weights
        for number in range(step, step + self.options.max_steps_off_policy + 1):
            if number not in self._drawn:
                self._begin(number, self.draw(number), self._of(number))

    def _of(self, number: int) -> Weights:
        """The newest instead, where a resumed run has lost those that the schedule names."""
        wanted = max(0, number - self.options.max_steps_off_policy)
        return self._weights.get(wanted) or self._weights[max(self._weights)]

    def _begin(self, number: int, drawn: Drawn, weights: Weights) -> None:
        self._drawn[number] = drawn
        if number < self.total:

            def start(problem: Problem, index: int) -> GroupInPlay:
                return self._play(problem, number, index, weights)

            self._batches[number] = Batch(drawn, start, self.teaches)

    def _play(self, problem: Problem, number: int, index: int, weights: Weights) -> GroupInPlay:
        one = GroupInPlay(problem, number, index, weights, self.play)
        self._playing.append(one)
        return one

    async def groups(self, step: int) -> AsyncGenerator[Group, None]:
        """What a step trains on: its own batch in its order, then what earlier ones left; the last step waits for all.

        A late group is a stale one if it would be older than max_steps_off_policy in the next step.
        """
        late, self._late = self._late, []
        async for one, group in self._batches[step].groups():
            found = await self._or_later(one, group, step)
            if found is not None:
                yield replace(found, age=step - one.weights.after)
        for one in late:
            found = await self._or_later(one, await one.ended(step - one.batch), step)
            if found is not None:
                yield replace(found, age=step - one.weights.after)

    async def _or_later(self, one: GroupInPlay, group: Group | None, step: int) -> Group | None:
        if group is not None:
            return group
        if self.options.stale_groups == "drop" and step + 1 - one.weights.after > self.options.max_steps_off_policy:
            one.cancel()
            return Group(one.problem, (), dropped=True)
        if step + 1 == self.total:
            return await one.whole()
        self._late.append(one)
        return None

    def settle(self, done: int) -> None:
        """So many steps are done: what they have used is let go, and `state` is what is in flight now."""
        for number in [number for number in self._drawn if number < done]:
            del self._drawn[number]
            self._batches.pop(number, None)
        window = range(done, done + self.options.max_steps_off_policy)
        needed = {self._of(number).after for number in window} | {one.weights.after for one in self._late}
        self._weights = {after: one for after, one in self._weights.items() if after in needed}
        self._playing = [one for one in self._playing if not one.is_over]
        if self.options.is_on_policy:
            return
        self.state = {
            "weights": {str(after): self._weights[after].path for after in sorted(needed)},
            "batches": {str(number): _names(drawn) for number, drawn in sorted(self._drawn.items())},
            "late": [{"batch": one.batch, "index": one.index, "problem": one.problem.id, "weights": one.weights.after}
                     for one in self._late],
        }  # fmt: skip

    def restore(
        self, state: Mapping[str, Any], weights: Mapping[int, Weights], newest: Weights, problems: Sequence[Problem]
    ) -> None:
        """As they were at a checkpoint. `weights` has those of the state that were found, `newest` does for others."""
        self.state = dict(state)
        self._weights |= {**weights, newest.after: newest}
        by_name = {problem.id: problem for problem in problems}
        for one in state.get("late", ()):
            played_by = self._weights.get(one["weights"], newest)
            self._late.append(self._play(by_name[one["problem"]], one["batch"], one["index"], played_by))
        for number, names in state.get("batches", {}).items():
            kinds = (tuple(by_name[name] for name in names[kind]) for kind in ("problems", "spare"))
            self._begin(int(number), Drawn(*kinds), self._of(int(number)))

    async def aclose(self) -> None:
        """No episode goes on alone."""
        tasks: list[asyncio.Task[Any]] = [batch.cancel() for batch in self._batches.values()]
        tasks += [one.cancel() for one in self._playing]
        await asyncio.gather(*tasks, return_exceptions=True)


def _names(drawn: Drawn) -> dict[str, list[str]]:
    return {
        "problems": [problem.id for problem in drawn.problems],
        "spare": [problem.id for problem in drawn.spare],
    }
