"""A model behind an endpoint plays the same environments by text: the sessions are the same, only tokens are absent."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rtl_agent.backends.models import OWN
from rtl_agent.runs.episode import Episode
from rtl_agent.envs.agentic import AgenticSession, EndReason, Level, Workshop
from rtl_agent.envs.dialects.qwen import brief_tools_text, parse_text, results_text, tools_text
from rtl_agent.envs.episode import grade_or_fail
from rtl_agent.envs.record import record
from rtl_agent.envs.refine import RefineEnd, RefineSession
from rtl_agent.envs.token_budget import TokenBudget
from rtl_agent.evaluation.endpoint import ConversationTooLong, Reply
from rtl_agent.evaluation.models import TextModel
from rtl_agent.evaluation.players import Played, Sampling, Watcher
from rtl_agent.evaluation.rules import AGENTIC, REFINE, Rules
from rtl_agent.grading import Grader
from rtl_agent.problems import Problem
from rtl_agent.prompts import Message, estimate_tokens, messages
from rtl_agent.prompts.messages import TOKENS_AROUND_A_MESSAGE
from rtl_agent.training.seeds import seed_of


@dataclass
class Conversation:
    """Messages with a model so far, what they cost, and who watches."""

    model: TextModel
    sampling: Sampling
    seed: int
    watcher: Watcher
    said: list[Message]
    turns: int = 0
    usage: Counter[str] = field(default_factory=Counter)
    not_sent: list[str] = field(default_factory=list)  # parameters that the endpoint did without
    length: int = 0  # in tokens, as the endpoint counts; where it does not, by a guess that is rather too high

    async def answer_or_none(self, budget: TokenBudget) -> Reply | None:
        """None where no more fits, by the budget or by the endpoint: after a first turn that ends an episode."""
        if self.turns and not budget.has_room(self.length):
            return None
        try:
            return await self.answer(None if budget.max_tokens is None else budget.max_tokens - self.length)
        except ConversationTooLong:
            if not self.turns:
                raise
            return None

    async def answer(self, room: int | None = None) -> Reply:
        """In at most `room` tokens; the first answer, whose question nobody has counted yet, as long as it likes."""
        most = self.sampling.max_tokens
        reply = await self.model.endpoint.ask(
            self.said,
            temperature=self.sampling.temperature,
            max_tokens=most if room is None or not self.turns else min(most, room),
            seed=seed_of(self.seed, self.turns),
        )
        self.turns += 1
        self.usage.update(reply.usage)
        self.not_sent += [name for name in reply.not_sent if name not in self.not_sent]
        answer = Message("assistant", reply.text)
        self.length = (reply.usage["prompt"] or _guess(self.said)) + (reply.usage["answer"] or _guess([answer]))
        self.said.append(answer)
        self.watcher.said(reply.text)
        return reply

    def show(self, text: str) -> None:
        shown = Message("user", text)
        self.length += _guess([shown])
        self.said.append(shown)
        self.watcher.saw(text)


@dataclass(frozen=True)
class TextPlayer:
    """Over an OpenAI-compatible endpoint. Tools are called in Qwen's text format, which any model can be told."""

    model: TextModel
    sampling: Sampling
    rules: Rules
    grader: Grader
    where: Workshop | None  # for agents

    async def play(self, problem: Problem, seed: int, watcher: Watcher) -> Played:
        plays = {REFINE: self._refine, AGENTIC: self._agentic}
        conversation = Conversation(self.model, self.sampling, seed, watcher, [])
        episode = await plays.get(self.rules.env, self._single)(problem, conversation)
        return Played(episode, dict(conversation.usage), tuple(conversation.not_sent))

    async def _single(self, problem: Problem, conversation: Conversation) -> Episode:
        asked = self._ask(conversation, messages(problem, system=self.model.system))
        reply = await conversation.answer()
        grade = await grade_or_fail(self.grader, problem, reply.text)
        return record(problem, asked, grade, Level.SPEC, text=reply.text, stop_reason=reply.stop_reason)

    async def _refine(self, problem: Problem, conversation: Conversation) -> Episode:
        config = self.rules.refine(None)
        session = RefineSession(problem, self.grader, config)
        asked = self._ask(conversation, messages(problem, system=self.model.system))
        stop_reason = ""
        while (reply := await conversation.answer_or_none(config)) is not None:
            stop_reason = reply.stop_reason
            took = await session.take(reply.text, tokens=conversation.length)
            if took.message is None:
                return session.episode(asked, stop_reason=stop_reason)
            conversation.show(took.message.content)
        session.end(RefineEnd.MAX_TOKENS)
        return session.episode(asked, stop_reason=stop_reason)

    async def _agentic(self, problem: Problem, conversation: Conversation) -> Episode:
        assert self.where is not None
        config = self.rules.agentic(None)
        session = AgenticSession(problem, self.grader, self.where, config, system=self.model.system)
        first, *others = session.messages
        told = (brief_tools_text if self.model.name in OWN else tools_text)(session.specs)
        asked = self._ask(conversation, [replace(first, content=f"{first.content}\n\n{told}"), *others])
        stop_reason = ""
        try:
            while (reply := await conversation.answer_or_none(config)) is not None:
                stop_reason = reply.stop_reason
                cut_off = stop_reason == "length"
                took = await session.take(parse_text(reply.text), tokens=conversation.length, cut_off=cut_off)
                if took.ended is not None:
                    conversation.watcher.over(results_text(took.results))
                    break
                conversation.show(results_text(took.results))
            else:
                await session.end(EndReason.MAX_TOKENS)
            return replace(session.episode(stop_reason=stop_reason), messages=asked)  # the tools are told in them
        finally:
            await session.close()

    def _ask(self, conversation: Conversation, first: list[Message]) -> tuple[Message, ...]:
        conversation.said[:] = first
        conversation.watcher.asked(tuple(first))
        return tuple(first)


def _guess(messages: Sequence[Message]) -> int:
    return sum(estimate_tokens(message.content) + TOKENS_AROUND_A_MESSAGE for message in messages)
