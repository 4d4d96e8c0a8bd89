"""An agent's workspace: a box laid out as CVDP does it, with everything but the harness, opened when it is needed."""

import json
import shlex
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rtl_agent.envs.episode_config import EpisodeConfig, Level
from rtl_agent.grading import Submission, submit
from rtl_agent.grading.submission import MAX_FILE_BYTES
from rtl_agent.problems import Problem
from rtl_agent.sandbox import (
    MIB,
    Box,
    BoxSpec,
    CommandResult,
    Ended,
    Limits,
    Mount,
    Sandbox,
    SandboxError,
    make_sandbox,
)
from rtl_agent.toolchain import Toolchain, find_toolchain

CODE = "/code"
RUNDIR = "/code/rundir"
MOST_WORKSPACES = 64  # open at once in this process; an idle one is two processes of 10 MB
_DIRECTORIES = ("/code/docs", "/code/rtl", "/code/verif", RUNDIR)
_BYTES_OF_A_CHARACTER = 4


@dataclass(frozen=True)
class Workshop:
    """Where workspaces are opened and what is in them. Not the grader's sandbox: an episode holds its box for long."""

    sandbox: Sandbox
    toolchain: Toolchain


@cache
def workshop() -> Workshop:
    """The one of this process."""
    return Workshop(make_sandbox(MOST_WORKSPACES), find_toolchain())


class Workspace:
    """One agent's. Files stay from command to command, processes do not."""

    def __init__(self, where: Workshop, problem: Problem, config: EpisodeConfig) -> None:
        self._where, self._problem, self._config = where, problem, config
        self._level = Level(config.level)
        self._stack = AsyncExitStack()
        self._box: Box | None = None
        self._closed = False
        self.cpu_seconds = 0.0  # of all commands
        self.timed_out = 0  # commands, those of lint and simulate too

    @property
    def is_open(self) -> bool:
        return self._box is not None

    @property
    def cpu_left(self) -> float:
        return self._config.episode_cpu_seconds - self.cpu_seconds

    async def run(self, argv: Sequence[str], *, cwd: str = CODE, seconds: float | None = None) -> CommandResult:
        """One command, its stderr within its stdout. `seconds` are those that the episode still has."""
        # An agent can make a directory that nobody can enter: that is its own doing, and no fault of the sandbox.
        script = f'cd {shlex.quote(cwd)} && exec "$@" 2>&1'
        return await self.execute(["sh", "-c", script, "sh", *argv], seconds=seconds)

    async def execute(
        self,
        argv: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        seconds: float | None = None,
        output_bytes: int | None = None,
        keep_bytes: int | None = None,
    ) -> CommandResult:
        """One command in /, for a framework with tools of its own: with variables beside the workspace's, and input."""
        config = self._config
        wall = config.command_seconds if seconds is None else min(config.command_seconds, max(seconds, 0.1))
        box = await self.open()
        result = await box.run(
            argv,
            env={**self._env(), **(env or {})},
            cwd="/",
            stdin=stdin,
            limits=Limits(
                wall_seconds=wall,
                cpu_seconds=min(config.command_cpu_seconds or config.command_seconds, max(self.cpu_left, 1.0)),
                all_cpu_seconds=max(self.cpu_left, 1.0),
                file_bytes=config.file_bytes,
                output_bytes=output_bytes or config.output_bytes,
                keep_bytes=keep_bytes or max(MIB, 2 * _BYTES_OF_A_CHARACTER * config.shown_characters),
            ),
        )
        self.cpu_seconds += result.cpu_seconds
        self.timed_out += result.ended is Ended.WALL_TIME
        return result

    async def take_out(self) -> Submission:
        """The problem's targets as they stand: regular files through no link, none larger than the grader takes.

        A given target that the agent deleted is not there when it is graded either: as in CVDP's agentic flow, the
        state of the workspace is the answer.
        """
        if self._closed:
            raise SandboxError("the workspace is closed")
        if self._box is None:  # never touched
            return submit(self._problem, self._problem.given)
        files: dict[str, str] = {}
        refused: list[str] = []
        for target in self._problem.targets:
            try:
                found = await self._box.read(f"{CODE}/{target}", max_bytes=MAX_FILE_BYTES)
            except FileNotFoundError:
                continue
            except ValueError as error:
                refused.append(str(error).removeprefix(f"{CODE}/"))
                continue
            files[target] = found.decode(errors="replace")
        taken = submit(self._problem, files, whole=True)
        reason = "; ".join(refused) if refused and not files else taken.unusable
        return Submission(taken.files, (*refused, *taken.refused), reason)

    async def open(self) -> Box:
        """The box, made at the first call."""
        if self._closed:
            raise SandboxError("the workspace is closed")
        if self._box is None:
            box = await self._stack.enter_async_context(self._where.sandbox.open(self._spec()))
            try:
                if self._closed:  # while it was being opened
                    raise SandboxError("the workspace is closed")
                await self._lay_out(box)
            except BaseException:
                await self.close()
                raise
            self._box = box
        return self._box

    async def close(self) -> None:
        """Ends every process in it. May be called at any time, and again."""
        self._closed = True
        self._box = None
        await self._stack.aclose()

    def _spec(self) -> BoxSpec:
        cocotb_version, config = self._problem.harness.cocotb_version, self._config
        tools = self._where.toolchain
        return BoxSpec(
            mounts=tools.mounts(cocotb_version) if self._level.has_tools else masks(),
            writable=(CODE, "/src", "/rundir") if self._level is Level.OPEN else (CODE,),
            links=tools.links() if self._level.has_tools else {},
            ipc=True,
            disk_bytes=config.disk_bytes,
            memory_bytes=config.memory_bytes,
            processes=config.processes,
        )

    def _env(self) -> dict[str, str]:
        fixed = {"COCOTB_RANDOM_SEED": "0", "RANDOM_SEED": "0", "PYTHONHASHSEED": "0"}  # so that episodes repeat
        cocotb_version = self._problem.harness.cocotb_version
        path = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
        tools = self._where.toolchain.env(cocotb_version) if self._level.has_tools else path
        return {**fixed, "HOME": RUNDIR, "LANG": "C.UTF-8", "TERM": "dumb", "PYTHONDONTWRITEBYTECODE": "1", **tools}

    async def _lay_out(self, box: Box) -> None:
        problem = self._problem
        await box.run(["mkdir", "-p", *_DIRECTORIES])
        await box.write(f"{CODE}/prompt.json", json.dumps({"prompt": problem.prompt}).encode())
        files = {f"{CODE}/{path}": text for path, text in problem.context.items()}
        if self._level is Level.OPEN:
            files |= {f"/{path}": text for path, text in problem.harness.files.items() if path.startswith("src/")}
            await box.run(["mkdir", "-p", "/rundir/harness"])
        for path, text in files.items():
            await box.write(path, text.encode(errors="replace"))


# What hides compilers, simulators and synthesisers of the system's /usr from a workspace that must not have them.
_HIDDEN = Path(__file__).parent / "hidden"
_NOTICE = _HIDDEN / "notice.sh"  # says why, and ends with 127
_EMPTY = _HIDDEN / "empty"
_PROGRAMS = ("iverilog*", "vvp*", "yosys*", "verilator*", "ghdl*", "nvc", "slang*", "surelog*", "cvc64", "sby")
_TREES = ("lib/ivl", "lib/*/ivl", "share/yosys", "share/verilator", "lib/ghdl")
_PREFIXES = (Path("/usr"), Path("/usr/local"))


@cache
def masks() -> tuple[Mount, ...]:
    """A mount over each. A PATH without them would not do: /usr is in every box, and an agent can name any file."""
    found: dict[str, Path] = {}
    for prefix in _PREFIXES:
        for pattern in _PROGRAMS:
            found |= {str(file.resolve()): _NOTICE for file in (prefix / "bin").glob(pattern) if file.is_file()}
        for pattern in _TREES:
            found |= {str(tree.resolve()): _EMPTY for tree in prefix.glob(pattern) if tree.is_dir()}
    return tuple(Mount(source, target) for target, source in sorted(found.items()) if target.startswith("/usr/"))
