"""A site that one must log in to, and a program that does: `python -m tests.logging_in URL DIRECTORY [repeat] [POINT]`.

The site counts what it is asked. What is to become of a POST is up to the test: `on_post` is called with each.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.doomed import doom

import weft

PASSWORD = "swordfish-Xk3"  # noqa: S105
SESSION = "session-Qz9"


class Login:
    """The site."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.asked: list[str] = []  # method, path and body of each request
        self.headers: list[dict[str, str]] = []  # of each
        self.peers: list[tuple[str, int]] = []  # the other end of each one's connection
        self.moved: dict[str, str] = {}  # paths where a POST is answered with 307, and where that leads
        self.lets_go = False  # a connection is dropped at its second request, without an answer
        self.on_get: Callable[[], object] = lambda: None
        self.on_post: Callable[[], bool] = lambda: True  # is it answered?

    @property
    def posts(self) -> int:
        """How many POST requests came."""
        return sum(each.startswith("POST") for each in self.asked)


def _handler(site: Login) -> type[BaseHTTPRequestHandler]:  # noqa: C901  a server in one class
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self._note(b""):
                return
            site.on_get()
            within = SESSION in self.headers.get("Cookie", "")
            if self.path == "/robots.txt":
                self._answer(404, "none")
            elif self.path == "/login":
                self._answer(200, "<title>Log in</title><form method=post><input name=user>")
            elif not within:
                self._answer(302, "", Location="/login")
            elif self.path == "/":
                self._answer(200, "<title>Home</title><a href=/private/1>1</a><a href=/private/2>2</a>")
            else:
                self._answer(200, f"<title>Private {self.path}</title>")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self._note(body):
                return
            if not site.on_post():
                self.close_connection = True
            elif self.path in site.moved:
                self._answer(307, "", Location=site.moved[self.path])
            elif PASSWORD.encode() in body:
                self._answer(303, "", Location="/", Set_Cookie=f"id={SESSION}; Path=/")
            else:
                self._answer(403, "no")

        def _note(self, body: bytes) -> bool:
            """Write a request down; is it dropped?"""
            peer = (str(self.client_address[0]), int(self.client_address[1]))
            self.close_connection = site.lets_go and peer in site.peers
            site.asked.append(f"{self.command} {self.path} {body.decode()}".strip())
            site.headers.append(dict(self.headers.items()))
            site.peers.append(peer)
            return self.close_connection

        def _answer(self, status: int, text: str, **headers: str) -> None:
            self.send_response(status)
            for name, value in {"Content-Type": "text/html", "Content-Length": str(len(text)), **headers}.items():
                self.send_header(name.replace("_", "-"), value)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_args: object) -> None:
            """Say nothing."""

    return Handler


@contextlib.contextmanager
def login_site() -> Iterator[Login]:
    """Bring the site up."""
    site = Login("")
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(site))
    server.daemon_threads = True
    site.url = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class LogsIn(weft.Application):
    """Logs in where it is asked to, then follows every link."""

    def __init__(self, *, repeat: bool = False) -> None:
        self.repeat = repeat
        self.titles: list[str] = []
        self.lost: list[tuple[str, str]] = []

    def visited(self, page: weft.FetchedPage) -> list[weft.Request | str] | None:
        """Log in, or go on."""
        self.titles.append(page.title)
        if page.url.endswith("/login") and page.method == "GET":
            form = {"user": "me", "password": PASSWORD}
            return [weft.Request("/login", method="POST", body=form, repeat=self.repeat)]
        return list(page.links)

    def failed(self, url: str, reason: str) -> None:
        """Note it."""
        self.lost.append((url, reason))


if __name__ == "__main__":
    url, out, *options = sys.argv[1:]
    for point in options:
        if ":" in point:
            doom(point, 1, "before")
    application = LogsIn(repeat="repeat" in options)
    weft.crawl(url, out, application=application, wait=0.0, retry_pauses=[0.1], commit_every=0.1)
