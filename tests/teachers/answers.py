"""A real HTTP server that gives prepared answers, and keeps what it was asked."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.threads import serving_in_a_thread

Answer = Any | tuple[int, Any] | Callable[[Any], Any]
FIXTURES = Path(__file__).parent / "fixtures"


def fixture(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FIXTURES / f"{name}.json").read_text())
    return found


@contextmanager
def answering(answers: Mapping[str, Answer], asked: list[Any] | None = None) -> Iterator[str]:
    """By path: a JSON value, a status with one, or a function of the body that makes one of these."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            said = json.loads(body) if body else None
            if asked is not None:
                asked.append((self.path, said, dict(self.headers)))
            found = answers.get(self.path, (404, {"detail": "Not Found"}))
            if callable(found):
                found = found(said)
            status, content = found if isinstance(found, tuple) else (200, found)
            data = content if isinstance(content, bytes) else json.dumps(content).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _answer

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    with serving_in_a_thread(server):
        yield f"http://127.0.0.1:{server.server_port}"
