"""A refinement session in tokens: an environment of tinker-cookbook whose observation only ever grows at its end."""

from collections.abc import Callable, Sequence

import tinker
from tinker_cookbook.completers import StopCondition
from tinker_cookbook.renderers import Renderer
from tinker_cookbook.rl.types import Action, ActionExtra, Env, StepResult

from rtl_agent.envs.answer import answer_text
from rtl_agent.envs.dialects.dialect import Dialect, ToolResult
from rtl_agent.envs.episode import Episode, EpisodeFailed
from rtl_agent.envs.prompt import Prompt
from rtl_agent.envs.refine.session import RefineEnd, RefineSession
from rtl_agent.prompts import PromptTooLong


class RefineEnv(Env):
    """Plays one session. The dialect is there for its `follow`: a result without a tool's name is the user's words."""

    def __init__(self, session: RefineSession, renderer: Renderer, dialect: Dialect, ask: Callable[[], Prompt]) -> None:
        self.session, self._renderer, self._dialect, self._ask = session, renderer, dialect, ask
        self._conversation: list[int] = []
        self._tokens: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
        self._episode: Episode | None = None

    @property
    def episode(self) -> Episode:
        if self._episode is None:
            raise RuntimeError(f"the episode of {self.session.problem.id} has not ended yet")
        return self._episode

    async def initial_observation(self) -> tuple[tinker.ModelInput, StopCondition]:
        try:
            prompt = self._ask()
        except PromptTooLong as problem:
            raise EpisodeFailed(str(problem)) from problem
        self._conversation = list(prompt.tokens)
        return prompt.observation, self._renderer.get_stop_sequences()

    async def step(self, action: Action, *, extra: ActionExtra | None = None) -> StepResult:
        sampled = tuple(action)
        stop_reason = (extra or {}).get("stop_reason", "stop")
        self._conversation += sampled
        text = answer_text(self._renderer, sampled)
        reply = await self.session.take(text, tokens=len(self._conversation))
        appended: Sequence[int] = ()
        if reply.message is not None:
            appended = self._dialect.follow(sampled, [ToolResult("", reply.message.content)])
            if not self.session.fits(len(self._conversation) + len(appended)):
                reply, appended = self.session.end(RefineEnd.MAX_TOKENS), ()
        self._conversation += appended
        self._tokens.append((sampled, tuple(appended)))
        stop = self._renderer.get_stop_sequences()
        if reply.ended is None:
            return StepResult(0.0, False, tinker.ModelInput.from_ints(self._conversation), stop)
        asked = self._ask()
        self._episode = self.session.episode(
            asked.messages, prompt_tokens=asked.tokens, tokens=self._tokens, stop_reason=stop_reason
        )
        grade = self.session.grade
        return StepResult(
            reward=reply.reward,
            episode_done=True,
            next_observation=tinker.ModelInput.empty(),
            next_stop_condition=stop,
            metrics={**self.session.metrics, "cut_off": float(self._episode.cut_off)},
            logs={
                "problem": self.session.problem.id,
                "ended": reply.ended.value,
                "rewards": ", ".join(f"{reward:g}" for reward in self.session.rewards),
                "outcome": grade.outcome.value,
                "reasons": "\n".join(grade.reasons),
            },
        )
