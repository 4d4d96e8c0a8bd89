"""Where models live: a spec gives the real tinker.ServiceClient, pointed at the right place.

embedded            our own server in a process of its own on a loopback port, ended with its owner
tinker              Thinking Machines' cloud, with the key in TINKER_API_KEY
http://host:port    any Tinker-compatible server, for example `rtl-agent serve`
"""

import asyncio
import contextlib
import logging
import os
import queue
import tempfile
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self, TypeVar
from urllib.parse import urlsplit

from rtl_agent.backends.adapters import Adapter, adopt
from rtl_agent.backends.engine.registry import EngineOptions
from rtl_agent.backends.server.embedded import EmbeddedServer
from rtl_agent.backends.server.process import KEY_PREFIX, ServerSettings, new_key
from rtl_agent.backends.server.sessions import SILENT_SECONDS

WATCH_SECONDS = 1.0
# For the first answers of a server, all together: with the imports before it, a wrong host is reported within 15 s.
ANSWER_SECONDS = 10.0
T = TypeVar("T")


if TYPE_CHECKING:
    import tinker

EMBEDDED = "embedded"
CLOUD = "tinker"
KEY_VARIABLE = "TINKER_API_KEY"
SDK_PREFIXES = (KEY_PREFIX, "eyJ")  # the SDK refuses any other; the second is a JSON web token's


class CannotConnect(Exception):
    """The sentence says what is missing and what to do."""


class Connection:
    """Carries a ServiceClient; closing it ends an embedded server. `base_url` is None for the cloud's own address."""

    def __init__(self, base_url: str | None, api_key: str, server: EmbeddedServer | None, state: object = None) -> None:
        import tinker

        self.base_url = base_url
        self.api_key = api_key
        self.server = server
        self._state = state  # a temporary directory lives as long as the connection
        self.service: tinker.ServiceClient = tinker.ServiceClient(base_url=base_url, api_key=api_key)
        logging.getLogger("asyncio").addFilter(is_not_of_an_abandoned_request)  # once, however often it is added
        self._patience: _Patience | None = None
        self._capabilities: tinker.types.GetServerCapabilitiesResponse | None = None  # asked for once
        self._silent = False  # nobody would hear a goodbye

    async def capabilities(self) -> "tinker.types.GetServerCapabilitiesResponse":
        """Which models the server has. CannotConnect if it accepts connections, and then says nothing more."""
        if self._capabilities is None:
            self._capabilities = await self._ask_capabilities()
        return self._capabilities

    async def _ask_capabilities(self) -> "tinker.types.GetServerCapabilitiesResponse":
        if self._patience is None:
            return await self.service.get_server_capabilities_async()
        try:  # not the asynchronous call: the SDK's tasks outlive their cancellation by minutes
            return await asyncio.to_thread(self._patience.wait, self.service.get_server_capabilities)
        except CannotConnect:
            self._silent = True
            raise

    def check(self) -> None:
        """Raises ServerDied, with the end of the server's log, if an embedded server is gone."""
        if self.server:
            self.server.check()

    def adopt(self, adapter: Adapter) -> str:
        """The tinker:// path under which an embedded server has the adapter from now on."""
        if self.server is None:
            raise CannotConnect(
                f"{adapter.name} is a folder on this machine, which only backend=embedded reads: give a tinker:// path "
                "of that server"
            )
        return adopt(adapter, self.server.log.parent)

    def close(self, status: Literal["success", "errored"] = "success") -> None:
        """Ends the session, so that a server frees its models; an embedded server ends as well. Safe to call again."""
        if not self._silent and not (self.server and self.server.died):
            self._say_goodbye(status)
        if self.server:
            self.server.close()
        if isinstance(self._state, tempfile.TemporaryDirectory):
            self._state.cleanup()

    def _say_goodbye(self, status: Literal["success", "errored"]) -> None:
        """Stops the SDK's heartbeat. A server that does not answer frees a silent client by itself."""
        with contextlib.suppress(Exception):
            self.service.close(status).result(timeout=5)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close("errored" if error else "success")


def is_not_of_an_abandoned_request(record: logging.LogRecord) -> bool:
    """Ctrl-C cancels samples, the server then refuses them, and asyncio logs a traceback for each, because nobody has
    asked for the result. Whoever still waits for a request gets its error all the same."""
    import tinker

    error = record.exc_info[1] if record.exc_info else None
    return not (isinstance(error, tinker.TinkerError) and "was never retrieved" in record.getMessage())


def connect(
    spec: str = EMBEDDED,
    *,
    api_key: str | None = None,
    models: Sequence[str] = (),
    state: Path | None = None,
    device: str = "cpu",
    threads: int | None = None,
    engine: str | None = None,
    dtype: str | None = None,
    memory: float | None = None,
    silent_seconds: float = SILENT_SECONDS,
) -> Connection:
    """`models` and what follows are for an embedded server: models to load at its start, where checkpoints are kept
    (a temporary directory if not given), the torch device, and what is decided by the models if not given: the number
    of threads, the engine, its type of numbers, and the GB of memory that a micro-batch may take."""
    if spec == CLOUD:
        return _cloud(_cloud_key(api_key))
    os.environ.setdefault("TINKER_TELEMETRY", "0")
    if spec == EMBEDDED:
        options = EngineOptions(device, threads, dtype, memory)
        return _embedded(api_key, models, state, options, engine, silent_seconds)
    parts = urlsplit(spec)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise CannotConnect(
            f"{spec!r} is not a backend: use embedded, tinker, or the URL of a server (http://host:port)"
        )
    key = api_key or os.environ.get(KEY_VARIABLE)
    if not key:
        raise CannotConnect(f"{spec} needs a key: set {KEY_VARIABLE} to the one that the server printed at its start")
    _check_prefix(key)
    return _elsewhere(spec.rstrip("/"), key)


def _elsewhere(url: str, key: str) -> Connection:
    patience = _Patience(url)
    status = patience.wait(lambda: _first_answer(url, key))
    if status in (401, 403):
        raise CannotConnect(f"{url} refuses the key: set {KEY_VARIABLE} to the one the server printed at its start")
    if status >= 400:
        raise CannotConnect(f"{url} is not a Tinker-compatible server: its client/config answered {status}")
    connection = patience.wait(lambda: Connection(url, key, None))
    connection._patience = patience
    return connection


def _cloud(key: str) -> Connection:
    """Other answers than a refusal are the SDK's to judge."""
    from tinker.lib.base_url import resolve_base_url

    patience = _Patience(resolve_base_url())
    if patience.wait(lambda: _first_answer(patience.url, key)) in (401, 403):
        raise CannotConnect(
            f"Tinker's cloud ({patience.url}) refuses the key in {KEY_VARIABLE}: make another one at "
            "https://tinker-console.thinkingmachines.ai"
        )
    connection = patience.wait(lambda: Connection(None, key, None))
    connection._patience = patience
    return connection


def _first_answer(url: str, key: str) -> int:
    """The HTTP status. The SDK tries a server that is not there for five minutes before it says so."""
    import httpx

    body, headers = {"sdk_version": version("tinker")}, {"X-API-Key": key}
    try:
        asked = httpx.post(f"{url}/api/v1/client/config", json=body, headers=headers, timeout=ANSWER_SECONDS)
    except (httpx.HTTPError, httpx.InvalidURL, OSError, ValueError) as error:  # ValueError: a key that is no header
        raise CannotConnect(f"no server answers at {url} ({error}): is it running, and is the port right?") from error
    return asked.status_code


class _Patience:
    """How long a server may take for its first answers, whatever they are."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._ends = time.monotonic() + ANSWER_SECONDS

    @property
    def left(self) -> float:
        return max(0.0, self._ends - time.monotonic())

    def wait(self, work: Callable[[], T]) -> T:
        """In a thread: name resolution, or an answer byte by byte, can outlast every timeout of an HTTP client."""
        done: queue.SimpleQueue[Callable[[], T]] = queue.SimpleQueue()

        def run() -> None:
            try:
                result = work()
                done.put(lambda: result)
            except Exception as error:
                failed = error
                done.put(lambda: _raised(failed))

        threading.Thread(target=run, name="connect", daemon=True).start()
        try:
            outcome = done.get(timeout=self.left)
        except queue.Empty:
            raise self.exhausted() from None
        return outcome()

    def exhausted(self) -> CannotConnect:
        return CannotConnect(
            f"{self.url} did not answer within {ANSWER_SECONDS:g} s: is the server running, and can this machine reach "
            "it?"
        )


def _raised(error: Exception) -> NoReturn:
    raise error


def _cloud_key(api_key: str | None) -> str:
    key = api_key or os.environ.get(KEY_VARIABLE)
    if not key:
        raise CannotConnect(
            f"Tinker's cloud needs a key: create one at https://tinker-console.thinkingmachines.ai and set "
            f"{KEY_VARIABLE} to it. Without a key, backend=embedded trains small models on this machine."
        )
    _check_prefix(key)
    return key


def _check_prefix(key: str) -> None:
    if not key.startswith(SDK_PREFIXES):
        raise CannotConnect(f"{KEY_VARIABLE} is not a Tinker key: one starts with {KEY_PREFIX}")


def _embedded(
    api_key: str | None,
    models: Sequence[str],
    state: Path | None,
    options: EngineOptions,
    engine: str | None,
    silent_seconds: float,
) -> Connection:
    kept = state if state is not None else tempfile.TemporaryDirectory(prefix="rtl-agent-")
    directory = kept if isinstance(kept, Path) else Path(kept.name)
    key = api_key or new_key()
    settings = ServerSettings(
        key=key,
        state=str(directory.absolute()),
        owner=os.getpid(),
        models=tuple(models),
        device=options.device,
        threads=options.threads,
        engine=engine,
        dtype=options.dtype,
        memory=options.memory,
        silent_seconds=silent_seconds,
    )
    server = EmbeddedServer(settings)
    server.start()
    return Connection(f"http://{settings.host}:{server.port}", key, server, kept)


async def while_alive(check: Callable[[], None], work: Coroutine[Any, Any, T]) -> T:
    """The SDK tries for minutes to reach a server that is gone: `check` looks at its process instead, and raises."""
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait({task}, timeout=WATCH_SECONDS))[0]:
            check()
        return await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
