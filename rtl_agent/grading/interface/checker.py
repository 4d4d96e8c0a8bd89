"""The interface stage: one box with a pyslang worker in it, asked over a private socket, replaced when it fails."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rtl_agent.grading.box_worker import BoxWorker, WorkerFailed, WorkerProgram
from rtl_agent.grading.interface.actual import ActualInterface, parse_answer
from rtl_agent.grading.interface.compare import InterfaceReport, compare, join
from rtl_agent.grading.interface.expected import ExpectedInterface
from rtl_agent.sandbox.protocol import MIB, BoxSpec, Mount, Sandbox

WORKER = Path(__file__).with_name("worker.py")
INSIDE = "/code"
HDL = (".sv", ".v", ".svh", ".vh")
MAX_ANSWER = 16 * MIB
MAX_TEXT = 16 * MIB  # of all files together; more is not read


@dataclass(frozen=True)
class Reading:
    """What was read of a design; `note` says why where nothing was."""

    interface: ActualInterface | None
    note: str = ""


class SlangWorker:
    """A box with pyslang in it, asked over a private socket, replaced when it fails. One request at a time.

    Args:
        sandbox: holds one slot of it while the worker lives.
        mounts: what brings the interpreter into the box.
        python: the interpreter with pyslang, as the box sees it.
        programs: files of the box beside worker.py, the last of which is started; none: worker.py is.
        deadline: seconds for one answer.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        mounts: Sequence[Mount],
        python: str,
        *,
        programs: Sequence[Path] = (),
        deadline: float = 10.0,
    ) -> None:
        self._deadline = deadline
        self._turn = asyncio.Lock()
        self._sandbox, self._mounts, self._python = sandbox, tuple(mounts), python
        self._programs = tuple(programs)
        self._worker = BoxWorker(sandbox, self._program())

    def _program(self) -> WorkerProgram:
        programs = (WORKER, *self._programs)
        started = f"{INSIDE}/{programs[-1].name}"
        return WorkerProgram(
            BoxSpec(self._mounts, disk_bytes=16 * MIB, processes=16),
            lambda fd: [self._python, "-I", started, str(fd)],
            env={"PATH": "/usr/bin:/bin"},
            files={f"{INSIDE}/{program.name}": program.read_bytes() for program in programs},
            keep_bytes=4096,
            max_answer=MAX_ANSWER,
        )

    async def ask(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        """The answer, or WorkerFailed with a sentence. A request has `files`, path -> text."""
        if sum(map(len, request["files"].values())) > MAX_TEXT:
            raise WorkerFailed(f"the files have more than {MAX_TEXT // MIB} MiB")
        async with self._turn:
            try:
                answer = await self._ask({**request, "deadline": self._deadline * 0.9})
            except BaseException:
                await self._worker.aclose()  # an answer that nobody waits for would be taken for the next one's
                raise
        if "error" in answer:
            raise WorkerFailed(str(answer["error"]))
        return answer

    async def aclose(self) -> None:
        async with self._turn:
            await self._worker.aclose()

    async def _ask(self, request: Mapping[str, Any]) -> Mapping[str, Any]:
        if not self._worker.alive:
            await self._worker.aclose()
            self._worker = BoxWorker(self._sandbox, self._program())
            await self._worker.start()
        return await self._worker.ask(request, self._deadline)


class InterfaceChecker:
    """Reads interfaces of designs, and never decides an outcome."""

    def __init__(self, sandbox: Sandbox, mounts: Sequence[Mount], python: str, *, deadline: float = 10.0) -> None:
        """`python` is the interpreter with pyslang, as the box sees it; `mounts` bring it there."""
        self._slang = SlangWorker(sandbox, mounts, python, deadline=deadline)

    async def check(self, expected: Sequence[ExpectedInterface], files: Mapping[str, str]) -> InterfaceReport:
        """What the design's files have of what a harness needs. `files` are the workspace's: path -> text."""
        if not expected:
            return InterfaceReport(None, note="the harness does not tell which interface it needs")
        reports = []
        for one in expected:
            reading = await self.read(files, one.top)
            reports.append(compare(one, reading.interface, note=reading.note))
        return join(reports)

    async def read(self, files: Mapping[str, str], top: str) -> Reading:
        """The interface of `top`, within the deadline."""
        sources = {path: text for path, text in files.items() if path.endswith(HDL)}
        try:
            return Reading(parse_answer(top, await self._slang.ask({"files": sources, "top": top})))
        except WorkerFailed as error:
            return Reading(None, str(error))
        except ValueError as error:  # an answer of the wrong form: whoever gave it is not asked again
            await self.aclose()
            return Reading(None, str(error))

    async def aclose(self) -> None:
        await self._slang.aclose()
