"""TRL: our problems in the three slots of its trainers: a dataset, a reward function, and environments.

    spec = RTLSpec("bundled")
    trainer = GRPOTrainer(model=..., train_dataset=spec.train_dataset, reward_funcs=spec.reward_funcs)

With `env="agentic"` the model works in a workspace with a shell, and the trainer is given
`environment_factory=spec.environment_factory` as well. What cannot be graded has the reward None: TRL leaves it out of
its group's mean and gives it no advantage. It is never a 0.
"""

import asyncio
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
        wanted = {tool.name for tool in tool_specs(self.episode)}
        kind = next(kind for kind in (RTLEnvironment, SubmitEnvironment, ToolsEnvironment) if wanted <= kind.tool_names)
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

        async def judged(at: int) -> HostedEpisode | None:
            environment = environments[at] if environments is not None else None
            if environments is not None and not isinstance(environment, RTLEnvironment):
                return None  # of another kind, in a mix of them
            try:
                episode = environment.episode if environment else self.new_episode(self.problems[problem[at]])
                await episode.answer(text_of(completions[at]))
            except EpisodeFailed as error:
                log.warning("%s", error)
                return None
            return episode

        async def all_judged() -> list[HostedEpisode | None]:
            return await asyncio.gather(*(judged(at) for at in range(len(completions))))

        episodes = self.grader.run(all_judged())
        if log_metric is not None:
            for name, value in means(episodes).items():
                log_metric(f"rtl/{name}", value)
        return [episode and episode.reward for episode in episodes]


class RTLEnvironment:
    """A workspace with a shell, used again for one rollout after another. Its public methods are the model's tools."""

    tool_names = frozenset({"execute_bash"})

    def __init__(self, spec: RTLSpec) -> None:
        self._spec = spec
        self.episode: HostedEpisode | None = None

    def reset(self, problem: str, **columns: Any) -> None:
        """A new workspace for the problem of a row. The row's prompt has said what is asked."""
        if self.episode is not None:
            self._spec.grader.run(self.episode.close())
        self.episode = self._spec.new_episode(self._spec.problems[problem])

    def execute_bash(self, command: str) -> str:
        """
        Runs a command with bash in /code and returns what it printed, stdout and stderr together, and its exit code.

        Args:
            command: the command, of one line or of several
        """
        return self._call("execute_bash", command=command)

    def _call(self, tool: str, **arguments: Any) -> str:
        assert self.episode is not None, "the trainer resets an environment before its first tool call"
        return self._spec.grader.run(self.episode.call(tool, arguments))


class SubmitEnvironment(RTLEnvironment):
    """The same, ended by the model itself."""

    tool_names = RTLEnvironment.tool_names | {"submit"}

    def submit(self) -> str:
        """
        Says that the files are finished, and has them judged.
        """
        return self._call("submit")


class ToolsEnvironment(SubmitEnvironment):
    """The same with tools for Verilog."""

    tool_names = SubmitEnvironment.tool_names | {"lint", "simulate"}

    def lint(self, files: list[str] | None = None) -> str:
        """
        Compiles with Icarus Verilog, lints with Verilator, and lists what they say, the most important first.

        Args:
            files: paths below /code; every design file of rtl/ if left out
        """
        return self._call("lint", **({} if files is None else {"files": files}))

    def simulate(self, bench: str) -> str:
        """
        Compiles a test bench of yours together with every design file of rtl/, runs it in /code/rundir, and tells the
        first failure. A Python file is run by pytest.

        Args:
            bench: its path below /code, such as rundir/tb.sv
        """
        return self._call("simulate", bench=bench)


def text_of(completion: Any) -> str:
    """The model's last words: of a completion that is plain text, or messages."""
    if isinstance(completion, str):
        return completion
    said = [message["content"] for message in completion if message.get("role") == "assistant"]
    last = said[-1] if said else ""
    if isinstance(last, str):
        return last
    return "".join(part.get("text", "") for part in last or ())


def means(episodes: Sequence[HostedEpisode | None]) -> dict[str, float]:
    """Every metric over the episodes that have it, and the share that could not be graded."""
    judged = [episode.metrics for episode in episodes if episode is not None]
    found = {"errors": 1 - len(judged) / len(episodes)}
    for name in dict.fromkeys(name for metrics in judged for name in metrics):
        values = [metrics[name] for metrics in judged if name in metrics]
        found[name] = sum(values) / len(values)
    return found
