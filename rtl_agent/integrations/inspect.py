"""Inspect: our problems as a task, our grader as a scorer, and our boxes as a sandbox for any agent.

    inspect eval rtl_agent/cvdp -T problems=bundled --model openai/gpt-5
    inspect eval rtl_agent/cvdp -T problems=CVDP.jsonl -T episode=agentic -T level=own-tests --model ...

A grade that is `error` is an error of its sample, never a score of 0. docs/integrations/inspect.md.
"""

from dataclasses import asdict
from math import ceil, nan
from typing import Any

from inspect_ai import Epochs, Task, task
from inspect_ai.agent import AgentAttempts, AgentState, react
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessage, ChatMessageAssistant, ChatMessageSystem, ChatMessageUser
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, generate, solver
from inspect_ai.tool import bash
from inspect_ai.util import sandbox

from rtl_agent.envs.episode import grade_or_fail
from rtl_agent.envs.episode_config import AGENTIC, REFINE, SINGLE, EpisodeConfig, Level
from rtl_agent.envs.feedback import failures
from rtl_agent.envs.hosted import HostedEpisode, first_messages, grader_options, playable
from rtl_agent.envs.kinds import resolved
from rtl_agent.grading import Grade, Grader, Outcome, StageName, Submission, shared_grader
from rtl_agent.grading.extract import extract
from rtl_agent.integrations.inspect_sandbox import SANDBOX, RTLSandbox, asked_of
from rtl_agent.problems import Problem, problem_digest
from rtl_agent.prompts import Message

VALUES = ("passed", "reward", *StageName)  # what a score has, a metric each
_ROLES = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


# the task


@task
def cvdp(
    problems: str = "bundled",
    episode: str = SINGLE,
    level: str = "",
    samples: int = 1,
    reward: str = "staged",
    limit: int = 0,
    system: str = "",
    max_turns: int = EpisodeConfig().max_turns,
    rounds: int = EpisodeConfig().rounds,
    tries: int = EpisodeConfig().tries,
    max_prompt_tokens: int = 0,
    command_seconds: float = EpisodeConfig().command_seconds,
    extraction: str = EpisodeConfig().extraction,
    jobs: int = 0,
    executor: str = "local",
) -> Task:
    """Problems of RTL design, judged by their tests.

    Args:
        problems: bundled, generated, a CVDP file or a folder of them, a directory of problems of your own.
        episode: single (one answer), refine (told what was wrong) or agentic (Inspect's ReAct agent with a shell).
        level: what a model may know: spec, own-tests, feedback or open.
        samples: answers to each problem; from two on, pass@k is reported beside the mean.
        reward: a reward preset, with weights over it.
        limit: only so many problems; 0 for all.
        system: system message: default, spec-aware or short.
        max_turns: maximum turns of an agentic episode.
        rounds: further answers after the first one (refine).
        tries: submissions of an agent that is told what failed (level=feedback).
        max_prompt_tokens: context files are cut to fit; 0: never.
        command_seconds: seconds that one command of an agent may take.
        extraction: how files are read from a reply: forgiving, or cvdp.
        jobs: grades at a time; 0: one for each core.
        executor: where to grade: local, ray, or the address of a grade server.
    """
    config = resolved(
        EpisodeConfig(
            kind=episode,
            level=level,
            system=system,
            max_turns=max_turns,
            rounds=rounds,
            tries=tries,
            max_prompt_tokens=max_prompt_tokens,
            command_seconds=command_seconds,
            extraction=extraction,
        )
    )
    chosen = playable(problems, config, limit=limit)
    options = {"reward": reward, "jobs": jobs, "executor": executor}
    solvers = {SINGLE: generate, REFINE: lambda: refine(**options), AGENTIC: lambda: _agent(config)}
    return Task(
        dataset=MemoryDataset([_sample(one, problems, limit, config) for one in chosen], name=problems),
        solver=solvers[episode](),
        scorer=rtl(**options),
        sandbox=SANDBOX if episode == AGENTIC else None,
        epochs=Epochs(samples, ["mean", *(f"pass_at_{k}" for k in sorted({1, samples}) if samples > 1)]),
        fail_on_error=False,  # what could not be judged is counted, and the others are
        turn_limit=max_turns if episode == AGENTIC else None,
        metadata={"level": config.level, "scored": Level(config.level).is_scored},
    )


def _sample(problem: Problem, source: str, limit: int, config: EpisodeConfig) -> Sample:
    """Nothing of the harness and no reference: whatever is here is written to the log."""
    asked = {"problems": source, "limit": limit, "digest": problem_digest(problem), "episode": config.to_json()}
    about = {"category": problem.category, "difficulty": problem.difficulty, "family": problem.family}
    messages = [_message(message) for message in first_messages(problem, config)]
    return Sample(input=messages, id=problem.id, metadata={**about, "rtl_agent": asked})


def _message(message: Message) -> ChatMessage:
    return _ROLES[message.role](content=message.content)


# solvers


@solver
def refine(reward: str = "staged", jobs: int = 0, executor: str = "local") -> Solver:
    """Asks again with what was wrong, until an answer passes or the rounds are over."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        problem, config = asked_of(state.sample_id, state.metadata)
        episode = HostedEpisode(problem, config, _grader(config, reward, jobs, executor))
        while not episode.over:
            state = await generate(state)
            told = await episode.answer(state.output.completion)
            if not episode.over:
                state.messages.append(ChatMessageUser(content=told))
        return state

    return solve


def _agent(config: EpisodeConfig) -> Any:
    """Inspect's own agent in our workspace. With feedback it submits; else it stops by an answer without a call."""
    tools = [bash(timeout=ceil(config.command_seconds))]
    if config.level != Level.FEEDBACK:
        return react(prompt=None, tools=tools, submit=False)

    async def told(state: AgentState, scores: list[Score]) -> str:
        return f"It does not pass.\n{(scores[0].metadata or {})['feedback']}"

    attempts = AgentAttempts(config.tries, told, lambda value: float(value["passed"]))
    return react(prompt=None, tools=tools, attempts=attempts)


# the scorer


@scorer(metrics={value: [mean(), stderr()] for value in VALUES})
def rtl(reward: str = "staged", jobs: int = 0, executor: str = "local") -> Scorer:
    """Judges a reply, or what stands in the workspace, by the problem's tests: a value for every stage."""

    async def score(state: TaskState, target: Target) -> Score:
        problem, config = asked_of(state.sample_id, state.metadata)
        if config.kind == AGENTIC:
            submission = await sandbox().as_type(RTLSandbox).workspace.take_out()
        else:
            submission = extract(problem, state.output.completion, _grader(config, reward, jobs, executor).extraction)
        grade = await grade_or_fail(_grader(config, reward, jobs, executor), problem, submission)
        return _score(problem, config, submission, grade)

    return score


def _grader(config: EpisodeConfig, reward: str, jobs: int, executor: str) -> Grader:
    """The one of this process."""
    return shared_grader(grader_options(config, reward=reward, jobs=jobs, executor=executor)).grader


def _score(problem: Problem, config: EpisodeConfig, submission: Submission, grade: Grade) -> Score:
    """At level `open` it is no score: whoever has seen the tests was not measured by them."""
    told = failures(problem, grade)
    about = {
        "answer": "\n".join(f"// {path}\n{text}" for path, text in submission.files.items()),
        "explanation": "\n".join(grade.reasons) or told,
        "metadata": {
            "outcome": grade.outcome.value,
            "feedback": told,
            "reward_parts": dict(grade.reward.parts),
            "reward_maximum": grade.reward.maximum,
            "tests": [{"name": test.name, "passed": test.passed, "message": test.message} for test in grade.tests],
            "diagnostics": [asdict(one) for one in grade.diagnostics[:20]],
            "seed": grade.seed,
            "path": grade.path,
            "extraction": grade.extraction,
            "tools": dict(grade.tools),
        },
    }
    if not Level(config.level).is_scored:
        return Score.unscored(reason="level=open", **about)
    return Score(value=values(grade), **about)


def values(grade: Grade) -> dict[str, float]:
    """Whether all tests passed, the reward, and what is right of each stage; NaN where one was not judged."""
    found = {"passed": float(grade.outcome is Outcome.PASSED), "reward": grade.reward.total}
    for name in StageName:
        stage = grade.stage(name)
        if stage.passed is None:
            found[name.value] = 0.0 if grade.outcome is Outcome.INVALID else nan
        else:
            found[name.value] = stage.score if name is StageName.TESTS else float(stage.passed)
    return found
