"""`rtl-agent play`: one episode, shown while it is played: turns, commands, observations, verdict."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.panel import Panel
from rich.text import Text

from rtl_agent.cli import console
from rtl_agent.cli.console import PROBLEMS_HELP
from rtl_agent.cli.eval_options import (
    Backend,
    BaseUrl,
    CheckpointName,
    CommandSeconds,
    EngineName,
    Env,
    EpisodeSeconds,
    EpisodeTokens,
    ExtraTools,
    HowRead,
    KeyName,
    Level,
    MaxPromptTokens,
    MaxTokens,
    MaxTurns,
    ModelName,
    RefineReward,
    Renderer,
    Reward,
    Rounds,
    Seed,
    System,
    Temperature,
    TimeoutSeconds,
    Tries,
    checked_reward,
    found_model,
    in_flags,
    needs_training_packages,
)
from rtl_agent.cli.grade_view import print_grade
from rtl_agent.envs.episode_config import EpisodeConfig
from rtl_agent.grading import Outcome
from rtl_agent.options import BadOption
from rtl_agent.problems import PROBLEM_SOURCES, NoSuchProblems, Selection
from rtl_agent.prompts import Message

if TYPE_CHECKING:
    from rtl_agent.problems import Problem


def play(
    problem: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM",
            help="A problem's id, a JSONL file, a directory of your own problems, `generated`, `generated:FAMILY`, or "
            "`generated-workspaces` (with --env agentic).",
        ),
    ],
    model: ModelName,
    source: Annotated[
        str | None,
        typer.Option("--problems", metavar="PROBLEMS", help=f"Where the id is: {PROBLEMS_HELP} [default: bundled]"),
    ] = None,
    number: Annotated[int, typer.Option(min=0, help="Which one, where PROBLEM names several.")] = 0,
    env: Env = None,
    level: Level = None,
    system: System = None,
    max_tokens: MaxTokens = None,
    episode_tokens: EpisodeTokens = None,
    max_prompt_tokens: MaxPromptTokens = None,
    max_turns: MaxTurns = None,
    rounds: Rounds = None,
    tries: Tries = None,
    extra_tools: ExtraTools = None,
    episode_seconds: EpisodeSeconds = None,
    command_seconds: CommandSeconds = None,
    refine_reward: RefineReward = None,
    extraction: HowRead = None,
    timeout_seconds: TimeoutSeconds = None,
    backend: Backend = "",
    engine: EngineName = "",
    base_url: BaseUrl = "",
    api_key_env: KeyName = "",
    checkpoint: CheckpointName = "",
    renderer: Renderer = "",
    temperature: Temperature = None,
    seed: Seed = 0,
    reward: Reward = "staged",
    out: Annotated[
        Path | None, typer.Option(help="A JSONL file to append the episode to. [default: in plays/]")
    ] = None,
) -> None:
    """Play one episode and show it. Exit code 0: it passed; 1: it did not; 2: bad usage; 3: an internal error."""
    needs_training_packages()
    from rtl_agent.evaluation import EvaluationError, EvaluationOptions, ModelSpec, episode_config
    from rtl_agent.evaluation import play as run

    checked_reward(reward)
    spec = ModelSpec(found_model(model), backend, base_url, api_key_env, checkpoint, renderer, engine)
    try:
        episode = episode_config(
            spec,
            kind=env,
            level=level,
            system=system,
            max_tokens=max_tokens,
            episode_tokens=episode_tokens,
            max_prompt_tokens=max_prompt_tokens,
            max_turns=max_turns,
            rounds=rounds,
            tries=tries,
            extra_tools=extra_tools,
            episode_seconds=episode_seconds,
            command_seconds=command_seconds,
            refine_reward=refine_reward,
            extraction=extraction,
            timeout_seconds=timeout_seconds,
        )
        options = EvaluationOptions(episode, temperature=temperature, seed=seed, reward=reward)
        found, named = _problem(problem, source, number, episode)
        console.out.rule(Text(f"{found.id} by {model}, {episode.kind}"))
        with console.err.status("waiting for the model") as status:
            live = Live(status.update)
            played, path = asyncio.run(run(spec, found, options, named, live, out))
    except BadOption as error:
        console.say_error(in_flags(error))
        raise typer.Exit(console.BAD_INPUT) from error
    except EvaluationError as error:
        console.say_error(str(error))
        raise typer.Exit(error.exit_code) from error
    console.out.rule(Text("verdict"))
    assert played.grade is not None, "an episode that was played to its end has a grade"
    print_grade(played.grade)
    if played.end_reason:
        console.out.print(f"ended after {len(played.turns)} turns ({played.end_reason}), level {played.level}")
    if not played.is_scored:
        console.say_warning("the model could read the harness: this is not a score")
    if played.cut_off:
        console.say_warning(f"the answer was cut off at {episode.max_tokens} tokens: --max-tokens allows more")
    console.out.print(f"rollout: {path}", markup=False, highlight=False, soft_wrap=True)
    if played.grade.outcome is not Outcome.PASSED:
        raise typer.Exit(console.SOME_FAILED)


class Live:
    """An episode in the terminal, as it happens."""

    def __init__(self, waiting_for: Callable[[str], None]) -> None:
        self._waiting_for = waiting_for
        self._turn = 0

    def asked(self, messages: tuple[Message, ...]) -> None:
        for message in messages:
            _show(message.role, message.content, "dim" if message.role == "system" else "cyan")
        self._waiting_for("the model is writing")

    def said(self, text: str) -> None:
        self._turn += 1
        _show(f"model, turn {self._turn}", text, "yellow")
        self._waiting_for("running or grading what it wrote")

    def saw(self, text: str) -> None:
        _show("shown to the model", text, "blue")
        self._waiting_for("the model is writing")

    def over(self, text: str) -> None:
        if text:
            _show("result of the last turn", text, "blue")


def _show(title: str, text: str, colour: str) -> None:
    shown = Text(console.harmless(text.strip("\n")))
    if not console.out.is_terminal:
        console.out.print(Text(f"--- {title} ---"), shown, sep="\n", soft_wrap=True)
        return
    console.out.print(Panel(shown, title=title, title_align="left", border_style=colour))


def _problem(problem: str, source: str | None, number: int, episode: EpisodeConfig) -> "tuple[Problem, str]":
    from rtl_agent.evaluation import problem_set

    if problem.partition(":")[0] in PROBLEM_SOURCES or (source is None and Path(problem).exists()):
        found = problem_set(problem, Selection(), episode=episode, limit=number + 1).problems
        if number >= len(found):
            raise NoSuchProblems(
                f"{problem} has {len(found)} {'problem' if len(found) == 1 else 'problems'}, counted from 0: "
                f"--number {number} is not among them"
            )
        return found[number], problem
    source = source or "bundled"
    return problem_set(source, Selection(ids=[problem]), episode=episode).problems[0], source
