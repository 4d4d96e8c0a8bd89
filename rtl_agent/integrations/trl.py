"""TRL: our problems in the three slots of its trainers: a dataset, a reward function, and environments.

    spec = RTLSpec("bundled")
    trainer = GRPOTrainer(model=..., train_dataset=spec.train_dataset, reward_funcs=spec.reward_funcs)

With `env="agentic"` the model works in a workspace with a shell, and the trainer is given
`environment_factory=spec.environment_factory` as well. What cannot be graded has the reward None: TRL leaves it out of
its group's mean and gives it no advantage. It is never a 0.
"""

import asyncio
import inspect
import logging
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from datasets import Dataset

from rtl_agent.envs.agentic.tools import tool_specs
from rtl_agent.envs.episode import EpisodeFailed
from rtl_agent.envs.episode_config import AGENTIC, SINGLE, EpisodeConfig
from rtl_agent.envs.hosted import HostedEpisode, first_messages, grader_options, playable
from rtl_agent.envs.kinds import resolved
from rtl_agent.envs.session import ToolSpec
from rtl_agent.grading import SyncGrader, shared_grader
from rtl_agent.grading.executors import LOCAL
from rtl_agent.options import BadOption
from rtl_agent.problems import Problem
from rtl_agent.prompts import as_dicts

log = logging.getLogger(__name__)
LogMetric = Callable[[str, float], None]


class RTLSpec:
    """Problems, and how they are asked and graded.

    Args:
        problems: what `load_problems` takes: bundled, generated, a CVDP file, a directory of problems, ...
        limit: only so many problems; 0 for all.
        reward: reward preset, with weights over it.
        jobs: grades at a time; 0: one for each core.
        executor: where to grade: local, ray, or the address of a grade server.
        **episode: fields of `EpisodeConfig`, such as env="agentic", level="feedback", extra_tools=True.
    """

    def __init__(
        self,
        problems: str = "bundled",
        *,
        limit: int = 0,
        reward: str = "staged",
        jobs: int = 0,
        executor: str = LOCAL,
        env: str = SINGLE,
        **episode: Any,
    ) -> None:
        if env not in (SINGLE, AGENTIC):
            raise BadOption("env", env, f"TRL asks {SINGLE} (one answer) and {AGENTIC} (a shell)")
        self.episode = resolved(EpisodeConfig(kind=env, **episode))
        self.problems: Mapping[str, Problem] = {
            problem.id: problem for problem in playable(problems, self.episode, limit=limit)
        }
        self._grading = grader_options(self.episode, reward=reward, jobs=jobs, executor=executor)

    @property
    def grader(self) -> SyncGrader:
        return shared_grader(self._grading)

    @cached_property
    def train_dataset(self) -> Dataset:
        """A row for each problem: its messages, and its id for the reward function."""
        return Dataset.from_list(
            [
                {"prompt": as_dicts(first_messages(problem, self.episode)), "problem": name}
                for name, problem in self.problems.items()
            ]
        )

    @property
    def reward_funcs(self) -> "list[Callable[..., list[float | None]]]":
        return [self.rtl_reward]

    @property
    def environment_factory(self) -> "Callable[[], RTLEnvironment]":
        """Environments with the tools that there are by these rules."""
        if self.episode.kind != AGENTIC:
            raise BadOption("env", self.episode.kind, f"an environment has a shell: env={AGENTIC}")
        kind = environment_class(tool_specs(self.episode))
        return lambda: kind(self)

    def new_episode(self, problem: Problem) -> HostedEpisode:
        return HostedEpisode(problem, self.episode, self.grader.grader)

    def rtl_reward(
        self,
        completions: Sequence[Any],
        problem: Sequence[str],
        environments: "Sequence[object] | None" = None,
        log_metric: LogMetric | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """The rewards of a batch, graded together: of answers, or of what was left in the environments' workspaces."""

        failed: list[EpisodeFailed] = []

        async def judged(at: int) -> HostedEpisode | None:
            try:
                if environments is None:
                    episode = self.new_episode(self.problems[problem[at]])
                else:
                    environment = environments[at]
                    if not isinstance(environment, RTLEnvironment) or environment.episode is None:
                        return None  # of another kind, in a mix of them
                    episode = environment.episode
                await episode.answer(text_of(completions[at]))
            except EpisodeFailed as error:
                log.warning("%s", error)
                failed.append(error)
                return None
            return episode

        async def all_judged() -> list[HostedEpisode | None]:
            return await asyncio.gather(*(judged(at) for at in range(len(completions))))

        episodes = self.grader.run(all_judged())
        if log_metric is not None:
            log_metric("rtl/errors", len(failed) / len(completions))
            for name, value in means([episode.metrics for episode in episodes if episode is not None]).items():
                log_metric(f"rtl/{name}", value)
        return [None if episode is None else episode.reward for episode in episodes]


class RTLEnvironment:
    """A workspace with a shell, used again for one rollout after another. Its public methods are the model's tools."""

    def __init__(self, spec: RTLSpec) -> None:
        self._spec = spec
        self.episode: HostedEpisode | None = None

    def reset(self, problem: str, **columns: Any) -> None:
        """A new workspace for the problem of a row. The row's prompt has said what is asked."""
        if self.episode is not None:
            self._spec.grader.run(self.episode.close())
        self.episode = self._spec.new_episode(self._spec.problems[problem])

    def _call(self, tool: str, arguments: Mapping[str, Any]) -> str:
        assert self.episode is not None, "the trainer resets an environment before its first tool call"
        return self._spec.grader.run(self.episode.call(tool, arguments))


def environment_class(tools: Sequence[ToolSpec]) -> type[RTLEnvironment]:
    """With a method for each tool: TRL tells a model of methods, by their signatures and docstrings."""
    return type(RTLEnvironment.__name__, (RTLEnvironment,), {tool.name: method_of(tool) for tool in tools})


TYPES: Mapping[str, Any] = {"string": str, "array": list[str]}


def method_of(tool: ToolSpec) -> Callable[..., str]:
    def method(self: RTLEnvironment, **arguments: Any) -> str:
        return self._call(tool.name, {name: value for name, value in arguments.items() if value is not None})

    parameters = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    described: list[str] = []
    for name, schema in tool.parameters["properties"].items():
        required = name in tool.parameters["required"]
        kind = TYPES[schema["type"]] if required else TYPES[schema["type"]] | None
        default = inspect.Parameter.empty if required else None
        parameters.append(inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind))
        described.append(f"    {name}: {schema['description']}")
    method.__name__ = tool.name
    method.__doc__ = "\n".join([tool.description, *(["", "Args:", *described] if described else [])])
    method.__annotations__ = {one.name: one.annotation for one in parameters[1:]} | {"return": str}
    method.__signature__ = inspect.Signature(parameters, return_annotation=str)  # type: ignore[attr-defined]
    return method


def text_of(completion: Any) -> str:
    """The model's last words: of a completion that is plain text, or messages."""
    if isinstance(completion, str):
        return completion
    said = [message.get("content") for message in completion if message.get("role") == "assistant"]
    last = said[-1] if said else ""
    if isinstance(last, str):
        return last
    return "".join(part.get("text", "") for part in last or ())


def means(measured: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Every metric over the episodes that have it."""
    found = {}
    for name in dict.fromkeys(name for metrics in measured for name in metrics):
        values = [metrics[name] for metrics in measured if name in metrics]
        found[name] = sum(values) / len(values)
    return found
