"""A warm box: a harness's Python and a simulator that have started already, for one job after another."""

import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from rtl_agent.grading.box_worker import BoxWorker, WorkerFailed, WorkerProgram
from rtl_agent.grading.channel import Channel, Message, open_channel
from rtl_agent.grading.workspace import PROBE, PROBE_INSIDE
from rtl_agent.sandbox import MIB, BoxSpec, Mount, Sandbox, SandboxError
from rtl_agent.toolchain import Toolchain

VPI_INSIDE = "/opt/rtl-agent/vpi"
GRACE_SECONDS = 20.0  # for the warm harness to kill a job and answer
MOST_JOBS = 500  # then a new box: whatever a thousand forks leave behind is gone with the old one


@dataclass(frozen=True)
class WarmAnswer:
    """How a job's process ended, and what came over the channel meanwhile."""

    ended: str  # "exited", "wall-time"
    exit_code: int
    output: str
    cpu_seconds: float
    wall_seconds: float
    messages: list[Message]


class WarmBox:
    """One job at a time. After any fault it is `broken`, and to be closed."""

    def __init__(self, sandbox: Sandbox, toolchain: Toolchain, cocotb_version: str) -> None:
        self._sandbox, self._toolchain, self.cocotb_version = sandbox, toolchain, cocotb_version
        self._stack = AsyncExitStack()
        self._worker: BoxWorker | None = None
        self._jobs = 0
        self._tools = toolchain.fingerprint()
        self.broken = False

    @property
    def outdated(self) -> bool:
        """A tool was upgraded since this box started."""
        return self._tools != self._toolchain.fingerprint()

    async def start(self) -> None:
        """Open the box and wait until both Pythons are ready."""
        self._channel: Channel = self._stack.enter_context(open_channel())
        try:
            self._worker = BoxWorker(self._sandbox, self._program())
            await self._worker.start()
        except WorkerFailed as error:
            await self.aclose()
            raise SandboxError(f"the warm harness did not start: {error}") from error
        except BaseException:
            await self.aclose()
            raise

    def _program(self) -> WorkerProgram:
        mounts = (
            *self._toolchain.mounts(self.cocotb_version),
            Mount(PROBE, PROBE_INSIDE),
            Mount(self._toolchain.warm_start(), VPI_INSIDE),
        )
        spec = BoxSpec(
            mounts, writable=("/code", "/src", "/rundir"), links=self._toolchain.links(), disk_bytes=256 * MIB
        )
        env = {
            **self._toolchain.env(self.cocotb_version),
            "HOME": "/tmp",
            "LANG": "C.UTF-8",
            "PYTHONHASHSEED": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONSAFEPATH": "1",
        }
        channel, python = self._channel.far_fd, env["RTL_AGENT_PYTHON"]
        places = json.dumps({place.path: place.mode for place in spec.places})

        def argv(control: int) -> list[str]:
            return [python, f"{PROBE_INSIDE}/rtl_agent_warm.py", str(control), str(channel), VPI_INSIDE, places]

        return WorkerProgram(spec, argv, env, pass_fds=(channel,))

    async def run(self, job: Mapping[str, Any]) -> WarmAnswer:
        """Run one job. SandboxError if the box does not live up to it."""
        assert self._worker is not None
        self._channel.take()
        self._jobs += 1
        try:
            answer = await self._worker.ask(job, job["wall_seconds"] + GRACE_SECONDS)
        except WorkerFailed as error:
            self.broken = True
            raise SandboxError(f"the warm box failed: {error}") from error
        except BaseException:
            self.broken = True
            raise
        if "gone" in answer or answer.get("spent") or self._jobs >= MOST_JOBS:
            self.broken = True
        if "gone" in answer:
            raise SandboxError(f"the warm box failed: {answer['gone']}")
        return WarmAnswer(
            ended=answer["ended"],
            exit_code=answer["exit"],
            output=answer["said"],
            cpu_seconds=answer["cpu"],
            wall_seconds=answer["wall"],
            messages=self._channel.take(),
        )

    async def aclose(self) -> None:
        self.broken = True
        if self._worker is not None:
            await self._worker.aclose()
        await self._stack.aclose()
