"""A few pages on a socket of this machine, for tests that need to say exactly what a server answers."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Answer(NamedTuple):
    """What a server says."""

    body: bytes = b""
    type: str = "text/html"
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


Asked = dict[str, str]  # the headers of a request, by lower-case name
Pages = dict[str, Any]  # by path: an Answer, the body of a page, or what makes an answer of a request


def links(*targets: str) -> bytes:
    """A page with links."""
    return "".join(f'<a href="{target}">x</a>' for target in targets).encode()


class SmallSite:
    """A site with these pages, which may be changed while it runs."""

    def __init__(self, pages: Pages, port: int) -> None:
        self.pages = pages
        self.port = port
        self.asked: list[str] = []  # paths, in their order, robots.txt left out

    def url(self, path: str = "/") -> str:
        """The URL of a page."""
        return f"http://127.0.0.1:{self.port}{path}"

    def answer(self, path: str, headers: Asked) -> Answer:
        """What is said to a request."""
        if path == "/robots.txt" and path not in self.pages:
            return Answer(b"", "text/plain", 404)
        if path != "/robots.txt":
            self.asked.append(path)
        found = self.pages.get(path, Answer(status=404))
        if callable(found) and not isinstance(found, tuple):
            found = found(headers)
        return found if isinstance(found, Answer) else Answer(found)


@contextmanager
def small_site(pages: Pages) -> Iterator[SmallSite]:
    """Serve pages."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked = {name.lower(): value for name, value in self.headers.items()}
            body, kind, status, headers = site.answer(self.path, asked)
            self.send_response(status)
            for name, value in (("Content-Type", kind), ("Content-Length", str(len(body))), *headers):
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:  # it was cut
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    site = SmallSite(pages, server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
