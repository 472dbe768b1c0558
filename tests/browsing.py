"""A console that is served on loopback, and who asks it: as a browser does, or as somebody who means harm."""

from __future__ import annotations

import http.client
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

from tests.patience import PATIENCE
from tests.siege import wait_until

from weft.clock import SystemClock
from weft.console.serving import Server, Wanted
from weft.operations.options import Place

HERE = Place("127.0.0.1", 0)


class Answer(NamedTuple):
    """What came back."""

    status: int
    headers: Mapping[str, str]  # by lower-case name
    text: str


class Caller:
    """Sends what a browser would that came in, but for what it is told to send otherwise."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.root = server.where.root
        self.cookie = ""
        self.origin = server.url

    def ask(
        self,
        method: str,
        path: str,
        *,
        form: Mapping[str, str] | bytes | None = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Answer:
        """One request; a header that is None is left out."""
        body = urlencode(form).encode() if isinstance(form, Mapping) else form
        sent: dict[str, str | None] = {"Host": self.origin.partition("://")[2], "Sec-Fetch-Site": "same-origin"}
        if self.cookie:
            sent["Cookie"] = self.cookie
        if method == "POST":
            sent |= {"Origin": self.origin, "Content-Type": "application/x-www-form-urlencoded"}
            sent["Content-Length"] = str(len(body or b""))
        sent |= headers or {}
        connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=PATIENCE)
        try:
            connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in sent.items():
                if value is not None:
                    connection.putheader(name, value)
            connection.endheaders(body)
            came = connection.getresponse()
            heads = {name.lower(): value for name, value in came.getheaders()}
            return Answer(came.status, heads, came.read().decode())
        finally:
            connection.close()

    def enter(self) -> Answer:
        """Come in by a new link."""
        token = self.server.link.partition("token=")[2]
        answer = self.ask("POST", "/enter", form={"token": token})
        self.cookie = answer.headers.get("set-cookie", "").partition(";")[0]
        return answer

    def page(self, path: str, status: int = 200, /, **query: str) -> str:
        """A page of the console."""
        asked = f"{self.root}{path}" + (f"?{urlencode(query)}" if query else "")
        answer = self.ask("GET", asked)
        assert answer.status == status, (asked, answer)
        return answer.text

    @property
    def csrf(self) -> str:
        """The secret of the forms."""
        found = re.search(r'name="csrf" value="([^"]+)"', self.page("/manage"))
        assert found is not None
        return found[1]

    def act(self, action: str, **form: str) -> str:
        """Send a form of the console; what is said of it afterwards."""
        answer = self.ask("POST", f"{self.root}/act/{action}", form={"csrf": self.csrf} | form)
        assert answer.status == 303, answer
        found = re.search(r'role="status">([^<]*)', self.ask("GET", answer.headers["location"]).text)
        assert found is not None
        return unescape(found[1])


@contextmanager
def console_of(crawl: Path | str, *reports: Path) -> Iterator[Server]:
    """A console on a free port, for as long as the test needs it."""
    server = Server(str(crawl), Wanted(place=HERE, reports=reports), SystemClock(), lambda _line: None)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        wait_until(lambda: server.started, "the console does not start")
        yield server
    finally:
        server.stop()
        thread.join(PATIENCE)


@contextmanager
def inside(crawl: Path | str, *reports: Path) -> Iterator[Caller]:
    """Somebody who came in."""
    with console_of(crawl, *reports) as server:
        caller = Caller(server)
        assert caller.enter().status == 303
        yield caller


class Tags(HTMLParser):
    """Every tag of a page, with its attributes."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """One of them."""
        self.found.append((tag, {name: value or "" for name, value in attrs}))


def check_harmless(page: str, root: str) -> None:
    """Nothing on a page is run, loaded or led to that is not the console's own."""
    for tag, attributes in Tags(page).found:
        assert tag not in ("iframe", "object", "embed", "base", "style", "template", "foreignobject", "math"), tag
        assert "style" not in attributes, (tag, attributes)
        assert not any(name.startswith("on") for name in attributes), (tag, attributes)
        if tag == "script":
            assert attributes["src"].startswith("/static/"), attributes
        for name in ("href", "src", "action", "srcset", "formaction", "data", "xlink:href"):
            value = attributes.get(name)
            own = value is None or value.startswith((f"{root}/", "/static/", "#")) or value == "/enter"
            assert own, (tag, attributes)
            assert not (value or "").startswith("//"), (tag, attributes)
        if tag == "meta":
            assert set(attributes) <= {"charset", "name", "content"}, attributes
