"""Episodes in tokens, as tinker-cookbook knows them: one environment over every kind of session, one group builder."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import tinker
from tinker_cookbook.completers import StopCondition
from tinker_cookbook.renderers import Renderer
from tinker_cookbook.rl.types import Action, ActionExtra, Env, EnvGroupBuilder, StepResult

from rtl_agent.envs.conversation import Conversation, ModelTurn
from rtl_agent.envs.dialects.dialect import Dialect
from rtl_agent.envs.dialects.registry import dialect_for, turn_reader
from rtl_agent.envs.episode import EpisodeFailed, Transcript
from rtl_agent.envs.episode_config import EpisodeConfig
from rtl_agent.envs.kinds import TokenBudget, kind_of, resolved, token_budget
from rtl_agent.envs.prompt import Prompt, answer_prompt, answer_text, tool_prompt
from rtl_agent.envs.renderers import renderer_for
from rtl_agent.envs.session import Session, ToolResult, ToolSpec, Turn
from rtl_agent.envs.tokenizers import tokenizer_for
from rtl_agent.grading import Grader
from rtl_agent.problems import Problem
from rtl_agent.prompts import PromptTooLong
from rtl_agent.runs.episode import Episode

DEFAULT = "default"
_GRADERS: dict[str, Grader] = {}


class NoGrader(RuntimeError):
    """An environment ran in a process that has no grader for it."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"this process has no grader called {name!r}: run environments inside `with live_grader(grader):`"
        )


@contextmanager
def live_grader(grader: Grader, name: str = DEFAULT) -> Iterator[None]:
    """Environments that ask for `name` are graded by this grader, until the block ends.

    Builders of environments are data that can be sent to another process: they name their grader and never carry it.
    """
    before = _GRADERS.get(name)
    _GRADERS[name] = grader
    try:
        yield
    finally:
        if before is None:
            del _GRADERS[name]
        else:
            _GRADERS[name] = before


def grader_named(name: str) -> Grader:
    try:
        return _GRADERS[name]
    except KeyError:
        raise NoGrader(name) from None


@dataclass(frozen=True)
class Wording:
    """How a kind of environment speaks with one model: prompts and turns as tokens."""

    renderer: Renderer
    dialect: Dialect | None  # None where the only turn is an answer
    tools: tuple[ToolSpec, ...]
    renderer_name: str

    @property
    def has_tools(self) -> bool:
        return bool(self.tools)

    @cached_property
    def reader(self) -> Dialect:
        """Finds the parts of a turn, of a model without tool calls too."""
        return self.dialect or turn_reader(self.renderer_name, self.renderer)

    @property
    def stop(self) -> StopCondition:
        if self.has_tools and self.dialect is not None:
            return self.dialect.stop()
        return self.renderer.get_stop_sequences()

    def turn(self, sampled: Sequence[int]) -> Turn:
        if self.has_tools and self.dialect is not None:
            return self.dialect.parse(sampled)
        return Turn(answer_text(self.renderer, sampled))


class EpisodeEnv(Env):
    """Plays one session. Sampled tokens are kept as they are, and what the model is shown is appended after them.

    `episode` is its record, once a step has said that it is over.
    """

    def __init__(
        self,
        problem: Problem,
        session: Session | None,  # None where the prompt is too long to be asked
        prompt: Prompt | PromptTooLong,
        wording: Wording,
        budget: TokenBudget,
    ) -> None:
        self.problem, self._session, self._prompt = problem, session, prompt
        self._wording, self._budget = wording, budget
        self._transcript = Transcript()
        self._replies: list[tuple[tuple[ToolResult, ...], bool]] = []  # of each turn: results, whether it was cut off
        self._episode: Episode | None = None

    @property
    def conversation(self) -> Conversation:
        """All that was said so far. Made when it is asked for: reading the turns costs milliseconds."""
        asked, transcript, read = self._prompt, self._transcript, self._wording.reader.read
        return Conversation(
            messages=() if isinstance(asked, PromptTooLong) else asked.messages,
            tools=self._wording.tools,
            turns=tuple(
                ModelTurn(read(sampled), results, cut_off)
                for (sampled, _), (results, cut_off) in zip(transcript.turns, self._replies, strict=True)
            ),
            prompt=transcript.prompt,
            shown=tuple(appended for _, appended in transcript.turns),
        )

    @property
    def episode(self) -> Episode:
        if self._episode is None:
            raise RuntimeError(f"the episode of {self.problem.id} has not ended yet")
        return self._episode

    @property
    def session(self) -> Session:
        """EpisodeFailed where the problem cannot be asked at all."""
        if self._session is None:
            raise EpisodeFailed(str(self._prompt))
        return self._session

    async def initial_observation(self) -> tuple[tinker.ModelInput, StopCondition]:
        if isinstance(self._prompt, PromptTooLong):
            raise EpisodeFailed(str(self._prompt))
        self._transcript, self._replies = Transcript(self._prompt.tokens), []
        return self._prompt.observation, self._wording.stop

    async def step(self, action: Action, *, extra: ActionExtra | None = None) -> StepResult:
        sampled, stop_reason = tuple(action), (extra or {}).get("stop_reason", "stop")
        length = len(self._transcript.tokens) + len(sampled)
        reply = await self.session.take(
            self._wording.turn(sampled), cut_off=stop_reason == "length", full=not self._budget.has_room(length)
        )
        appended: Sequence[int] = ()
        if reply.ended is None:
            assert self._wording.dialect is not None, "a kind of several turns has a dialect"
            appended = self._wording.dialect.follow(sampled, reply.results)
            if not self._budget.has_room(length + len(appended)):
                reply, appended = await self.session.out_of_tokens(), ()
        self._transcript = self._transcript.then(sampled, appended)
        self._replies.append((reply.results, stop_reason == "length"))
        if reply.ended is None:
            return StepResult(0.0, False, tinker.ModelInput.from_ints(self._transcript.tokens), self._wording.stop)
        return self._over(stop_reason)

    async def close(self) -> None:
        """Ends what the session holds, at any time."""
        if self._session is not None:
            await self._session.close()

    def _over(self, stop_reason: str) -> StepResult:
        """The last step. From here on there is a record."""
        session = self.session
        self._episode = session.episode(transcript=self._transcript, stop_reason=stop_reason)
        return StepResult(
            reward=self._episode.reward,
            episode_done=True,
            next_observation=tinker.ModelInput.empty(),
            next_stop_condition=self._wording.stop,
            metrics={**session.metrics, "cut_off": float(self._episode.cut_off)},
            logs={
                "problem": self.problem.id,
                **session.logs,
                "outcome": session.grade.outcome.value,
                "reasons": "\n".join(session.grade.reasons),
            },
        )


@dataclass(frozen=True)
class ProblemGroupBuilder(EnvGroupBuilder):
    """A problem played `group_size` times at once: data only. Tokenizer, renderer and grader are found by their names.

    `cleanup` ends whatever the environments that it made still hold, whatever became of them.
    """

    problem: Problem
    group_size: int
    model_name: str  # names the tokenizer
    renderer_name: str
    config: EpisodeConfig = field(default_factory=EpisodeConfig)
    context: int | None = None  # the most tokens that the model takes
    grader: str = DEFAULT
    rendered: "dict[str, tuple[ProblemGroupBuilder, Prompt]]" = field(default_factory=dict, repr=False, compare=False)
    """Prompts by problem, shared by all builders that `replace` made of one another: each is rendered once."""
    _made: list[EpisodeEnv] = field(default_factory=list, init=False, repr=False, compare=False)

    async def make_envs(self) -> Sequence[EpisodeEnv]:
        """The prompt is rendered once for the group."""
        grader, kind, prompt = grader_named(self.grader), kind_of(self.config), self._prompt_or_why_not()
        for _ in range(self.group_size):
            session = (
                kind.session(self.problem, self.rules, grader, prompt.messages) if isinstance(prompt, Prompt) else None
            )
            self._made.append(EpisodeEnv(self.problem, session, prompt, self.wording, self.budget))
        return tuple(self._made[-self.group_size :])

    async def cleanup(self) -> None:
        made = list(self._made)
        self._made.clear()
        await asyncio.gather(*(env.close() for env in made), return_exceptions=True)

    @property
    def renderer(self) -> Renderer:
        return self.wording.renderer

    @cached_property
    def rules(self) -> EpisodeConfig:
        """The configuration with what was left open filled in."""
        return resolved(self.config, self.model_name)

    @cached_property
    def wording(self) -> Wording:
        kind = kind_of(self.config)
        renderer = renderer_for(self.renderer_name, tokenizer_for(self.model_name))
        dialect = dialect_for(self.model_name, self.renderer_name) if kind.several_turns else None
        return Wording(renderer, dialect, tuple(kind.tools(self.rules)), self.renderer_name)

    @property
    def budget(self) -> TokenBudget:
        return token_budget(self.config, self.context)

    def prompt(self) -> Prompt:
        """What is asked first; `PromptTooLong` where it cannot be cut to fit."""
        maker, found = self.rendered.get(self.problem.id, (None, None))
        if maker is None or found is None or not self._asks_as(maker):
            found = self._render()
            self.rendered[self.problem.id] = self, found
        return found

    def _asks_as(self, other: "ProblemGroupBuilder") -> bool:
        names = ("model_name", "renderer_name", "config", "context")
        return self.problem is other.problem and all(getattr(self, name) == getattr(other, name) for name in names)

    def _render(self) -> Prompt:
        kind, words, most = kind_of(self.config), self.wording, self.budget.prompt
        if words.has_tools and words.dialect is not None:
            return tool_prompt(kind, self.problem, self.rules, words.dialect, most)
        return answer_prompt(kind, self.problem, self.rules, words.renderer, most)

    def _prompt_or_why_not(self) -> Prompt | PromptTooLong:
        try:
            return self.prompt()
        except PromptTooLong as error:
            return error

    def logging_tags(self) -> list[str]:
        return [self.problem.category]

    def __getstate__(self) -> dict[str, Any]:
        """Its fields: what was looked up by name is found again, and sandboxes stay where they were opened."""
        return {**{name: self.__dict__[name] for name in self.__dataclass_fields__}, "rendered": {}, "_made": []}
