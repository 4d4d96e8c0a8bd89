"""An agent with a shell: calls are run in a workspace, and at the end what stands there is graded."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from rtl_agent.envs.agentic.tools import SUBMIT, Toolbox, can_submit, tool_specs
from rtl_agent.envs.agentic.workspace import Workshop, Workspace, workshop
from rtl_agent.envs.episode import EpisodeFailed, grade_or_fail
from rtl_agent.envs.episode_config import EpisodeConfig, Level
from rtl_agent.envs.feedback import failures
from rtl_agent.envs.session import (
    CountTokens,
    EnvironmentKind,
    Reply,
    Session,
    ToolCall,
    ToolResult,
    ToolSpec,
    Turn,
)
from rtl_agent.grading import Grade, Grader, Outcome, Submission
from rtl_agent.problems import Kind, Problem
from rtl_agent.prompts import Message, agentic_messages
from rtl_agent.runs.episode import EpisodeTurn
from rtl_agent.sandbox import SandboxError
from rtl_agent.toolchain import ToolMissing

NOT_READ = ""  # no tool says that a call could not be read
_FAULTS = (SandboxError, ToolMissing, OSError)
T = TypeVar("T")


class EndReason(StrEnum):
    SUBMIT = "submit"
    ANSWER = "answer"  # a turn without a tool call
    MAX_TURNS = "max_turns"
    MAX_TOKENS = "max_tokens"
    PARSE_ERRORS = "parse_errors"  # too many turns in a row in which no call could be run
    WALL_TIME = "wall_time"


@dataclass
class Counts:
    """What happened in an episode, in numbers."""

    calls: int = 0  # that were run
    parse_errors: int = 0  # turns in which no call could be run
    submits: int = 0
    timed_out: int = 0  # commands


class AgenticSession(Session):
    """Its workspace is opened by the first call that needs it; `close` ends the sandbox."""

    def __init__(
        self,
        problem: Problem,
        config: EpisodeConfig,
        messages: Sequence[Message],
        grader: Grader,
        where: Workshop | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(problem, config, messages)
        self._grader, self._clock = grader, clock
        self._workspace = Workspace(where or workshop(), problem, config)
        self._toolbox = Toolbox(self._workspace, config)
        self._seconds_in_tools = 0.0
        self._counts = Counts()
        self._faults_in_a_row = 0
        self._judged: tuple[Submission, Grade] | None = None

    async def take(self, turn: Turn, *, cut_off: bool = False, full: bool = False) -> Reply:
        self._ensure_open()
        try:
            return await self._take(turn, cut_off, full)
        except _FAULTS as fault:
            await self.close()
            raise EpisodeFailed(f"{self.problem.id}: the workspace failed: {fault}") from fault
        except BaseException:
            await self.close()
            raise

    async def out_of_tokens(self) -> Reply:
        try:
            return await self._finish(EndReason.MAX_TOKENS, ())
        except _FAULTS as fault:
            raise EpisodeFailed(f"{self.problem.id}: the workspace failed: {fault}") from fault
        finally:
            await self.close()

    async def close(self) -> None:
        await self._workspace.close()

    async def _take(self, turn: Turn, cut_off: bool, full: bool) -> Reply:
        config = self.config
        fault = turn.fault
        if cut_off and not turn.calls and not fault:
            fault = "your turn was cut off before it had an end; write less in one turn"
        calls = tuple({"name": call.name, "arguments": dict(call.arguments)} for call in turn.calls)
        self.turns.append(EpisodeTurn(turn.text, turn.thinking, calls, fault))
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
        if len(self.turns) >= config.max_turns:
            return await self._finish(EndReason.MAX_TURNS, results)
        if full:
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
        if self.level is not Level.FEEDBACK:
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
            _, grade = await self._grade()
        finally:
            await self.close()
        self._show(results)
        return self._over(reason, grade, results)

    @property
    def _seconds_left(self) -> float:
        return self.config.episode_seconds - self._seconds_in_tools

    async def _timed(self, work: Awaitable[T]) -> T:
        """Only time in tools counts: how long sampling, a sandbox or a grade take is up to who else waits."""
        before = self._clock()
        try:
            return await work
        finally:
            self._seconds_in_tools += self._clock() - before

    @property
    def files(self) -> Mapping[str, str]:
        return self._judged[0].files if self._judged else {}

    @property
    def metrics(self) -> dict[str, float | int]:
        counts = self._counts
        return {
            **super().metrics,
            "tool_calls": counts.calls,
            "parse_errors": counts.parse_errors,
            "submits": counts.submits,
            "commands_timed_out": counts.timed_out,
            "commands_cpu_seconds": round(self._workspace.cpu_seconds, 3),
        }

    @property
    def logs(self) -> dict[str, str | int | float]:
        return {"level": self.level.value, **super().logs}


class AgenticKind(EnvironmentKind):
    """Problems of both kinds: one that asks for a reply can be played by an agent, too."""

    levels = (Level.OWN_TESTS, Level.SPEC, Level.FEEDBACK, Level.OPEN)
    problem_kinds = (Kind.AGENTIC, Kind.SINGLE_SHOT)

    def messages(
        self,
        problem: Problem,
        config: EpisodeConfig,
        *,
        max_prompt_tokens: int | None = None,
        count_tokens: CountTokens | None = None,
    ) -> list[Message]:
        """Nothing in them can be cut: context files are in the workspace."""
        return agentic_messages(
            problem,
            level=config.level,
            can_submit=can_submit(config),
            tries=config.tries,
            system=config.system,
        )

    def tools(self, config: EpisodeConfig) -> tuple[ToolSpec, ...]:
        return tool_specs(config)

    def session(self, problem: Problem, config: EpisodeConfig, grader: Grader, messages: Sequence[Message]) -> Session:
        return AgenticSession(problem, config, messages, grader)
