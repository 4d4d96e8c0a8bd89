"""The owner's side of a server in a process of its own: start it, know whether it lives, end it."""

import contextlib
import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from rtl_agent.backends.engine.registry import default_threads
from rtl_agent.backends.server.process import ServerSettings

NOT_FOUND = 404  # final for every kind of request; 5xx and 410 would be tried again


class DeadServerResponder:
    def __init__(self, host: str, port: int, sentence: str) -> None:
        body = json.dumps({"error": sentence, "category": "server"}).encode()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.send_response(NOT_FOUND)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_DELETE = answer

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer((host, port), Handler)
        self._server.daemon_threads = True
        look_again = (0.05,)  # seconds until it sees that it is to end
        threading.Thread(target=self._server.serve_forever, args=look_again, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


START_SECONDS = 180.0  # importing torch takes 7 s on two loaded cores, and more than a minute from a cold disk
END_SECONDS = 10.0
LOG = "server.log"
TAIL_LINES = 15


class ServerDied(Exception):
    """The server process is gone; the message has the last lines of its log."""


class EmbeddedServer:
    """Started by a thread of its own that then waits for it: the kernel's parent-death signal follows that thread, and
    a server that dies by itself gets a responder on its port that says so."""

    def __init__(self, settings: ServerSettings) -> None:
        self._settings = replace(settings, owner=os.getpid())
        self.log = Path(settings.state) / LOG
        self.port = 0
        self._process: subprocess.Popen[str] | None = None
        self._closing = False
        self._responder: DeadServerResponder | None = None
        self._up, self._down = threading.Event(), threading.Event()
        self.died: str | None = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._live, name="embedded server", daemon=True)

    @property
    def pid(self) -> int:
        return self._process.pid if self._process else 0

    def start(self) -> None:
        """Returns when the server answers."""
        self._thread.start()
        if not self._up.wait(START_SECONDS):
            self.close()
            raise ServerDied(f"the embedded server was not ready after {START_SECONDS:.0f} s.{self._tail()}")
        if self._error:
            raise self._error
        if self.died:
            raise ServerDied(self.died)

    def check(self) -> None:
        if self.died:
            raise ServerDied(self.died)

    def _live(self) -> None:
        try:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            with self.log.open("ab") as log:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "rtl_agent.backends.server.process"],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    text=True,
                    start_new_session=True,  # Ctrl-C is for the owner, which then ends the server in order
                    env=self._environment(),
                )
            self._run(self._process)
        except Exception as error:
            self._error = error
        finally:
            self._up.set()
            self._down.set()

    def _run(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin
        assert process.stdout
        with contextlib.suppress(BrokenPipeError):  # it died at once: said below
            process.stdin.write(self._settings.line())
            process.stdin.flush()
        line = process.stdout.readline()
        if line:
            self.port = json.loads(line)["port"]
            self._up.set()
        code = process.wait()
        if self._closing:
            return
        how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
        self.died = f"the embedded server (process {process.pid}) ended {how}.{self._tail()}"
        if self.port:
            self._answer_for_the_dead()

    def _answer_for_the_dead(self) -> None:
        for _ in range(50):
            try:
                self._responder = DeadServerResponder(self._settings.host, self.port, self.died or "")
                return
            except OSError:
                time.sleep(0.1)

    def _environment(self) -> dict[str, str]:
        threads = self._settings.threads or default_threads(self._settings.models)
        return dict(os.environ) | {"OMP_NUM_THREADS": str(threads)}

    def _tail(self) -> str:
        try:
            lines = self.log.read_text(errors="replace").splitlines()[-TAIL_LINES:]
        except OSError:
            return ""
        return f" The end of its log, {self.log}:\n" + "\n".join(lines) if lines else f" Its log, {self.log}, is empty."

    def close(self) -> None:
        """Asks it to end, and ends it. Safe to call again."""
        self._closing = True
        if self._responder:
            self._responder.close()
            self._responder = None
        process = self._process
        if process is None or process.poll() is not None:
            return
        if process.stdin:
            process.stdin.close()
        if not self._down.wait(END_SECONDS):
            process.kill()
            self._down.wait()
