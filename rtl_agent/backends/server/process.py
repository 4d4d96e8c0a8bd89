"""The server's side of an embedded server: a process that ends with its owner. Started by `embedded`.

The first line of its input is the settings (the key is not on the command line, where anybody could read it). The input
stays open: its end means that the owner is gone, even if it was killed. The first line of the output is the port.
"""

import asyncio
import ctypes
import json
import logging
import os
import secrets
import signal
import sys
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

from rtl_agent.backends.engine.contract import EngineError
from rtl_agent.backends.server.sessions import SILENT_SECONDS

KEY_PREFIX = "tml-"


def new_key() -> str:
    return KEY_PREFIX + secrets.token_urlsafe(24)


PR_SET_PDEATHSIG = 1


@dataclass(frozen=True)
class ServerSettings:
    key: str
    state: str
    owner: int
    models: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int = 0
    device: str = "cpu"
    threads: int | None = None  # by the models' size
    engine: str | None = None
    dtype: str | None = None
    memory: float | None = None
    silent_seconds: float = SILENT_SECONDS

    def line(self) -> str:
        return json.dumps(asdict(self)) + "\n"


def die_with(owner: int) -> None:
    """The kernel kills us when the thread that started us ends; the pipe covers what the kernel does not."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != owner:
        sys.exit("the owner was gone before the server had started")


def main() -> None:
    fields = json.loads(sys.stdin.readline())
    settings = ServerSettings(**(fields | {"models": tuple(fields["models"])}))
    die_with(settings.owner)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s", stream=sys.stderr)
    try:
        asyncio.run(_serve(settings))
    except EngineError as error:
        sys.exit(str(error))


async def _serve(settings: ServerSettings) -> None:
    from rtl_agent.backends.engine.registry import EngineByModel, EngineOptions
    from rtl_agent.backends.server.app import serve

    loop, stop = asyncio.get_running_loop(), asyncio.Event()

    def watch_owner() -> None:
        while os.read(sys.stdin.fileno(), 1):
            pass
        loop.call_soon_threadsafe(stop.set)

    threading.Thread(target=watch_owner, daemon=True).start()
    options = EngineOptions(settings.device, settings.threads, settings.dtype, settings.memory)
    engine = EngineByModel(settings.models, options, settings.engine)
    for name in settings.models:  # a model that cannot be read is better said now
        engine.base_snapshot(name).close()
    await serve(
        engine,
        key=settings.key,
        state=Path(settings.state),
        host=settings.host,
        port=settings.port,
        ready=lambda port: print(json.dumps({"port": port}), flush=True),  # noqa: T201  # what the owner waits for
        stop=stop,
        silent_seconds=settings.silent_seconds,
    )


if __name__ == "__main__":
    main()
