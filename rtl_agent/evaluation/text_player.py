"""A model behind an endpoint plays the same sessions by text: the rules are the same, only tokens are absent."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rtl_agent.backends.models import OWN
from rtl_agent.envs.dialects.qwen import brief_tools_text, parse_text, results_text, tools_text
from rtl_agent.envs.episode_config import EpisodeConfig
from rtl_agent.envs.kinds import TokenBudget, kind_of, token_budget
from rtl_agent.envs.rollout import seed_of
from rtl_agent.envs.session import Session, ToolSpec, Turn
from rtl_agent.evaluation.endpoint import ConversationTooLong, EndpointReply
from rtl_agent.evaluation.models import TextModel
from rtl_agent.evaluation.players import Played, Watcher
from rtl_agent.grading import Grader
from rtl_agent.problems import Problem
from rtl_agent.prompts import Message, estimate_tokens
from rtl_agent.prompts.messages import TOKENS_AROUND_A_MESSAGE


@dataclass
class TextConversation:
    """Messages with a model so far, what they cost, and who watches."""

    model: TextModel
    temperature: float
    max_tokens: int
    seed: int
    watcher: Watcher
    messages: list[Message]
    turns: int = 0
    usage: Counter[str] = field(default_factory=Counter)
    not_sent: list[str] = field(default_factory=list)  # parameters that the endpoint did without
    length: int = 0  # in tokens, as the endpoint counts; where it does not, by a guess that is rather too high

    async def answer_or_none(self, budget: TokenBudget) -> EndpointReply | None:
        """None where no more fits, by the budget or by the endpoint: after a first turn that ends an episode."""
        if self.turns and not budget.has_room(self.length):
            return None
        try:
            return await self._answer()
        except ConversationTooLong:
            if not self.turns:
                raise
            return None

    async def _answer(self) -> EndpointReply:
        reply = await self.model.endpoint.ask(
            self.messages,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            seed=seed_of(self.seed, self.turns),
        )
        self.turns += 1
        self.usage.update(reply.usage)
        self.not_sent += [name for name in reply.not_sent if name not in self.not_sent]
        answer = Message("assistant", reply.text)
        self.length = (reply.usage["prompt"] or _guess(self.messages)) + (reply.usage["answer"] or _guess([answer]))
        self.messages.append(answer)
        self.watcher.said(reply.text)
        return reply

    def show(self, text: str) -> None:
        shown = Message("user", text)
        self.length += _guess([shown])
        self.messages.append(shown)
        self.watcher.saw(text)


@dataclass(frozen=True)
class TextPlayer:
    """Over an OpenAI-compatible endpoint. Tools are called in Qwen's text format, which any model can be told."""

    model: TextModel
    episode: EpisodeConfig
    temperature: float
    grader: Grader

    async def play(self, problem: Problem, seed: int, watcher: Watcher) -> Played:
        rules, kind = self.episode, kind_of(self.episode)
        asked = kind.messages(problem, rules, max_prompt_tokens=rules.max_prompt_tokens or None)
        tools = kind.tools(rules)
        told = self._with_tools(asked, tools)
        watcher.asked(told)
        conversation = TextConversation(self.model, self.temperature, rules.max_tokens, seed, watcher, list(told))
        session = kind.session(problem, rules, self.grader, asked)
        try:
            stop_reason = await self._play(session, conversation, bool(tools))
            episode = session.episode(stop_reason=stop_reason, messages=told)
        finally:
            await session.close()
        return Played(episode, dict(conversation.usage), tuple(conversation.not_sent))

    async def _play(self, session: Session, conversation: TextConversation, has_tools: bool) -> str:
        """All turns; why the last one ended."""
        budget = token_budget(self.episode, None)
        stop_reason = ""
        while (reply := await conversation.answer_or_none(budget)) is not None:
            stop_reason = reply.stop_reason
            turn = parse_text(reply.text) if has_tools else Turn(reply.text)
            full = not budget.has_room(conversation.length)
            took = await session.take(turn, cut_off=stop_reason == "length", full=full)
            if took.ended is not None:
                conversation.watcher.over(results_text(took.results))
                return stop_reason
            conversation.show(results_text(took.results))
        await session.out_of_tokens()
        return stop_reason

    def _with_tools(self, asked: Sequence[Message], tools: Sequence[ToolSpec]) -> tuple[Message, ...]:
        """The tools told at the end of the system message."""
        if not tools:
            return tuple(asked)
        first, *others = asked
        text = (brief_tools_text if self.model.name in OWN else tools_text)(tools)
        return (replace(first, content=f"{first.content}\n\n{text}"), *others)


def _guess(messages: Sequence[Message]) -> int:
    return sum(estimate_tokens(message.content) + TOKENS_AROUND_A_MESSAGE for message in messages)
