"""An agentic session in tokens, as an environment of tinker-cookbook."""

from collections.abc import Callable, Sequence

from tinker_cookbook.rl.types import StepResult

from rtl_agent.envs.agentic.end_reason import EndReason
from rtl_agent.envs.agentic.session import AgenticSession, Reply
from rtl_agent.envs.conversation import ConversationEnv
from rtl_agent.envs.dialects.dialect import Dialect
from rtl_agent.envs.prompt import Prompt


class AgenticEnv(ConversationEnv):
    """Plays one session. `close` ends its sandbox at any time."""

    def __init__(self, session: AgenticSession, dialect: Dialect, ask: Callable[[], Prompt]) -> None:
        super().__init__(session.problem, session.config, dialect, ask, dialect.stop())
        self.session = session

    async def close(self) -> None:
        await self.session.close()

    async def _take(self, sampled: Sequence[int], tokens: int, stop_reason: str) -> Reply:
        return await self.session.take(self._dialect.parse(sampled), tokens=tokens, cut_off=stop_reason == "length")

    async def _out_of_tokens(self) -> Reply:
        return await self.session.end(EndReason.MAX_TOKENS)

    def _ended(self, stop_reason: str) -> StepResult:
        session = self.session
        episode = session.episode(transcript=self._transcript, stop_reason=stop_reason)
        logs = {"level": episode.level, "ended": episode.end_reason}
        return self._over(episode, session.ending.grade, session.metrics, logs)
