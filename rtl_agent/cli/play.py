"""`rtl-agent play`: one episode, shown while it is played: turns, commands, observations, verdict."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.panel import Panel
from rich.text import Text

from rtl_agent.cli import console
from rtl_agent.cli.eval_options import (
    Backend,
    BaseUrl,
    CheckpointName,
    Conversation,
    Counted,
    Env,
    ExtraTools,
    KeyName,
    Level,
    MaxTokens,
    MaxTurns,
    ModelName,
    Renderer,
    Reward,
    Rounds,
    Seed,
    System,
    Temperature,
    Tries,
    checked_reward,
    found_model,
    needs_training_packages,
)
from rtl_agent.cli.grade_view import print_grade
from rtl_agent.grading import DEFAULT_EXTRACTION, Grade, Outcome
from rtl_agent.problems import Selection
from rtl_agent.prompts import Message

if TYPE_CHECKING:
    from rtl_agent.problems import Problem

GENERATED = ("generated", "generated-workspaces")


def play(
    problem: Annotated[
        str,
        typer.Argument(
            metavar="PROBLEM",
            help="A problem's id, or `generated`, `generated:FAMILY`, `generated-workspaces` (with --env agentic).",
        ),
    ],
    model: ModelName,
    source: Annotated[str, typer.Option("--problems", help="`bundled`, a JSONL file, or a folder.")] = "bundled",
    number: Annotated[int, typer.Option(min=0, help="Which of the generated ones.")] = 0,
    env: Env = "single",
    level: Level = "",
    extra_tools: ExtraTools = False,
    max_turns: MaxTurns = 50,
    tries: Tries = 3,
    rounds: Rounds = 2,
    counted: Counted = "last",
    max_conversation: Conversation = 0,
    backend: Backend = "",
    base_url: BaseUrl = "",
    api_key_env: KeyName = "",
    checkpoint: CheckpointName = "",
    renderer: Renderer = "",
    system: System = "",
    temperature: Temperature = None,
    max_tokens: MaxTokens = 1024,
    seed: Seed = 0,
    reward: Reward = "staged",
    extraction: console.HowRead = DEFAULT_EXTRACTION,
    out: Annotated[Path | None, typer.Option(help="A JSONL that gets one more line. [default: in plays/]")] = None,
) -> None:
    """Play one episode and show it. Exit code 0: it passed; 1: it did not; 2: bad usage; 3: our own fault."""
    needs_training_packages()
    from rtl_agent.evaluation import EvaluationError, ModelSpec, Options, Rules
    from rtl_agent.evaluation.play import play as run

    checked_reward(reward)
    spec = ModelSpec(found_model(model), backend, base_url, api_key_env, checkpoint, renderer, system)
    try:
        rules = Rules(env, level, extra_tools, max_turns, tries, rounds, counted, max_conversation)
        options = Options(
            rules,
            temperature=temperature,
            max_tokens=max_tokens,
            seed=seed,
            reward=reward,
            extraction=extraction,
        )
        found, named = _problem(problem, source, number, env)
        console.out.rule(Text(f"{found.id} by {model}, {env}"))
        with console.err.status("the model is being asked") as status:
            live = Live(status.update)
            episode, path = asyncio.run(run(spec, found, options, named, live, out))
    except EvaluationError as error:
        console.say_error(str(error))
        raise typer.Exit(error.exit_code) from error
    grade = Grade.from_json(episode.grade)
    console.out.rule(Text("verdict"))
    print_grade(grade)
    if episode.end_reason:
        console.out.print(f"over after {len(episode.turns)} turns by {episode.end_reason}, level {episode.level}")
    if not episode.is_scored:
        console.say_warning("the model could read the harness: this is no score")
    if episode.cut_off:
        console.say_warning(f"the answer was cut off at {max_tokens} tokens: --max-tokens allows more")
    console.out.print(f"rollout: {path}", markup=False, highlight=False, soft_wrap=True)
    if grade.outcome is not Outcome.PASSED:
        raise typer.Exit(console.SOME_FAILED)


class Live:
    """An episode in the terminal, as it goes on."""

    def __init__(self, waiting_for: Callable[[str], None]) -> None:
        self._waiting_for = waiting_for
        self._turn = 0

    def asked(self, messages: tuple[Message, ...]) -> None:
        for message in messages:
            _show(message.role, message.content, "dim" if message.role == "system" else "cyan")
        self._waiting_for("the model writes")

    def said(self, text: str) -> None:
        self._turn += 1
        _show(f"model, turn {self._turn}", text, "yellow")
        self._waiting_for("what it wrote is run or judged")

    def saw(self, text: str) -> None:
        _show("shown to the model", text, "blue")
        self._waiting_for("the model writes")

    def over(self, text: str) -> None:
        if text:
            _show("what the last turn gave", text, "blue")


def _show(title: str, text: str, colour: str) -> None:
    shown = Text(console.harmless(text.strip("\n")))
    console.out.print(Panel(shown, title=title, title_align="left", border_style=colour))


def _problem(problem: str, source: str, number: int, env: str) -> "tuple[Problem, str]":
    from rtl_agent.evaluation import problem_set

    if problem.partition(":")[0] in GENERATED:
        return problem_set(problem, Selection(), env=env, limit=number + 1).problems[number], problem
    return problem_set(source, Selection(ids=[problem]), env=env).problems[0], source
