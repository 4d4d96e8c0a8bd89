"""An agentic episode without tokens: turns in, observations out, and at its end the grade of what stands there."""

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from rtl_agent.envs.agentic.config import AgenticConfig
from rtl_agent.envs.agentic.end_reason import EndReason
from rtl_agent.envs.agentic.ending import Counts, Ending
from rtl_agent.envs.agentic.toolbox import SUBMIT, Toolbox
from rtl_agent.envs.agentic.workspace import Workshop, Workspace
from rtl_agent.envs.dialects.dialect import ToolCall, ToolResult, ToolSpec, Turn
from rtl_agent.envs.episode import Episode, EpisodeFailed, EpisodeTurn
from rtl_agent.envs.failures import failures
from rtl_agent.envs.graded import grade_or_fail
from rtl_agent.envs.level import Level
from rtl_agent.envs.record import NO_TOKENS
from rtl_agent.envs.transcript import Transcript
from rtl_agent.grading import Grade, Grader, Outcome, Submission
from rtl_agent.problems import Problem
from rtl_agent.prompts import Message, agentic_messages
from rtl_agent.sandbox import SandboxError
from rtl_agent.toolchain import ToolMissing

NOT_READ = ""  # no tool says that a call could not be read
_FAULTS = (SandboxError, ToolMissing, OSError)
T = TypeVar("T")


@dataclass(frozen=True)
class Reply:
    """What the model is shown; at the end also why it is over, and what it earned."""

    results: tuple[ToolResult, ...] = ()
    ended: EndReason | None = None
    grade: Grade | None = None
    reward: float = 0.0  # 0 at level `open`, whatever the grade: it is no score


def asked(problem: Problem, config: AgenticConfig, system: str = "default") -> tuple[Message, ...]:
    """The messages that an episode begins with."""
    return tuple(
        agentic_messages(
            problem, level=config.level.value, can_submit=config.can_submit, tries=config.tries, system=system
        )
    )


class AgenticSession:
    """One episode. `take` its turns until a reply says `ended`, and `close` it whatever happens."""

    def __init__(
        self,
        problem: Problem,
        grader: Grader,
        where: Workshop,
        config: AgenticConfig | None = None,
        *,
        system: str = "default",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.problem, self.config = problem, config or AgenticConfig()
        self.messages = asked(problem, self.config, system)
        self._grader, self._clock = grader, clock
        self._workspace = Workspace(where, problem, self.config.level, self.config.limits)
        self._toolbox = Toolbox(self._workspace, self.config)
        self._seconds_in_tools = 0.0
        self._turns: list[EpisodeTurn] = []
        self._counts = Counts()
        self._faults_in_a_row = 0
        self._judged: tuple[Submission, Grade] | None = None
        self._ending: Ending | None = None

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return self._toolbox.specs

    @property
    def turns(self) -> tuple[EpisodeTurn, ...]:
        return tuple(self._turns)

    async def take(self, turn: Turn, *, tokens: int = 0, cut_off: bool = False) -> Reply:
        """One turn of the model. `tokens` is the length of the conversation with it; `cut_off`: it had no end."""
        if self._ending is not None:
            raise RuntimeError(f"the episode of {self.problem.id} is over")
        try:
            reply = await self._take(turn, tokens, cut_off)
        except _FAULTS as fault:
            await self.close()
            raise EpisodeFailed(f"{self.problem.id}: the workspace failed: {fault}") from fault
        except BaseException:
            await self.close()
            raise
        return reply

    async def end(self, reason: EndReason) -> Reply:
        """Over before the next turn, e.g. as it would not fit."""
        try:
            return await self._finish(reason, ())
        except _FAULTS as fault:
            raise EpisodeFailed(f"{self.problem.id}: the workspace failed: {fault}") from fault
        finally:
            await self.close()

    async def close(self) -> None:
        """Ends the sandbox. May be called at any time, and again."""
        await self._workspace.close()

    async def _take(self, turn: Turn, tokens: int, cut_off: bool) -> Reply:
        config = self.config
        fault = turn.fault
        if cut_off and not turn.calls and not fault:
            fault = "your turn was cut off before it had an end; write less in one turn"
        calls = tuple({"name": call.name, "arguments": dict(call.arguments)} for call in turn.calls)
        self._turns.append(EpisodeTurn(turn.text, turn.thinking, calls, fault))
        if not turn.calls and not fault:
            return await self._finish(EndReason.ANSWER, ())
        results, ran, submitted = await self._run(turn.calls)
        if fault:
            results.append(ToolResult(NOT_READ, fault))
        self._faults_in_a_row = 0 if ran else self._faults_in_a_row + 1
        self._counts.parse_errors += not ran
        if submitted:
            return await self._finish(EndReason.SUBMIT, results)
        if self._faults_in_a_row >= config.max_parse_errors:
            return await self._finish(EndReason.PARSE_ERRORS, results)
        if len(self._turns) >= config.max_turns:
            return await self._finish(EndReason.MAX_TURNS, results)
        if not config.has_room(tokens):
            return await self._finish(EndReason.MAX_TOKENS, results)
        if self._seconds_left <= 0:
            return await self._finish(EndReason.WALL_TIME, results)
        self._show(results)
        return Reply(tuple(results))

    async def _run(self, calls: Sequence[ToolCall]) -> tuple[list[ToolResult], bool, bool]:
        """What the calls gave, whether one could be run, and whether the episode is over by a submit."""
        results: list[ToolResult] = []
        ran = False
        for number, call in enumerate(calls):
            if number >= self.config.max_calls:
                results.append(ToolResult(call.name, f"[not run: more than {self.config.max_calls} calls in a turn]"))
                break
            if wrong := self._toolbox.check(call):
                results.append(ToolResult(call.name, f"[not run: {wrong}]"))
                continue
            ran = True
            self._counts.calls += 1
            if call.name == SUBMIT:
                told, over = await self._submit()
                results.append(ToolResult(call.name, told))
                if over:
                    return results, True, True
                continue
            if self._seconds_left <= 0:
                results.append(ToolResult(call.name, "[not run: the time of the episode is over]"))
                break
            await self._workspace.open()
            results.append(ToolResult(call.name, await self._timed(self._toolbox.run(call, self._seconds_left))))
            self._counts.timed_out = self._workspace.timed_out
        return results, ran, False

    async def _submit(self) -> tuple[str, bool]:
        """What is said to a submit, and whether it was the last."""
        self._counts.submits += 1
        if self.config.level is not Level.FEEDBACK:
            return "Submitted.", True
        _, grade = await self._grade()
        tries = self.config.tries
        if grade.outcome is Outcome.PASSED or self._counts.submits >= tries:
            return "Submitted.", True
        left = tries - self._counts.submits
        told = failures(self.problem, grade)
        return f"It does not pass. You can submit {left} more {'time' if left == 1 else 'times'}.\n{told}", False

    async def _grade(self) -> tuple[Submission, Grade]:
        """The targets as they stand now, and their grade from a fresh box of the grader's."""
        submission = await self._workspace.take_out()
        if self._judged is None or self._judged[0] != submission:
            grade = await grade_or_fail(self._grader, self.problem, submission)
            self._judged = submission, grade
        return self._judged

    async def _finish(self, reason: EndReason, results: Sequence[ToolResult]) -> Reply:
        try:
            submission, grade = await self._grade()
        finally:
            await self.close()
        self._show(results)
        self._ending = Ending(reason, self.config.level, submission, grade)
        return Reply(tuple(results), reason, grade, self._ending.reward)

    def _show(self, results: Sequence[ToolResult]) -> None:
        if self._turns:
            shown = "\n\n".join(result.text for result in results)
            self._turns[-1] = replace(self._turns[-1], observation=shown)

    @property
    def _seconds_left(self) -> float:
        return self.config.wall_seconds - self._seconds_in_tools

    async def _timed(self, work: Awaitable[T]) -> T:
        before = self._clock()
        try:
            return await work
        finally:
            self._seconds_in_tools += self._clock() - before

    @property
    def metrics(self) -> dict[str, float | int]:
        """Of an episode that is over."""
        return self.ending.metrics(self._counts, self._workspace.cpu_seconds)

    def episode(self, *, transcript: Transcript = NO_TOKENS, stop_reason: str = "stop") -> Episode:
        """The record of an episode that is over."""
        return self.ending.episode(self.problem, self.messages, self._turns, transcript, stop_reason)

    @property
    def ending(self) -> Ending:
        if self._ending is None:
            raise RuntimeError(f"the episode of {self.problem.id} has not ended yet")
        return self._ending
