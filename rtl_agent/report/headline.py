"""The top of the page: who learned what from whom, by which command, and how far it came."""

from dataclasses import dataclass
from datetime import UTC, datetime

from rtl_agent.report import draw
from rtl_agent.report.charts import Line
from rtl_agent.report.episodes import Digest
from rtl_agent.report.markup import Child, Markup, counted, duration, join, percent, tag
from rtl_agent.runs import RunRecord, first_tenth, last_tenth


@dataclass(frozen=True)
class Tile:
    """One metric. `better` is 1 where more is better, -1 where less is, 0 where neither is."""

    label: str
    metric: str
    better: int = 0
    is_share: bool = False
    level: str = ""  # the teacher's metric to set beside it

    def value(self, value: float) -> str:
        return percent(value) if self.is_share else f"{value:.3g}"


_TILES = (
    Tile("reward", "env/all/reward/total", 1),
    Tile("pass rate", "env/all/pass_rate", 1, is_share=True),
    Tile("held-out reward", "test/env/all/reward/total", 1, level="teacher/test/env/all/reward/total"),
    Tile("held-out pass rate", "test/env/all/pass_rate", 1, is_share=True, level="teacher/test/env/all/pass_rate"),
    Tile(
        "pass rate, new families",
        "new/env/all/pass_rate",
        1,
        is_share=True,
        level="teacher/new/env/all/pass_rate",
    ),
    Tile("KL from the teacher", "teacher_kl", -1),
    Tile("KL per byte", "teacher_kl_per_byte", -1),
    Tile("entropy", "optim/entropy"),
    Tile("seconds per step", "time/total"),
)


def title(run: RunRecord) -> str:
    """`STUDENT learns from TEACHER`, as far as the config says."""
    student = run.student or run.name
    mode = run.option("mode")
    if run.teacher and mode != "rl":
        return f"{student} learns from {run.teacher}"
    ways = {"rl": "learns by reinforcement learning", "supervised": "learns from references"}
    return f"{student} {ways[mode]}" if mode in ways else student


def headline(run: RunRecord, training: Digest) -> Markup:
    """Title, facts and command."""
    commands = [line for line in (run.command, run.resumed_by) if line]
    command = tag("pre", "\n".join(f"$ {line}" for line in commands), class_="command") if commands else None
    return tag(
        "header", tag("p", f"Run {run.name}", class_="soft"), tag("h1", title(run)), *_facts(run, training), command
    )


def _facts(run: RunRecord, training: Digest) -> list[Markup]:
    going = tag("b", "still running") if run.is_running else None
    if not run.metrics:
        begun = "no step has been done yet, so there is nothing to show but the configuration"
        return [tag("p", *_separated([going, begun]), class_="empty")]
    source = run.option("cvdp_jsonl_path", "problems", "source")
    seconds, held_out = run.seconds, len(run.held_out())
    kind, place = ("generated problem", "") if source == "generated" else ("problem", f" of {source}" if source else "")
    facts: list[Child | None] = [
        going,
        counted(run.steps, "step") + (f" in {duration(seconds)}" if seconds else ""),
        f"{counted(len(training.problems), kind)}{place}" if training.problems else None,
        f"{held_out:,} held out" if held_out else None,
        counted(training.episodes, "episode") if training.episodes else None,
        *_cost(run),
        _checkpoints(run),
        _began(run),
    ]
    return [tag("p", *_separated(facts))]


def _cost(run: RunRecord) -> list[str]:
    """The newest sums. Dollars are an estimate wherever they are shown."""
    newest = {name: points[-1][1] for name in ("dollars", "cpu_hours", "dollars_per_point")
              if (points := run.series(f"cost/{name}"))}  # fmt: skip
    found = [f"{newest['cpu_hours']:.2g} CPU hours on this machine"] if "cpu_hours" in newest else []
    if "dollars" in newest:
        found.append(f"estimated cost ${newest['dollars']:,.2f}")
    if "dollars_per_point" in newest:
        found.append(f"${newest['dollars_per_point']:,.2f} for each point of held-out pass rate")
    return found


def _began(run: RunRecord) -> str | None:
    try:
        began = datetime.fromisoformat(str(run.starts[0]["time"])).astimezone(UTC)
    except (IndexError, KeyError, ValueError):
        return None
    resumed = f", resumed {counted(len(run.starts) - 1, 'time')}" if len(run.starts) > 1 else ""
    return f"started {began:%Y-%m-%d %H:%M} UTC{resumed}"


def _checkpoints(run: RunRecord) -> str:
    best = next((checkpoint for checkpoint in reversed(run.checkpoints) if checkpoint.best), None)
    worth = f" with {best.value:.3g}" if best and best.value is not None else ""
    return counted(len(run.checkpoints), "checkpoint") + (f", the best {best.name}{worth}" if best else "")


def _separated(facts: list[Child | None]) -> list[Child]:
    known = [fact for fact in facts if fact is not None]
    return [part for at, fact in enumerate(known) for part in ((" · ", fact) if at else (fact,))]


def tiles(run: RunRecord) -> Markup | None:
    """The first tenth of the steps against the last: one look says whether anything was learned."""
    shown = [tile for tile in (_tile(run, tile) for tile in _TILES) if tile]
    if not shown:
        return None
    told = (
        "Each tile compares the mean over the first tenth of the steps with that over the last tenth; "
        "held-out figures are those of the first and last evaluation where there are fewer than 20."
    )
    return join(tag("dl", *shown, class_="tiles"), tag("p", told, class_="soft small"))


def _tile(run: RunRecord, tile: Tile) -> Markup | None:
    points = run.series(tile.metric)
    if not points:
        return None
    now = last_tenth(points)
    parts: list[Markup | None] = [tag("dt", tile.label), tag("dd", tile.value(now), class_="now")]
    if len(points) > 1:
        before = first_tenth(points)
        moved = (now - before) * tile.better
        kind = "good" if moved > 0 else "bad" if moved < 0 else "soft"
        arrow = "▲" if now > before else "▼" if now < before else "="
        parts.append(tag("dd", tag("span", arrow, class_=kind), f" from {tile.value(before)}", class_="soft"))
        parts.append(tag("dd", draw.spark(Line(tile.label, points, 0).smooth)))
    if level := run.series(tile.level) if tile.level else []:
        parts.append(tag("dd", f"teacher {tile.value(level[-1][1])}", class_="soft"))
    return tag("div", *parts)
