"""The HTTP side: routes, jobs by id, deadlines, clients that go away, and `serve`, which runs it until told to stop."""

import asyncio
import json
import logging
from collections import OrderedDict
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from aiohttp import web

from rtl_agent import __version__
from rtl_agent.grading import Grade, GradeCache
from rtl_agent.grading.cache_key import grading_version
from rtl_agent.grading.executors import ExecutorFault
from rtl_agent.grading.grader import SingleFlight
from rtl_agent.problems import Problem
from rtl_agent.sandbox import SandboxError
from rtl_agent.service.bodies import FilesFor, Job, Reply, Submitted, read_job, read_submitted
from rtl_agent.service.judge import Judge
from rtl_agent.service.metrics import CONTENT_TYPE, Metrics
from rtl_agent.service.openapi import JOB_ID, schema
from rtl_agent.service.turns import Turns, stops
from rtl_agent.toolchain import ToolMissing
from rtl_agent.web.app import IDLE_SECONDS, Guard, Route, application, listening, set_on_signals
from rtl_agent.web.errors import RequestError
from rtl_agent.web.rules import is_loopback, own_names

log = logging.getLogger(__name__)
T = TypeVar("T")

OPEN_PATHS = frozenset({"/healthz", "/openapi.json"})
_KEPT_ANSWERS, _KEPT_BYTES = 1000, 64 << 20  # a client that lost an answer asks again within seconds


@dataclass(frozen=True)
class Settings:
    """How a server is run. `key` is never shown: it is not part of the text of this object."""

    key: "Key"
    host: str = "127.0.0.1"
    port: int = 0
    names: tuple[str, ...] = ()  # other Host headers that it answers to, as a proxy sends them
    jobs: int = 1
    waiting: int = 256
    timeout_seconds: float = 120.0
    deadline_seconds: float = 900.0
    grace_seconds: float = 60.0
    idle_seconds: float = IDLE_SECONDS  # for the head of a request, and then for its body
    most_bytes: int = 16 << 20
    accepts_problems: bool = False
    cache: Path | None = None


@dataclass(frozen=True, repr=False)
class Key:
    text: str


class GradeService:
    """All that requests share. Every job runs in a task that ends with its client, its deadline, or the server."""

    def __init__(self, problems: Sequence[Problem], settings: Settings, cache: GradeCache) -> None:
        self.settings = settings
        self.turns = Turns(settings.jobs, settings.waiting)
        self.metrics = Metrics(lambda: self.turns.running, lambda: self.turns.inside, __version__, grading_version())
        self.judge = Judge(
            problems,
            self.turns,
            self.metrics,
            cache,
            timeout_seconds=settings.timeout_seconds,
            accepts_problems=settings.accepts_problems,
        )
        self._by_id: SingleFlight[bytes] = SingleFlight()
        self._answers: OrderedDict[str, bytes] = OrderedDict()  # to jobs by id, the newest
        self._kept_bytes = 0
        self._tasks: dict[str, set[asyncio.Task[Any]]] = {}  # by the id of the job, "" for /grade
        self._schema = json.dumps(schema(_example(problems), accepts_problems=settings.accepts_problems)).encode()

    def routes(self) -> list[Route]:
        return [
            ("GET", "/healthz", self.healthz),
            ("GET", "/openapi.json", self.openapi),
            ("GET", "/metrics", self.show_metrics),
            ("GET", "/problems", self.problems),
            ("GET", "/problems/{id}", self.problem),
            ("POST", "/grade", self.grade),
            ("GET", "/executor", self.executor),
            ("POST", f"/jobs/{{id:{JOB_ID.strip('^$')}}}", self.run_job),
            ("DELETE", f"/jobs/{{id:{JOB_ID.strip('^$')}}}", self.delete_job),
        ]

    async def healthz(self, request: web.Request) -> web.Response:
        return _json({"status": "stopping"}, 503) if self.turns.stopping else _json({"status": "ok"})

    async def openapi(self, request: web.Request) -> web.Response:
        return _sent(self._schema)

    async def show_metrics(self, request: web.Request) -> web.Response:
        return web.Response(body=self.metrics.text(), content_type=CONTENT_TYPE, charset="utf-8")

    async def problems(self, request: web.Request) -> web.Response:
        return _json({"problems": [_head(problem) for problem in self.judge.problems.values()]})

    async def problem(self, request: web.Request) -> web.Response:
        problem = self.judge.find(request.match_info["id"])
        more = {"prompt": problem.prompt, "context": dict(problem.context), "system_message": problem.system_message}
        return _json({**_head(problem), **more})

    async def grade(self, request: web.Request) -> web.Response:
        with self.turns.admitted() as admit_more:
            data = await self._body(request)
            submitted = read_submitted(data, accepts_problems=self.settings.accepts_problems)
            admit_more(len(submitted) - 1)
            for one in submitted:  # before the first is judged
                if isinstance(one, Reply | FilesFor):
                    self.judge.find(one.problem)
            grades = await self._attended("", self._all(submitted))
        for each in grades:
            self.metrics.note_answered(each)
        found = [each.to_json() for each in grades]
        return _json(found if isinstance(data, list) else found[0])

    async def executor(self, request: web.Request) -> web.Response:
        known = self.settings
        return _json(
            {
                "version": __version__,
                "grading_version": grading_version(),
                "jobs": known.jobs,
                "waiting": known.waiting,
                "most_timeout_seconds": known.timeout_seconds,
                "deadline_seconds": known.deadline_seconds,
                "accepts_problems": known.accepts_problems,
                "fingerprints": await self.judge.fingerprints(),
            }
        )

    async def run_job(self, request: web.Request) -> web.Response:
        name = request.match_info["id"]
        if name in self._answers or name in self._by_id:
            self.metrics.repeated.inc()
        if (kept := self._answers.get(name)) is not None:
            return _sent(kept)
        with self.turns.admitted():
            job = read_job(await self._body(request), accepts_problems=self.settings.accepts_problems)
            if (kept := self._answers.get(name)) is None:  # while the body came, another connection may have had it
                kept = await self._attended(name, self._by_id.share(name, lambda: self._answer(name, job)))
        return _sent(kept)

    async def _answer(self, name: str, job: Job) -> bytes:
        """Judged, counted and kept as one: no second request of this name can come in between."""
        grade = await self.judge.run(job)
        self.metrics.note_answered(grade)
        answer = self._answers[name] = json.dumps(grade.to_json()).encode("ascii")
        self._kept_bytes += len(answer)
        while len(self._answers) > _KEPT_ANSWERS or self._kept_bytes > _KEPT_BYTES:
            self._kept_bytes -= len(self._answers.popitem(last=False)[1])
        return answer

    async def delete_job(self, request: web.Request) -> web.Response:
        tasks = list(self._tasks.get(request.match_info["id"], ()))
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        return web.Response(status=204)

    async def stop(self) -> None:
        """Refuses new jobs, and waits for those that were let in; those that are not done in time are cancelled."""
        self.turns.stopping = True
        try:
            async with asyncio.timeout(self.settings.grace_seconds):
                await self.turns.until_empty()
        except TimeoutError:
            log.warning("%d jobs were not done within %g s", self.turns.inside, self.settings.grace_seconds)
            for task in [task for tasks in self._tasks.values() for task in tasks]:
                task.cancel()
            await self.turns.until_empty()

    async def aclose(self) -> None:
        await self._by_id.aclose()
        await self.judge.aclose()

    async def _body(self, request: web.Request) -> Any:
        if request.content_type != "application/json":
            raise RequestError(415, "the body should be JSON: send it with the header Content-Type: application/json")
        seconds = self.settings.idle_seconds
        try:
            async with asyncio.timeout(seconds):
                text = await request.read()
        except TimeoutError:
            raise RequestError(408, f"the body did not come within {seconds:g} s") from None
        try:
            return json.loads(text, parse_constant=_no_number)
        except (ValueError, RecursionError) as error:
            raise RequestError(400, f"the body is not valid JSON: {error}"[:300]) from None

    async def _all(self, submitted: Sequence[Submitted]) -> list[Grade]:
        try:
            async with asyncio.TaskGroup() as group:  # one that fails cancels the others
                tasks = [group.create_task(self.judge.grade(one)) for one in submitted]
        except BaseExceptionGroup as several:
            raise _first(several) from None
        return [task.result() for task in tasks]

    async def _attended(self, name: str, work: Coroutine[Any, Any, T]) -> T:
        """The work's result. It is cancelled when the client is gone, and its box with it."""
        task = asyncio.create_task(self._in_time(work))
        tasks = self._tasks.setdefault(name, set())
        tasks.add(task)
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait([task])
            self.metrics.cancelled.inc()
            raise
        finally:
            tasks.discard(task)
            if not tasks:
                self._tasks.pop(name, None)
        if task.cancelled():
            self.metrics.cancelled.inc()
            raise stops() if self.turns.stopping else RequestError(409, "the job was cancelled", code="cancelled")
        return task.result()

    async def _in_time(self, work: Coroutine[Any, Any, T]) -> T:
        seconds = self.settings.deadline_seconds
        try:
            async with asyncio.timeout(seconds):
                return await work
        except TimeoutError:
            self.metrics.overdue.inc()
            text = (
                f"the grade was not made within {seconds:g} s: send less, or start the server with a longer --deadline"
            )
            raise RequestError(504, text, code="deadline") from None


def _first(group: BaseException) -> BaseException:
    while isinstance(group, BaseExceptionGroup):
        group = group.exceptions[0]
    return group


def _head(problem: Problem) -> dict[str, Any]:
    kind = {"kind": problem.kind, "targets": list(problem.targets)}
    return {
        "id": problem.id,
        "family": problem.family,
        "category": problem.category,
        "difficulty": problem.difficulty,
    } | kind


def _example(problems: Sequence[Problem]) -> dict[str, Any] | None:
    if not problems:
        return None
    path = problems[0].targets[0]
    return {"problem": problems[0].id, "files": {path: "module example; endmodule\n"}, "reward": "staged"}


def _json(value: Any, status: int = 200) -> web.Response:
    return _sent(json.dumps(value).encode("ascii"), status)


def _sent(body: bytes, status: int = 200) -> web.Response:
    return web.Response(body=body, status=status, content_type="application/json")


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is not a number of JSON")


def _refusal(request: web.Request, error: RequestError) -> web.Response:
    answer = _json({"error": str(error), **({"code": error.code} if error.code else {})}, error.status)
    answer.headers.update(error.headers)
    return answer


def _as_refusal(error: Exception) -> RequestError | None:
    if isinstance(error, ExecutorFault | ToolMissing | SandboxError):
        log.error("%s", error)
        return RequestError(500, f"this server cannot grade now: {error}"[:500])
    return None


async def serve(
    problems: Sequence[Problem],
    settings: Settings,
    *,
    ready: Callable[[int], None] = lambda port: None,
    stop: asyncio.Event | None = None,
) -> None:
    """Until SIGINT or SIGTERM, or the caller's `stop`, and then as long as the jobs take that were let in. `ready` is
    told the port."""
    if stop is None:
        stop = asyncio.Event()
        set_on_signals(stop)
    hosts: set[str] = set(settings.names)
    with GradeCache(settings.cache) as cache:
        service = GradeService(problems, settings, cache)
        guard = Guard(
            settings.key.text,
            settings.most_bytes,
            respond=_refusal,
            where_is_key="send `Authorization: Bearer KEY` with the key that the server was started with",
            too_large="send fewer submissions at a time",
            open_paths=OPEN_PATHS,
            hosts=hosts if is_loopback(settings.host) else None,
            translate=_as_refusal,
            observe=lambda request, status: service.metrics.requests.labels(_path_of(request), str(status)).inc(),
        )
        app = application(service.routes(), guard)
        try:
            await service.judge.fingerprints()  # tools that are missing are better said now
            async with listening(
                app,
                settings.host,
                settings.port,
                shutdown_timeout=1.0,
                handler_cancellation=True,
                idle_seconds=settings.idle_seconds,
            ) as bound:
                hosts |= own_names(settings.host, bound)
                ready(bound)
                await stop.wait()
                log.info("stopping: %d jobs are finished first", service.turns.inside)
                stop.clear()  # a second signal does not wait
                await _first_of(service.stop(), stop.wait())
        finally:
            await service.aclose()


def _path_of(request: web.Request) -> str:
    """The route, not the words of the client: of those there is no end."""
    resource = request.match_info.route.resource
    return "other" if resource is None else resource.canonical


async def _first_of(*works: Coroutine[Any, Any, Any]) -> None:
    tasks = [asyncio.create_task(work) for work in works]
    await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
