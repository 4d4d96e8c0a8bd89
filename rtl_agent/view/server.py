"""The web server behind the page: reads only, answers only whom it knows, and lets the browser run only our script."""

import hmac
import ipaddress
import json
import re
import secrets
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import Lock
from types import MappingProxyType
from urllib.parse import parse_qsl, unquote, urlsplit

from rtl_agent.runs import RunError
from rtl_agent.toolchain import ToolMissing
from rtl_agent.view.data import Library, NotThere
from rtl_agent.view.waves import WaveService
from rtl_agent.waves.simulate import NoWaves

STATIC = {"index.html": "text/html", "app.js": "text/javascript", "app.css": "text/css"}
WAVES = re.compile(r"api/runs/(?P<run>[^/]+)/rollouts/(?P<row>[0-9]{1,9})/waves(?P<file>/file)?")
COOKIE = "rtl_agent_view"
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Viewer(ThreadingHTTPServer):
    """Listens as soon as it is made. On an address that others can reach, `token` must come with the first request."""

    daemon_threads = True

    def __init__(
        self, library: Library, host: str = "127.0.0.1", port: int = 0, waves: WaveService | None = None
    ) -> None:
        self.library, self.host = library, host
        self.waves = waves or WaveService()
        self.token = "" if is_loopback(host) else secrets.token_urlsafe(24)
        self.one_at_a_time = Lock()  # the tables are filled while they are read
        super().__init__((host, port), _Handler)

    @property
    def url(self) -> str:
        address = f"http://{self.host}:{self.server_address[1]}/"
        return f"{address}?token={self.token}" if self.token else address


class _Handler(BaseHTTPRequestHandler):
    server: Viewer
    server_version, sys_version = "rtl-agent", ""
    timeout = 30

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        path = unquote(address.path).lstrip("/") or "index.html"
        query = dict(parse_qsl(address.query))
        if not self._from_here():
            self._error(403, "This address is not the viewer's own: open the one that `rtl-agent view` printed.")
        elif not self._known(query):
            self._error(401, "Open the whole address that `rtl-agent view` printed: it holds the token.")
        elif path in STATIC:
            self._send(200, files("rtl_agent.view").joinpath("static", path).read_bytes(), STATIC[path])
        elif path.startswith("api/") and (waves := WAVES.fullmatch(path)):
            self._waves(waves["run"], int(waves["row"]), query, file=bool(waves["file"]))
        elif path.startswith("api/"):
            self._answer(path.removeprefix("api/"), query)
        else:
            self._error(404, "There is nothing at this address.")

    def _answer(self, path: str, query: dict[str, str]) -> None:
        try:
            with self.server.one_at_a_time:
                found = self.server.library.answer(path, query)
        except NotThere as error:
            self._error(404, f"There is no {error} (any more).")
        except (RunError, OSError) as error:
            self._error(500, str(error))
        else:
            self._json(200, found)

    def _waves(self, name: str, number: int, query: dict[str, str], *, file: bool) -> None:
        """Outside of the lock: others are answered while a test is simulated again."""
        test, which = query.get("test", ""), query.get("of", "candidate")
        if self.headers.get("Sec-Fetch-Site", "none") not in ("none", "same-origin"):
            self._error(403, "Another site's page cannot start a simulation here.")  # an image of it would
            return
        try:
            with self.server.one_at_a_time:
                asked = self.server.library.asked(name, number)
            if file:
                title, body = self.server.waves.file(asked, test, which)
                attached = {"Content-Disposition": f'attachment; filename="{title}"'}
                self._send(200, body, "application/octet-stream", attached)
            else:
                address = f"runs/{name}/rollouts/{number}/waves"
                self._json(200, self.server.waves.answer(asked, test, which, address))
        except NotThere as error:
            self._error(404, f"There is no {error} (any more).")
        except (RunError, OSError, NoWaves, ToolMissing) as error:
            self._error(500, str(error))

    def _from_here(self) -> bool:
        """Neither another name for this address (DNS rebinding) nor a page of another site."""
        port = self.server.server_address[1]
        host, origin = self.headers.get("Host", ""), self.headers.get("Origin")
        names = {self.server.host} | ({"localhost", "127.0.0.1", "[::1]"} if not self.server.token else set())
        if self.server.token:  # reached by any name, and guarded by the token
            return origin in (None, f"http://{host}")
        return host in {f"{name}:{port}" for name in names} and origin in (None, f"http://{host}")

    def _known(self, query: dict[str, str]) -> bool:
        if not self.server.token:
            return True
        try:
            cookie = SimpleCookie(self.headers.get("Cookie", "")).get(COOKIE)
        except CookieError:
            cookie = None
        given = query.get("token") or (cookie.value if cookie else "")
        return hmac.compare_digest(given.encode(), self.server.token.encode())

    def _error(self, status: int, sentence: str) -> None:
        self._json(status, {"error": sentence})

    def _json(self, status: int, value: object) -> None:
        text = json.dumps(value, allow_nan=False, default=str).replace("<", "\\u003c")
        self._send(status, text.encode("utf-8", "replace"), "application/json")

    def _send(self, status: int, body: bytes, kind: str, more: Mapping[str, str] = MappingProxyType({})) -> None:
        self.send_response(status)
        for name, value in (*HEADERS.items(), *more.items()):
            self.send_header(name, value)
        if self.server.token and status < 400:
            self.send_header("Set-Cookie", f"{COOKIE}={self.server.token}; HttpOnly; SameSite=Strict; Path=/")
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a page that asks every two seconds would fill the terminal."""
