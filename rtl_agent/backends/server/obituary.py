"""Answers on the port of a server that died, so that the SDK raises at once, with the cause.

Left alone, the SDK takes a refused connection for a bad network: a submission is tried again for five minutes, a result
for ever.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

NOT_FOUND = 404  # final for every kind of request; 5xx and 410 would be tried again


class Obituary:
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
        threading.Thread(target=self._server.serve_forever, name="obituary", daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
