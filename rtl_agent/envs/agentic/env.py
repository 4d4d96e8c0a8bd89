"""An agentic session in tokens: an environment of tinker-cookbook whose observation only ever grows at its end."""

from collections.abc import Callable, Sequence

import tinker
from tinker_cookbook.completers import StopCondition
from tinker_cookbook.rl.types import Action, ActionExtra, Env, StepResult

from rtl_agent.envs.agentic.end_reason import EndReason
from rtl_agent.envs.agentic.session import AgenticSession, Reply
from rtl_agent.envs.dialects.dialect import Dialect
from rtl_agent.envs.episode import Episode, EpisodeFailed
from rtl_agent.envs.prompt import Prompt
from rtl_agent.prompts import PromptTooLong


class AgenticEnv(Env):
    """Plays one session. `episode` is its record once it is over; `close` ends its sandbox at any time."""

    def __init__(self, session: AgenticSession, dialect: Dialect, ask: Callable[[], Prompt]) -> None:
        self.session, self._dialect, self._ask = session, dialect, ask
        self._conversation: list[int] = []
        self._tokens: list[tuple[tuple[int, ...], tuple[int, ...]]] = []  # of each turn: sampled, appended
        self._stop_reason = "stop"
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
        self.session.begin()
        return prompt.observation, self._dialect.stop()

    async def step(self, action: Action, *, extra: ActionExtra | None = None) -> StepResult:
        sampled = tuple(action)
        self._stop_reason = (extra or {}).get("stop_reason", "stop")
        self._conversation += sampled
        turn = self._dialect.parse(sampled)
        reply = await self.session.take(turn, tokens=len(self._conversation), cut_off=self._stop_reason == "length")
        appended: Sequence[int] = ()
        if reply.ended is None:
            appended = self._dialect.follow(sampled, reply.results)
            if not self._fits(len(self._conversation) + len(appended)):
                reply, appended = await self.session.end(EndReason.MAX_TOKENS), ()
        self._conversation += appended
        self._tokens.append((sampled, tuple(appended)))
        return self._result(reply)

    async def close(self) -> None:
        await self.session.close()

    def _fits(self, tokens: int) -> bool:
        config = self.session.config
        return config.max_tokens is None or tokens + config.turn_tokens <= config.max_tokens

    def _result(self, reply: Reply) -> StepResult:
        if reply.ended is None:
            return StepResult(
                reward=0.0,
                episode_done=False,
                next_observation=tinker.ModelInput.from_ints(self._conversation),
                next_stop_condition=self._dialect.stop(),
            )
        session = self.session
        self._episode = session.episode(
            prompt_tokens=self._ask().tokens, tokens=self._tokens, stop_reason=self._stop_reason
        )
        grade = session.ending.grade
        return StepResult(
            reward=reply.reward,
            episode_done=True,
            next_observation=tinker.ModelInput.empty(),
            next_stop_condition=self._dialect.stop(),
            metrics={**session.metrics, "cut_off": float(self._episode.cut_off)},
            logs={
                "problem": session.problem.id,
                "level": session.config.level.value,
                "ended": reply.ended.value,
                "outcome": grade.outcome.value,
                "reasons": "\n".join(grade.reasons),
            },
        )
