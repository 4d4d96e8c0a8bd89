"""Problems as directories, as people write them: one's own, and the bundled set before it is packed.

mine_fifo_0001/         the id: <set>_<topic>_<number>
  prompt.md             the specification, as the model gets it
  problem.yaml          kind, category, difficulty, targets, system_message; each has a default
  context/              files that the model is shown
  reference/            a right answer; without one the problem is untested
  harness/              docker-compose.yml, src/.env and the tests; never shown
  near_misses/          wrong answers that the harness must reject
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from rtl_agent.problems.cvdp import OnBad
from rtl_agent.problems.harness import COMPOSE_FILE, needs_of, read_harness
from rtl_agent.problems.problem import BadField, BadRecord, Kind, NoSuchProblems, Problem, family_of, why_unsafe
from rtl_agent.registry import did_you_mean

ABOUT, PROMPT = "problem.yaml", "prompt.md"
_FIELDS = ("kind", "category", "difficulty", "targets", "system_message")
_DIFFICULTIES = ("easy", "medium", "hard")
_AGENTS_SYSTEM_MESSAGE = "You work in a directory with a shell. Change only the files that the task names."
# Of the template: names that depend on the module, and one that would be hidden in the package.
_RENAMED = {
    "harness/src/env": "harness/src/.env",
    "harness/src/test_module.py": "harness/src/test_@MODULE@.py",
    "reference/rtl/module.sv": "reference/rtl/@MODULE@.sv",
}
_NEAR_MISS = re.compile(r"^\s*// near miss: (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class NearMiss:
    """A wrong answer to a problem: plausible, compiling, and not what was asked."""

    problem_id: str
    name: str
    wrong: str  # what is wrong, in a sentence
    files: Mapping[str, str]


def problem_directories(path: Path) -> list[Path]:
    """`path` itself if it is a problem, else the problems right below it, by name."""
    if _is_problem(path):
        return [path]
    return sorted(child for child in path.iterdir() if child.is_dir() and _is_problem(child))


def _is_problem(path: Path) -> bool:
    return (path / PROMPT).is_file() or (path / ABOUT).is_file()


def read_directories(path: Path, *, on_bad: OnBad | None = None) -> list[Problem]:
    """The problems of `problem_directories`. One that is broken raises `BadRecord`, or is handed to `on_bad`."""
    problems: list[Problem] = []
    for directory in problem_directories(path):
        try:
            problems.append(read_directory(directory))
        except BadRecord as bad:
            if on_bad is None:
                raise
            on_bad(bad)
    if not problems:
        raise NoSuchProblems(f"{path} has no problems")
    return problems


def read_directory(directory: Path) -> Problem:
    """One problem; BadRecord says which file of the directory is wrong, and why."""
    try:
        return _read(directory)
    except BadField as bad:
        raise BadRecord(directory, 0, bad.field, bad.reason) from bad


def read_near_misses(problem: Problem) -> list[NearMiss]:
    """The wrong answers beside a problem that was read from a directory: a file each, or a directory each where there
    are several targets. A line `// near miss: ...` in one of their files says what is wrong."""
    folder = Path(problem.source) / "near_misses"
    if not folder.is_dir():
        return []
    found = []
    for path in sorted(child for child in folder.iterdir() if not child.name.startswith(".")):
        texts = read_tree(path) if path.is_dir() else {problem.targets[0]: _text(path, f"near_misses/{path.name}")}
        marked = _NEAR_MISS.search("\n".join(texts.values()))
        if marked is None:
            reason = "has no line that says what is wrong: // near miss: the reset is synchronous"
            raise BadRecord(Path(problem.source), 0, f"near_misses/{path.name}", reason)
        found.append(NearMiss(problem.id, path.stem, marked[1], texts))
    return found


def new_directory(name: str, parent: Path) -> Path:
    """Write a small problem that works, to be changed into one's own. `name` may lack set and number.

    FileExistsError where there is such a directory already, BadField for a name that cannot become an id.
    """
    from rtl_agent.problems.generate.names import KEYWORDS

    identifier = _completed(Path(name).name)
    module = re.sub(r"[^a-z0-9_]", "_", family_of(identifier).lower())
    if not re.match(r"[a-z_]", module) or module in KEYWORDS:
        module = f"m_{module}"
    directory = parent / Path(name).parent / identifier
    directory.mkdir(parents=True)
    template = Path(str(files("rtl_agent.problems") / "template"))
    for path, text in read_tree(template).items():
        to = directory / _RENAMED.get(path, path).replace("@MODULE@", module)
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_text(text.replace("@MODULE@", module))
    return directory


def _completed(name: str) -> str:
    """fifo -> own_fifo_0001, mine_fifo -> mine_fifo_0001, mine_fifo_0002 as it is."""
    try:
        family_of(name)
        return name
    except BadField:
        completed = f"{name}_0001" if re.search(r"[^_]_[^_]", name) else f"own_{name}_0001"
    try:
        family_of(completed)
    except BadField as bad:
        raise BadField("NAME", f"{name!r} should be letters, digits and underscores, such as mine_fifo_0001") from bad
    return completed


def _read(directory: Path) -> Problem:
    identifier = directory.resolve().name
    family = family_of(identifier)
    about = _about(directory)
    prompt = _text(directory / PROMPT, PROMPT)
    if not prompt.strip():
        raise BadField(PROMPT, "is empty: it should hold the specification")
    context, reference, harness = (read_tree(directory / part) for part in ("context", "reference", "harness"))
    if COMPOSE_FILE not in harness:
        raise BadField(f"harness/{COMPOSE_FILE}", "is missing")
    targets = _targets(about, reference)
    missing = [target for target in targets if reference and target not in reference]
    if missing:
        raise BadField(f"reference/{missing[0]}", "is missing, though problem.yaml has it among its targets")
    kind = Kind(about["kind"])
    return Problem(
        id=identifier,
        family=family,
        category=about["category"],
        difficulty=about["difficulty"],
        kind=kind,
        needs=needs_of(harness),
        prompt=prompt,
        context=context,
        targets=targets,
        harness=read_harness(harness),
        reference={target: reference[target] for target in targets} if reference else None,
        system_message=about.get("system_message") or (_AGENTS_SYSTEM_MESSAGE if kind is Kind.AGENTIC else None),
        source=str(directory),
    )


def _about(directory: Path) -> dict[str, Any]:
    """problem.yaml with its defaults, every value checked."""
    file = directory / ABOUT
    try:
        written = yaml.safe_load(_text(file, ABOUT)) if file.is_file() else {}
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise BadField(ABOUT, f"is not valid YAML: {error}") from error
    written = {} if written is None else written
    if not isinstance(written, dict):
        raise BadField(ABOUT, f"should be a mapping of {', '.join(_FIELDS)}")
    for name in map(str, written):
        if name not in _FIELDS:
            raise BadField(ABOUT, f"{name} is unknown{did_you_mean(name, _FIELDS)}; known are {', '.join(_FIELDS)}")
    about = {"kind": Kind.SINGLE_SHOT.value, "category": "cid003", "difficulty": "easy", **written}
    for name, allowed in (("kind", [kind.value for kind in Kind]), ("difficulty", _DIFFICULTIES)):
        if about[name] not in allowed:
            raise BadField(f"{ABOUT}: {name}", f"{about[name]!r} should be one of {', '.join(allowed)}")
    if not isinstance(about["category"], str) or not isinstance(about.get("system_message", ""), str):
        raise BadField(ABOUT, "category and system_message should be text")
    return about


def _targets(about: Mapping[str, Any], reference: Mapping[str, str]) -> tuple[str, ...]:
    named = about.get("targets", list(reference))
    if not isinstance(named, list) or not all(isinstance(path, str) for path in named):
        raise BadField(f"{ABOUT}: targets", "should be a list of paths")
    if not named:
        raise BadField(f"{ABOUT}: targets", "is missing, and there is no reference to take it from")
    for path in named:
        if (reason := why_unsafe(path)) is not None:
            raise BadField(f"{ABOUT}: targets: {path!r}", reason)
    return tuple(named)


def read_tree(directory: Path) -> dict[str, str]:
    """Path below `directory` -> text, sorted; {} where there is no such directory."""
    return {name: _text(directory / name, f"{directory.name}/{name}") for name in sorted(_names(directory))}


def _names(directory: Path) -> Iterator[str]:
    for path in directory.rglob("*") if directory.is_dir() else ():
        if path.is_file() and "__pycache__" not in path.parts:
            yield str(path.relative_to(directory))


def _text(file: Path, field: str) -> str:
    try:
        return file.read_bytes().decode()
    except FileNotFoundError as error:
        raise BadField(field, "is missing") from error
    except UnicodeDecodeError as error:
        raise BadField(field, f"is not UTF-8 at byte {error.start}") from error
    except OSError as error:
        raise BadField(field, f"cannot be read: {error.strerror}") from error
