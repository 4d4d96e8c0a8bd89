"""An episode of several turns in tokens: a session that knows none, with a dialect and a budget of tokens around it."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Protocol

import tinker
from tinker_cookbook.completers import StopCondition
from tinker_cookbook.rl.types import Action, ActionExtra, StepResult

from rtl_agent.envs.dialects.dialect import Dialect, ToolResult
from rtl_agent.envs.episode_env import EpisodeEnv, stop_reason_of
from rtl_agent.envs.prompt import Prompt
from rtl_agent.envs.token_budget import TokenBudget
from rtl_agent.problems import Problem


class Said(Protocol):
    """A session's reply to a turn: what the model is shown next, or why it is over."""

    @property
    def results(self) -> Sequence[ToolResult]: ...

    @property
    def ended(self) -> StrEnum | None: ...


class ConversationEnv(EpisodeEnv):
    """Sampled tokens are kept as they are, and what the model is shown is appended after them.

    Whoever derives from it says how its session takes a turn, and how it ends.
    """

    def __init__(
        self, problem: Problem, budget: TokenBudget, dialect: Dialect, ask: Callable[[], Prompt], stop: StopCondition
    ) -> None:
        super().__init__(problem, ask, stop)
        self._budget, self._dialect = budget, dialect

    async def step(self, action: Action, *, extra: ActionExtra | None = None) -> StepResult:
        sampled, stop_reason = tuple(action), stop_reason_of(extra)
        length = len(self._transcript.tokens) + len(sampled)
        reply = await self._take(sampled, length, stop_reason)
        appended: Sequence[int] = ()
        if reply.ended is None:
            appended = self._dialect.follow(sampled, reply.results)
            if not self._budget.has_room(length + len(appended)):
                reply, appended = await self._out_of_tokens(), ()
        self._transcript = self._transcript.then(sampled, appended)
        if reply.ended is not None:
            return self._ended(stop_reason)
        return StepResult(0.0, False, tinker.ModelInput.from_ints(self._transcript.tokens), self._stop)

    @abstractmethod
    async def _take(self, sampled: Sequence[int], tokens: int, stop_reason: str) -> Said:
        """One turn. `tokens` is the length of the conversation with it."""

    @abstractmethod
    async def _out_of_tokens(self) -> Said:
        """Over, as what was to be shown leaves no room for another turn."""

    @abstractmethod
    def _ended(self, stop_reason: str) -> StepResult:
        """The last step, when the session is over."""
