"""CVDP's comprehension problems: a model is asked, its prose is scored. No reward, and no pass@k of designs."""

import asyncio
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rtl_agent.envs.episode import EpisodeFailed
from rtl_agent.envs.rollout import seed_of
from rtl_agent.evaluation.endpoint import Endpoint
from rtl_agent.evaluation.judge import THRESHOLD as JUDGE_THRESHOLD
from rtl_agent.evaluation.judge import Judgement, judge
from rtl_agent.evaluation.result import versions
from rtl_agent.evaluation.settings import EvaluationError
from rtl_agent.evaluation.summary import wilson
from rtl_agent.grading.text_scores import BY_WORDS, TextScore, answer_of, score_text
from rtl_agent.problems import Needs, Problem
from rtl_agent.prompts import messages
from rtl_agent.runs.files import append_line, plain, read_lines, to_line, write_whole

FORM = 1
KIND = "comprehension"


@dataclass(frozen=True)
class TextAnswer:
    """One answer and its scores; `judged` is None where no judge was asked, `fault` says why there are none."""

    problem_id: str
    category: str
    answer: str = ""
    score: TextScore | None = None
    judged: Judgement | None = None
    fault: str = ""


@dataclass(frozen=True)
class TextGroup:
    """Means over the answers of one category."""

    category: str
    answers: int
    bleu: float
    rouge: float
    passed: float  # CVDP's rule for the category; of the judged ones where a judge decides
    low: float
    high: float
    judge: float | None  # mean score
    judged: int


def is_text(problems: Sequence[Problem]) -> bool:
    """Whether there is nothing but comprehension among them."""
    return bool(problems) and all(problem.needs is Needs.TEXT for problem in problems)


def scored(problem: Problem, reply: str) -> TextAnswer:
    """A reply to a comprehension problem, by words alone."""
    if problem.answer is None:
        raise EvaluationError(f"{problem.id} has no reference answer to compare with")
    answer = answer_of(reply)
    return TextAnswer(problem.id, problem.category, answer, score_text(answer, problem.answer))


async def ask_text(
    model: Endpoint,
    problems: Sequence[Problem],
    out: Path,
    *,
    judge_model: Endpoint | None = None,
    temperature: float = 0.0,
    max_tokens: int = 2000,
    seed: int = 0,
    at_a_time: int = 16,
    system: str = "default",
    told: Callable[[TextAnswer], None] = lambda one: None,
) -> list[TextAnswer]:
    """An answer to each problem. Those that `out` (JSONL) has from the same settings are not asked for again."""
    settings = {
        "model": model.model,
        "endpoint": model.shown_url,
        "judge": judge_model.model if judge_model else "",
        "temperature": temperature,
        "max_tokens": max_tokens,
        "seed": seed,
        "system": system,
    }
    known = _earlier(out, settings)
    limit = asyncio.Semaphore(at_a_time)

    async def one(problem: Problem) -> TextAnswer:
        key = _key(problem)
        if key in known:
            return known[key]
        async with limit:
            found = await _asked(model, judge_model, problem, temperature, max_tokens, seed, system)
        if not found.fault:
            append_line(out, to_line({"key": key, **asdict(found)}))
        told(found)
        return found

    return list(await asyncio.gather(*map(one, problems)))


async def _asked(
    model: Endpoint,
    judge_model: Endpoint | None,
    problem: Problem,
    temperature: float,
    most: int,
    seed: int,
    system: str,
) -> TextAnswer:
    """EvaluationError and ModelGone end everything; what only one answer meets is that answer's fault."""
    try:
        own = seed_of(seed, problem.id, 0)
        asked = messages(problem, system=system)
        reply = await model.ask(asked, temperature=temperature, max_tokens=most, seed=own)
        found = scored(problem, reply.text)
        if judge_model is None or problem.category in BY_WORDS:
            return found
        judged = await judge(judge_model, problem.prompt, problem.answer or "", found.answer, seed)
        return TextAnswer(found.problem_id, found.category, found.answer, found.score, judged)
    except EpisodeFailed as failure:
        return TextAnswer(problem.id, problem.category, fault=str(failure))


def groups(answers: Sequence[TextAnswer], *, judged: bool) -> list[TextGroup]:
    """A row for each category, and one for all. Where a judge decides, an answer that it gave no score is left out."""
    names = sorted({one.category for one in answers})
    rows = [_group(name, [one for one in answers if one.category == name], judged) for name in names]
    return [*rows, _group("all", answers, judged)] if len(rows) > 1 else rows


def _group(name: str, answers: Sequence[TextAnswer], judged: bool) -> TextGroup:
    with_score = [one for one in answers if one.score is not None]
    scores = [one.score for one in answers if one.score is not None]
    judgements = [one.judged for one in answers if one.judged is not None]
    passed = [_passes(one, judged) for one in with_score]
    share = sum(passed) / len(passed) if passed else 0.0
    interval = wilson(share, len(passed)) if passed else None
    return TextGroup(
        name,
        len(scores),
        sum(one.bleu for one in scores) / max(1, len(scores)),
        sum(one.rouge for one in scores) / max(1, len(scores)),
        share,
        interval.low if interval else 0.0,
        interval.high if interval else 1.0,
        sum(one.score for one in judgements) / len(judgements) if judgements else None,
        len(judgements),
    )


def _passes(one: TextAnswer, judged: bool) -> bool:
    assert one.score is not None
    if judged and one.category not in BY_WORDS and one.judged is not None:
        return one.judged.passed
    return one.score.passed


def as_result(settings: Mapping[str, Any], answers: Sequence[TextAnswer], left_out: Sequence[str]) -> dict[str, Any]:
    judged = bool(settings.get("judge"))
    return {
        "form": FORM,
        "kind": KIND,
        "settings": dict(settings),
        "thresholds": {"words": 0.40, "judge": JUDGE_THRESHOLD},
        "summary": [asdict(one) for one in groups(answers, judged=judged)],
        "interval": "95 %, Wilson's over problems, of the share that passed",
        "answers": [asdict(one) for one in answers],
        "left_out": list(left_out),
        "versions": versions(),
    }


def write_result(result: Mapping[str, Any], path: Path) -> None:
    write_whole(path, (json.dumps(plain(result), indent=2, allow_nan=False) + "\n").encode())


def _key(problem: Problem) -> str:
    parts = [problem.id, problem.prompt, dict(problem.context), problem.answer]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _earlier(out: Path, settings: Mapping[str, Any]) -> dict[str, TextAnswer]:
    """What an earlier call wrote, whose settings stand in the first line; other settings are an error."""
    if not out.is_file():
        out.parent.mkdir(parents=True, exist_ok=True)
        append_line(out, to_line({"settings": dict(settings)}))
        return {}
    lines = list(read_lines(out))
    if not lines or lines[0].get("settings") != dict(settings):
        raise EvaluationError(f"{out} has answers of other settings; name another file with --out, or remove it")
    found = {}
    for line in lines[1:]:
        score, judged = line["score"], line["judged"]
        found[line["key"]] = TextAnswer(
            line["problem_id"],
            line["category"],
            line["answer"],
            TextScore(**score) if score else None,
            Judgement(**judged) if judged else None,
        )
    return found
