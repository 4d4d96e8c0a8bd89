"""An OpenAI-compatible server on loopback whose answers a test writes down."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Body = Mapping[str, Any]


@dataclass(frozen=True)
class Told:
    """What the server answers."""

    text: str = ""
    status: int = 200
    finish_reason: str = "stop"
    error: object = None
    raw: str | None = None  # instead of anything that makes sense
    headers: Mapping[str, str] = field(default_factory=dict)
    counts: bool = True  # says how many tokens it took

    def body(self) -> str:
        if self.raw is not None:
            return self.raw
        if self.status != 200:
            return json.dumps({"error": self.error})
        choice = {"index": 0, "message": {"role": "assistant", "content": self.text}}
        usage = {"usage": {"prompt_tokens": 11, "completion_tokens": 7}} if self.counts else {}
        return json.dumps({"choices": [{**choice, "finish_reason": self.finish_reason}], **usage})


@dataclass
class Scripted:
    answer: Callable[[Body], Told]
    url: str = ""
    requests: list[Body] = field(default_factory=list)
    keys: set[str | None] = field(default_factory=set)


@contextmanager
def scripted(answer: Callable[[Body], Told]) -> Iterator[Scripted]:
    script = Scripted(answer)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            script.keys.add(self.headers.get("Authorization"))
            script.requests.append(body)
            told = (
                script.answer(body) if self.path == "/v1/chat/completions" else Told(status=404, error="no such path")
            )
            content = told.body().encode()
            self.send_response(told.status)
            for name, value in {**told.headers, "Content-Length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    script.url = f"http://127.0.0.1:{server.server_port}/v1"
    try:
        yield script
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
