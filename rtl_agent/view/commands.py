"""Commands that give a rollout's grade, or another answer, again: lines that work when they are pasted."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rtl_agent.grading import DEFAULT_EXTRACTION
from rtl_agent.runs.episode import Episode
from rtl_agent.runs.rows import RolloutRow

Command = dict[str, str]
COEFFICIENTS = {"format_coef": "format", "interface_coef": "interface", "syntax_coef": "syntax", "test_coef": "tests"}
USUAL_TIMEOUT = 120.0  # of `grade`, and of every episode
RULES = (("kind", "env"), ("level", "level"), ("system", "system"), ("max_tokens", "max-tokens"))


def commands(
    place: Path, file: Path, row: RolloutRow, episode: Episode, source: str | None, config: Mapping[str, Any]
) -> list[Command]:
    """`config` is of the run, or an evaluation's settings; `source` names problems among which the rollout's is."""
    found = []
    if (
        source is None or source.startswith("-") or episode.problem_id.startswith("-")
    ):  # it would be taken for an option
        source = None
    if source is not None and (episode.text or episode.files):
        found.append(_grade(file, row, episode, source, config))
        if failed := _failed_test(episode):
            about = "Only its first failed test, with what the tools print"
            found.append(_grade(file, row, episode, source, config, about, ["-k", failed, "-v"]))
    if source is not None:
        found.append(_play(place, episode, source, config))
    if place.is_dir():
        about = f"The run that this {row.kind} rollout belongs to"
        found.append(_command(about, ["rtl-agent", "runs", "show", _path(place)]))
    return [one for one in found if one is not None]


def _grade(
    file: Path,
    row: RolloutRow,
    episode: Episode,
    source: str,
    config: Mapping[str, Any],
    about: str = "Grade this answer again: the same text gets the same seed, and so the same grade",
    more: Sequence[str] = (),
) -> Command | None:
    """An answer is a text, which is read as it was then; an agent's files are graded as they are."""
    answer = ["rtl-agent", "runs", "answer", _path(file), str(row.line + 1)]
    rules = _rules(episode, config)
    grade = ["rtl-agent", "grade", source, f"--id={episode.problem_id}"]
    if reward := _reward(config):
        grade.append(f"--reward={reward}")
    if (timeout := _number(rules.get("timeout_seconds"))) and timeout != USUAL_TIMEOUT:
        grade.append(f"--timeout={timeout:g}")
    if episode.files:
        return _command(about, answer, " > answer.jsonl && ", [*grade, *more, "--response=answer.jsonl"])
    if (extraction := _text(rules.get("extraction"))) and extraction != DEFAULT_EXTRACTION:
        grade.append(f"--extraction={extraction}")
    return _command(about, answer, " | ", [*grade, *more, "--response=-"])


def _failed_test(episode: Episode) -> str:
    """The first one of cocotb's that failed: an item of pytest holds several."""
    failed = [test for test in (episode.grade.tests if episode.grade else ()) if test.passed is False]
    inside = [test.name for test in failed if test.item]
    name = next(iter([*inside, *(test.name for test in failed)]), "")
    return "" if name.startswith("-") else name


def _play(place: Path, episode: Episode, source: str, config: Mapping[str, Any]) -> Command | None:
    words = ["rtl-agent", "play", episode.problem_id, f"--problems={source}"]
    if place.is_dir():
        about = "Ask the run's last checkpoint the same problem: another answer, unless the weights are the same"
        words += [f"--model={_path(place)}", "--checkpoint=last"]
    else:
        about = "Ask the model the same problem again, as the evaluation's first sample"
        words.append(f"--model={_text(config.get('model'))}")
        backend = _text(config.get("backend"))
        if backend.startswith("openai "):
            words.append(f"--base-url={backend.removeprefix('openai ')}")
        elif backend and backend != "embedded":
            words.append(f"--backend={backend}")
        temperature, seed = _number(config.get("temperature")), config.get("seed")
        words += [] if temperature is None else [f"--temperature={temperature:g}"]
        words += [f"--seed={seed}"] if type(seed) is int else []
    rules = _rules(episode, config)
    words += [
        f"--{flag}={rules[name]}"
        for name, flag in RULES
        if isinstance(rules.get(name), str | int) and rules[name] not in ("", "single")
    ]
    return _command(about, words)


def _rules(episode: Episode, config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Those that the episode was played by; records of early versions have none, and then the run's."""
    of_run = config.get("episode")
    return episode.config or (of_run if isinstance(of_run, Mapping) else config)


def _reward(config: Mapping[str, Any]) -> str:
    preset = _text(config.get("reward")) or "staged"
    given = [
        f"{name}={value:g}"
        for option, name in COEFFICIENTS.items()
        if (value := _number(config.get(option))) is not None
    ]
    whole = ",".join([preset, *given])
    return "" if whole == "staged" else whole


def _command(about: str, words: Sequence[str], joined: str = "", more: Sequence[str] = ()) -> Command | None:
    """None where a word has characters that a terminal would obey: a line that is pasted could do anything then."""
    if not all(word.isprintable() for word in (*words, *more)):
        return None
    return {"about": about, "command": shlex.join(words) + joined + shlex.join(more)}


def _path(path: Path) -> str:
    return f"./{path}" if str(path).startswith("-") else str(path)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9 else None
