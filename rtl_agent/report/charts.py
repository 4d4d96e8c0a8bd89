"""Which curves a report has: data only, drawn as SVG for the page and as PNG for slides."""

from dataclasses import dataclass

from rtl_agent.runs import RunRecord, last_tenth

Points = list[tuple[int, float]]
_LEAST_SMOOTHED = 10  # points; with fewer, a mean over a tenth is the point itself
_TENTHS = 10
_GREY = 5  # a colour of the page's


@dataclass(frozen=True)
class Line:
    """A `level` is one value for all steps: measured once, to be compared with the line of the same `colour`."""

    label: str
    points: Points
    colour: int
    level: bool = False

    @property
    def is_smoothed(self) -> bool:
        return len(self.points) >= _LEAST_SMOOTHED and not self.level

    @property
    def smooth(self) -> Points:
        """Means over a moving tenth of the points; at both ends over what there is, on both sides alike."""
        if not self.is_smoothed:
            return self.points
        values = [value for _, value in self.points]
        half = max(1, len(values) // (2 * _TENTHS))
        means = []
        for at in range(len(values)):
            reach = min(half, at, len(values) - 1 - at)
            near = values[at - reach : at + reach + 1]
            means.append(sum(near) / len(near))
        return [(step, mean) for (step, _), mean in zip(self.points, means, strict=True)]

    @property
    def newest(self) -> float:
        return last_tenth(self.points)


@dataclass(frozen=True)
class Chart:
    """Lines over steps. The `stacked` ones are areas, one on the other, below the lines."""

    name: str
    title: str
    unit: str  # what its vertical axis shows
    lines: tuple[Line, ...]
    stacked: tuple[Line, ...] = ()
    note: str = ""

    @property
    def steps(self) -> list[int]:
        return sorted({step for line in (*self.lines, *self.stacked) for step, _ in line.points})

    @property
    def is_smoothed(self) -> bool:
        return any(line.is_smoothed for line in self.lines)

    @property
    def is_share(self) -> bool:
        return self.unit.startswith("share")


_PARTS = {
    "format_valid": "format",
    "interface_valid": "interface",
    "syntax_valid": "syntax",
    "tests_passed": "tests",
}
_STAGES = "share of answers"
_LINES: dict[tuple[str, str, str], dict[str, str]] = {
    ("pass_rate", "Pass rate", _STAGES): {
        "training": "env/all/pass_rate",
        "held-out problems": "test/env/all/pass_rate",
        "families never trained on": "new/env/all/pass_rate",
    },
    ("reward", "Reward", "reward"): {
        "training": "env/all/reward/total",
        "held-out problems": "test/env/all/reward/total",
        "families never trained on": "new/env/all/reward/total",
    },
    ("teacher_kl", "KL divergence from the teacher", "nats per token"): {"reverse KL": "teacher_kl"},
    ("teacher_kl_per_byte", "KL divergence from the teacher", "nats per byte"): {"reverse KL": "teacher_kl_per_byte"},
    ("alignment", "What a teacher with another tokenizer can judge", "share"): {
        "text scored": "align/content",
        "tokens one to one": "align/1:1",
        "positions with soft targets": "align/forward_positions",
    },
    ("stages", "How far training answers get", _STAGES): {
        **{f"{word} right": f"env/all/{part}" for part, word in _PARTS.items()},
        "tests passed, of all tests": "env/all/tests_fraction",
    },
    ("signal", "Groups that teach nothing by their reward, and problems by pool", "share"): {
        "groups without signal": "groups/no_signal",
        "easy pool": "curriculum/easy",
        "normal pool": "curriculum/normal",
        "hard pool": "curriculum/hard",
        "problems solved so far": "curriculum/solved",
    },
    ("cost", "Estimated cost of the run so far", "dollars"): {"by the price list": "cost/dollars"},
    ("entropy", "Entropy of the student", "nats per token"): {"entropy": "optim/entropy"},
    ("sampler_kl", "KL divergence between sampler and trainer", "nats per token"): {
        "estimator v1": "optim/kl_sample_train_v1",
        "estimator v2": "optim/kl_sample_train_v2",
    },
}
# A level, and the line that it is compared with.
_LEVELS: dict[str, dict[tuple[str, str], str]] = {
    "pass_rate": {
        ("teacher on held-out problems", "held-out problems"): "teacher/test/env/all/pass_rate",
        ("teacher on families never trained on", "families never trained on"): "teacher/new/env/all/pass_rate",
    },
    "reward": {
        ("teacher on held-out problems", "held-out problems"): "teacher/test/env/all/reward/total",
        ("teacher on families never trained on", "families never trained on"): "teacher/new/env/all/reward/total",
    },
}
_TIMES = {"sample": "sampling", "grade": "grading", "teacher": "teacher", "train": "training"}


def charts_of(run: RunRecord) -> list[Chart]:
    """Those with something to show."""
    charts = [
        Chart(name, title, unit, _with_levels(run, name, _measured(run, metrics)))
        for (name, title, unit), metrics in _LINES.items()
    ]
    stacked = _measured(run, {word: f"time/{part}" for part, word in _TIMES.items()})
    charts.append(
        Chart(
            "time",
            "Duration of a step",
            "seconds",
            lines=_measured(run, {"whole step": "time/total"}, first_colour=_GREY),
            stacked=stacked,
            note="Parts overlap in time, so together they can take longer than the step.",
        )
    )
    return [chart for chart in charts if chart.steps]


def _measured(run: RunRecord, metrics: dict[str, str], first_colour: int = 0) -> tuple[Line, ...]:
    found = [(label, run.series(metric)) for label, metric in metrics.items()]
    known = [(label, points) for label, points in found if points]
    return tuple(Line(label, points, colour) for colour, (label, points) in enumerate(known, start=first_colour))


def _with_levels(run: RunRecord, name: str, lines: tuple[Line, ...]) -> tuple[Line, ...]:
    """From the first step to the last; nothing to compare with, no level."""
    steps = [step for line in lines for step, _ in line.points]
    colours = {line.label: line.colour for line in lines}
    levels = []
    for (label, other), metric in _LEVELS.get(name, {}).items():
        measured = run.series(metric)
        if measured and other in colours:
            ends = [(step, measured[-1][1]) for step in sorted({min(steps), max(steps)})]
            levels.append(Line(label, ends, colours[other], level=True))
    return *lines, *levels


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
    """The values that the axis must reach; from 0, unless something is below; shares up to 1."""
    values = [value for line in chart.lines for _, value in line.points]
    values += [top for band in stack(chart) for _, _, top in band]
    low, high = min(0.0, *values), max(1.0 if chart.is_share else 0.0, *values)
    return (low, high) if high > low else (low, low + 1.0)
