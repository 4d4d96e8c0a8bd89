"""`rtl-agent eval`: how good a model is at problems, with everything that is needed to get the numbers again."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rtl_agent.cli import console
from rtl_agent.cli.console import Categories, Difficulties, Families, Ids, Jobs, SkipBad, Timeout
from rtl_agent.cli.runs import find_run
from rtl_agent.grading import parse_weights
from rtl_agent.problems import BadRecord, Selection

if TYPE_CHECKING:
    from rtl_agent.evaluation.evaluate import Options, Table
    from rtl_agent.evaluation.models import ModelSpec
    from rtl_agent.evaluation.problem_sets import ProblemSet
    from rtl_agent.evaluation.result import Result

_MISSING = "this needs more packages: run `make setup`, or pip install 'rtl-agent[train]'"

Problems = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEMS",
        help="`generated` (held-out instances), `generated:new` (families never trained on), `bundled`, a CVDP JSONL "
        "file, or a folder of them.",
    ),
]
ModelName = Annotated[
    str, typer.Option("--model", help="A model's name, a run directory, a model directory, or a tinker:// path.")
]
Backend = Annotated[str, typer.Option(help="embedded, tinker or http://host:port. [default: embedded, or the run's]")]
BaseUrl = Annotated[str, typer.Option("--base-url", help="An OpenAI-compatible endpoint, such as http://host/v1.")]
KeyName = Annotated[
    str,
    typer.Option("--api-key-env", help="The variable that holds the endpoint's key. [default: OPENAI_API_KEY if set]"),
]
CheckpointName = Annotated[str, typer.Option("--checkpoint", help="Of a run: best, last or a name. [default: best]")]
Renderer = Annotated[str, typer.Option(help="How messages become tokens. [default: by the model's name]")]
System = Annotated[str, typer.Option(help="The system message. [default: short for rtl-agent/*, else default]")]
Env = Annotated[str, typer.Option(help="single, refine or agentic.")]
Level = Annotated[
    str, typer.Option(help="What an agent may know: spec, own-tests, feedback, open. [default: own-tests]")
]
ExtraTools = Annotated[bool, typer.Option("--extra-tools", help="lint, simulate and submit beside the agent's shell.")]
MaxTurns = Annotated[int, typer.Option("--max-turns", min=1, help="Of an agent.")]
Tries = Annotated[int, typer.Option(min=1, help="Submits of an agent at level feedback.")]
Rounds = Annotated[int, typer.Option(min=0, help="Of refinement, after the first answer.")]
Counted = Annotated[str, typer.Option(help="Which round of refinement counts: last or best.")]
Conversation = Annotated[
    int, typer.Option("--max-conversation", min=0, help="Most tokens of a conversation. [default: the model's context]")
]
Temperature = Annotated[
    float | None, typer.Option(min=0.0, help="0 takes the likeliest token. [default: 0, or 1 with several samples]")
]
MaxTokens = Annotated[int, typer.Option("--max-tokens", min=1, help="Most tokens of an answer.")]
Seed = Annotated[int, typer.Option(help="Of sampling: the same seed repeats where the backend can.")]
Reward = Annotated[str, typer.Option(help="staged, graded, binary, or weights such as format=0.1,tests=1.")]


def evaluate(
    problems: Problems,
    model: ModelName,
    samples: Annotated[int, typer.Option("--samples", "-n", min=1, help="Answers to each problem.")] = 1,
    env: Env = "single",
    level: Level = "",
    extra_tools: ExtraTools = False,
    max_turns: MaxTurns = 50,
    tries: Tries = 3,
    rounds: Rounds = 2,
    counted: Counted = "last",
    max_conversation: Conversation = 0,
    k: Annotated[list[int] | None, typer.Option("-k", min=1, help="For pass@k. [default: 1 and --samples]")] = None,
    backend: Backend = "",
    base_url: BaseUrl = "",
    api_key_env: KeyName = "",
    checkpoint: CheckpointName = "",
    renderer: Renderer = "",
    system: System = "",
    temperature: Temperature = None,
    max_tokens: MaxTokens = 1024,
    limit: Annotated[int, typer.Option(min=0, help="Only so many problems; of `generated`, draw so many.")] = 0,
    seed: Seed = 0,
    reward: Reward = "staged",
    out: Annotated[Path | None, typer.Option(help="The JSON result. [default: by the settings, in evals/]")] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Throw away answers of an earlier, stopped evaluation.")
    ] = False,
    ids: Ids = None,
    families: Families = None,
    categories: Categories = None,
    difficulties: Difficulties = None,
    skip_bad: SkipBad = False,
    at_a_time: Annotated[int, typer.Option("--concurrency", min=1, help="Episodes at a time.")] = 16,
    jobs: Jobs = None,
    timeout: Timeout = 120.0,
    cache: Annotated[bool, typer.Option(help="Do not judge the same text twice.")] = True,
    as_json: console.AsJson = False,
) -> None:
    """Ask a model, grade its answers, and print pass@k with intervals. Stopped, the same command goes on.

    Exit code 0: every answer was graded; 2: bad usage; 3: some could not be had or graded and are left out.
    """
    needs_training_packages()
    from rtl_agent.evaluation import EvaluationError, ModelSpec, Options, Rules, problem_set

    checked_reward(reward)
    if k and max(k) > samples:
        raise typer.BadParameter(f"pass@{max(k)} needs --samples {max(k)} or more", param_hint="-k")
    selection = Selection(ids or (), families or (), categories or (), difficulties or ())
    spec = ModelSpec(found_model(model), backend, base_url, api_key_env, checkpoint, renderer, system)
    try:
        options = Options(
            rules=Rules(env, level, extra_tools, max_turns, tries, rounds, counted, max_conversation),
            samples=samples,
            temperature=temperature,
            max_tokens=max_tokens,
            seed=seed,
            ks=tuple(sorted(set(k or ()))),
            reward=reward,
            timeout_seconds=timeout,
            jobs=jobs,
            at_a_time=at_a_time,
            cache=cache,
        )
        chosen = problem_set(problems, selection, env=env, limit=limit, skip_bad=skip_bad, on_bad=_left_out)
        result, written = asyncio.run(_evaluate(spec, chosen, options, problems, out, fresh))
    except EvaluationError as error:
        console.say_error(str(error))
        raise typer.Exit(error.exit_code) from error
    if as_json:
        console.print_json(result.to_json())
    else:
        from rtl_agent.cli.eval_view import print_result

        print_result(result, written)
    if result.asked.lost:
        first = result.asked.lost[0]
        console.say_warning(
            f"{len(result.asked.lost)} samples could not be had or graded and are left out; the same command tries "
            f"again. The first, {first.problem_id}: {first.why}"
        )
        raise typer.Exit(console.OUR_FAULT)


async def _evaluate(
    spec: "ModelSpec", chosen: "ProblemSet", options: "Options", source: str, out: Path | None, fresh: bool
) -> "tuple[Result, Path]":
    from rtl_agent.evaluation.ask_all import Lost
    from rtl_agent.evaluation.evaluate import evaluate as run
    from rtl_agent.evaluation.samples import Sample

    if chosen.left_out:
        console.say_warning(f"{len(chosen.left_out)} problems are left out, the first: {chosen.left_out[0]}")
    total = len(chosen.problems) * options.samples
    with console.progress_bar("evaluating", total) as progress:
        task = progress.task_ids[0]
        done = passed = lost = 0

        def begun(table: "Table", out: Path) -> None:
            for text in table.warnings:
                console.say_warning(text)

        def told(one: Sample | Lost) -> None:
            nonlocal done, passed, lost
            if isinstance(one, Lost):
                lost += 1
            else:
                done += 1
                passed += one.passed
            note = f"{passed / done:.0%} pass" if done else ""
            progress.update(task, advance=1, note=note + (f", {lost} errors" if lost else ""))

        return await run(spec, chosen, options, source, out, fresh=fresh, begun=begun, told=told)


def found_model(model: str) -> str:
    """A run may be named as `rtl-agent runs` names it."""
    return str(find_run(model)) if not model.startswith("tinker://") else model


def checked_reward(reward: str) -> None:
    try:
        parse_weights(reward)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--reward") from error


def needs_training_packages() -> None:
    try:
        import tinker_cookbook  # noqa: F401
    except ImportError as error:
        console.say_error(f"{_MISSING} ({error.name} is not there)")
        raise typer.Exit(console.BAD_INPUT) from error


def _left_out(bad: BadRecord) -> None:
    console.say_warning(f"left out {bad}")
