"""`rtl-agent eval`: how good a model is at problems, with everything that is needed to get the numbers again."""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rtl_agent.cli import console
from rtl_agent.cli.console import Categories, Difficulties, Families, Ids, Jobs, SkipBad, Timeout
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
from rtl_agent.grading import DEFAULT_EXTRACTION
from rtl_agent.problems import BadRecord, Selection
from rtl_agent.toolchain import find_toolchain

if TYPE_CHECKING:
    from rtl_agent.evaluation.evaluate import Options, Table
    from rtl_agent.evaluation.models import ModelSpec
    from rtl_agent.evaluation.problem_sets import ProblemSet
    from rtl_agent.evaluation.result import Result

Problems = Annotated[
    str,
    typer.Argument(
        metavar="PROBLEMS",
        help="`generated` (held-out instances), `generated:new` (families never trained on), `generated-workspaces` "
        "(with --env agentic), `bundled`, a CVDP JSONL file, or a folder of them.",
    ),
]


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
    extraction: console.HowRead = DEFAULT_EXTRACTION,
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
            extraction=extraction,
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

    if warning := find_toolchain().warning():
        console.say_warning(warning)
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
            elif one.episode.is_scored:
                done += 1
                passed += one.passed
            note = f"{passed / done:.0%} pass" if done else ""
            progress.update(task, advance=1, note=note + (f", {lost} errors" if lost else ""))

        return await run(spec, chosen, options, source, out, fresh=fresh, begun=begun, told=told)


def _left_out(bad: BadRecord) -> None:
    console.say_warning(f"left out {bad}")
