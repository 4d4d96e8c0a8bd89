"""verifiers (the v1 API): our problems as a taskset, with a harness for the kinds of more than one turn.

    vf-eval rtl-agent-tasks -n 4 --env.taskset.problems bundled

An answer that cannot be graded raises: the rollout is an error of its trace, and has no reward.
"""

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import verifiers.v1 as vf
from openai import APIStatusError, AsyncOpenAI
from verifiers.v1.harnesses.utils.compaction import is_context_overflow

from rtl_agent.envs.episode_config import SINGLE, EpisodeConfig
from rtl_agent.envs.hosted import HostedEpisode, first_messages, grader_options, playable, shown
from rtl_agent.envs.session import Reply, ToolCall, ToolSpec, Turn
from rtl_agent.grading import Grader, Outcome, shared_grader, validate_problem
from rtl_agent.grading.executors import LOCAL
from rtl_agent.problems import Problem, load_problems

log = logging.getLogger(__name__)


class RTLTaskConfig(vf.TaskConfig):
    """How problems are asked and graded: `--env.taskset.task.*`."""

    kind: str = SINGLE
    """single (one answer), refine (told what was wrong) or agentic (a workspace with a shell)"""
    level: str = ""
    """what a model may know: spec, own-tests or feedback; empty: the usual one of the kind"""
    extra_tools: bool = False
    """the tools lint, simulate and submit beside the shell"""
    max_turns: int = 50
    """of an agentic episode"""
    rounds: int = 2
    """further answers of a refine episode"""
    extraction: str = "forgiving"
    """how files are read from a reply: forgiving or cvdp"""
    reward: str = "staged"
    """reward preset, with weights over it"""
    jobs: int = 0
    """grades at a time; 0: one for each core"""
    executor: str = LOCAL
    """where to grade: local, ray, or the address of a grade server"""

    @property
    def episode(self) -> EpisodeConfig:
        named = ("kind", "level", "extra_tools", "max_turns", "rounds", "extraction")
        return EpisodeConfig(**{name: getattr(self, name) for name in named})

    @property
    def grader(self) -> Grader:
        options = grader_options(self.episode, reward=self.reward, jobs=self.jobs, executor=self.executor)
        return shared_grader(options).grader


class RTLTasksetConfig(vf.TasksetConfig):
    """Which problems: `--env.taskset.*`."""

    problems: str = "bundled"
    """bundled, generated, a CVDP file, a directory of problems, ..."""
    limit: int = 0
    """only so many problems; 0: all. A source that draws problems draws so many."""
    task: RTLTaskConfig = RTLTaskConfig()


class RTLData(vf.TaskData):
    """What a trace records of a task: where the problem is found again, and nothing of its harness and reference."""

    problems: str
    limit: int = 0


class RTLState(vf.State):
    episode: Any = None  # the HostedEpisode of this rollout
    led: bool = False  # by our harness, which knows all its turns


@cache
def loaded(source: str, count: int) -> Mapping[str, Problem]:
    return {problem.id: problem for problem in load_problems(source, count=count)}


class RTLTask(vf.Task[RTLData, RTLState, RTLTaskConfig]):
    """One problem: its rewards are the parts of our reward, its metrics what was right of each stage."""

    @cached_property
    def problem(self) -> Problem:
        return loaded(self.data.problems, self.data.limit)[str(self.data.id)]

    async def setup(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        trace.state.episode = self.new_episode()

    async def finalize(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        episode = await self.judged(trace)
        trace.info["rtl_agent"] = {
            "outcome": episode.grade.outcome.value,
            "reasons": list(episode.grade.reasons),
            "end_reason": episode.record.end_reason,
            "rules": episode.rules.to_json(),
        }

    @vf.reward
    async def stages(self, trace: vf.Trace) -> dict[str, float]:
        """What each stage earned; their sum is the reward. At level `open` nothing is earned."""
        return dict((await self.judged(trace)).record.reward_parts)

    @vf.metric
    async def measured(self, trace: vf.Trace) -> dict[str, float]:
        return {name: float(value) for name, value in (await self.judged(trace)).metrics.items()}

    def new_episode(self) -> HostedEpisode:
        return HostedEpisode(self.problem, self.config.episode, self.config.grader)

    async def judged(self, trace: vf.Trace) -> HostedEpisode:
        """The episode, over: what stands is graded, if that has not been done. EpisodeFailed if it cannot be."""
        episode: HostedEpisode = trace.state.episode or self.new_episode()
        trace.state.episode = episode
        if not episode.over:
            if self.config.kind != SINGLE and trace.num_turns and not trace.state.led:
                raise RuntimeError(f"kind={self.config.kind} is played by the harness rtl-agent-tasks only")
            if not episode.turns:
                said = trace.assistant_messages
                await episode.answer((said[-1].content if said else "") or "")
            if not episode.over:  # verifiers has stopped it, by a limit of its own
                await episode.stop()
        return episode

    async def validate(self, runtime: vf.Runtime) -> bool | None:
        """Whether the reference earns the maximum, and neither an empty file nor the files as given pass."""
        if self.problem.reference is None:
            return None
        found = await validate_problem(self.config.grader, self.problem)
        if broken := [grade for grade in found.grades if grade.outcome is Outcome.ERROR]:
            raise RuntimeError("; ".join(broken[0].reasons))
        for doubt in found.doubts:
            log.warning("%s: %s", self.problem.id, doubt)
        assert found.reference is not None
        return found.trusted and found.reference.reward.total == found.reference.reward.maximum


class RTLTaskset(vf.Taskset[RTLTask, RTLTasksetConfig]):
    """The problems of a source that can be asked so and graded with open tools."""

    def load(self) -> Iterator[RTLTask]:
        config = self.config
        for problem in playable(config.problems, config.task.episode, limit=config.limit):
            asked = first_messages(problem, config.task.episode)
            data = RTLData(
                id=problem.id,
                name=problem.id,
                description=f"{problem.category}, {problem.difficulty}",
                system_prompt="\n\n".join(message.content for message in asked if message.role == "system"),
                prompt="\n\n".join(message.content for message in asked if message.role == "user"),
                problems=config.problems,
                limit=config.limit,
            )
            yield RTLTask(data, config.task)


class RTLHarness(vf.Harness[vf.HarnessConfig]):
    """Leads the conversation of any kind. The model's commands run in our sandbox, never where verifiers runs."""

    APPENDS_SYSTEM_PROMPT = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self,
        ctx: vf.ModelContext,
        trace: vf.Trace,
        runtime: vf.Runtime,
        endpoint: str,
        secret: str,
        mcp_urls: dict[str, str],
        data: vf.TaskData,
    ) -> vf.ProgramResult:
        trace.state.led = True
        episode: HostedEpisode = trace.state.episode
        system, prompt = self.resolve_prompt(data)
        messages: list[Any] = [{"role": "system", "content": system}] if system else []
        messages.append({"role": "user", "content": prompt})
        tools = {"tools": [as_function(tool) for tool in episode.tools]} if episode.tools else {}
        async with AsyncOpenAI(base_url=endpoint, api_key=secret) as client:
            while not episode.over:
                try:
                    answer = await client.chat.completions.create(model=ctx.model, messages=messages, **tools)
                except APIStatusError as error:
                    if episode.turns and is_context_overflow(error):
                        break  # what stands is graded
                    raise
                said, why = answer.choices[0].message, answer.choices[0].finish_reason
                calls, fault = read_calls(said.tool_calls or ())
                turn = Turn(said.content or "", calls=tuple(call for _, call in calls), fault=fault)
                reply = await episode.take(turn, cut_off=why == "length")
                messages += [said.model_dump(exclude_none=True), *as_messages(said, calls, reply)]
        return vf.ProgramResult(exit_code=0, stdout="", stderr="")

    async def cleanup(self, trace: vf.Trace, runtime: vf.Runtime) -> None:
        if trace.state.episode is not None:
            await trace.state.episode.close()


class RTLEnvConfig(vf.SingleAgentEnvConfig):
    agent: vf.AgentConfig = vf.AgentConfig(runtime=vf.SubprocessConfig())


class RTLEnv(vf.SingleAgentEnv, vf.Env[RTLEnvConfig]):
    """One agent, as for every taskset. Nothing runs in its runtime, so the default is the one that needs nothing."""


Calls = Sequence[tuple[str, ToolCall]]  # with their ids


def as_function(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def read_calls(raw: Sequence[Any]) -> tuple[Calls, str]:
    """The calls that can be read, and what is wrong with the others."""
    calls, fault = [], ""
    for one in raw:
        try:
            arguments = json.loads(one.function.arguments or "{}")
            if not isinstance(arguments, dict):
                raise ValueError("they are not an object")
        except (AttributeError, ValueError, RecursionError) as error:
            fault = f"the arguments of a tool call are not valid JSON: {error}"
        else:
            calls.append((one.id, ToolCall(one.function.name, arguments)))
    return calls, fault


def as_messages(said: Any, calls: Calls, reply: Reply) -> list[dict[str, Any]]:
    """What the model is shown next: an answer to each of its calls, or words of the environment."""
    if not said.tool_calls:
        return [{"role": "user", "content": shown(reply)}] if reply.results else []
    texts = [result.text for result in reply.results]
    of_call = {name: text for (name, _), text in zip(calls, texts, strict=False)}
    rest = texts[-1] if texts else "[not run]"
    return [{"role": "tool", "tool_call_id": one.id, "content": of_call.get(one.id, rest)} for one in said.tool_calls]
