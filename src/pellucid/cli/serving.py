"""Serving a report to the browser of this machine, and to nobody else.

A random path keeps out other users and other pages, the check of ``Host`` those that have a name
of their own lead to this address (DNS rebinding). What is served is looked up in a table: no path
ever reaches the file system.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping
from hmac import compare_digest
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any

from pellucid.report import pack, policy, served_page

__all__ = ["ReportServer"]

_ADDRESS = "127.0.0.1"
_FAST = 1  # compression level: the bytes go nowhere far
_HTML, _BINARY = "text/html; charset=utf-8", "application/octet-stream"


class ReportServer(ThreadingHTTPServer):
    """Serves the page at ``url`` and the blocks below it, each made when it is asked for."""

    daemon_threads = True

    def __init__(self, viewer: str, title: str, blocks: Mapping[str, bytes], port: int = 0) -> None:
        super().__init__((_ADDRESS, port), _Handler)
        self._page = served_page(viewer, title)
        self.policy = f"{policy(viewer, served=True)}; frame-ancestors 'none'"
        self.token = secrets.token_urlsafe(16)
        self.hosts = {f"{name}:{self.server_port}" for name in (_ADDRESS, "localhost")}
        self._blocks = blocks
        self._lock = Lock()

    @property
    def url(self) -> str:
        """Where the report is."""
        return f"http://{_ADDRESS}:{self.server_port}/{self.token}/"

    def found(self, path: str) -> tuple[bytes, str] | None:
        """What is at a path of a URL, and its type; None if nothing is."""
        token, slash, rest = path.removeprefix("/").partition("/")
        if not compare_digest(token.encode(), self.token.encode()):
            return None
        if slash and not rest:
            return self._page, _HTML
        name = rest.removeprefix("blocks/")
        if name == rest or name not in self._blocks:
            return None
        with self._lock:  # blocks share what they are made of
            block = self._blocks[name]
        return pack(block, _FAST), _BINARY

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that goes away in the middle is no error."""
        if not isinstance(sys.exc_info()[1], (ConnectionError, TimeoutError)):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    server: ReportServer
    protocol_version = "HTTP/1.1"
    server_version = "pellucid"
    sys_version = ""
    timeout = 60

    def parse_request(self) -> bool:
        """Read a request and refuse at once what is not for us."""
        if not super().parse_request():
            return False
        if self.headers.get_all("Host", []) not in [[host] for host in self.server.hosts]:
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST)
            return False
        if self.command not in ("GET", "HEAD"):
            self._refuse(HTTPStatus.METHOD_NOT_ALLOWED)
            return False
        return True

    def do_GET(self) -> None:
        """Send the page or a block."""
        found = self.server.found(self.path.partition("?")[0])
        if found is None:
            self._refuse(HTTPStatus.NOT_FOUND)
        else:
            self._send(HTTPStatus.OK, *found)

    do_HEAD = do_GET

    def end_headers(self) -> None:
        """Add to every answer what keeps it here."""
        for name, value in (
            ("Content-Security-Policy", self.server.policy),
            ("X-Content-Type-Options", "nosniff"),
            ("Referrer-Policy", "no-referrer"),
            ("Cache-Control", "no-store"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
        ):
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: the terminal is for the user."""

    def _refuse(self, status: HTTPStatus) -> None:
        self.close_connection = True  # a body that was sent along is not read
        self._send(status, f"{status.phrase}\n".encode(), "text/plain; charset=utf-8")

    def _send(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            self.send_header("Allow", "GET, HEAD")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
