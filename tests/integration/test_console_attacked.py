"""The console under attack: crawled pages, other pages of the browser, and other users of the machine mean harm."""

from __future__ import annotations

import html
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.browsing import Caller, Tags, check_harmless, inside
from tests.commands import weft
from tests.hostile.markup import PATHS, TEXTS
from tests.patience import PATIENCE
from tests.small_site import Answer, Pages, small_site

from weft.console.door import POLICY
from weft.reading import Crawl

pytestmark = pytest.mark.xdist_group("console-attacked")  # the crawl is made once


def hostile_pages() -> Pages:
    """A page for each text: it is its title, in its URL, in its words, in its headers."""
    pages: Pages = {"/robots.txt": Answer(f"User-agent: *\n# {TEXTS[0]}\n# {TEXTS[2]}\n".encode(), "text/plain")}
    links = []
    for number, text in enumerate(TEXTS):
        path = f"/{number}?x={quote(text[:200])}"
        said = text.replace("\r", " ").replace("\n", " ")[:100].encode("latin-1", "replace").decode("latin-1")
        body = f"<title>{html.escape(text)}</title><p>{html.escape(text)}</p>{text}"
        pages[path] = Answer(body.encode(), "text/html; charset=utf-8", headers=(("Server", said), ("ETag", said)))
        links.append(f'<a href="{html.escape(path)}">x</a>')
    pages["/"] = "".join(links).encode()
    return pages


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl of a site that means harm."""
    out = tmp_path_factory.mktemp("attacked") / "crawl"
    with small_site(hostile_pages()) as site:
        weft("crawl", site.url(), "--out", out, "--wait", "0", "--per-visit", "100", "--json")
    return out


@pytest.fixture(scope="module")
def caller(crawled: Path) -> Iterator[Caller]:
    """Somebody in the console of it."""
    with inside(crawled) as caller:
        yield caller


def test_texts__of_crawled_pages_stay_text(crawled: Path, caller: Caller) -> None:
    """Titles, URLs, headers, words and sources of pages that mean harm are shown as they are, and nothing runs."""
    rows = list(Crawl(crawled).pages("url", "title", "site", where="final and status = 200 and kind = 'a'"))
    assert len(rows) >= 60
    titles = {row["title"] for row in rows}
    assert sum(text.strip() in titles for text in TEXTS) > 45
    for row in rows:
        for form in ("words", "source"):
            page = caller.page("/url", url=row["url"], version="0", **{"as": form})
            check_harmless(page, caller.root)
            assert row["title"] is None or row["title"] in html.unescape(page), row
    for page in (caller.page("/site", name=rows[0]["site"]), caller.page("/sites"), caller.page("/")):
        check_harmless(page, caller.root)


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_texts__of_requests_stay_text(caller: Caller, text: str) -> None:
    """Whatever is asked for, in every field of every page: a page or a message, never mark-up, never a failure."""
    for path, field in (("/sites", "text"), ("/sites", "by"), ("/sites", "waits_for"), ("/sites", "first")):
        answer = caller.ask("GET", f"{caller.root}{path}?{field}={quote(text)}")
        assert answer.status in (200, 400), (path, field)
        check_harmless(answer.text, caller.root)
    for path, field in (("/site", "name"), ("/url", "url"), ("/reports", "text")):
        answer = caller.ask("GET", f"{caller.root}{path}?{field}={quote(text)}")
        assert answer.status in (200, 400), (path, field)
        check_harmless(answer.text, caller.root)
    answer = caller.ask("GET", f"/enter?token={quote(text)}")
    assert answer.status == 200
    shown = [attributes["value"] for _tag, attributes in Tags(answer.text).found if attributes.get("name") == "token"]
    assert shown == [text]
    check_harmless(answer.text, caller.root)


def test_texts__of_forms_stay_text(crawled: Path, caller: Caller) -> None:
    """What cannot be used is said so with its text, and what can is listed with it."""
    for text in TEXTS:
        for action, field in (("speed", "speed"), ("workers", "workers"), ("seeds", "seeds"), ("blacklist", "add")):
            answer = caller.ask("POST", f"{caller.root}/act/{action}", form={"csrf": caller.csrf, field: text})
            assert answer.status == 303, (action, text)
            assert answer.headers["location"] == f"{caller.root}/manage"
            check_harmless(caller.page("/manage"), caller.root)
    assert weft("speed", crawled).strip() == "none"


@pytest.mark.parametrize("path", PATHS)
def test_paths__lead_to_no_file(caller: Caller, path: str) -> None:
    """Static files are chosen by their names among those that there are; everything else is not there."""
    cookie = {"Cookie": caller.cookie}
    for asked in (path, f"{caller.root}{path}"):
        for headers in (cookie, {"Cookie": None}):
            answer = caller.ask("GET", asked, headers=headers)
            plain = asked == "/static/console.css?../../x"
            assert answer.status in ((200,) if plain else (400, 403, 404)), asked
            assert "root:" not in answer.text
            assert "import " not in answer.text
            assert answer.status == 400 or answer.headers["content-security-policy"] == POLICY


def raw(caller: Caller, request: bytes) -> bytes:
    """What comes back to these very bytes, until the console closes."""
    with closing(socket.create_connection(("127.0.0.1", caller.server.port), PATIENCE)) as line:
        line.sendall(request)
        line.shutdown(socket.SHUT_WR)
        found = b""
        while part := line.recv(65_536):
            found += part
        return found


def test_headers__that_two_could_read_differently_are_refused(caller: Caller) -> None:
    """A second Host, a body of two lengths, a request in a request: none of it gets to a page."""
    host, cookie = caller.origin.partition("://")[2], caller.cookie
    head = f"GET {caller.root}/manage HTTP/1.1\r\nCookie: {cookie}\r\n".encode()
    own = f"Host: {host}\r\n".encode()
    evil = b"Host: evil.example\r\n"
    post = f"POST {caller.root}/act/pause HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n".encode()
    for request in (
        head + evil,
        head + own + evil,
        head + evil + own,
        head + own + b"Host : evil.example\r\n",
        head + b" " + own,
        head.replace(caller.root.encode(), b"http://evil.example" + caller.root.encode()) + evil,
        head.replace(b"HTTP/1.1", b"HTTP/1.0"),
        head.replace(b"HTTP/1.1", b"HTTP/0.9"),
        head + own + b"X: " + b"x" * 100_000 + b"\r\n",
        head + own + b"X: a\x00b\r\n",
        head + own + b"Sec-Fetch-Site: cross-site\r\n",
        post + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcde",
        post + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        post + b"Content-Length: -1\r\n\r\n",
        post + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        post + b"Transfer-Encoding: gzip\r\n\r\n",
    ):
        answer = raw(caller, request + b"\r\n")
        assert b"HTTP/1.1 200" not in answer, request
        assert b"HTTP/1.1 303" not in answer, request
        assert b"Blacklist" not in answer, request


def test_requests__of_other_pages_change_nothing(crawled: Path, caller: Caller) -> None:
    """A page of another site, or of another port of this machine, that has everything but our origin."""
    before, csrf = weft("status", crawled, "--json"), caller.csrf
    form = {"csrf": csrf}
    for headers in (
        {"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "http://evil.example", "Sec-Fetch-Site": None},
        {"Origin": "null", "Sec-Fetch-Site": None},
        {"Origin": None, "Sec-Fetch-Site": None},
        {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"},
        {"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": None},
        {"Sec-Fetch-Site": "same-site"},
        {"Host": "evil.example", "Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"},
        {"Host": f"evil.example:{caller.server.port}", "Sec-Fetch-Site": "same-origin"},
        {"Cookie": None},
        {"Cookie": "weft-console=" + "A" * 43},
        {"Content-Type": "text/plain"},
        {"Content-Type": "application/json"},
    ):
        for action in ("pause", "stop", "seeds"):
            answer = caller.ask("POST", f"{caller.root}/act/{action}", form=form | {"sure": "yes"}, headers=headers)
            assert answer.status in (403, 415, 421), (headers, answer)
    for wrong in ("", "x", csrf[:-1], csrf.swapcase(), csrf + "x"):
        assert caller.ask("POST", f"{caller.root}/act/pause", form={"csrf": wrong}).status == 403
    assert caller.ask("GET", f"{caller.root}/act/pause?csrf={csrf}").status == 405
    assert caller.ask("POST", "/act/pause", form=form).status == 404
    after = weft("status", crawled, "--json")
    assert '"paused":false' in before
    assert '"paused":false' in after


def test_entrance__does_not_open_to_guesses(caller: Caller) -> None:
    """Nothing but a token that was printed opens, and it does so by a form of our own alone."""
    link = caller.server.link
    token = link.partition("token=")[2]
    for wrong in ("", "x", token[:-1], token + "=", token.swapcase(), "' or 1=1 --", "\x00", "x" * 10_000):
        answer = caller.ask("POST", "/enter", form={"token": wrong})
        assert answer.status == 403
        assert "set-cookie" not in answer.headers
    for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Host": "evil.example"}):
        assert caller.ask("POST", "/enter", form={"token": token}, headers=headers).status in (403, 421)
    assert caller.ask("GET", f"/enter?token={token}").headers.get("set-cookie") is None
    came = caller.ask("POST", "/enter", form={"token": token})
    assert came.status == 303
    assert came.headers["set-cookie"].endswith(f"; Path={caller.root}; HttpOnly; SameSite=Strict")


def test_answers__tell_nobody_outside_anything(crawled: Path, caller: Caller) -> None:
    """Who has no session learns neither the crawl, nor the path of its pages, nor a version."""
    for path in ("/", "/enter", caller.root, f"{caller.root}/", "/static/console.js", "/nowhere"):
        answer = caller.ask("GET", path, headers={"Cookie": None})
        known = str(answer.headers) + answer.text
        assert str(crawled) not in known
        assert caller.root not in known
        assert "server" not in answer.headers
