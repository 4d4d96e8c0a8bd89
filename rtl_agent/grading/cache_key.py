"""The key of a grade: a hash over everything that can change it, and nothing else; and which grader this is."""

import hashlib
import json
from collections.abc import Mapping
from functools import cache

from rtl_agent.grading.job import GradeJob
from rtl_agent.grading.seal import names_a_design_may_read
from rtl_agent.grading.simulation import SimulationMode
from rtl_agent.grading.workspace import PROBE
from rtl_agent.problems import Problem
from rtl_agent.toolchain.toolchain import SHIMS

# Raise it with every change outside probe/ that can change a grade: verdicts, stages, limits, seeds, the workspace.
GRADING_VERSION = 12

_MOST_PROBLEMS = 4096
GRADER = "rtl-agent"  # its name in a fingerprint, among those of the tools


@cache
def grading_version() -> str:
    """Part of a cached grade's key, and the same on every node of a cluster."""
    content = hashlib.sha256()
    for directory in (PROBE, SHIMS):
        for file in sorted(path for path in directory.rglob("*") if path.is_file() and path.suffix != ".pyc"):
            name = file.relative_to(directory).as_posix().encode()
            data = file.read_bytes()
            content.update(b"%d %s %d\n" % (len(name), name, len(data)) + data)
    return f"{GRADING_VERSION}-{content.hexdigest()[:16]}"


class GradeKeys:
    """Makes keys; remembers the hash of each problem, whose files are most of the work (52 of 67 µs)."""

    def __init__(self, *, timeout_seconds: float, path: SimulationMode) -> None:
        self._settings = [timeout_seconds, path.value]
        self._problems: dict[str, tuple[Problem, str]] = {}

    def key(self, job: GradeJob, fingerprint: Mapping[str, str]) -> str:
        # What was refused beside the files only changes a note, which is written anew for each caller.
        parts = [self._problem(job.problem), job.submission.files, job.seed, job.simulate, fingerprint, self._settings]
        return _hash([*parts, *(["with counted checks"] if job.checks else []), *job.terms])

    def _problem(self, problem: Problem) -> str:
        known, digest = self._problems.get(problem.id, (None, ""))
        if known is not problem:
            digest = problem_key(problem)
            if len(self._problems) >= _MOST_PROBLEMS:  # a server that judges others' problems meets no end of them
                self._problems.clear()
            self._problems[problem.id] = (problem, digest)
        return digest


def problem_key(problem: Problem) -> str:
    """The same for two problems that judge any submission alike."""
    return _hash(_what_reaches_a_box(problem))


def tools_key(fingerprint: Mapping[str, str]) -> str:
    """The same for two sets of tools, and versions of the grader, that judge alike."""
    return _hash(fingerprint)


def _what_reaches_a_box(problem: Problem) -> list[object]:
    """Neither reference nor source, and of the prompt only the names of files: a problem reworded keeps its grades."""
    services = [[service.name, service.argv, service.env, service.src_writable] for service in problem.harness.services]
    files = problem.harness.files
    names = names_a_design_may_read(problem)
    return [problem.id, problem.context, problem.targets, files, services, problem.harness.cocotb_version.value, names]


def _hash(content: object) -> str:
    """Of canonical JSON: sorted names, ASCII (a model may write half a surrogate pair, which UTF-8 cannot hold)."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), default=_as_dict)
    return hashlib.sha256(text.encode("ascii")).hexdigest()


def _as_dict(value: object) -> dict[str, object]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} has no place in a key")
