"""A run as one HTML page that needs nothing from outside and runs nothing."""

import json
from collections.abc import Sequence
from importlib.resources import files

from rtl_agent.report import svg
from rtl_agent.report.before_after import Compared
from rtl_agent.report.charts import Chart
from rtl_agent.report.episodes import Digest
from rtl_agent.report.exam import Checked, Exam
from rtl_agent.report.exam_view import exam_view
from rtl_agent.report.markup import Markup, join, tag
from rtl_agent.report.rollout_view import examples, problems_view
from rtl_agent.report.side_by_side import before_and_after
from rtl_agent.report.words import counted
from rtl_agent.runs import RunRecord, flatten, summarise

# Should text ever get past the escaping, the browser still refuses scripts and addresses.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

_FACTS = {
    "reward": "env/all/reward/total",
    "pass rate": "env/all/pass_rate",
    "held-out reward": "test/env/all/reward/total",
    "held-out pass rate": "test/env/all/pass_rate",
    "teacher's held-out pass rate": "teacher/test/env/all/pass_rate",
    "pass rate, families never trained on": "new/env/all/pass_rate",
    "teacher KL": "teacher_kl",
    "entropy": "optim/entropy",
    "seconds per step": "time/total",
}


def render(
    run: RunRecord,
    charts: list[Chart],
    training: Digest,
    held_out: Digest,
    compared: Sequence[Compared],
    exam: Exam,
    criteria: Sequence[Checked],
) -> str:
    style = Markup((files("rtl_agent.report") / "page.css").read_text())
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", f"{run.name}: a run of rtl-agent"),
        tag("style", style),
    )
    body = tag(
        "body",
        tag("h1", run.name),
        _state(run),
        _facts(run),
        exam_view(exam, criteria),
        _curves(charts),
        before_and_after(compared),
        _problems("Held-out problems", held_out),
        _problems("Problems in training", training),
        examples(training),
        _config(run),
    )
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _state(run: RunRecord) -> Markup:
    going = "This run is still going; " if run.is_running else ""
    if not run.metrics:
        return tag(
            "p", f"{going}no step has been done yet, so there is nothing to show but the config.", class_="empty"
        )
    best = next((checkpoint for checkpoint in reversed(run.checkpoints) if checkpoint.best), None)
    worth = f" at {best.value:.4g}" if best and best.value is not None else ""
    return tag(
        "p",
        f"{going}{counted(run.steps, 'step')}, {counted(len(run.checkpoints), 'checkpoint')}",
        f", the best {best.name}{worth}" if best else "",
        ".",
        class_="soft",
    )


def _facts(run: RunRecord) -> Markup | None:
    """First and newest value: one look says whether anything was learned."""
    facts = []
    for label, metric in _FACTS.items():
        series = run.series(metric)
        if series:
            recent = summarise(run, metric).recent
            values = f"{series[0][1]:.3g} → {series[-1][1]:.3g}" if len(series) > 1 else f"{series[0][1]:.3g}"
            mean = tag("dt", f"mean of the last 10: {recent:.3g}") if len(series) > 1 else None
            facts.append(tag("div", tag("dt", label), tag("dd", values), mean))
    return tag("dl", *facts, class_="facts") if facts else None


def _curves(charts: list[Chart]) -> Markup | None:
    if not charts:
        return None
    figures = [
        tag(
            "figure",
            tag("h3", chart.title),
            svg.draw(chart),
            svg.legend(chart),
            tag("p", chart.note, class_="soft") if chart.note else None,
        )
        for chart in charts
    ]
    return join(tag("h2", "Curves"), tag("div", *figures, class_="charts"))


def _problems(title: str, digest: Digest) -> Markup | None:
    if not digest.problems and not digest.errors:
        return None
    left_out = (
        f"In no rate, because they were lost or could not be graded: {counted(digest.errors, 'episode')}."
        if digest.errors
        else None
    )
    return join(
        tag("h2", title),
        tag("p", left_out, class_="soft") if left_out else None,
        problems_view(digest.problems) if digest.problems else None,
    )


def _config(run: RunRecord) -> Markup:
    rows = [
        tag("tr", tag("td", name, class_="name"), tag("td", value if isinstance(value, str) else json.dumps(value)))
        for name, value in flatten(run.config)
    ]
    if not rows:
        return join(tag("h2", "Config"), tag("p", "The config is empty.", class_="empty"))
    return join(tag("h2", "Config"), tag("div", tag("table", tag("tbody", *rows)), class_="scroll"))
