"""The grader behind the service: a set of problems, one cache, and a grader for each time limit and path in use."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

from rtl_agent.grading import (
    PRESETS,
    REWARD_TERMS,
    CannotGrade,
    Extraction,
    Grade,
    GradeCache,
    Grader,
    SimulationMode,
    submit,
)
from rtl_agent.grading.cache_key import problem_key, tools_key
from rtl_agent.grading.executors import ExecutorFault, GradeJob, LocalExecutor
from rtl_agent.grading.executors.wire import PROBLEM_UNKNOWN, TOOLS_CHANGED, job_from_json, problem_from_json
from rtl_agent.grading.submission import MAX_FILE_BYTES
from rtl_agent.problems import CocotbVersion, Needs, Problem, parse_record, why_unsafe
from rtl_agent.problems.problem import BadField
from rtl_agent.service.bodies import FilesFor, FilesForRecord, Job, JobWithProblem, Reply, Submitted
from rtl_agent.service.metrics import Metrics
from rtl_agent.service.turns import InTurn, Turns
from rtl_agent.web.errors import RequestError

_MOST_GRADERS = 4  # each has warm boxes of its own, about 100 MB for each job at a time
_MOST_SENT = 64 << 20  # characters of problems that clients sent and that are kept


def conflict(message: str, code: str = "conflict") -> RequestError:
    """A request in the right form that this server cannot serve as it stands."""
    return RequestError(409, message, code=code)


class SentProblems:
    """Problems that clients sent, the newest of them, by key: each is sent once, not with every job."""

    def __init__(self, most: int = _MOST_SENT) -> None:
        self._most, self._size = most, 0
        self._kept: OrderedDict[str, tuple[Problem, int]] = OrderedDict()

    def get(self, key: str) -> Problem | None:
        if key not in self._kept:
            return None
        self._kept.move_to_end(key)
        return self._kept[key][0]

    def add(self, key: str, problem: Problem) -> None:
        texts = (problem.context, problem.harness.files, problem.reference or {})
        size = len(problem.prompt) + sum(len(text) for files in texts for text in files.values())
        self._size += size - self._kept.pop(key, (problem, 0))[1]
        self._kept[key] = (problem, size)
        while self._size > self._most and len(self._kept) > 1:
            _, (_, gone) = self._kept.popitem(last=False)
            self._size -= gone


@dataclass(eq=False)
class _Shared:
    """A grader with its boxes, and how many requests use it now."""

    grader: Grader
    executor: InTurn
    users: int = 0


class _OfGrader:
    """A grader as the executor of another one, which adds the weights of one request."""

    def __init__(self, shared: _Shared) -> None:
        self._shared = shared

    async def fingerprint(self, cocotb_version: CocotbVersion) -> Mapping[str, str]:
        return await self._shared.executor.fingerprint(cocotb_version)

    async def run(self, job: GradeJob) -> Grade:
        return await self._shared.grader.run_job(job)

    async def aclose(self) -> None:
        pass


class Judge:
    """Judges submissions and jobs. Identical ones under way are judged once, whoever sent them."""

    def __init__(
        self,
        problems: Iterable[Problem],
        turns: Turns,
        metrics: Metrics,
        cache: GradeCache,
        *,
        timeout_seconds: float,
        accepts_problems: bool,
    ) -> None:
        self.problems = {problem.id: problem for problem in problems}
        self.timeout_seconds, self.accepts_problems = timeout_seconds, accepts_problems
        self._keys = {problem.id: problem_key(problem) for problem in self.problems.values()}
        self._turns, self._metrics, self._cache = turns, metrics, cache
        self._sent = SentProblems()
        self._graders: OrderedDict[tuple[float, SimulationMode], _Shared] = OrderedDict()
        self._opening = asyncio.Lock()

    async def fingerprints(self) -> dict[str, dict[str, str]]:
        """Of the tools, by cocotb version; none for one that is not installed."""
        found = {}
        async with self._shared(self.timeout_seconds, SimulationMode.AUTO) as shared:
            for version in CocotbVersion:
                try:
                    found[version.value] = dict(await shared.executor.fingerprint(version))
                except ExecutorFault:
                    continue
        return found

    async def grade(self, one: Submitted) -> Grade:
        """What somebody submitted, with the reward that was asked for."""
        problem = self._problem_of(one)
        extraction = Extraction.FORGIVING if isinstance(one, FilesFor | FilesForRecord) else Extraction(one.extraction)
        async with (
            self._shared(self.timeout_seconds, SimulationMode.AUTO) as shared,
            Grader(
                weights=PRESETS[one.reward],
                timeout_seconds=self.timeout_seconds,
                executor=_OfGrader(shared),
                extraction=extraction,
            ) as grader,
        ):
            if isinstance(one, FilesFor | FilesForRecord):
                return await grader.grade(problem, submit(problem, one.files))
            return await grader.grade_reply(problem, one.reply)

    async def run(self, body: Job) -> Grade:
        """A job of another grader, its reward left empty."""
        problem = self._problem_of_job(body)
        self._check_job(body, problem)
        async with self._shared(body.timeout_seconds, SimulationMode(body.path)) as shared:
            if tools_key(await shared.executor.fingerprint(problem.harness.cocotb_version)) != body.tools:
                raise conflict("the tools of this server are others than those that the client saw", TOOLS_CHANGED)
            return await shared.grader.run_job(job_from_json(body.model_dump(), problem))

    async def aclose(self) -> None:
        while self._graders:
            _, shared = self._graders.popitem()
            await _close(shared)

    def find(self, identifier: str) -> Problem:
        problem = self.problems.get(identifier)
        if problem is None:
            raise RequestError(404, f"this server has no problem {identifier[:200]!r}", code=PROBLEM_UNKNOWN)
        return problem

    def _problem_of(self, one: Submitted) -> Problem:
        if isinstance(one, FilesFor | Reply):
            return self.find(one.problem)
        try:
            problem = parse_record(one.record, source="a request")
        except BadField as error:
            raise conflict(f"record: {error}") from error
        if problem.needs is not Needs.OPEN_TOOLS:
            raise conflict(str(CannotGrade(f"record: {problem.id} needs more than open tools")))
        _check_paths(problem)
        return problem

    def _problem_of_job(self, body: Job) -> Problem:
        if self._keys.get(body.problem) == body.problem_key:
            return self.problems[body.problem]
        if isinstance(body, JobWithProblem):
            problem = problem_from_json(body.whole.model_dump())
            _check_paths(problem)
            if problem.id != body.problem or problem_key(problem) != body.problem_key:
                raise conflict("the problem that was sent is not the one that `problem` and `problem_key` name")
            self._sent.add(body.problem_key, problem)
            return problem
        if (known := self._sent.get(body.problem_key)) is not None and known.id == body.problem:
            return known
        if self.accepts_problems:
            hint = "send it with the job, as `whole`"
        else:
            hint = "start it with the client's problems, or with --accept-problems"
        if body.problem in self.problems:
            raise conflict(f"its problem {body.problem} differs from the client's: {hint}", PROBLEM_UNKNOWN)
        raise RequestError(404, f"it has no problem {body.problem[:200]!r}: {hint}", code=PROBLEM_UNKNOWN)

    def _check_job(self, body: Job, problem: Problem) -> None:
        if body.timeout_seconds > self.timeout_seconds:
            raise conflict(f"timeout_seconds={body.timeout_seconds:g}: {self.timeout_seconds:g} are the most here")
        for path, text in body.files.items():
            if path not in problem.targets:
                raise conflict(f"{path[:200]!r} is not a target of {problem.id}")
            if len(text) > MAX_FILE_BYTES:
                raise conflict(f"{path[:200]!r} is larger than {MAX_FILE_BYTES} bytes")
        for term in body.terms:
            if term not in REWARD_TERMS:
                raise conflict(f"this server has no reward term {term[:200]!r}: install its package there")

    @asynccontextmanager
    async def _shared(self, timeout_seconds: float, path: SimulationMode) -> AsyncIterator[_Shared]:
        async with self._opening:
            shared = self._graders.get((timeout_seconds, path)) or await self._open(timeout_seconds, path)
            self._graders.move_to_end((timeout_seconds, path))
            shared.users += 1
        try:
            yield shared
        finally:
            shared.users -= 1

    async def _open(self, timeout_seconds: float, path: SimulationMode) -> _Shared:
        """Another one; the one that rested longest is closed where there are too many."""
        if len(self._graders) >= _MOST_GRADERS:
            usual = (self.timeout_seconds, SimulationMode.AUTO)
            others = [key for key, shared in self._graders.items() if not shared.users and key != usual]
            resting = next(iter(others), None)
            if resting is None:
                wait = {"Retry-After": "5"}
                text = f"jobs with {_MOST_GRADERS} other time limits and paths run now: try again later"
                raise RequestError(429, text, code="full", headers=wait)
            await _close(self._graders.pop(resting))
        local = LocalExecutor(jobs=self._turns.jobs, timeout_seconds=timeout_seconds, path=path)
        executor = InTurn(local, self._turns, self._metrics.note_judged)
        grader = Grader(timeout_seconds=timeout_seconds, path=path, executor=executor, cache=self._cache)
        shared = self._graders[timeout_seconds, path] = _Shared(grader, executor)
        return shared


async def _close(shared: _Shared) -> None:
    await shared.grader.__aexit__(None, None, None)
    await shared.executor.aclose()


def _check_paths(problem: Problem) -> None:
    """Of a problem that a client sent. Its files and commands are used in boxes only."""
    for path in (*problem.context, *problem.targets, *problem.harness.files, *(problem.reference or ())):
        if reason := why_unsafe(path):
            raise conflict(f"the problem's file {path[:200]!r} {reason}")
    for service in problem.harness.services:
        words = (*service.argv, *service.env, *service.env.values())
        if any("\0" in word for word in words) or any("=" in name or not name for name in service.env):
            raise conflict(f"the problem's service {service.name[:200]!r} has a word that no command can have")
