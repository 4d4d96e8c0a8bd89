"""`key=value` words -> a configuration, with the origin of every value: a preset or an earlier start, words over it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

from rtl_agent.options import BadOption, NamedOption, with_values
from rtl_agent.registry import did_you_mean
from rtl_agent.runs import IfExists, RunError
from rtl_agent.runs.directory import CONFIG, decide, is_run
from rtl_agent.runs.files import read_object
from rtl_agent.training.config import BY_NAME, MODES, Config, Mode, options_for
from rtl_agent.training.errors import BadConfig, TrainingError
from rtl_agent.training.presets import PRESETS, preset_for, preset_named

COMMAND_LINE, EARLIER_START = "command line", "this run's config.json"
REMOVED = {
    "compile_coef": "whether a design compiles is judged by the syntax stage: use syntax_coef",
    "workspace_dir": "sandboxes are in memory and rollouts are kept in the run directory, so leave it out",
}
Values = dict[NamedOption, Any]


@dataclass(frozen=True)
class Choice:
    """A configuration and how it came about."""

    config: Config
    origins: Mapping[str, str]  # by flat name, of every value that something has set
    preset: str = ""  # "" for a run that is resumed
    named: bool = True  # False: the preset was chosen by the student


def parse(mode: Mode, words: Sequence[str]) -> Config:
    """The configuration of a new run. BadConfig says which word is wrong."""
    return choose_new(mode, words).config


def configure(mode: Mode = "distill", *, preset: str | None = None, **options: object) -> Config:
    """The configuration of a run, as the command line makes it.

    Args:
        mode: distill, rl or supervised.
        preset: the name of a preset; chosen by the student if not given.
        **options: options by their flat names; `rtl-agent train MODE --help` lists them.

    Raises:
        BadConfig: an option does not exist, or cannot have this value.

    Example:
        >>> import rtl_agent as ra
        >>> ra.configure("rl", max_steps=4).optim.max_steps
        4
    """
    values = Values()
    for name, value in options.items():
        known = _known(mode, name)
        if not _fits(value, known.type):
            raise BadConfig(f"{name}={value!r} is not a value of that option: {known.option.help}")
        values[known] = value
    return _new(mode, preset_named(preset) if preset else None, values).config


def choose(mode: Mode, words: Sequence[str], ask: Callable[[str], str] | None = None) -> Choice:
    """The same with its origins. Where the words name the directory of a run that is to be resumed, its options hold,
    and the words go over them."""
    _, given = _read(mode, words)
    path = next((Path(value).expanduser() for known, value in given.items() if known.flat == "log_path"), None)
    if path is None or not is_run(path):
        return choose_new(mode, words)
    wish = next((value for known, value in given.items() if known.flat == "behavior_if_log_dir_exists"), "ask")
    try:
        if decide(path, IfExists(wish), ask) is IfExists.RESUME:
            return _resumed(path, mode, words)
    except RunError as error:
        raise TrainingError(str(error)) from error
    return choose_new(mode, [*words, "behavior_if_log_dir_exists=delete"])


def choose_resumed(path: Path, words: Sequence[str] = ()) -> Choice:
    """What `train resume RUN` does: the run's own options, and the words over them."""
    if not is_run(path):
        raise BadConfig(f"{path} is not a run directory; `rtl-agent runs list` lists the runs in ./runs")
    try:
        mode = read_object(path / CONFIG).get("mode")
        if mode not in MODES:
            raise BadConfig(f"{path} was not made by `rtl-agent train`: its config.json names no mode of training")
        return _resumed(path, mode, words)
    except RunError as error:
        raise BadConfig(str(error)) from error


def choose_new(mode: Mode, words: Sequence[str]) -> Choice:
    return _new(mode, *_read(mode, words))


def _new(mode: Mode, preset: str | None, given: Values) -> Choice:
    student = next((value for known, value in given.items() if known.path == "model.student"), None)
    chosen = preset or preset_for(student or Config().student)
    values = _of_preset(mode, chosen)
    origins = {known.flat: f"preset {chosen}" for known in values} | {known.flat: COMMAND_LINE for known in given}
    return Choice(_made(Config(mode=mode), values | given), origins, chosen, named=preset is not None)


def from_json(stored: Mapping[str, Any], mode: Mode) -> Config:
    """What `to_json` kept, or an earlier version of it. Names that are no options any more are passed over."""
    return _made(Config(mode=mode), _kept(stored, mode))


def _resumed(path: Path, mode: Mode, words: Sequence[str]) -> Choice:
    kept = _kept(read_object(path / CONFIG), mode)
    preset, given = _read(mode, words)
    values = _of_preset(mode, preset) if preset else {}
    origins = {known.flat: EARLIER_START for known in kept}
    origins |= {known.flat: f"preset {preset}" for known in values} | {known.flat: COMMAND_LINE for known in given}
    where: Values = {BY_NAME["log_path"]: str(path), BY_NAME["behavior_if_log_dir_exists"]: "resume"}
    return Choice(_made(Config(mode=mode), kept | values | given | where), origins)


def _made(config: Config, values: Values) -> Config:
    try:
        return with_values(config, values)
    except BadOption as error:
        raise BadConfig(str(error)) from error


def _read(mode: Mode, words: Sequence[str]) -> tuple[str | None, Values]:
    """The preset that is named, and the options."""
    preset, given = None, Values()
    for word in words:
        name, equals, text = word.lstrip("-").partition("=")
        if not equals:
            raise BadConfig(f"{word!r} is not an option: write key=value; `rtl-agent train {mode} --help` lists them")
        if name == "preset":
            preset = preset_named(text)
            continue
        known = _known(mode, name)
        try:
            given[known] = known.read(name, text)
        except BadOption as error:
            raise BadConfig(str(error)) from error
    return preset, given


def _known(mode: Mode, name: str) -> NamedOption:
    known = BY_NAME.get(name)
    if known is None:
        if name in REMOVED:
            raise BadConfig(f"{name} was removed: {REMOVED[name]}")
        names = [one for option in options_for(mode) for one in option.names if ("." in one) == ("." in name)]
        near = did_you_mean(name, names, most=1)
        raise BadConfig(f"there is no option {name}{near}; `rtl-agent train {mode} --help` lists them")
    if known.option.modes and mode not in known.option.modes:
        raise BadConfig(f"{name} is an option of `rtl-agent train {known.option.modes[0]}` and has no effect in {mode}")
    return known


def _of_preset(mode: Mode, preset: str) -> Values:
    wanted = {known.flat: known for known in options_for(mode)}
    return {wanted[name]: value for name, value in PRESETS[preset].options.items() if name in wanted}


def _kept(stored: Mapping[str, Any], mode: Mode) -> Values:
    found = Values()
    for known in options_for(mode):
        name = next((name for name in known.names if name in stored), None)
        if name is None or (known.path == "model.teacher" and not stored[name]):
            continue
        if not _fits(stored[name], known.type):
            raise BadConfig(f"config.json has {name}: {stored[name]!r}, which is not a value of that option")
        found[known] = stored[name]
    return found


def _fits(value: Any, kind: Any) -> bool:
    if get_origin(kind) is UnionType:
        return any(_fits(value, one) for one in get_args(kind))
    if get_origin(kind) is Literal:
        return value in get_args(kind)
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return value is None if kind is NoneType else isinstance(value, kind)
