"""Near misses as training material: wrong answers to any problem with a right design, and problems to mend them.

A near miss is a mutant that compiles and that the problem's own harness rejects: nothing here is wrong by guess.
"""

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import islice
from typing import Any

from rtl_agent.audit import harness_facts
from rtl_agent.audit.choose import in_turn
from rtl_agent.audit.mutants import failed_tests
from rtl_agent.audit.trees import Files, Mutation, Trees
from rtl_agent.grading import Grade, GradeCache, Grader, Outcome, StageName, default_cache_path, submit
from rtl_agent.grading.box_worker import WorkerFailed
from rtl_agent.problems import LoadOptions, NearMiss, Needs, NoSuchProblems, Problem, load_problems
from rtl_agent.sandbox import SandboxError, make_sandbox
from rtl_agent.toolchain import ToolMissing, find_toolchain

DEBUG = "cid016"
PER_PROBLEM = 4
_SPARE = 3  # candidates tried for each near miss that is wanted


@dataclass(frozen=True)
class Rejected:
    """A near miss and what the harness said of it."""

    miss: NearMiss
    failed: tuple[str, ...]  # tests


async def near_misses(trees: Trees, grader: Grader, problem: Problem, count: int, seed: str) -> list[Rejected]:
    """`count` wrong answers, or as many as there are, spread over classes of mistakes; the same seed gives the same."""
    if problem.reference is None or problem.needs is not Needs.OPEN_TOOLS:
        return []
    files = problem.reference
    design = harness_facts.design_of(problem, files)
    parameters = harness_facts.set_parameters(problem)
    try:
        every = list(in_turn(await trees.mutations(design, parameters), f"{seed} {problem.id}"))
    except WorkerFailed:
        return []
    found: list[Rejected] = []
    waiting = iter(every)
    while len(found) < count and (batch := list(islice(waiting, _SPARE * count))):
        compile_ = await trees.that_compile(design, batch)
        grades = await asyncio.gather(*(_grade(grader, problem, one.apply(files)) for one in compile_))
        for one, grade in zip(compile_, grades, strict=True):
            if _is_near(grade) and len(found) < count:
                miss = NearMiss(problem.id, _name(one), f"{one.operator}, {one.file} line {one.line}", one.apply(files))
                found.append(Rejected(miss, failed_tests(grade)))
    return found


def _is_near(grade: Grade) -> bool:
    """Rejected by a test, and not for want of compiling or of time."""
    compiled = grade.stage(StageName.SYNTAX).passed is not False
    return grade.outcome is Outcome.FAILED and compiled and bool(failed_tests(grade))


def _name(one: Mutation) -> str:
    digest = sha256(repr(one.edits).encode()).hexdigest()[:8]
    return f"{one.group}_line_{one.line}_{digest}"


async def _grade(grader: Grader, problem: Problem, files: Files) -> Grade:
    return await grader.grade(problem, submit(problem, files), as_given=True)


def repair(problem: Problem, rejected: Rejected) -> Problem:
    """The problem as CVDP's cid016 asks: here is a design and what fails; mend it. Judged by the same harness."""
    miss = rejected.miss
    digest = sha256(f"{problem.id} {miss.name}".encode()).hexdigest()[:12]
    failing = ", ".join(f"`{name.rpartition('.')[2]}`" for name in rejected.failed[:4])
    where = ", ".join(f"`{path}`" for path in problem.targets)
    prompt = (
        f"The design in {where} does not do what its specification says: a test named {failing} fails. "
        f"Find the mistake and mend it; change nothing else.\n\nThe specification:\n\n{problem.prompt}"
    )
    stem = problem.id.rpartition("_")[0] or problem.id
    return replace(
        problem,
        id=f"{stem}_{digest}",
        category=DEBUG,
        prompt=prompt,
        context={**problem.context, **miss.files},
        source=f"repairs of {problem.source}",
    )


class Repairs:
    """The source `repairs:PROBLEMS[,count=N][,seed=N]`: so many repairs of each problem that has a right design.

    Making them takes slang and a simulation each; grades are cached, so a second loading is quick.
    """

    def __call__(self, argument: str, options: LoadOptions) -> list[Problem]:
        source, settings = _settings(argument)
        if not source:
            raise NoSuchProblems("repairs: names no problems; write repairs:bundled, for one")
        problems = load_problems(source, skip_bad=options.on_bad is not None, on_bad=options.on_bad)
        known = [one for one in problems if one.reference is not None and one.needs is Needs.OPEN_TOOLS]
        if not known:
            raise NoSuchProblems(f"repairs:{argument}: no problem of {source} has a reference to make mistakes in")
        per_problem = settings.get("count", PER_PROBLEM)
        try:
            made = _run(_all_repairs(known, per_problem, str(settings.get("seed", 0))))
        except (ToolMissing, SandboxError) as error:
            raise NoSuchProblems(f"repairs:{argument} needs the tools of grading: {error}") from error
        return made[: options.count or None]


def _run(work: Coroutine[Any, Any, list[Problem]]) -> list[Problem]:
    """Also where a loop runs already: a source is a plain function."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


def _settings(argument: str) -> tuple[str, dict[str, int]]:
    """What belongs to us at the end of the argument; all before it is another source's."""
    parts, settings = argument.split(","), {}
    while len(parts) > 1:
        key, is_setting, value = parts[-1].strip().partition("=")
        if not is_setting or key not in ("count", "seed") or key in settings:
            break
        if not value.isdecimal():
            raise NoSuchProblems(f"repairs:{argument}: {key}={value} should be a number")
        settings[key] = int(value)
        parts.pop()
    return ",".join(parts), settings


REPAIRS = Repairs()


async def _all_repairs(problems: Sequence[Problem], count: int, seed: str) -> list[Problem]:
    return list(_in_turn(problems, await near_misses_of_all(problems, count, seed)))


async def near_misses_of_all(problems: Sequence[Problem], count: int, seed: str) -> list[list[Rejected]]:
    """Of each problem; none where no right design is known."""
    trees = Trees(make_sandbox(1), find_toolchain())
    try:
        with GradeCache(default_cache_path()) as cache:
            async with Grader(timeout_seconds=30, cache=cache) as grader:
                return list(await asyncio.gather(*(near_misses(trees, grader, one, count, seed) for one in problems)))
    finally:
        await trees.aclose()


def _in_turn(problems: Sequence[Problem], found: Sequence[Sequence[Rejected]]) -> Iterator[Problem]:
    """One of each problem, then a second one of each."""
    for at in range(max(map(len, found), default=0)):
        for problem, rejected in zip(problems, found, strict=True):
            if at < len(rejected):
                yield repair(problem, rejected[at])
