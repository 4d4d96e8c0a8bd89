"""Which curves a report has: data only, drawn as SVG for the page and as PNG for slides."""

from dataclasses import dataclass

from rtl_agent.runs import RunRecord

Points = list[tuple[int, float]]


@dataclass(frozen=True)
class Line:
    """A `level` is one value for all steps: measured once, to be compared with."""

    label: str
    points: Points
    level: bool = False


@dataclass(frozen=True)
class Chart:
    """Lines over steps. The `stacked` ones are areas, one on the other, below the lines."""

    name: str
    title: str
    lines: tuple[Line, ...]
    stacked: tuple[Line, ...] = ()
    note: str = ""

    @property
    def steps(self) -> list[int]:
        return sorted({step for line in (*self.lines, *self.stacked) for step, _ in line.points})


_PARTS = ("format_valid", "interface_valid", "syntax_valid", "tests_passed")
_LINES: dict[tuple[str, str], dict[str, str]] = {
    ("reward", "Reward and its parts"): {
        "total": "env/all/reward/total",
        **{part.replace("_", " "): f"env/all/reward/{part}" for part in _PARTS},
        "total, held out": "test/env/all/reward/total",
    },
    ("pass_rate", "Pass rate"): {
        "training": "env/all/pass_rate",
        "held out": "test/env/all/pass_rate",
        "families never trained on": "new/env/all/pass_rate",
    },
    ("stages", "How far answers got"): {
        **{part.replace("_", " "): f"env/all/{part}" for part in _PARTS},
        "share of tests": "env/all/tests_fraction",
    },
    ("teacher_kl", "KL to the teacher, per token"): {"teacher KL": "teacher_kl"},
    ("entropy", "Entropy of the student, per token"): {"entropy": "optim/entropy"},
    ("sampler_kl", "KL between sampler and trainer"): {
        "v1": "optim/kl_sample_train_v1",
        "v2": "optim/kl_sample_train_v2",
    },
}
_LEVELS = {
    "pass_rate": {
        "teacher, held out": "teacher/test/env/all/pass_rate",
        "teacher, families never trained on": "teacher/new/env/all/pass_rate",
    }
}
_TIMES = ("sample", "grade", "teacher", "train")


def charts_of(run: RunRecord) -> list[Chart]:
    """Those with something to show."""
    charts = [
        Chart(name, title, _with_levels(run, name, _measured(run, metrics)))
        for (name, title), metrics in _LINES.items()
    ]
    charts.append(
        Chart(
            "time",
            "Seconds for each step",
            lines=_measured(run, {"total": "time/total"}),
            stacked=_measured(run, {part: f"time/{part}" for part in _TIMES}),
            note="Parts that overlap add up to more than the total.",
        )
    )
    return [chart for chart in charts if chart.steps]


def _measured(run: RunRecord, metrics: dict[str, str]) -> tuple[Line, ...]:
    lines = (Line(label, run.series(metric)) for label, metric in metrics.items())
    return tuple(line for line in lines if line.points)


def _with_levels(run: RunRecord, name: str, lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """From the first step to the last; nothing to compare with, no level."""
    steps = [step for line in lines for step, _ in line.points]
    levels = _measured(run, _LEVELS.get(name, {})) if steps else ()
    return *lines, *(
        Line(line.label, [(step, line.points[-1][1]) for step in sorted({min(steps), max(steps)})], level=True)
        for line in levels
    )


def stack(chart: Chart) -> list[list[tuple[float, float, float]]]:
    """Of each stacked line its (place, bottom, top); a step that one of them lacks counts as 0 there.

    A single step has no width to fill, so it is drawn as a bar.
    """
    steps = sorted({step for line in chart.stacked for step, _ in line.points})
    bottom = dict.fromkeys(steps, 0.0)
    bands = []
    shifts = (-0.1, 0.1) if len(steps) == 1 else (0.0,)
    for line in chart.stacked:
        values = dict(line.points)
        top = {step: bottom[step] + values.get(step, 0.0) for step in steps}
        places = [(step + shift, step) for step in steps for shift in shifts]
        bands.append([(place, bottom[step], top[step]) for place, step in places])
        bottom = top
    return bands


def extent(chart: Chart) -> tuple[float, float]:
    """The values that the axis must reach; from 0, unless something is below."""
    values = [value for line in chart.lines for _, value in line.points]
    values += [top for band in stack(chart) for _, _, top in band]
    low, high = min(0.0, *values), max(0.0, *values)
    return (low, high) if high > low else (low, low + 1.0)
