"""Jobs on a grade server (`rtl-agent grade-server`): this machine needs no EDA tools and no sandbox.

A server that restarts, or is killed, costs a retry. The same job may be sent again at any time: its id and its content
name it, so it is judged once and answered often.
"""

import asyncio
import json
import logging
import os
import random
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from uuid import uuid4

from rtl_agent.grading.cache_key import grading_version, problem_key, tools_key
from rtl_agent.grading.executors.executor import ExecutorFault
from rtl_agent.grading.executors.wire import PROBLEM_UNKNOWN, TOOLS_CHANGED, job_to_json, problem_to_json
from rtl_agent.grading.grade import Grade
from rtl_agent.grading.job import GradeJob, error_grade
from rtl_agent.grading.simulation import SimulationMode
from rtl_agent.problems import CocotbVersion

if TYPE_CHECKING:
    import aiohttp

KEY_VARIABLE = "RTL_AGENT_GRADE_KEY"
_TRIES = 5  # of a job whose connection was lost while it was under way: it may be what ends the server
_CONNECT_SECONDS, _STOP_SECONDS = 10.0, 30.0
_SPARE_SECONDS = 30.0  # after the server's own deadline, which it tells
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
_LONGEST_RETRY_AFTER = 60.0
_FIRST_PATIENCE = 30.0  # for a server that has never answered: its address may be wrong
_log = logging.getLogger(__name__)


def import_aiohttp() -> ModuleType:
    try:
        import aiohttp
    except ImportError as error:
        raise ExecutorFault("grading on a server needs aiohttp: pip install 'rtl-agent[service]'") from error
    return aiohttp


@dataclass(frozen=True)
class _Server:
    """What a server says of itself."""

    jobs: int
    accepts_problems: bool
    deadline_seconds: float
    fingerprints: Mapping[str, Mapping[str, str]]  # by cocotb version


@dataclass(frozen=True)
class _Answer:
    status: int
    data: Any  # None for what is not JSON
    retry_after: float | None = None

    @property
    def code(self) -> str:
        return str(self.data.get("code") or "") if isinstance(self.data, dict) else ""

    @property
    def sentence(self) -> str:
        said = self.data.get("error") if isinstance(self.data, dict) else None
        return str(said)[:500] if said else f"HTTP status {self.status}"


class _Lost(Exception):
    """The connection ended before the answer came."""


class HttpExecutor:
    """As many jobs at a time as keep the server busy, or `jobs`.

    Args:
        url: `http://HOST:PORT` of the server, or `https://...` of a proxy before it.
        key: the server's key; None: $RTL_AGENT_GRADE_KEY.
        jobs: jobs in flight at a time; None: as many as keep the server's cores busy.
        timeout_seconds: maximum seconds of each service of a harness; the server has a maximum of its own.
        path: how designs are simulated.
        patience_seconds: how long jobs wait while no server answers; then they are errors.
    """

    def __init__(
        self,
        url: str,
        *,
        key: str | None = None,
        jobs: int | None = None,
        timeout_seconds: float = 120.0,
        path: SimulationMode = SimulationMode.AUTO,
        patience_seconds: float = 120.0,
    ) -> None:
        self._http = import_aiohttp()
        self._url = _plain(url)
        self._key = key if key is not None else os.environ.get(KEY_VARIABLE, "").strip()
        if not self._key:
            raise ExecutorFault(f"the grade server at {self._url} wants a key: set {KEY_VARIABLE} to the server's")
        self._jobs, self._timeout, self._path = jobs, timeout_seconds, path
        self._patience = patience_seconds
        self._session: aiohttp.ClientSession | None = None
        self._asking: asyncio.Task[_Server] | None = None  # shared by all who want to know
        self._server: _Server | None = None
        self._turns: asyncio.Semaphore | None = None
        self._silent_since: float | None = None  # no server has answered since
        self._stopping: set[asyncio.Task[None]] = set()
        self.lost = self.turned_away = 0  # jobs that were sent again; answers of "later"

    async def fingerprint(self, cocotb_version: CocotbVersion) -> Mapping[str, str]:
        found = (await self._known_server()).fingerprints.get(cocotb_version.value)
        if not found:
            raise ExecutorFault(f"the grade server at {self._url} has no tools for cocotb {cocotb_version.value}")
        return found

    async def run(self, job: GradeJob) -> Grade:
        try:
            server = await self._known_server()
            if self._turns is None:
                self._turns = asyncio.Semaphore(self._jobs or 2 * server.jobs + 2)
            async with self._turns:
                return await self._run(job)
        except ExecutorFault as fault:
            return error_grade(job, str(fault))

    async def aclose(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
        if self._stopping:
            await asyncio.wait(self._stopping)
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _run(self, job: GradeJob) -> Grade:
        name = uuid4().hex
        try:
            return await self._until_graded(name, job)
        except asyncio.CancelledError:
            stopping = asyncio.create_task(self._stop(name))
            self._stopping.add(stopping)
            stopping.add_done_callback(self._stopping.discard)
            with suppress(asyncio.CancelledError):  # cancelled twice: it goes on stopping without us
                await asyncio.shield(stopping)
            raise

    async def _until_graded(self, name: str, job: GradeJob) -> Grade:
        whole, sentence = False, ""
        for lost in range(1, _TRIES + 1):
            try:
                answer = await self._send(name, job, whole=whole)
                if answer.code == PROBLEM_UNKNOWN and not whole:
                    if not (await self._known_server()).accepts_problems:
                        raise ExecutorFault(f"the grade server at {self._url}: {answer.sentence}")
                    whole = True
                    answer = await self._send(name, job, whole=True)
            except _Lost as error:
                self.lost += 1
                _log.warning("%s: try %d of %d: the grade server was lost: %s", job.problem.id, lost, _TRIES, error)
                sentence = f"the connection to the grade server at {self._url} was lost {_TRIES} times: {error}"
                await _pause(lost)
                continue
            return self._grade(answer)
        raise ExecutorFault(sentence)

    async def _send(self, name: str, job: GradeJob, *, whole: bool) -> _Answer:
        fingerprint = await self.fingerprint(job.problem.harness.cocotb_version)
        body = {
            **job_to_json(job, timeout_seconds=self._timeout, path=self._path),
            "problem": job.problem.id,
            "problem_key": problem_key(job.problem),
            "tools": tools_key(fingerprint),
            **({"whole": problem_to_json(job.problem)} if whole else {}),
        }
        # Not PUT: what aiohttp takes for idempotent it sends again by itself, and then nobody counts what was lost.
        return await self._ask("POST", f"/jobs/{name}", body, (await self._known_server()).deadline_seconds)

    def _grade(self, answer: _Answer) -> Grade:
        if answer.code == TOOLS_CHANGED:
            self._server = None  # the next job asks which tools there are now
        if answer.status != 200:
            raise ExecutorFault(f"the grade server at {self._url}: {answer.sentence}")
        try:
            # Whether the server had it in its own cache is not ours to say: to this grader it is new.
            return replace(Grade.from_json(answer.data), cached=False)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ExecutorFault(f"{self._url} answered with something that is not a grade: {error!r}"[:500]) from error

    async def _stop(self, name: str) -> None:
        """The job's box is gone when this returns; a server that does not answer has other worries."""
        with suppress(_Lost, OSError, TimeoutError, ExecutorFault):
            async with asyncio.timeout(_STOP_SECONDS):
                await self._once("DELETE", f"/jobs/{name}", None, _STOP_SECONDS)

    async def _known_server(self) -> _Server:
        if self._server is not None:
            return self._server
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask_server())
        self._server = await asyncio.shield(self._asking)
        return self._server

    async def _ask_server(self) -> _Server:
        sentence = ""
        for lost in range(1, _TRIES + 1):
            try:
                answer = await self._ask("GET", "/executor", None, _STOP_SECONDS)
                break
            except _Lost as error:
                sentence = f"the connection to the grade server at {self._url} was lost: {error}"
                await _pause(lost)
        else:
            raise ExecutorFault(sentence)
        try:
            data = answer.data
            if answer.status != 200:
                raise ExecutorFault(f"the grade server at {self._url}: {answer.sentence}")
            version, theirs, longest = data["version"], data["grading_version"], float(data["most_timeout_seconds"])
            server = _Server(
                int(data["jobs"]), bool(data["accepts_problems"]), float(data["deadline_seconds"]), data["fingerprints"]
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ExecutorFault(f"there is no grade server at {self._url}: it answers with something else") from error
        if theirs != grading_version():
            raise ExecutorFault(
                f"the grade server at {self._url} (rtl-agent {version}) has the grading version {theirs}, this client "
                f"{grading_version()}: install the same version of rtl-agent on both"
            )
        if longest < self._timeout:
            raise ExecutorFault(
                f"the grade server at {self._url} gives a service {longest:g} s at most, and {self._timeout:g} s are "
                "asked for: ask for less, or start it with a longer --timeout"
            )
        return server

    async def _ask(self, method: str, path: str, body: Mapping[str, Any] | None, seconds: float) -> _Answer:
        """Waits for a server that is full, and for some time for one that is gone."""
        tries = 0
        while True:
            tries += 1
            try:
                answer = await self._once(method, path, body, seconds)
            except OSError as error:  # it could not even be reached
                await self._wait_for_it(tries, str(error))
                continue
            self.turned_away += answer.status in (429, 503)
            if answer.status in (502, 503):  # it stops, or a proxy does not find it
                await self._wait_for_it(tries, answer.sentence, answer.retry_after)
                continue
            self._silent_since = None
            if answer.status == 500:
                raise _Lost(answer.sentence)
            if answer.status != 429:
                return answer
            await _pause(tries, answer.retry_after)

    async def _wait_for_it(self, tries: int, said: str, retry_after: float | None = None) -> None:
        """ExecutorFault when no server has answered anybody for too long."""
        now = time.monotonic()
        self._silent_since = self._silent_since or now
        silent = now - self._silent_since
        if silent >= (self._patience if self._server else min(self._patience, _FIRST_PATIENCE)):
            raise ExecutorFault(f"no grade server has answered at {self._url} for {silent:.0f} s: {said}"[:500])
        await _pause(tries, retry_after)

    async def _once(self, method: str, path: str, body: Mapping[str, Any] | None, seconds: float) -> _Answer:
        """OSError: there is no connection. _Lost: there was one."""
        if self._session is None:
            self._session = self._http.ClientSession(
                headers={"Authorization": f"Bearer {self._key}"}, connector=self._http.TCPConnector(limit=0)
            )
        assert self._session is not None
        sent = None if body is None else json.dumps(body, default=dict).encode("ascii")
        limits = self._http.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=seconds + _SPARE_SECONDS)
        try:
            async with self._session.request(
                method,
                self._url + path,
                data=sent,
                headers={} if sent is None else {"Content-Type": "application/json"},
                timeout=limits,
                allow_redirects=False,  # the key is meant for this address
            ) as response:
                text = await response.read()
                return _Answer(response.status, _json(text), _seconds(response.headers.get("Retry-After")))
        except (self._http.ClientConnectorError, self._http.ConnectionTimeoutError) as error:
            raise OSError(str(error)) from error
        except (self._http.ClientError, TimeoutError, OSError) as error:
            raise _Lost(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__) from error


def _plain(url: str) -> str:
    """ExecutorFault for an address that is none, or that has a key in it: addresses are printed and kept."""
    parts = urlsplit(url)
    if parts.username or parts.password or parts.query or parts.fragment:
        shown = f"{parts.scheme}://{parts.hostname or 'HOST'}"
        raise ExecutorFault(f"the address of a grade server is {shown}:PORT and no more; its key is in {KEY_VARIABLE}")
    if not parts.hostname:
        raise ExecutorFault(f"{url} is not the address of a grade server: write http://HOST:PORT")
    return url.rstrip("/")


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _seconds(text: str | None) -> float | None:
    return float(text) if text is not None and text.isdecimal() and len(text) < 6 else None


async def _pause(tries: int, retry_after: float | None = None) -> None:
    """Longer each time, and not for all clients alike: they were sent away together."""
    seconds = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2 ** min(tries - 1, 10))
    if retry_after is not None:
        seconds = min(retry_after, _LONGEST_RETRY_AFTER)
    await asyncio.sleep(seconds * random.uniform(0.75, 1.25))
