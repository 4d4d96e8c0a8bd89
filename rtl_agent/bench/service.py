"""A grade server under load: many clients on loopback, and the server killed again and again in between.

Nothing may be lost (each submission has one grade, and none is an `error`), wrong (each has the outcome that it must
get, and the seed of its own text) or double (what was graded before is not judged again).
"""

import asyncio
import os
import secrets
import signal
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from rtl_agent.bench.soak import Sent, mixture
from rtl_agent.grading import Grade, Grader, Outcome, default_cache_path
from rtl_agent.grading.executors.http_executor import KEY_VARIABLE, HttpExecutor
from rtl_agent.grading.job import job_seed
from rtl_agent.processes import descendants

_PATIENCE_SECONDS = 600.0  # for a server that starts: on a machine with fifteen times as much to do as cores, 2 minutes
_SETTLE_SECONDS = 10.0  # after the end: boxes of killed servers are gone long before
_TIMEOUT = 10.0  # of a service: some of the designs never end
_IN_FLIGHT, _WAITING = 2, 64  # for each client; in the server's queue, which 50 clients fill


@dataclass
class Load:
    """What came of it."""

    grades: int
    clients: int
    jobs: int
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    answered: int = 0
    wrong: list[str] = field(default_factory=list)  # another outcome than it must have, or another's grade
    kills: int = 0  # SIGKILL
    stops: int = 0  # SIGTERM
    exit_codes: list[int] = field(default_factory=list)  # of servers that were asked to stop
    lost_connections: int = 0  # jobs that were sent again
    turned_away: int = 0  # answers of 429 and 503
    judged: int = 0  # by the servers' own counters, each read just before its end
    kept: int = 0  # grades in the cache at the end
    distinct: int = 0
    left: int = 0  # processes of servers and boxes that outlived them

    @property
    def lost(self) -> int:
        return self.grades - self.answered + self.outcomes[Outcome.ERROR]

    @property
    def double(self) -> int:
        """Grades that were judged although the cache had them. Those of a server's last moments are not counted."""
        return max(0, self.judged - self.kept) + max(0, self.kept - self.distinct)

    @property
    def good(self) -> bool:
        ended_well = not self.left and not any(self.exit_codes)
        return not self.lost and not self.wrong and not self.double and ended_well

    def to_json(self) -> dict[str, object]:
        counted = {"outcomes": dict(self.outcomes), "kinds": dict(self.kinds)}
        found = asdict(replace(self, outcomes=Counter(), kinds=Counter()))
        return {**found, **counted, "lost": self.lost, "double": self.double, "good": self.good}


class _Server:
    """The command in a process of its own, always on the same port; and everything that was below it."""

    def __init__(self, folder: Path, jobs: int, key: str) -> None:
        self._folder, self._jobs = folder, jobs
        self._environ = {**os.environ, "XDG_CACHE_HOME": str(folder), KEY_VARIABLE: key}
        self._port = 0
        self._process: asyncio.subprocess.Process | None = None
        self.seen: set[tuple[int, str]] = set()  # pid and start time of every process that a server had

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def start(self) -> None:
        command = [sys.executable, "-m", "rtl_agent.cli.main", "grade-server", "bundled", "--accept-problems"]
        limits = ["--jobs", str(self._jobs), "--queue", str(_WAITING), "--timeout", str(_TIMEOUT)]
        with (self._folder / "server.log").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(*command, *limits, "--port", str(self._port)),
                env=self._environ,
                stdout=asyncio.subprocess.PIPE,
                stderr=log,
            )
        assert self._process.stdout is not None
        async with asyncio.timeout(_PATIENCE_SECONDS):
            line = (await self._process.stdout.readline()).decode()
        if not line.startswith("url "):
            raise RuntimeError(f"the server did not start: {(self._folder / 'server.log').read_text()[-500:]}")
        self._port = int(line.rpartition(":")[2])

    async def end(self, number: signal.Signals) -> int:
        assert self._process is not None
        pids = [self._process.pid, *descendants(self._process.pid)]
        self.seen |= {(pid, since) for pid in pids if (since := _since(pid))}
        self._process.send_signal(number)
        return await self._process.wait()

    def outlived(self) -> int:
        return sum(_since(pid) == since for pid, since in self.seen)


def _since(pid: int) -> str:
    """When a living process began; "" for none."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state == "Z" else fields[18]


async def run(
    grades: int,
    *,
    clients: int = 50,
    kills: int = 10,
    jobs: int | None = None,
    on_grade: Callable[[Load], None] = lambda load: None,
) -> Load:
    """`kills` ends of the server, spread evenly over the grades: every third a SIGTERM, the others SIGKILL."""
    load = Load(grades, clients, jobs or os.cpu_count() or 1)
    every = list(mixture(grades))
    # The last tenth is what others sent before: it comes from the cache, or joins what is under way.
    again = grades // 10
    every = every[: grades - again] + every[:again]
    load.distinct = len({(one.problem.id, tuple(one.submission.files.items())) for one in every})
    ends = [(number + 1) * grades // (kills + 1) for number in range(kills)]
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rtl-agent-load-") as folder:
        server = _Server(Path(folder), load.jobs, key := secrets.token_urlsafe(32))
        await server.start()
        ender = asyncio.create_task(_end_in_between(server, load, key, ends))
        try:
            shares = [every[number::clients] for number in range(clients)]
            await asyncio.gather(*(_client(server.url, key, share, load, on_grade) for share in shares))
            await ender
        finally:
            ender.cancel()
            load.seconds = time.monotonic() - started
            load.judged += await _judged(server.url, key)
            load.exit_codes.append(await server.end(signal.SIGTERM))
        load.kept = _rows(Path(folder))
        for _ in range(int(_SETTLE_SECONDS / 0.1)):
            if not (found := server.outlived()):
                break
            await asyncio.sleep(0.1)
        load.left = found
    return load


async def _client(url: str, key: str, share: Sequence[Sent], load: Load, on_grade: Callable[[Load], None]) -> None:
    """One of many, each with connections of its own, and everything that it has to ask asked at once."""
    executor = HttpExecutor(url, key=key, jobs=_IN_FLIGHT, timeout_seconds=_TIMEOUT, patience_seconds=_PATIENCE_SECONDS)
    async with aclosing(executor), Grader(executor=executor, timeout_seconds=_TIMEOUT) as grader:

        async def one(sent: Sent) -> None:
            _note(load, sent, await grader.grade(sent.problem, sent.submission))
            on_grade(load)

        await asyncio.gather(*(one(sent) for sent in share))
        load.lost_connections += executor.lost
        load.turned_away += executor.turned_away


def _note(load: Load, sent: Sent, grade: Grade) -> None:
    load.answered += 1
    load.outcomes[grade.outcome.value] += 1
    load.kinds[sent.kind] += 1
    own = grade.problem_id == sent.problem.id and grade.seed == job_seed(sent.problem, sent.submission)
    if grade.outcome is not sent.outcome or not own:
        why = "; ".join(grade.reasons)[:300]
        load.wrong.append(f"{sent.kind}, {sent.problem.id}: {grade.outcome}{'' if own else ' of another'}: {why}")


async def _end_in_between(server: _Server, load: Load, key: str, ends: Sequence[int]) -> None:
    for number, after in enumerate(ends, start=1):
        while load.answered < after:  # noqa: ASYNC110  (an event for each would be no shorter)
            await asyncio.sleep(0.01)
        load.judged += await _judged(server.url, key)
        if number % 3:
            await server.end(signal.SIGKILL)
            load.kills += 1
        else:
            load.exit_codes.append(await server.end(signal.SIGTERM))
            load.stops += 1
        await server.start()


async def _judged(url: str, key: str) -> int:
    """What the server's own counter says."""
    import aiohttp

    async with (
        aiohttp.ClientSession(headers={"Authorization": f"Bearer {key}"}) as session,
        session.get(f"{url}/metrics") as response,
    ):
        lines = (await response.text()).splitlines()
    name = "rtl_agent_grades_judged_total{"
    return round(sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name) and "error" not in line))


def _rows(folder: Path) -> int:
    """Grades in the cache that the servers shared."""
    file = folder / "rtl-agent" / default_cache_path().name
    with sqlite3.connect(file) as database:
        (count,) = database.execute("SELECT COUNT(*) FROM grades").fetchone()
    return int(count)
