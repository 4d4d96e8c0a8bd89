"""Writes what `real_model.py` found into docs/real-model.md: tables, mistakes, answers side by side, and the curves.

    python scripts/real_model_page.py

It needs docs/real-model/*.json alone. A table has the methods that were evaluated; what was not is "-".
"""

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from real_model import METHODS, RESULTS, ROOT, SETS

PAGE = ROOT / "docs" / "real-model.md"
KINDS = ("format", "syntax", "interface", "width", "reset", "order", "function")
SIDE_BY_SIDE = 10
Found = dict[tuple[str, str], dict[str, Any]]


def evaluations() -> Found:
    """By who and what: ("before", "trained")."""
    who = ("before", *(method.name for method in METHODS))
    files = {(name, one.name): RESULTS / f"{name}-{one.name}.json" for name in who for one in SETS}
    return {key: json.loads(file.read_text()) for key, file in files.items() if file.is_file()}


def trainings() -> dict[str, dict[str, Any]]:
    files = {method.name: RESULTS / f"train-{method.name}.json" for method in METHODS}
    return {name: json.loads(file.read_text()) for name, file in files.items() if file.is_file()}


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def passes(found: Found, methods: Sequence[str]) -> str:
    """One row for each set: pass@1 with its interval, and pass@8 where there are 8 samples."""
    rows = []
    for one in SETS:
        if not any((name, one.name) in found for name in methods):
            continue
        cells = [_rate(found.get((name, one.name))) for name in methods]
        known = next(found[name, one.name] for name in methods if (name, one.name) in found)
        rows.append([one.about, str(known["summary"]["problems"]), *cells])
    return table(["set", "problems", *methods], rows)


def _rate(one: dict[str, Any] | None) -> str:
    if one is None:
        return "-"
    summary = one["summary"]
    parts = []
    for at in summary["pass_at"]:
        interval = f" ({100 * at['low']:.0f} to {100 * at['high']:.0f})" if at["k"] == 1 else ""
        label = "" if len(summary["pass_at"]) == 1 else f"pass@{at['k']} "
        parts.append(f"{label}{100 * at['unbiased']:.1f} %{interval}")
    return ", ".join(parts)


def stages(found: Found, methods: Sequence[str]) -> str:
    rows = []
    for one in SETS:
        for name in methods:
            if (name, one.name) in found:
                summary = found[name, one.name]["summary"]
                rates = [
                    f"{100 * summary['rates'][f'{stage}_valid']:.0f} %" for stage in ("format", "interface", "syntax")
                ]
                rows.append([one.about, name, *rates, f"{summary['reward']:.3f}", str(summary["cut_off"])])
    return table(["set", "who", "format", "interface", "syntax", "reward of 1.4", "cut off"], rows)


def mistakes(found: Found, methods: Sequence[str]) -> str:
    rows = []
    for one in SETS:
        for name in methods:
            if (name, one.name) in found:
                kinds = found[name, one.name]["mistakes"]
                rows.append([one.about, name, *(str(kinds.get(kind, 0)) for kind in KINDS)])
    return table(["set", "who", *KINDS], rows)


def families(found: Found, methods: Sequence[str]) -> str:
    """Passed of asked, by family, over the greedy sets of generated problems."""
    known = [name for name in methods if (name, "trained") in found]
    rows = []
    for which in ("trained", "new"):
        names = sorted({family for name in known if (name, which) in found for family in _by(found, name, which)})
        for family in names:
            cells = []
            for name in known:
                counts = _by(found, name, which).get(family) if (name, which) in found else None
                cells.append(f"{counts['passed']} of {counts['samples']}" if counts else "-")
            rows.append([family.removeprefix("generated_"), "held out whole" if which == "new" else "trained", *cells])
    return table(["family", "", *known], rows)


def _by(found: Found, name: str, which: str) -> dict[str, Any]:
    return dict(found[name, which]["by"]["family"])


def costs(runs: dict[str, dict[str, Any]]) -> str:
    rows = []
    for method in METHODS:
        if (one := runs.get(method.name)) is not None:
            curve = one["curve"]
            rows.append(
                [
                    f"{method.name}: {method.about}",
                    str(len(curve)),
                    f"{sum(point['answers'] for point in curve):,}",
                    f"{sum(point['tokens'] for point in curve):,.0f}",
                    f"{sum(point['trained'] for point in curve):,.0f}",
                    f"{sum(point['cpu'] for point in curve) / 3600:.2f}",
                    f"{sum(point['seconds'] for point in curve) / 3600:.2f}",
                ]
            )
    return table(["method", "steps", "answers", "sampled tokens", "tokens trained on", "CPU hours", "hours"], rows)


def side_by_side(methods: Sequence[str]) -> str:
    """The first answers of the greedy evaluation, before and after: generated problems, so the texts are ours."""
    files = {name: RESULTS / f"{name}-answers.json" for name in methods}
    told = {name: json.loads(file.read_text()) for name, file in files.items() if file.is_file()}
    if len(told) < 2:
        return "Not yet evaluated on both sides."
    parts = []
    first = next(iter(told.values()))
    for problem in list(first)[:SIDE_BY_SIDE]:
        if not all(problem in one for one in told.values()):
            continue
        parts.append(f"### {problem}\n\n{_quoted(first[problem]['asked'])}\n")
        for name, one in told.items():
            answer = one[problem]
            why = f": {answer['reason']}" if answer["reason"] else ""
            parts.append(f"**{name}**, {answer['outcome']}{why}\n\n```systemverilog\n{_code(answer['text'])}\n```\n")
    return "\n".join(parts)


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}" if line else ">" for line in text.strip().splitlines())


def _code(text: str) -> str:
    """What a model wrote must not end the block that it stands in."""
    lines = [line for line in text.strip().splitlines() if not line.lstrip().startswith("```")]
    return "\n".join(line[:160] for line in lines[:40])


def draw(runs: dict[str, dict[str, Any]]) -> None:
    from matplotlib.figure import Figure

    panels = (
        ("reward", "reward of 1.4"),
        ("passed", "passed at T = 1, %"),
        ("teacher_kl", "reverse KL, nats a token"),
        ("loss", "cross-entropy of a step, nats"),
    )
    known = [(key, label) for key, label in panels if any(_has(one, key) for one in runs.values())]
    figure = Figure(figsize=(3.7 * len(known), 3.4), layout="constrained")
    for axes, (key, label) in zip(figure.subplots(1, len(known), squeeze=False)[0], known, strict=True):
        for name, one in runs.items():
            if not _has(one, key):
                continue
            points = [(point["step"], point[key]) for point in one["curve"] if point.get(key) is not None]
            scale = 100 if key == "passed" else 1
            axes.plot([step for step, _ in points], [scale * value for _, value in points], "o-", ms=3, label=name)
        axes.set(xlabel="step", ylabel=label)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(RESULTS / "curves.png", dpi=110)


def _has(run: dict[str, Any], key: str) -> bool:
    return any(point.get(key) for point in run["curve"])


def put(page: str, name: str, text: str) -> str:
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    if begin not in page or end not in page:
        sys.exit(f"{PAGE} has no part between {begin} and {end}; put both lines where it belongs")
    before, _, rest = page.partition(begin)
    return f"{before}{begin}\n{text}\n{end}{rest.partition(end)[2]}"


def main() -> int:
    found, runs = evaluations(), trainings()
    methods = [name for name in ("before", *(one.name for one in METHODS)) if any(who == name for who, _ in found)]
    page = PAGE.read_text()
    for name, text in (
        ("passes", passes(found, methods)),
        ("stages", stages(found, methods)),
        ("mistakes", mistakes(found, methods)),
        ("families", families(found, methods)),
        ("costs", costs(runs)),
        ("answers", side_by_side(methods)),
    ):
        page = put(page, name, text)
    PAGE.write_text(page)
    if runs:
        draw(runs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
