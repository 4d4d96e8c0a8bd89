"""Episodes of several turns: an agent with a real shell and a model that answers again, by text and by tokens."""

import base64
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rtl_agent.backends.connect import Connection
from rtl_agent.envs.episode_config import AGENTIC, REFINE, SINGLE, EpisodeConfig
from rtl_agent.envs.kinds import resolved, token_budget
from rtl_agent.evaluation import (
    EvaluationError,
    EvaluationOptions,
    EvaluationResult,
    ModelSpec,
    evaluate,
    play,
    problem_set,
)
from rtl_agent.evaluation.models import open_model
from rtl_agent.options import BadOption
from rtl_agent.problems import Kind, Problem, Selection
from rtl_agent.prompts import Message, estimate_tokens
from rtl_agent.prompts.messages import TOKENS_AROUND_A_MESSAGE
from rtl_agent.training.config import STUDENT
from tests.evaluation.gates import right, wrong
from tests.evaluation.scripted import Body, Scripted, Told, scripted


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with scripted(right) as script:
        yield script


@pytest.fixture(scope="module")
def workspace_problem() -> Problem:
    """One that is asked as a workspace, and whose reference is known."""
    problems = problem_set("bundled", Selection(kinds=[Kind.AGENTIC]), episode=EpisodeConfig(AGENTIC)).problems
    return next(problem for problem in problems if problem.reference)


def called(command: str) -> Told:
    return Told(f"<tool_call>{json.dumps({'name': 'execute_bash', 'args': {'command': command}})}</tool_call>")


def writing(problem: Problem) -> Told:
    """A turn that writes the reference into the workspace."""
    assert problem.reference
    lines = []
    for path, text in problem.reference.items():
        packed = base64.b64encode(text.encode()).decode()
        lines.append(f"mkdir -p $(dirname {path}); echo {packed} | base64 -d > {path}")
    return called("; ".join([*lines, "ls -R"]))


def turn_of(body: Body) -> int:
    return sum(message["role"] == "assistant" for message in body["messages"])


async def run(
    server: Scripted, source: str, rules: EpisodeConfig, out: Path, ids: tuple[str, ...] = ()
) -> EvaluationResult:
    chosen = problem_set(source, Selection(ids=ids), episode=rules)
    spec = ModelSpec("scripted", base_url=server.url)
    result, _ = await evaluate(spec, chosen, EvaluationOptions(rules, jobs=2), source, out)
    return result


async def test_an_agent_by_text_works_in_a_real_shell(
    server: Scripted, workspace_problem: Problem, tmp_path: Path
) -> None:
    server.answer = lambda body: (called("pwd"), writing(workspace_problem), Told("Done."))[turn_of(body)]
    result = await run(server, "bundled", EpisodeConfig(AGENTIC), tmp_path / "out.json", (workspace_problem.id,))
    assert (result.whole.passed, result.whole.turns, result.whole.ends) == (1, 3.0, {"answer": 1})
    assert (result.settings.episode.level, result.is_score) == ("own-tests", True)
    told = [message["content"] for message in server.requests[-1]["messages"]]
    assert "execute_bash" in told[0]
    assert "/code" in told[3]
    assert workspace_problem.targets[0].rpartition("/")[2] in told[5]  # by its own `ls`
    (sample,) = result.asked.samples
    assert [len(turn.calls) for turn in sample.episode.turns] == [1, 1, 0]
    assert [message.content for message in sample.episode.messages] == told[:2], "as it was asked, tools and all"


FULL = Told(status=400, error={"message": "This model's maximum context length is 4096 tokens. You requested 5000."})


async def test_an_endpoint_that_takes_no_more_ends_an_episode_and_what_stands_there_counts(
    server: Scripted, workspace_problem: Problem, gates: Path, tmp_path: Path
) -> None:
    """Left out as an error, long episodes would be missing from the score, and they are no random ones."""
    server.answer = lambda body: (writing(workspace_problem), FULL)[turn_of(body)]
    result = await run(server, "bundled", EpisodeConfig(AGENTIC), tmp_path / "agentic.json", (workspace_problem.id,))
    assert (result.whole.passed, result.whole.ends, result.asked.lost) == (1, {"max_tokens": 1}, ())
    assert result.asked.samples[0].episode.turns[-1].observation == "", "it was not shown any more"
    server.answer = lambda body: wrong(body) if turn_of(body) == 0 else FULL
    result = await run(server, str(gates), EpisodeConfig(REFINE), tmp_path / "refine.json")
    assert (result.whole.passed, result.whole.ends, result.asked.lost) == (0, {"max_tokens": 4}, ())
    server.answer = lambda body: FULL
    result = await run(server, str(gates), EpisodeConfig(REFINE), tmp_path / "never.json")
    assert len(result.asked.lost) == 4, "a question that does not fit says nothing of the model"


async def test_an_endpoint_that_counts_no_tokens_is_counted_for(server: Scripted, gates: Path, tmp_path: Path) -> None:
    """A budget with room for the second answer, what was shown before it included, and one without."""
    server.answer = lambda body: replace(wrong(body), counts=False)
    (problem, *_) = problem_set(str(gates), Selection()).problems
    enough = await run(server, str(gates), EpisodeConfig(REFINE, rounds=2), tmp_path / "enough.json", (problem.id,))
    assert enough.whole.ends == {"max_rounds": 1}
    second = [message["content"] for message in server.requests[1]["messages"]]
    asked_again = sum(estimate_tokens(text) + TOKENS_AROUND_A_MESSAGE for text in second)
    for tokens, turns in ((asked_again + EpisodeConfig().max_tokens, 2.0), (asked_again + 10, 1.0)):
        rules = EpisodeConfig(REFINE, rounds=2, episode_tokens=tokens)
        result = await run(server, str(gates), rules, tmp_path / f"{turns}.json", (problem.id,))
        assert (result.whole.ends, result.whole.turns) == ({"max_tokens": 1}, turns)
    assert result.asked.samples[0].usage == {"prompt": 0, "answer": 0}, "a guess is not told as a count"


async def test_every_answer_may_be_as_long_as_the_first_or_is_not_asked_for(
    server: Scripted, gates: Path, tmp_path: Path
) -> None:
    server.answer = wrong
    (problem, *_) = problem_set(str(gates), Selection()).problems
    for room, turns in ((700, 2), (300, 1)):  # beside what the server says of the question and the first answer
        server.requests.clear()
        rules = EpisodeConfig(REFINE, rounds=1, max_tokens=320, episode_tokens=11 + 7 + room)
        await run(server, str(gates), rules, tmp_path / f"{room}.json", (problem.id,))
        assert [body["max_tokens"] for body in server.requests] == [320] * turns


async def test_what_the_harness_told_is_no_score(server: Scripted, workspace_problem: Problem, tmp_path: Path) -> None:
    server.answer = lambda body: (writing(workspace_problem), Told("Done."))[turn_of(body)]
    rules = EpisodeConfig(AGENTIC, level="open")
    result = await run(server, "bundled", rules, tmp_path / "out.json", (workspace_problem.id,))
    told = json.loads((tmp_path / "out.json").read_text())
    assert told["is_score"] is False
    assert (told["summary"]["pass_at"], told["summary"]["passed"], told["summary"]["rates"]) == ([], 0, {})
    assert result.whole.outcomes == {"passed": 1}


async def test_a_model_that_answers_again_is_counted_by_its_last_answer(
    server: Scripted, gates: Path, tmp_path: Path
) -> None:
    server.answer = lambda body: wrong(body) if turn_of(body) == 0 else right(body)
    result = await run(server, str(gates), EpisodeConfig(REFINE), tmp_path / "two.json")
    assert (result.whole.passed, result.whole.turns, result.settings.episode.level) == (4, 2.0, "feedback")
    never = await run(server, str(gates), EpisodeConfig(REFINE, rounds=0), tmp_path / "one.json")
    assert (never.whole.passed, never.whole.ends) == (0, {"max_rounds": 4})


class Notes:
    def __init__(self) -> None:
        self.seen: list[str] = []

    def asked(self, messages: tuple[Message, ...]) -> None:
        self.seen += [message.role for message in messages]

    def said(self, text: str) -> None:
        self.seen.append("said")

    def saw(self, text: str) -> None:
        self.seen.append("saw")

    def over(self, text: str) -> None:
        self.seen += [text] if text else []


async def test_what_the_last_command_printed_is_watched_too(
    server: Scripted, workspace_problem: Problem, tmp_path: Path
) -> None:
    server.answer = lambda body: called("echo last words")
    spec, notes = ModelSpec("scripted", base_url=server.url), Notes()
    options = EvaluationOptions(EpisodeConfig(AGENTIC, max_turns=1), jobs=1)
    episode, _ = await play(spec, workspace_problem, options, "bundled", notes, tmp_path / "plays.jsonl")
    assert episode.end_reason == "max_turns"
    assert notes.seen[:3] == ["system", "user", "said"]
    assert "last words\n[exit code 0]" in notes.seen[3]


async def test_an_episode_can_be_watched_and_is_kept(server: Scripted, gates: Path, tmp_path: Path) -> None:
    server.answer = lambda body: wrong(body) if turn_of(body) == 0 else right(body)
    (problem, *_) = problem_set(str(gates), Selection()).problems
    spec, notes, out = ModelSpec("scripted", base_url=server.url), Notes(), tmp_path / "kept" / "plays.jsonl"
    for _ in range(2):
        episode, path = await play(
            spec, problem, EvaluationOptions(EpisodeConfig(REFINE), jobs=1), str(gates), notes, out
        )
    assert notes.seen == ["system", "user", "said", "saw", "said"] * 2
    assert path == out
    kept = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["problem_id"] for line in kept] == [problem.id] * 2
    assert kept[0]["reward"] == episode.reward == 1.4


@pytest.mark.parametrize("env", ["refine", "agentic"])
async def test_the_embedded_model_plays_by_tokens_and_by_text(
    env: str, embedded: Connection, gates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its weights know nothing, but every episode comes to an end, and both ways ask the same question."""
    monkeypatch.setenv("TINKER_API_KEY", embedded.api_key)
    rules = EpisodeConfig(env, max_turns=2, rounds=1, max_tokens=16)
    chosen = problem_set(str(gates), Selection(), episode=rules, limit=1)
    asked = []
    for name, spec in {
        "tokens": ModelSpec(STUDENT, backend=str(embedded.base_url)),
        "text": ModelSpec(STUDENT, base_url=f"{embedded.base_url}/v1", api_key_env="TINKER_API_KEY"),
    }.items():
        options = EvaluationOptions(rules, jobs=1)
        result, _ = await evaluate(spec, chosen, options, str(gates), tmp_path / f"{name}.json")
        (sample,) = result.asked.samples
        assert sample.episode.end_reason
        asked.append(sample.episode.turns[0].text)
        assert len(sample.episode.turns[0].sampled_tokens) == (16 if name == "tokens" else 0)
    assert asked[0] == asked[1]


def test_wrong_rules_are_sentences() -> None:
    for sentence, wishes in {
        "env=chat: choose from single, refine, agentic": {"kind": "chat"},
        "level=open: env=single has spec": {"level": "open"},
        "level=all: choose from spec, own-tests, feedback, open": {"kind": AGENTIC, "level": "all"},
        "refine_reward=first: choose from best, last": {"kind": REFINE, "refine_reward": "first"},
        "system=polite: choose from default": {"system": "polite"},
    }.items():
        with pytest.raises(BadOption) as caught:
            resolved(EpisodeConfig(**wishes))  # type: ignore[arg-type]
        assert sentence in str(caught.value)


def test_prompts_and_answers_share_one_budget() -> None:
    def tokens(kind: str, episode_tokens: int, context: int | None) -> int | None:
        return token_budget(EpisodeConfig(kind, episode_tokens=episode_tokens), context).total

    assert tokens(AGENTIC, 1000, 4096) == 1000
    assert tokens(REFINE, 9000, 4096) == 4096
    assert tokens(SINGLE, 1000, 4096) == 4096, "a single answer is no conversation"
    assert tokens(AGENTIC, 0, None) is None


async def test_an_answer_longer_than_the_context_is_refused(
    embedded: Connection, gates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINKER_API_KEY", embedded.api_key)
    spec = ModelSpec(STUDENT, backend=str(embedded.base_url))
    async with open_model(spec):
        pass
    with pytest.raises(EvaluationError, match="4096 tokens in all"):
        await evaluate(
            spec,
            problem_set(str(gates), Selection()),
            EvaluationOptions(EpisodeConfig(max_tokens=4096)),
            str(gates),
            tmp_path / "out.json",
        )
    short = EvaluationOptions(EpisodeConfig(REFINE, episode_tokens=100, max_tokens=100))
    with pytest.raises(EvaluationError, match="100 tokens in all"):
        await evaluate(spec, problem_set(str(gates), Selection()), short, str(gates), tmp_path / "out.json")


async def test_a_model_that_calls_no_tools_is_refused_in_a_sentence(
    embedded: Connection, gates: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TINKER_API_KEY", embedded.api_key)
    spec = ModelSpec(STUDENT, backend=str(embedded.base_url), renderer="role_colon")
    chosen = problem_set(str(gates), Selection(), episode=EpisodeConfig(AGENTIC), limit=1)
    options = EvaluationOptions(EpisodeConfig(AGENTIC, max_tokens=16), jobs=1)
    with pytest.raises(EvaluationError, match="no tool calls are known"):
        await evaluate(spec, chosen, options, str(gates), tmp_path / "out.json")
