"""Every kind of environment passes the conformance suite, a kind of one's own can too, and a wrong one does not."""

from collections.abc import AsyncIterator, Iterator, Sequence

import pytest
import pytest_asyncio

from rtl_agent.envs.checks import check_environment_kind, reply_with_reference
from rtl_agent.envs.episode_config import AGENTIC, REFINE, SINGLE, EpisodeConfig, Level
from rtl_agent.envs.kinds import ENVIRONMENT_KINDS, TokenBudget
from rtl_agent.envs.session import Reply, Session, ToolCall, ToolResult, Turn
from rtl_agent.envs.single_shot import SingleShotEnd, SingleShotKind, SingleShotSession
from rtl_agent.grading import Grader
from rtl_agent.problems import Problem
from rtl_agent.prompts import Message

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def grader() -> AsyncIterator[Grader]:
    async with Grader(jobs=2) as grader:
        yield grader


def written(problem: Problem) -> Sequence[Turn]:
    """The reference written into the workspace by a call, then an answer."""
    assert problem.reference is not None
    (path,) = problem.targets
    command = f"cat > {path} <<'END_OF_FILE'\n{problem.reference[path]}\nEND_OF_FILE"
    return Turn("", calls=(ToolCall("execute_bash", {"command": command}),)), Turn("Done.")


@pytest.mark.parametrize("name", [SINGLE, REFINE, AGENTIC])
async def test_every_kind_conforms(name: str, grader: Grader) -> None:
    solution = written if name == AGENTIC else reply_with_reference
    assert await check_environment_kind(name, grader, config=EpisodeConfig(max_turns=20), solution=solution) == []


class Reviewed(SingleShotSession):
    """An answer, and a second look at it: the second one is graded."""

    async def take(self, turn: Turn, *, cut_off: bool = False, full: bool = False) -> Reply:
        self._ensure_open()
        if self._answer or full:
            return await super().take(turn)
        self._answer = turn.text or "nothing"
        return Reply((ToolResult("", "Look again, and answer once more."),))

    async def out_of_tokens(self) -> Reply:
        return await super().take(Turn(self._answer))


class ReviewedKind(SingleShotKind):
    several_turns = True

    def session(self, problem: Problem, config: EpisodeConfig, grader: Grader, messages: Sequence[Message]) -> Session:
        return Reviewed(problem, config, messages, grader)


class Generous(SingleShotSession):
    """Takes turns after its end, and pays for nonsense."""

    async def take(self, turn: Turn, *, cut_off: bool = False, full: bool = False) -> Reply:
        self._end = None
        reply = await super().take(turn)
        return Reply((), SingleShotEnd.ANSWER, reply.grade, 1.0)


class GenerousKind(SingleShotKind):
    levels = (Level.SPEC,)

    def messages(self, problem: Problem, config: EpisodeConfig, **fit: object) -> list[Message]:
        return [Message("user", "\n".join(problem.harness.files.values()))]

    def session(self, problem: Problem, config: EpisodeConfig, grader: Grader, messages: Sequence[Message]) -> Session:
        return Generous(problem, config, messages, grader)


@pytest.fixture
def registered() -> Iterator[None]:
    ENVIRONMENT_KINDS.register("reviewed")(ReviewedKind())
    ENVIRONMENT_KINDS.register("generous")(GenerousKind())
    yield
    ENVIRONMENT_KINDS.unregister("reviewed")
    ENVIRONMENT_KINDS.unregister("generous")


async def test_a_kind_of_ones_own_can_conform(registered: None, grader: Grader) -> None:
    def twice(problem: Problem) -> Sequence[Turn]:
        return (*reply_with_reference(problem), *reply_with_reference(problem))

    assert await check_environment_kind("reviewed", grader, solution=twice) == []


async def test_a_kind_that_breaks_the_contract_is_told_how(registered: None, grader: Grader) -> None:
    faults = await check_environment_kind("generous", grader)
    for told in ("the prompt quotes src/", "earned 1.0", "a turn after the end was taken"):
        assert any(told in fault for fault in faults), told


async def test_another_turn_fits_if_it_can_be_as_long_as_any() -> None:
    budget = TokenBudget(total=1000, turn=100)
    assert (budget.has_room(900), budget.has_room(901), budget.prompt) == (True, False, 900)
    assert TokenBudget(None, 100).has_room(10**9)
