"""What every kind of environment must do: a conformance suite for one of your own.

    async with Grader() as grader:
        for fault in await check_environment_kind("my-kind", grader):
            print(fault)

It plays a problem of the bundled set. A kind whose answers are tool calls says by `solution` which turns solve it.
"""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace

from rtl_agent.envs.episode import EpisodeFailed
from rtl_agent.envs.episode_config import EpisodeConfig, Level
from rtl_agent.envs.kinds import ENVIRONMENT_KINDS, resolved
from rtl_agent.envs.session import EnvironmentKind, Reply, Session, ToolCall, Turn
from rtl_agent.grading import Grader, Outcome
from rtl_agent.problems import Kind, Needs, Problem, load_problems
from rtl_agent.runs.episode import Episode

MOST_TURNS = 200  # by then every episode is over
_HARNESS_LINE = 24  # characters; a shorter line of a harness may well stand in a sentence
NONSENSE = (
    Turn("I would rather not."),
    Turn("", calls=(ToolCall("no_such_tool", {"x": [1, None]}),)),
    Turn("", fault="a call could not be read"),
)


@dataclass(frozen=True)
class Played:
    """What the checks are run on."""

    kind: EnvironmentKind
    config: EpisodeConfig
    problem: Problem
    grader: Grader
    solution: Sequence[Turn]

    def session(self, problem: Problem | None = None) -> Session:
        asked = problem or self.problem
        return self.kind.session(asked, self.config, self.grader, self.kind.messages(asked, self.config))


Check = Callable[[Played], AsyncIterator[str]]


async def check_environment_kind(
    name: str,
    grader: Grader,
    *,
    config: EpisodeConfig | None = None,
    solution: Callable[[Problem], Sequence[Turn]] | None = None,
) -> list[str]:
    """What is wrong with a registered kind, a sentence each; [] for one that conforms."""
    kind = ENVIRONMENT_KINDS[name]
    problem = next(one for one in load_problems("bundled") if _playable(one, kind))
    rules = resolved(replace(config or EpisodeConfig(), kind=name))
    turns = (solution or reply_with_reference)(problem)
    played = Played(kind, rules, problem, grader, turns)
    return [f"{check.__name__}: {fault}" for check in CHECKS async for fault in check(played)]


def _playable(problem: Problem, kind: EnvironmentKind) -> bool:
    return problem.kind in kind.problem_kinds and problem.kind is Kind.SINGLE_SHOT and bool(problem.reference)


def reply_with_reference(problem: Problem) -> Sequence[Turn]:
    """The reference as one answer."""
    assert problem.reference is not None
    (path,) = problem.targets
    return (Turn(f"```systemverilog\n{problem.reference[path]}```"),)


async def asks_the_same_again(played: Played) -> AsyncIterator[str]:
    """A prompt depends on problem and rules alone, asks the user's question, and tells nothing of the harness."""
    first = played.kind.messages(played.problem, played.config)
    if first != played.kind.messages(played.problem, played.config):
        yield "two prompts of the same problem differ"
    if not any(message.role == "user" for message in first):
        yield "there is no user message"
    told = "\n".join(message.content for message in first)
    known = "\n".join((played.problem.prompt, *played.problem.context.values()))
    for path, text in played.problem.harness.files.items():
        for line in map(str.strip, text.splitlines()):
            if len(line) >= _HARNESS_LINE and line in told and line not in known:
                yield f"the prompt quotes {path}: {line}"


async def has_levels(played: Played) -> AsyncIterator[str]:
    if not played.kind.levels or not all(isinstance(level, Level) for level in played.kind.levels):
        yield "levels must name one Level at least, the usual one first"


async def the_solution_earns_everything(played: Played) -> AsyncIterator[str]:
    """And its record can be written, and read back as it was."""
    session = played.session()
    try:
        reply = await _play(session, played.solution)
        if reply is None:
            yield "the solution did not end the episode"
            return
        if reply.grade is None or reply.grade.outcome is not Outcome.PASSED:
            yield f"the solution was graded {reply.grade and reply.grade.outcome}"
        elif reply.reward != reply.grade.reward.total:
            yield f"the solution earned {reply.reward} of {reply.grade.reward.total}"
        episode = session.episode()
        if Episode.from_json(json.loads(json.dumps(episode.to_json()))) != episode:
            yield "the record is not read back as it was written"
        if not all(isinstance(value, int | float) for value in session.metrics.values()):
            yield "a metric is not a number"
    finally:
        await session.close()


async def nonsense_ends_and_earns_nothing(played: Played) -> AsyncIterator[str]:
    """Whatever a model says, the episode ends with a grade."""
    for turn in NONSENSE:
        session = played.session()
        try:
            reply = await _play(session, [turn] * MOST_TURNS)
            if reply is None:
                yield f"after {MOST_TURNS} turns of {turn} the episode goes on"
            elif reply.reward:
                yield f"{turn} earned {reply.reward}"
        finally:
            await session.close()


async def ends_when_the_conversation_is_full(played: Played) -> AsyncIterator[str]:
    for turn in NONSENSE:
        session = played.session()
        try:
            if (await session.take(turn, full=True)).ended is None:
                yield f"{turn} did not end an episode that has no room for another turn"
        finally:
            await session.close()


async def can_be_ended_between_turns(played: Played) -> AsyncIterator[str]:
    """What was to be shown may not fit: then the episode ends with what stands there."""
    session = played.session()
    try:
        reply = await session.take(NONSENSE[-1])
        if reply.ended is None and (await session.out_of_tokens()).ended is None:
            yield "out_of_tokens did not end the episode"
        if not isinstance(session.episode(), Episode):
            yield "there is no record after out_of_tokens"
    finally:
        await session.close()


async def is_over_once(played: Played) -> AsyncIterator[str]:
    """A turn after the end, or a record before it, is a mistake of whoever plays; closing again is none."""
    session = played.session()
    try:
        session.episode()
        yield "there was a record before the end"
    except RuntimeError:
        pass
    await _play(session, played.solution)
    try:
        await session.take(NONSENSE[0])
        yield "a turn after the end was taken"
    except RuntimeError:
        pass
    await session.close()
    await session.close()


async def a_fault_of_ours_is_no_reward(played: Played) -> AsyncIterator[str]:
    """What cannot be graded fails the episode: it is never a reward of 0."""
    session = played.session(replace(played.problem, needs=Needs.COMMERCIAL))
    try:
        reply = await _play(session, played.solution)
        yield f"a problem that cannot be graded here earned {reply and reply.reward}"
    except EpisodeFailed:
        pass
    finally:
        await session.close()


async def _play(session: Session, turns: Sequence[Turn]) -> Reply | None:
    """The last reply; None if the episode goes on."""
    for turn in turns:
        reply = await session.take(turn)
        if reply.ended is not None:
            return reply
    return None


CHECKS: tuple[Check, ...] = (
    has_levels,
    asks_the_same_again,
    the_solution_earns_everything,
    nonsense_ends_and_earns_nothing,
    ends_when_the_conversation_is_full,
    can_be_ended_between_turns,
    is_over_once,
    a_fault_of_ours_is_no_reward,
)
