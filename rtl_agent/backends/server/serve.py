"""Run a server until it is told to stop."""

import asyncio
import logging
import signal
import threading
from collections.abc import Callable
from pathlib import Path

from aiohttp import web

from rtl_agent.backends.engine.contract import Engine
from rtl_agent.backends.server.checkpoint_routes import CheckpointRoutes
from rtl_agent.backends.server.client_routes import ClientRoutes
from rtl_agent.backends.server.http import application
from rtl_agent.backends.server.key import KEY_PREFIX
from rtl_agent.backends.server.openai_routes import OpenAIRoutes
from rtl_agent.backends.server.sampling_routes import SamplingRoutes
from rtl_agent.backends.server.service import Service
from rtl_agent.backends.server.sessions import SILENT_SECONDS
from rtl_agent.backends.server.training_routes import TrainingRoutes


async def serve(
    engine: Engine,
    *,
    key: str,
    state: Path,
    host: str = "127.0.0.1",
    port: int = 0,
    ready: Callable[[int], None] = lambda port: None,
    stop: asyncio.Event | None = None,
    silent_seconds: float = SILENT_SECONDS,
) -> None:
    """Until `stop`, SIGINT or SIGTERM. Port 0 takes a free one; `ready` is told which."""
    if not key.startswith(KEY_PREFIX):
        raise ValueError(f"a key must start with {KEY_PREFIX}: the SDK refuses any other")
    stop = stop or asyncio.Event()
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
    service = Service(engine, state, silent_seconds=silent_seconds)
    groups = (
        ClientRoutes(service),
        TrainingRoutes(service),
        SamplingRoutes(service),
        CheckpointRoutes(service),
        OpenAIRoutes(service),
    )
    app = application([route for group in groups for route in group.routes()], key)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    site = web.TCPSite(runner, host, port)
    sweeping = asyncio.create_task(service.sweep_forever())
    try:
        await site.start()
        bound = runner.addresses[0][1]
        logging.getLogger(__name__).info("listening on %s:%d", host, bound)
        ready(bound)
        await stop.wait()
    finally:
        sweeping.cancel()
        await runner.cleanup()
        service.close()
