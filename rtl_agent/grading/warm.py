"""A warm box: a harness's Python and a simulator that have started already, for one job after another."""

import asyncio
import json
import socket
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from typing import Any

from rtl_agent.grading.channel import Channel, Message, open_channel
from rtl_agent.grading.workspace import PROBE, PROBE_INSIDE
from rtl_agent.sandbox import MIB, BoxSpec, CommandResult, Limits, Mount, Sandbox, SandboxError
from rtl_agent.toolchain import Toolchain

VPI_INSIDE = "/opt/rtl-agent/vpi"
START_SECONDS = 60.0  # 0.6 s on an idle machine
GRACE_SECONDS = 20.0  # for the warm harness to kill a job and answer
LIFE_SECONDS = 7 * 24 * 3600.0
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
        self._life: asyncio.Task[CommandResult] | None = None
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
        self._near, far = socket.socketpair()
        self._stack.callback(self._near.close)
        self._near.setblocking(False)
        self._life = asyncio.create_task(self._live(far))
        try:
            async with asyncio.timeout(START_SECONDS):
                await self._receive()
        except (TimeoutError, EOFError, OSError) as error:
            words = await self._last_words()
            await self.aclose()
            raise SandboxError(f"the warm harness did not start: {words or error}") from error
        except BaseException:
            await self.aclose()
            raise

    async def _live(self, far: socket.socket) -> CommandResult:
        cocotb_version = self.cocotb_version
        spec = BoxSpec(
            mounts=(
                *self._toolchain.mounts(cocotb_version),
                Mount(PROBE, PROBE_INSIDE),
                Mount(self._toolchain.warm_start(), VPI_INSIDE),
            ),
            writable=("/code", "/src", "/rundir"),
            links=self._toolchain.links(),
            disk_bytes=256 * MIB,
        )
        control, channel = far.fileno(), self._channel.far_fd
        try:
            async with self._sandbox.open(spec, pass_fds=(control, channel)) as box:
                far.close()
                limits = Limits(wall_seconds=LIFE_SECONDS, cpu_seconds=LIFE_SECONDS, keep_bytes=16384)
                env = {
                    **self._toolchain.env(cocotb_version),
                    "HOME": "/tmp",
                    "LANG": "C.UTF-8",
                    "PYTHONHASHSEED": "0",
                    "PYTHONDONTWRITEBYTECODE": "1",
                    "PYTHONSAFEPATH": "1",
                }
                program = [env["RTL_AGENT_PYTHON"], f"{PROBE_INSIDE}/rtl_agent_warm.py"]
                places = json.dumps({place.path: place.mode for place in spec.places})
                argv = [*program, str(control), str(channel), VPI_INSIDE, places]
                return await box.run(argv, env=env, limits=limits, pass_fds=(control, channel))
        finally:
            far.close()

    async def run(self, job: Mapping[str, Any]) -> WarmAnswer:
        """Run one job. SandboxError if the box does not live up to it."""
        self._channel.take()
        self._jobs += 1
        try:
            async with asyncio.timeout(job["wall_seconds"] + GRACE_SECONDS):
                await self._send(job)
                answer = await self._receive()
        except (TimeoutError, EOFError, OSError, ValueError) as error:
            self.broken = True
            raise SandboxError(f"the warm box failed: {await self._last_words() or error!r}") from error
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
        life, self._life = self._life, None
        if life is not None:
            life.cancel()
            with suppress(asyncio.CancelledError, SandboxError):
                await life
        await self._stack.aclose()

    async def _send(self, message: Mapping[str, Any]) -> None:
        data = json.dumps(message).encode()
        await asyncio.get_running_loop().sock_sendall(self._near, len(data).to_bytes(4, "big") + data)

    async def _receive(self) -> dict[str, Any]:
        size = int.from_bytes(await self._exactly(4), "big")
        answer = json.loads(await self._exactly(size))
        if not isinstance(answer, dict):
            raise ValueError("an answer that is no object")
        return answer

    async def _exactly(self, size: int) -> bytes:
        loop, data = asyncio.get_running_loop(), bytearray()
        while len(data) < size:
            chunk = await loop.sock_recv(self._near, min(1 << 20, size - len(data)))
            if not chunk:
                raise EOFError("the warm harness ended")
            data += chunk
        return bytes(data)

    async def _last_words(self) -> str:
        """What the warm harness printed before it ended, or why its box failed."""
        if self._life is None:
            return ""
        with suppress(TimeoutError, asyncio.CancelledError):
            try:
                done = await asyncio.wait_for(asyncio.shield(self._life), 2.0)
            except SandboxError as error:
                return str(error)
            return f"exit code {done.exit_code}: {(done.stderr or done.stdout).decode(errors='replace')[-600:]}"
        return ""
