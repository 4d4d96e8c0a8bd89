"""`rtl-agent eval` and `rtl-agent grade` of problems whose answer is prose."""

import asyncio
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from rtl_agent.cli import console
from rtl_agent.cli.tables import Column, Table
from rtl_agent.grading.text_scores import THRESHOLD, answer_of, score_text
from rtl_agent.problems import Problem

Judge = Annotated[
    str, typer.Option("--judge", help="A model that scores answers to cid009 and cid010 of comprehension.")
]
JudgeUrl = Annotated[str, typer.Option("--judge-url", help="The judge's endpoint. [default: --base-url]")]
JudgeKey = Annotated[
    str, typer.Option("--judge-key-env", help="The variable that holds its key. [default: that of --api-key-env]")
]


def evaluate_text(
    source: str,
    problems: Sequence[Problem],
    model: str,
    *,
    base_url: str,
    api_key_env: str,
    judge: str,
    judge_url: str,
    judge_key_env: str,
    temperature: float,
    max_tokens: int,
    seed: int,
    at_a_time: int,
    out: Path | None,
    as_json: bool,
) -> None:
    """Ask, score, print. Exit code 3 where answers could not be had or judged."""
    from rtl_agent.evaluation.comprehension import TextAnswer, as_result, ask_text, groups, write_result
    from rtl_agent.evaluation.models import ModelSpec, endpoint_of
    from rtl_agent.evaluation.settings import EvaluationError

    if not base_url:
        raise EvaluationError(
            "comprehension problems are asked over an endpoint: give --base-url; `rtl-agent serve MODEL` is one"
        )
    left_out = [f"{one.id} has no reference answer" for one in problems if one.answer is None]
    asked = [one for one in problems if one.answer is not None]
    if not asked:
        raise EvaluationError(f"{source} has no comprehension problem with a reference answer")
    asker = endpoint_of(ModelSpec(model, base_url=base_url, api_key_env=api_key_env))
    judging = None
    if judge:
        judging = endpoint_of(
            ModelSpec(judge, base_url=judge_url or base_url, api_key_env=judge_key_env or api_key_env)
        )
    settings = {"problems": source, "model": model, "judge": judge, "temperature": temperature, "seed": seed}
    path = out or Path("evals") / f"{_named(f'{model}-{Path(source).stem}-text')}.json"
    lines = path.with_suffix(".jsonl")

    async def run() -> list[TextAnswer]:
        with console.progress_bar("asking", len(asked)) as progress:
            try:
                return await ask_text(
                    asker,
                    asked,
                    lines,
                    judge_model=judging,
                    temperature=temperature,
                    max_tokens=max_tokens,
                    seed=seed,
                    at_a_time=at_a_time,
                    told=lambda one: progress.update(progress.task_ids[0], advance=1),
                )
            finally:
                await asker.aclose()
                if judging:
                    await judging.aclose()

    answers = asyncio.run(run())
    result = as_result(settings, answers, left_out)
    write_result(result, path)
    if as_json:
        console.print_json(result)
    else:
        table = Table(
            Column("", whole=True),
            *(Column(name, whole=True, right=True) for name in ("answers", "BLEU", "ROUGE-2", "passed", "judge")),
            title=f"{model} on {source}",
        )
        for row in groups(answers, judged=bool(judge)):
            passed = f"{row.passed:.1%} ({row.low:.0%} to {row.high:.0%})"
            judged = "" if row.judge is None else f"{row.judge:.3f} of {row.judged}"
            table.add(row.category, str(row.answers), f"{row.bleu:.3f}", f"{row.rouge:.3f}", passed, judged)
        table.print()
        said = "passed: BLEU and ROUGE-2 above 0.40" + (
            "; cid009 and cid010 by the judge, 0.7 or more" if judge else ""
        )
        console.out.print(f"{said}; {path}, answers in {lines.name}", markup=False, highlight=False, soft_wrap=True)
    lost = [one for one in answers if one.fault]
    if lost:
        console.say_warning(f"{len(lost)} answers have no score, the first, {lost[0].problem_id}: {lost[0].fault}")
        raise typer.Exit(console.OUR_FAULT)


def grade_text(problems: Sequence[Problem], response: Path | None, *, reference: bool, as_json: bool) -> None:
    """Answers in prose, by words. Exit code 0 where all are above CVDP's threshold."""
    replies = _references(problems) if reference else _replies(problems, response)
    rows: list[dict[str, Any]] = []
    for problem, reply in replies:
        if problem.answer is None:
            raise typer.BadParameter(f"{problem.id} has no reference answer to compare with")
        score = score_text(answer_of(reply), problem.answer)
        rows.append(
            {
                "id": problem.id,
                "category": problem.category,
                "bleu": score.bleu,
                "rouge2_recall": score.rouge,
                "passed": score.passed,
            }
        )
    if as_json:
        console.print_json(rows)
    else:
        table = Table(
            Column("problem"),
            Column("category", whole=True),
            *(Column(name, whole=True) for name in ("BLEU", "ROUGE-2")),
        )
        for row in rows:
            table.add(row["id"], row["category"], f"{row['bleu']:.4f}", f"{row['rouge2_recall']:.4f}")
        table.print()
        passed = sum(row["passed"] for row in rows)
        text = (
            f"{passed} of {len(rows)} above {THRESHOLD:.2f} in both, which is CVDP's threshold; no reward comes of it"
        )
        console.out.print(text, markup=False, highlight=False, soft_wrap=True)
    raise typer.Exit(console.ALL_PASSED if all(row["passed"] for row in rows) else console.SOME_FAILED)


def _references(problems: Sequence[Problem]) -> list[tuple[Problem, str]]:
    return [(one, json.dumps({"response": one.answer})) for one in problems if one.answer is not None]


def _replies(problems: Sequence[Problem], file: Path | None) -> list[tuple[Problem, str]]:
    if file is None:
        raise typer.BadParameter("an answer in prose is given with --response FILE")
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(errors="replace")
    except OSError as error:
        raise typer.BadParameter(f"{file} cannot be read: {error.strerror}", param_hint="--response") from error
    if file.suffix != ".jsonl":
        if len(problems) != 1:
            raise typer.BadParameter(f"{len(problems)} problems are selected: choose one with --id")
        return [(problems[0], text)]
    known = {one.id: one for one in problems}
    found = []
    for number, line in enumerate(filter(str.strip, text.splitlines()), start=1):
        try:
            entry = json.loads(line)
            found.append((known[entry["id"]], str(entry["response"])))
        except (ValueError, KeyError, TypeError) as error:
            what = 'should be {"id": ..., "response": "text"} with the id of a selected problem'
            raise typer.BadParameter(f"{file}:{number}: {what}", param_hint="--response") from error
    return found


def _named(words: str) -> str:
    return re.sub(r"[^A-Za-z0-9.@]+", "-", words).strip("-")[:120]
