"""`grade --keep DIR`: each answer as it was judged, and a `run.sh` that runs again what failed; how it is read back.

    code/          the design as the box had it: what was given, and the answer over it
    harness/       the tests and the compose file
    problem.jsonl  the problem as a record of CVDP's form, without its reference
    grade.json     the grade: seed, tools, tests
    run.sh         `rtl-agent rerun` of this folder

Files may be changed before they run again; the seed stays that of the grade.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rtl_agent.cli.answers import GradingJob
from rtl_agent.cli.new_workspace import RUN, ensure_new, write_files, write_run
from rtl_agent.grading import Grade, Submission, submit
from rtl_agent.problems import Problem, as_record, parse_record
from rtl_agent.problems.directories import read_tree
from rtl_agent.problems.harness import read_harness
from rtl_agent.problems.problem import BadField

_PROBLEM, _GRADE, _CODE, _HARNESS = "problem.jsonl", "grade.json", "code", "harness"
_WHAT_RUNS = (
    "Runs again what failed, with the seed of the grade: `./run.sh --help` lists the options.",
    "It runs in rtl-agent's sandbox, because a model wrote the design: simulated outside of one it can read and",
    "write whatever you can. Nothing of the answer is part of this script.",
)
_README = """\
An answer as rtl-agent judged it.

    ./run.sh       runs again, in the sandbox, the tests that failed, with the seed of the grade
    ./run.sh -v    shows what the compiler, the simulator and pytest print as well
    code/          the design; change it, and run again
    harness/       the tests: whoever has read them, model or person, cannot be scored on this problem any more
    grade.json     the grade, as `rtl-agent grade --json` prints it

A model wrote the design. Outside of the sandbox it can read and write whatever you can while it is
compiled and simulated: read it before you run it with tools of your own.
"""


class NotKept(ValueError):
    """The folder is none that `grade --keep` wrote. The message says what is wrong with it."""


@dataclass(frozen=True)
class Kept:
    """One answer as it was judged, with the files as they are now."""

    problem: Problem
    submission: Submission
    grade: Grade
    timeout_seconds: float
    changed: tuple[str, ...]  # files that are not as they were graded


def keep(directory: Path, jobs: Sequence[GradingJob], grades: Sequence[Grade], timeout_seconds: float) -> str:
    """One answer into the folder itself, several into a folder each, by the names that they have in the table.

    Returns a sentence on what to do with it.
    """
    ensure_new(directory)
    names = [""] if len(jobs) == 1 else _names([job.label for job in jobs])
    for name, job, grade in zip(names, jobs, grades, strict=True):
        _keep(directory / name, job, grade, timeout_seconds)
    if len(jobs) == 1:
        return f"{directory / RUN} runs again what failed, in the sandbox and with the seed of this grade"
    return f"{len(jobs)} answers are below {directory}; in each folder {RUN} runs again what failed"


def _names(labels: Sequence[str]) -> list[str]:
    """A plain name for each label, no two the same."""
    names: list[str] = []
    for number, label in enumerate(labels, 1):
        name = re.sub(r"[^A-Za-z0-9_.-]", "-", label).lstrip(".-")[:120]
        names.append(f"{name}-{number}" if name in names or not name else name)
    return names


def _keep(directory: Path, job: GradingJob, grade: Grade, timeout_seconds: float) -> None:
    problem = replace(job.problem, reference=None)
    about = {"timeout_seconds": timeout_seconds, "files": dict(job.submission.files), "grade": grade.to_json()}
    write_files(directory, {"README.md": _README, _GRADE: json.dumps(about), _PROBLEM: json.dumps(as_record(problem))})
    write_files(directory / _CODE, job.submission.workspace(problem))
    write_files(directory / _HARNESS, problem.harness.files)
    write_run(directory, _WHAT_RUNS, ["rerun"])


def read_kept(directory: Path) -> Kept:
    """NotKept where the folder or a file in it is not as `keep` writes it."""
    try:
        about: Any = json.loads((directory / _GRADE).read_bytes())
        problem = parse_record(json.loads((directory / _PROBLEM).read_bytes()))
        grade, timeout = Grade.from_json(about["grade"]), float(about["timeout_seconds"])
        graded = {str(path): str(text) for path, text in about["files"].items()}
        code, harness = read_tree(directory / _CODE), read_tree(directory / _HARNESS)
        before = Submission(graded).workspace(problem)
        now = replace(
            problem,
            context={**{path: text for path, text in code.items() if path in problem.context}, **problem.given},
            harness=read_harness(harness),
        )
    except FileNotFoundError as error:
        raise NotKept(
            f"{directory} has no {Path(error.filename).name}: name a folder that `grade --keep` wrote"
        ) from error
    except OSError as error:
        raise NotKept(f"{error.filename}: {error.strerror}") from error
    except BadField as error:
        raise NotKept(f"{directory}: {error}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise NotKept(f"{directory} is not as `grade --keep` wrote it: {type(error).__name__}: {error}") from error
    files = {path: text for path, text in code.items() if path in problem.targets}
    changed = [*_changed(_CODE, before, code), *_changed(_HARNESS, problem.harness.files, harness)]
    return Kept(now, submit(now, files, whole=True), grade, timeout, tuple(changed))


def _changed(folder: str, before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """A text is compared as it is when it was written: half a surrogate pair becomes a question mark."""
    written = {path: text.encode(errors="replace").decode() for path, text in before.items()}
    paths = sorted(written.keys() | now.keys())
    return [f"{folder}/{path}" for path in paths if written.get(path) != now.get(path)]
