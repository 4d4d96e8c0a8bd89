"""The web server behind the page: reads only, answers only whom it knows, and lets the browser run only our script."""

import gzip
import re
import secrets
import select
import socket
import sys
import time
import traceback
from functools import cache
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import Lock
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from rtl_agent.runs import RunError
from rtl_agent.toolchain import ToolMissing
from rtl_agent.view.data import Library, NotThere, as_json
from rtl_agent.view.waves import WaveService
from rtl_agent.waves.simulate import NoWaves
from rtl_agent.web.rules import is_loopback, own_names, same_key, url_of

STATIC = {"index.html": "text/html", "app.js": "text/javascript", "app.css": "text/css"}
WAVES = re.compile(r"runs/(?P<run>[^/]+)/rollouts/(?P<row>[0-9]{1,9})/waves(?P<file>/file)?")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Connection": "close",
}
METHODS = ("GET", "HEAD")
MOST_CONNECTIONS = 64
SECONDS_TO_ASK, SECONDS_TO_ANSWER = 15.0, 300.0  # a client that is slower is hung up on
WORTH_PACKING = 1 << 14  # bytes; the browser may be at the other end of a tunnel
BUSY = b"HTTP/1.0 503 Service Unavailable\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"


class Viewer(ThreadingHTTPServer):
    """Listens as soon as it is made. On an address that others can reach, `token` must come with the first request."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(
        self, library: Library, host: str = "127.0.0.1", port: int = 0, waves: WaveService | None = None
    ) -> None:
        self.library, self.host = library, host
        self.waves = waves or WaveService(library.problem)
        self.token = "" if is_loopback(host) else secrets.token_urlsafe(24)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._open: dict[Any, float] = {}  # connection -> when it must be over
        self._open_lock = Lock()
        super().__init__((host, port), _Handler)

    @property
    def url(self) -> str:
        address = f"{url_of(self.host, self.server_address[1])}/"
        return f"{address}?token={self.token}" if self.token else address

    def server_bind(self) -> None:
        """Without asking for the machine's name, for which a broken resolver takes seconds."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = self.host, self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._open_lock:
            welcome = len(self._open) < MOST_CONNECTIONS
            if welcome:
                self._open[request] = time.monotonic() + SECONDS_TO_ASK
        if welcome:
            super().process_request(request, client_address)
            return
        try:
            request.settimeout(1.0)
            request.sendall(BUSY)
        except OSError:
            pass
        self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        with self._open_lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def asked(self, request: Any) -> None:
        """The whole question has come."""
        with self._open_lock:
            if request in self._open:
                self._open[request] = time.monotonic() + SECONDS_TO_ANSWER

    def service_actions(self) -> None:
        """Twice a second: a client that sends a byte now and then would keep its thread for ever."""
        now = time.monotonic()
        with self._open_lock:
            late = [request for request, until in self._open.items() if until < now]
        for request in late:
            try:
                request.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away in the middle is no error of anybody."""
        if not isinstance(sys.exception(), OSError):
            traceback.print_exc()


@cache
def static_file(name: str) -> bytes:
    return files("rtl_agent.view").joinpath("static", name).read_bytes()


class _Handler(BaseHTTPRequestHandler):
    server: Viewer
    server_version, sys_version = "rtl-agent", ""
    timeout = SECONDS_TO_ASK

    def do_GET(self) -> None:
        self.server.asked(self.connection)
        address = urlsplit(self.path)
        path = unquote(address.path).lstrip("/") or "index.html"
        query = dict(parse_qsl(address.query[:4000]))
        if not self._from_here():
            self._error(403, "This address is not the viewer's own: open the one that `rtl-agent view` printed.")
        elif not self._known(query):
            self._error(401, "Open the whole address that `rtl-agent view` printed: it holds the token.")
        elif path in STATIC and "token" in query:  # so that the address can be shown to others
            self._send(303, b"", "text/plain", {"Location": "/"})
        elif path in STATIC:
            self._send(200, static_file(path), STATIC[path])
        elif self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            self._error(403, "Another site's page cannot ask for anything here.")  # it could not read, but keep us busy
        elif path.startswith("api/"):
            self._answer(path.removeprefix("api/"), query)
        else:
            self._error(404, "There is nothing at this address.")

    do_HEAD = do_GET

    def __getattr__(self, name: str) -> Any:
        """Whatever else is asked for by another method."""
        if name.startswith("do_"):
            return lambda: self._error(405, "The viewer is only read.", {"Allow": ", ".join(METHODS)})
        raise AttributeError(name)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """What http.server says of a request that it cannot read: without a page, and without the client's words."""
        self.requestline, self.request_version = "", self.request_version or "HTTP/1.0"
        self.command = self.command or "GET"
        self._error(code, "This request cannot be read.")

    def _answer(self, path: str, query: dict[str, str]) -> None:
        try:
            if waves := WAVES.fullmatch(path):
                self._waves(waves["run"], int(waves["row"]), query, file=bool(waves["file"]))
                return
            text = self.server.library.answer_file(path)
            found = None if text else as_json(self.server.library.answer(path, query, self._is_wanted))
        except NotThere as error:
            self._error(404, f"There is no {error} (any more).")
        except (RunError, OSError, NoWaves, ToolMissing) as error:
            self._error(500, str(error))
        except (ValueError, TypeError, RecursionError, MemoryError) as error:  # nobody foresaw this file
            traceback.print_exc()
            self._error(500, f"The files cannot be shown ({type(error).__name__}); the terminal says more.")
        else:
            if text is not None:
                name, content = text
                attachment = {"Content-Disposition": f"attachment; filename*=UTF-8''{quote(name)}"}
                self._send(200, content.encode(errors="replace"), "text/plain", attachment)
            elif found is not None:
                self._send(200, found, "application/json")

    def _waves(self, name: str, number: int, query: dict[str, str], *, file: bool) -> None:
        """Of one test, as JSON, or as the file that Surfer and GTKWave open."""
        asked = self.server.library.asked(name, number)
        test, which = query.get("test", ""), query.get("of", "candidate")
        if file:
            title, body = self.server.waves.file(asked, test, which)
            attachment = {"Content-Disposition": f'attachment; filename="{title}"'}
            self._send(200, body, "application/octet-stream", attachment)
        else:
            address = f"runs/{name}/rollouts/{number}/waves"
            start = "kept" not in query
            waves = self.server.waves.answer(asked, test, which, address, start=start)
            self._send(200, as_json(waves), "application/json")

    def _is_wanted(self) -> bool:
        """Whether the browser still waits: it goes away when somebody types on."""
        readable, _, _ = select.select([self.connection], [], [], 0)
        return not readable or bool(self.connection.recv(1, socket.MSG_PEEK))

    def _from_here(self) -> bool:
        """Neither another name for this address (DNS rebinding) nor a page of another site."""
        port = self.server.server_address[1]
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        if self.server.token:  # reached by any name, and guarded by the token
            return origin in (None, f"http://{host}")
        return host in own_names(self.server.host, port) and origin in (None, f"http://{host}")

    @property
    def _cookie(self) -> str:
        """Browsers keep cookies by name of the machine: two viewers on it must not take each other's."""
        return f"rtl_agent_view_{self.server.server_address[1]}"

    def _known(self, query: dict[str, str]) -> bool:
        if not self.server.token:
            return True
        try:
            cookie = SimpleCookie(self.headers.get("Cookie", "")).get(self._cookie)
        except CookieError:
            cookie = None
        given = query.get("token") or (cookie.value if cookie else "")
        return same_key(given, self.server.token)

    def _error(self, status: int, sentence: str, more: dict[str, str] | None = None) -> None:
        self._send(status, as_json({"error": sentence}), "application/json", more)

    def _send(self, status: int, body: bytes, kind: str, more: dict[str, str] | None = None) -> None:
        headers = {**HEADERS, **(more or {}), "Content-Type": f"{kind}; charset=utf-8", "Vary": "Accept-Encoding"}
        if self.server.token and status < 400:
            headers["Set-Cookie"] = f"{self._cookie}={self.server.token}; HttpOnly; SameSite=Strict; Path=/"
        accepted = getattr(self, "headers", None)
        if len(body) > WORTH_PACKING and accepted and "gzip" in accepted.get("Accept-Encoding", ""):
            body, headers["Content-Encoding"] = gzip.compress(body, 1), "gzip"
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a page that asks every two seconds would fill the terminal."""
