"""A refinement session in tokens, as an environment of tinker-cookbook."""

from collections.abc import Callable, Sequence

from tinker_cookbook.renderers import Renderer
from tinker_cookbook.rl.types import StepResult

from rtl_agent.envs.answer import answer_text
from rtl_agent.envs.conversation import ConversationEnv
from rtl_agent.envs.dialects.dialect import Dialect
from rtl_agent.envs.prompt import Prompt
from rtl_agent.envs.refine.session import RefineEnd, RefineReply, RefineSession


class RefineEnv(ConversationEnv):
    """Plays one session. The dialect is there for its `follow`: a result without a tool's name is the user's words."""

    def __init__(self, session: RefineSession, renderer: Renderer, dialect: Dialect, ask: Callable[[], Prompt]) -> None:
        super().__init__(session.problem, session.config, dialect, ask, renderer.get_stop_sequences())
        self.session, self._renderer = session, renderer

    async def _take(self, sampled: Sequence[int], tokens: int, stop_reason: str) -> RefineReply:
        return await self.session.take(answer_text(self._renderer, sampled), tokens=tokens)

    async def _out_of_tokens(self) -> RefineReply:
        return self.session.end(RefineEnd.MAX_TOKENS)

    def _ended(self, stop_reason: str) -> StepResult:
        session = self.session
        episode = session.episode(self._ask().messages, transcript=self._transcript, stop_reason=stop_reason)
        rewards = ", ".join(f"{reward:g}" for reward in session.rewards)
        return self._over(episode, session.grade, session.metrics, {"ended": episode.end_reason, "rewards": rewards})
