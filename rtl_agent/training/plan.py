"""What a run will do, in words, before it does it: its options with their origins, the help, the presets.

Light: none of this needs torch or tinker, so that a command can say it at once.
"""

import re
import shlex
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

from rtl_agent.options import NamedOption
from rtl_agent.sandbox import sandbox_name, takes_images
from rtl_agent.training.config import MODES, Config, Mode, options_for
from rtl_agent.training.parse import COMMAND_LINE, EARLIER_START, Choice
from rtl_agent.training.presets import PRESETS
from rtl_agent.training.teacher_options import SELF

HELP_COLUMN = 34
PROSE_WIDTH = 80  # where there is no terminal to ask
_SAID_APART = ("student", "teacher", "backend", "log_path", "behavior_if_log_dir_exists")
_PLACES = {"embedded": "embedded, on this machine", "tinker": "tinker, Thinking Machines' cloud"}


def warnings(config: Config) -> list[str]:
    """What will work, but probably not as intended."""
    found = []
    if config.optim.group_size == 1 and config.objective.reward_coef and config.mode != "supervised":
        found.append(
            "group_size=1: the reward has no effect, because it is compared with the mean of its own group; "
            "use 4 or more"
        )
    if config.grading.oss_sim_image and not takes_images(config.grading.sandbox):
        found.append(
            f"oss_sim_image has no effect: designs run in {sandbox_name(config.grading.sandbox)} sandboxes, with this "
            "machine's simulators; "
            "use sandbox=docker or sandbox=podman"
        )
    return found


def run_directory(config: Config) -> Path:
    """Where the run is kept; a new directory under runs/ unless log_path says."""
    if config.run.log_path:
        return Path(config.run.log_path).expanduser()
    student = re.sub(r"[^A-Za-z0-9.]+", "-", config.student).strip("-")
    return Path("runs") / f"{config.mode}-{student}-{time.strftime('%Y%m%d-%H%M%S')}"


def resume_command(run: Path) -> str:
    return f"rtl-agent train resume {shlex.quote(str(run))}"


def plan(choice: Choice) -> Iterator[str]:
    """Models, backend, problems, steps, run directory, and every option that is not at its default with its origin."""
    config = choice.config
    taught = f", taught by {_teacher(config)}" if config.teacher else ""
    yield f"{config.mode}: {config.student}{taught}"
    yield f"backend: {_PLACES.get(config.model.backend, config.model.backend)}"
    yield f"problems: {_problems(config)}"
    yield f"steps: {_steps(config)}"
    resumed = "resumes " if EARLIER_START in choice.origins.values() else ""
    yield f"run directory: {resumed}{run_directory(config)}"
    if choice.preset and (choice.named or PRESETS[choice.preset].options):
        why = "" if choice.named else f", chosen by the student {config.student}; preset=none leaves it out"
        yield f"preset: {choice.preset} ({PRESETS[choice.preset].about}){why}"
    changed = [known for known in options_for(config.mode) if known.of(config) != known.default]
    lines = [known for known in changed if known.flat not in _SAID_APART]
    if lines:
        yield "options that differ from their defaults:"
        width = max(len(written(known, config)) for known in lines)
        for known in lines:
            origin = choice.origins.get(known.flat, COMMAND_LINE)
            yield f"  {written(known, config):{min(width, 60)}}  {origin}"


def _teacher(config: Config) -> str:
    if config.teacher != SELF:
        return config.teacher
    told = {"reference": "the reference", "feedback": "what failed", "spec-aware": "to mind every sentence"}
    whose = "" if config.model.teacher_weights == "current" else ", with the weights that it starts from"
    return f"itself, told {told[config.model.teacher_sees]}{whose}"


def _problems(config: Config) -> str:
    data = config.data
    count = f", {data.generated_problems} of them" if data.source.startswith("generated") else ""
    named = f", only {data.problems}" if data.problems else ""
    limit = f", the first {data.limit}" if data.limit else ""
    return f"{data.source}{count}{named}{limit}"


def _steps(config: Config) -> str:
    optim = config.optim
    count = (
        str(optim.max_steps)
        if optim.max_steps
        else f"as many as {_counted(optim.epochs, 'pass', 'passes')} over the problems take"
    )
    rollouts = "" if config.mode == "supervised" else f", {_counted(optim.group_size, 'rollout', 'rollouts')} each"
    return f"{count}; {_counted(optim.batch_size, 'problem', 'problems')} in a step{rollouts}"


def _counted(number: int, one: str, several: str) -> str:
    return f"{number} {one if number == 1 else several}"


def written(known: NamedOption, config: Config) -> str:
    """As it would be written on a command line."""
    return f"{known.flat}={_text(known.of(config))}"


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and float(f"{value:g}") == value:
        return f"{value:g}"
    return "none" if value is None else str(value)


def help_text(mode: Mode, choice: Choice, width: int | None) -> Iterator[str]:
    """Every option by its group, with the value that it has in this choice. Lines are wrapped to `width`, if given."""
    yield f"Usage: rtl-agent train {mode} [--dry-run] [preset=NAME] [key=value ...]"
    yield ""
    yield from _wrapped(
        f"{MODES[mode]} --dry-run says what the run would take (tokens, dollars, hours) and starts nothing.",
        width or PROSE_WIDTH,
    )
    why = "" if choice.named else f", which the student {choice.config.student} chooses"
    yield from _wrapped(
        f"Shown are the values of preset {choice.preset}{why}; * marks what differs from the option's own default. "
        f"Presets: {', '.join(PRESETS)} (`rtl-agent train presets` lists what they set). An option can be written with "
        "its group, too: optim.max_steps=20 is max_steps=20.",
        width or PROSE_WIDTH,
    )
    group, rare = "", False
    for known in options_for(mode):
        if known.group != group:
            group = known.group
            about = type(getattr(choice.config, group)).__doc__ or ""
            yield ""
            yield from _wrapped(f"{group}: {about.splitlines()[0]}", width or PROSE_WIDTH)
            rare = False
        if known.option.advanced and not rare:
            rare = True
            yield f"{group}, rarely changed:"
        star = " *" if known.of(choice.config) != known.default else ""
        first = f"  {written(known, choice.config)}{star}"
        yield from _beside(first, _meaning(known), width)


def _meaning(known: NamedOption) -> str:
    others = [name for name in known.names[1:] if name != f"{known.group}.{known.flat}"]
    also = f" (or {', '.join(others)})" if others else ""
    return f"{known.option.help}{also}"


def presets_text(width: int | None) -> Iterator[str]:
    """Each preset with what it sets."""
    yield from _wrapped(
        "preset=NAME chooses one. Without it the student does: rtl-agent/* takes `small`, every other model `none`. "
        "Options on the command line override it.",
        width or PROSE_WIDTH,
    )
    for name, preset in PRESETS.items():
        yield ""
        yield from _wrapped(f"{name}: {preset.about}", width or PROSE_WIDTH)
        if not preset.options:
            continue
        words = (f"{key}={_text(value)}" for key, value in preset.options.items())
        yield from _wrapped(" ".join(words), width, "  ")


def _beside(first: str, meaning: str, width: int | None) -> Iterator[str]:
    """The meaning in a column of its own, below a first part that is too long for that."""
    if width is None:
        yield f"{first:{HELP_COLUMN}}{'' if len(first) < HELP_COLUMN else '  '}{meaning}"
        return
    lines = list(_wrapped(meaning, width, " " * HELP_COLUMN))
    if len(first) < HELP_COLUMN - 1 and lines:
        yield f"{first:{HELP_COLUMN}}{lines.pop(0).strip()}"
    else:
        yield first
    yield from lines


def _wrapped(text: str, width: int | None, indent: str = "") -> Iterator[str]:
    if width is None:
        yield f"{indent}{text}"
        return
    yield from textwrap.wrap(
        text, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )
