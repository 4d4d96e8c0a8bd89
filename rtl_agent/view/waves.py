"""Waves for the page: made on demand, one test at a time, in a thread of their own, and kept in the user's cache."""

import asyncio
import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from rtl_agent.grading import Extraction, Grade, Submission, extract, submit
from rtl_agent.grading.cache_key import grading_version
from rtl_agent.grading.job import job_seed
from rtl_agent.problems import Problem
from rtl_agent.runs.episode import Episode
from rtl_agent.sandbox import Sandbox, SandboxError, make_sandbox, weakness_warning
from rtl_agent.toolchain import Toolchain, ToolMissing, fallback_warning, find_toolchain
from rtl_agent.waves.job import CANDIDATE, REFERENCE, WAVES, WavesJob, chosen_test, make_waves
from rtl_agent.waves.simulate import NoWaves, WaveSimulator
from rtl_agent.waves.store import WaveStore
from rtl_agent.waves.vcd import VcdError

FORMAT = 2  # raise it when waves that were kept before are read otherwise
TIMEOUT_SECONDS = 120.0  # of a service, as for a grade
_REMEMBERED_SECONDS = 20.0  # a failure, so that asking again does not simulate again at once
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_FILES = {"candidate": CANDIDATE, "reference": REFERENCE}

Finder = Callable[[Sequence[str], str], Problem | None]
"""What a run's problems came from, as PROBLEMS, and a problem's id -> the problem, if it is here."""


@dataclass(frozen=True)
class Asked:
    """One rollout's record, and where its run has problems from."""

    episode: Episode
    sources: Sequence[str]


class WaveService:
    """Answers at once: with waves, with how far they are, or with why there are none."""

    def __init__(self, find: Finder, store: WaveStore | None = None) -> None:
        self._find = find
        self._store = store or WaveStore()
        self._lock = threading.Lock()
        self._busy: str | None = None  # the key that is being made
        self._progress = ""
        self._failed: dict[str, tuple[float, str]] = {}
        self._tools: tuple[Sandbox, Toolchain] | None = None

    def answer(self, asked: Asked, name: str, which: str, address: str, *, start: bool = True) -> dict[str, Any]:
        """The page's `Waves` of one test. `address` is that of the rollout's waves; without `start` only waves that
        were made before are given."""
        try:
            folder = self._folder(asked, name, start=start)
        except NoWaves as refused:
            return {"status": "error", "message": str(refused)}
        if isinstance(folder, str):
            return {"status": "waiting", "message": folder}
        waves = _read(folder).get(which)
        if waves is None:
            return {"status": "error", "message": "There are no waves of a reference."}
        return {**waves, "file": f"{address}/file?{urlencode({'test': name, 'of': which})}"}

    def kept(self, episode: Episode) -> Iterator[tuple[str, dict[str, dict[str, Any]], dict[str, Path]]]:
        """Every test whose waves were made before: its name, the page's `Waves` and the VCD of each of the two."""
        if episode.grade is None or self._store.empty:
            return
        key = _keys(episode, episode.grade)
        for name in dict.fromkeys(test.name for test in episode.grade.tests):
            if (folder := self._store.get(key(name))) is None:
                continue
            with suppress(OSError, ValueError):  # another process has made room meanwhile
                waves = _read(folder)
                yield name, waves, {which: folder / _FILES[which] for which in waves}

    def file(self, asked: Asked, name: str, which: str) -> tuple[str, bytes]:
        """A name that is safe to save under, and the VCD. NoWaves where it was not made."""
        folder = self._folder(asked, name, start=False)
        path = Path(folder) / _FILES.get(which, CANDIDATE)
        if not path.is_file():
            raise NoWaves("There are no waves of a reference.")
        parts = (asked.episode.problem_id, name.rpartition(".")[2], path.stem)
        return "-".join(_UNSAFE.sub("_", part)[:60] for part in parts) + ".vcd", path.read_bytes()

    def _folder(self, asked: Asked, name: str, *, start: bool) -> Path | str:
        """Where the waves are, or what is being done about them."""
        grade = asked.episode.grade
        if grade is None:
            raise NoWaves("This rollout was not graded, so there is nothing to simulate again.")
        key = _keys(asked.episode, grade)(name)
        if (folder := self._store.get(key)) is not None:
            return folder
        if not start:
            raise NoWaves("These waves were not made yet: the page's waves tab makes them.")
        with self._lock:
            when, why = self._failed.get(key, (0.0, ""))
            if why and time.monotonic() - when < _REMEMBERED_SECONDS:
                raise NoWaves(why)
            if self._busy == key:
                return self._progress
            if self._busy is not None:
                return "Another test is being simulated; this one comes after it."
            self._busy, self._progress = key, "The problem is looked for."
        threading.Thread(target=self._make, args=(key, asked, grade, name), daemon=True).start()
        return self._progress

    def _make(self, key: str, asked: Asked, grade: Grade, name: str) -> None:
        why = ""
        try:
            with self._store.making(key) as folder:
                self._into(folder, asked, grade, name)
        except (NoWaves, VcdError, ToolMissing, SandboxError, OSError) as error:
            why = str(error) or type(error).__name__
        except Exception as error:  # a thread's traceback reaches nobody who looks at the page
            why = f"The waves could not be made: {type(error).__name__}: {error}"
        finally:
            with self._lock:
                self._busy = None
                self._failed = {other: found for other, found in self._failed.items() if other != key}
                if why:
                    self._failed[key] = (time.monotonic(), why[:2000])

    def _into(self, folder: Path, asked: Asked, grade: Grade, name: str) -> None:
        test = chosen_test(grade, name)
        problem = self._find(asked.sources, asked.episode.problem_id)
        if problem is None:
            raise NoWaves(
                f"The problem {asked.episode.problem_id[:200]} is not here: it is not bundled, and what the run was "
                "made with is not on this machine."
            )
        if self._tools is None:
            self._tools = (make_sandbox(1), find_toolchain())
        sandbox, toolchain = self._tools
        for tool in ("iverilog", "vvp"):
            toolchain.tool(tool)
        submission = submission_of(asked.episode, problem, grade)
        notes = _unlike(problem, submission, grade, toolchain)
        simulator = WaveSimulator(sandbox, toolchain, timeout_seconds=TIMEOUT_SECONDS)
        job = WavesJob(problem, submission, grade, test)
        found = asyncio.run(make_waves(job, folder, simulator, self._say))
        found["candidate"]["notes"] += notes
        (folder / WAVES).write_text(json.dumps(found))

    def _say(self, sentence: str) -> None:
        with self._lock:
            self._progress = sentence


def submission_of(episode: Episode, problem: Problem, grade: Grade) -> Submission:
    """What was graded, read from the record as it was read then."""
    if episode.files:
        found = submit(problem, episode.files, whole=True)
    else:
        known = {extraction.value: extraction for extraction in Extraction}
        found = extract(problem, episode.text, known.get(grade.extraction, Extraction.FORGIVING))
    if found.unusable is not None:
        raise NoWaves(f"The answer has no files to simulate: {found.unusable}.")
    return found


def _unlike(problem: Problem, submission: Submission, grade: Grade, toolchain: Toolchain) -> list[str]:
    """What is not as it was for the grade, in words."""
    notes = []
    if job_seed(problem, submission) != grade.seed:
        notes.append("the problem, or what is read as the answer, is not as it was for the grade")
    tools = toolchain.versions(problem.harness.cocotb_version)
    if changed := [tool for tool, version in grade.tools.items() if tools.get(tool) != version]:
        notes.append(f"other versions than for the grade: {', '.join(sorted(changed))}"[:200])
    return [*notes, *(warning for warning in [fallback_warning(tools), weakness_warning(tools)] if warning)]


def _read(folder: Path) -> dict[str, dict[str, Any]]:
    """Of the candidate, and of the reference where there is one."""
    found = json.loads((folder / WAVES).read_bytes())
    has_reference = found["reference"] is not None
    return {which: {**found[which], "reference": has_reference} for which in _FILES if found[which] is not None}


def _keys(episode: Episode, grade: Grade) -> Callable[[str], str]:
    """The key of each test: by all that its simulation depends on, and by how the grade ended."""
    content = [FORMAT, grading_version(), episode.problem_id, episode.text, sorted(episode.files.items())]
    ended = [[test.name, test.item, test.passed, test.time_ns] for test in grade.tests]
    text = json.dumps([*content, grade.seed, ended, sorted(grade.tools.items())])
    graded = hashlib.sha256(text.encode("ascii"))

    def key(name: str) -> str:
        of_test = graded.copy()
        of_test.update(json.dumps(name).encode("ascii"))
        return of_test.hexdigest()[:32]

    return key
