"""`rtl-agent eval`: how good a model is at problems, with everything that is needed to get the numbers again."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from rtl_agent.audit.filtering import TrustFilter
from rtl_agent.cli import console
from rtl_agent.cli.comprehension import Judge, JudgeKey, JudgeUrl, evaluate_text
from rtl_agent.cli.console import (
    Categories,
    Difficulties,
    ExecutorName,
    Families,
    Ids,
    Jobs,
    OssSimImage,
    SandboxName,
    SkipBad,
    out,
)
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
from rtl_agent.cli.evals import print_table
from rtl_agent.cli.tables import Column, Table
from rtl_agent.grading.executors import LOCAL
from rtl_agent.options import BadOption
from rtl_agent.problems import BadRecord, NoSuchProblems, Problem, Selection, choose, load_problems
from rtl_agent.runs.evaluations import read_evaluation
from rtl_agent.sandbox import sandbox_warning
from rtl_agent.toolchain import find_toolchain

if TYPE_CHECKING:
    from rtl_agent.evaluation import EvaluationOptions, EvaluationResult, ModelSpec, ProblemSet
    from rtl_agent.evaluation.evaluate import OpenEvaluation
    from rtl_agent.evaluation.summary import Summary

NO_SCORE = "no reward and no pass@k: at level {level} the model can read the harness, which is for debugging only"
FORMULAS = "pass@k is unbiased, in brackets its 95 % interval (Wilson's, over problems); CVDP's is 1 - (1 - c/n)^k"
_DROPPED = {"reward": 1, "problems": 2}  # in a narrow terminal, the highest first

Problems = Annotated[
    list[str],
    typer.Argument(
        metavar="PROBLEMS ...",
        help="`generated` (held-out instances), `generated:new` (families never trained on), `generated-workspaces` "
        "(with --env agentic), `bundled`, a CVDP JSONL file, or a folder of them; several are evaluated one after the "
        "other and shown in one table.",
    ),
]


def evaluate(
    problems: Problems,
    model: ModelName,
    samples: Annotated[int, typer.Option("--samples", "-n", min=1, help="Answers to each problem.")] = 1,
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
    k: Annotated[list[int] | None, typer.Option("-k", min=1, help="For pass@k. [default: 1 and --samples]")] = None,
    backend: Backend = "",
    engine: EngineName = "",
    base_url: BaseUrl = "",
    api_key_env: KeyName = "",
    judge: Judge = "",
    judge_url: JudgeUrl = "",
    judge_key_env: JudgeKey = "",
    checkpoint: CheckpointName = "",
    renderer: Renderer = "",
    temperature: Temperature = None,
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
    trust: Annotated[
        str, typer.Option(help="Only problems whose tests have this grade of an audit, or a better one.")
    ] = "",
    trust_table: Annotated[str, typer.Option(help="Your own audits: the folder of `problems audit --out`.")] = "",
    skip_bad: SkipBad = False,
    at_a_time: Annotated[int, typer.Option("--concurrency", min=1, help="Episodes at a time.")] = 16,
    jobs: Jobs = None,
    executor: ExecutorName = LOCAL,
    sandbox: SandboxName = "",
    oss_sim_image: OssSimImage = "",
    cache: Annotated[bool, typer.Option(help="Cache grades, so that the same text is not graded twice.")] = True,
    as_json: console.AsJson = False,
) -> None:
    """Ask a model, grade its answers, and print pass@k with intervals. If it is stopped, the same command resumes it.

    Exit code 0: every answer was graded; 2: bad usage; 3: some answers could not be obtained or graded.
    """
    needs_training_packages()
    from rtl_agent.evaluation import EvaluationError, EvaluationOptions, ModelSpec, episode_config, problem_set

    checked_reward(reward)
    if k and max(k) > samples:
        raise typer.BadParameter(f"pass@{max(k)} needs --samples {max(k)} or more", param_hint="-k")
    if out is not None and len(problems) > 1:
        raise typer.BadParameter(
            "names the result of one PROBLEMS; without it each has a name of its own", param_hint="--out"
        )
    selection = Selection(ids or (), families or (), categories or (), difficulties or ())
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
        options = EvaluationOptions(
            episode,
            samples=samples,
            temperature=temperature,
            seed=seed,
            ks=tuple(sorted(set(k or ()))),
            reward=reward,
            jobs=jobs,
            executor=executor,
            at_a_time=at_a_time,
            cache=cache,
        )
        if (texts := _only_text(problems, selection, limit, skip_bad)) is not None:
            evaluate_text(
                problems[0],
                texts,
                found_model(model),
                base_url=base_url,
                api_key_env=api_key_env,
                judge=judge,
                judge_url=judge_url,
                judge_key_env=judge_key_env,
                temperature=options.sampled_at,
                max_tokens=episode.max_tokens,
                seed=seed,
                at_a_time=at_a_time,
                out=out,
                as_json=as_json,
            )
            return
        sets = [
            problem_set(
                source,
                selection,
                episode=episode,
                limit=limit,
                skip_bad=skip_bad,
                on_bad=_left_out,
                trust=TrustFilter(trust, trust_table),
            )
            for source in problems
        ]
        found = [
            asyncio.run(_evaluate(spec, chosen, options, source, out, fresh))
            for source, chosen in zip(problems, sets, strict=True)
        ]
    except BadOption as error:
        console.say_error(in_flags(error))
        raise typer.Exit(console.BAD_INPUT) from error
    except EvaluationError as error:
        console.say_error(str(error))
        raise typer.Exit(error.exit_code) from error
    results = [result for result, _ in found]
    if as_json:
        shown = [result.to_json() for result in results]
        console.print_json(shown if len(shown) > 1 else shown[0])
    else:
        for result, written in found:
            print_result(result, written)
        if len(found) > 1:
            print_table([read_evaluation(written) for _, written in found])
    lost = [one for result in results for one in result.asked.lost]
    if lost:
        console.say_warning(
            f"{len(lost)} samples could not be obtained or graded and are left out; the same command "
            f"tries again. The first, {lost[0].problem_id}: {lost[0].why}"
        )
        raise typer.Exit(console.OUR_FAULT)


async def _evaluate(
    spec: "ModelSpec", chosen: "ProblemSet", options: "EvaluationOptions", source: str, out: Path | None, fresh: bool
) -> "tuple[EvaluationResult, Path]":
    from rtl_agent.evaluation.evaluate import evaluate as run
    from rtl_agent.evaluation.samples import EvaluationSample, LostSample

    for warning in (find_toolchain().warning(), sandbox_warning()) if options.executor == LOCAL else ():
        if warning:
            console.say_warning(warning)
    if chosen.left_out:
        console.say_warning(f"{len(chosen.left_out)} problems are left out, the first: {chosen.left_out[0]}")
    total = len(chosen.problems) * options.samples
    with console.progress_bar("evaluating", total) as progress:
        task = progress.task_ids[0]
        done = passed = lost = 0

        def begun(evaluation: "OpenEvaluation", out: Path) -> None:
            for text in evaluation.warnings:
                console.say_warning(text)

        def told(one: EvaluationSample | LostSample) -> None:
            nonlocal done, passed, lost
            if isinstance(one, LostSample):
                lost += 1
            elif one.episode.is_scored:
                done += 1
                passed += one.passed
            note = f"{passed / done:.0%} pass" if done else ""
            progress.update(task, advance=1, note=note + (f", {lost} errors" if lost else ""))

        return await run(spec, chosen, options, source, out, fresh=fresh, begun=begun, told=told)


def _only_text(problems: Sequence[str], selection: Selection, limit: int, skip_bad: bool) -> "list[Problem] | None":
    """The selected problems of a source that asks for nothing but prose; None for everything else."""
    from rtl_agent.evaluation.comprehension import is_text

    if len(problems) != 1:
        return None
    try:
        found = choose(load_problems(problems[0], skip_bad=skip_bad, count=limit), selection, problems[0])
    except (NoSuchProblems, BadRecord):
        return None  # said where problems are read for good
    return found[: limit or None] if is_text(found) else None


def _left_out(bad: BadRecord) -> None:
    console.say_warning(f"left out {bad}")


def print_result(result: "EvaluationResult", written: Path) -> None:
    """Numbers of the whole and of each group, what they mean, and where they are kept."""
    settings, whole = result.settings, result.whole
    if result.is_score:
        _scores(result).print()
    outcomes = ", ".join(f"{count} {name}" for name, count in whole.outcomes.items())
    ends = ", ".join(f"{count} by {name}" for name, count in whole.ends.items())
    lines = (
        *(_reward(whole) if result.is_score else [NO_SCORE.format(level=settings.episode.level)]),
        f"{whole.cut_off} cut off at {settings.episode.max_tokens} tokens" if whole.cut_off else "",
        f"{whole.turns:.1f} turns on average; ended {ends}" if ends else "",
        f"{_counted(whole.samples, 'answer')} to {_counted(whole.problems, 'problem')}: {outcomes}; "
        f"{_counted(len(result.asked.lost), 'error')} left out; "
        f"{result.asked.reused} from an earlier run",
        f"env {settings.episode.kind}, level of information {settings.episode.level}, temperature "
        f"{settings.temperature:g}, seed {settings.seed}, {settings.backend}",
        FORMULAS if result.is_score else "",
        *result.notes,
        f"{written}, answers in {result.samples_file}",
    )
    for line in filter(None, lines):
        out.print(line, markup=False, highlight=False, soft_wrap=True)


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _reward(whole: "Summary") -> tuple[str, str]:
    """Without a single graded answer there are no parts and no rates."""
    parts = ", ".join(f"{name} {value:.3f}" for name, value in whole.reward_parts.items())
    rates = ", ".join(f"{name} {value:.0%}" for name, value in whole.rates.items())
    return f"reward {whole.reward:.3f} = {parts}" if parts else "", rates


def _scores(result: "EvaluationResult") -> Table:
    """For k = 1 both formulas are the same: the share that passed."""
    settings, ks = result.settings, result.ks
    named = ("problems", *(name for k in ks for name in ((f"pass@{k}",) if k == 1 else _both(k))), "reward")
    table = Table(
        Column("", whole=True),
        *(Column(name, whole=True, right=True, drop=_DROPPED.get(name, 0)) for name in named),
        title=f"{settings.model} on {settings.problems}",
    )
    for parts in result.groups.values():
        if len(parts) > 1:
            for part, summary in parts.items():
                table.add(escape(part), *_cells(summary, ks))
    table.add("all", *_cells(result.whole, ks))
    return table


def _both(k: int) -> tuple[str, str]:
    return f"pass@{k}", f"CVDP's pass@{k}"


def _cells(summary: "Summary", ks: Sequence[int]) -> list[str]:
    found = {one.k: one for one in summary.pass_at}
    cells = [str(summary.problems)]
    for k in ks:
        one = found.get(k)
        cells.append("" if one is None else f"{one.unbiased:.1%} ({one.low:.0%} to {one.high:.0%})")
        if k > 1:
            cells.append("" if one is None else f"{one.cvdp:.1%}")
    return [*cells, f"{summary.reward:.3f}"]
