"""Answers that take long to read: small on the wire, large or slow when they are decoded, parsed or matched.

Each attack is one site: pages by path, `/robots.txt` among them where that is the weapon. What it would do to a crawler
that reads it at once, without limits, stands beside it.
"""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from tests.small_site import Answer

_GZIP = (("Content-Encoding", "gzip"),)
_NO_PAGE = Answer(b"", "text/plain", 404)
_HOME = '<a href="/bad">x</a><a href="/good">y</a>'


@dataclass(frozen=True)
class Attack:
    """A site that means harm."""

    about: str
    pages: dict[str, Answer]
    settings: dict[str, Any] = field(default_factory=dict)


def filled(text: bytes, size: int) -> bytes:
    """A text repeated up to a size."""
    return (text * (size // len(text) + 1))[:size]


def _page(body: bytes, kind: str = "text/html") -> Answer:
    """An answer that is sent compressed."""
    return Answer(gzip.compress(body, 9), kind, headers=_GZIP)


def _bad(answer: Answer, **settings: Any) -> dict[str, Any]:
    pages = {"/": Answer(_HOME.encode()), "/bad": answer, "/good": Answer(b"good")}
    return {"pages": pages, "settings": settings}


def _map(answer: Answer) -> dict[str, Any]:
    """A sitemap that robots.txt names."""
    return {
        "pages": {
            "/": Answer(b'<a href="/good">y</a>'),
            "/good": Answer(b"good"),
            "/robots.txt": Answer(b"Sitemap: /sitemap.xml", "text/plain"),
            "/sitemap.xml": answer,
        }
    }


def _robots(line: Callable[[int], bytes], letter: str = "a") -> dict[str, Any]:
    """500 KiB of rules, and a page with links of 1,800 letters to ask them about."""
    lines, size, number = [b"User-agent: *\n"], 0, 0
    while size < 500 * 1024:
        lines.append(line(number))
        size += len(lines[-1])
        number += 1
    links = "".join(f'<a href="/{letter * 1800}{number}">' for number in range(500))
    return {
        "pages": {
            "/": Answer(links.encode() + b'<a href="/good">'),
            "/good": Answer(b"good"),
            "/robots.txt": Answer(b"".join(lines)[: 500 * 1024], "text/plain"),
        },
    }


_EMPTY = gzip.compress(b"")
_TRAP = r".*(/[^/]+)/[^/]+\1/[^/]+\1/"  # for loops in paths, as other crawlers have it


def _cookies() -> tuple[tuple[str, str], ...]:
    return tuple(("Set-Cookie", f"c{number}={'v' * 4000}; Path=/{'p' * 4000}") for number in range(12))


def _hosts(number: int) -> str:
    return "".join(f'<a href="http://h{each}.d{each % 1000}.invalid/">' for each in range(number))


def _addresses() -> bytes:
    return "".join(f'<a href="/{number}/{"b" * 1000}">' for number in range(15_000)).encode()


def _loops() -> bytes:
    steps = ("/".join(f"{step}x{number}" for step in range(250)) for number in range(300))
    return "".join(f'<a href="/{each}">' for each in steps).encode()


def _styles() -> dict[str, Answer]:
    home = Answer(b'<link rel=stylesheet href=/s.css><a href="/good">y</a>')
    return {"/": home, "/s.css": _page(filled(b"url(b)", 19_900_000), "text/css"), "/good": Answer(b"good")}


ATTACKS: dict[str, Callable[[], Attack]] = {
    "gzip-members": lambda: Attack(
        "2 MB of empty gzip members: quadratic where each copies the rest",
        **_bad(Answer(_EMPTY * 95_000, headers=_GZIP)),
    ),
    "gzip-in-gzip": lambda: Attack(
        "48 kB that are a million empty gzip members: the same, tenfold",
        **_bad(Answer(gzip.compress(_EMPTY * 1_000_000), headers=(("Content-Encoding", "gzip, gzip"),))),
    ),
    "zeros": lambda: Attack("20 kB that expand to 20 MB of nothing", **_bad(_page(bytes(19_900_000)))),
    "tags": lambda: Attack("1 MB of the shortest links", **_bad(_page(filled(b"<a href=b>", 990_000)))),
    "references": lambda: Attack(
        "1 MB of character references", **_bad(_page(b"<title>" + filled(b"&lt;a ", 900_000)))
    ),
    "addresses": lambda: Attack("15,000 links of a thousand letters", **_bad(_page(_addresses()))),
    "hosts": lambda: Attack(
        "764,000 new sites on a page of 2 MB", **_bad(_page(_hosts(764_000).encode()[:19_900_000]), max_time=20.0)
    ),
    "styles": lambda: Attack("a style sheet of 3.3 million references", _styles(), {"requisites": True}),
    "feed-empty-elements": lambda: Attack(
        "19 kB of RSS that are five million elements",
        **_bad(_page(b"<rss>" + filled(b"<a/>", 19_900_000), "application/rss+xml")),
    ),
    "map-open-elements": lambda: Attack(
        "77 kB of sitemap that are elements inside elements without end: gigabytes of tree",
        **_map(Answer(gzip.compress(filled(b"<a>", 80_000_000), 9), "application/gzip")),
    ),
    "map-empty-elements": lambda: Attack(
        "elements without end", **_map(Answer(gzip.compress(b"<r>" + filled(b"<a/>", 50_000_000)), "text/xml"))
    ),
    "map-lines": lambda: Attack(
        "empty lines without end", **_map(Answer(gzip.compress(bytes([10]) * 50_000_000), "text/xml"))
    ),
    "map-full": lambda: Attack(
        "a sitemap with all of its 50,000 URLs",
        **_map(_page(b"\n".join(b"http://h.invalid/%d" % number for number in range(60_000)), "text/plain")),
    ),
    "robots-tails": lambda: Attack("27,000 patterns with wildcards", **_robots(lambda n: b"Disallow:/*a*a%d$\n" % n)),
    "robots-stars": lambda: Attack(
        "patterns of thousands of stars", **_robots(lambda _: b"Disallow:/" + b"*a" * 8000 + b"\n")
    ),
    "robots-periods": lambda: Attack(
        "patterns that nearly match at every place",
        **_robots(lambda n: b"Disallow:/*" + b"a" * 480 + b"b%d" % n + b"a" * 480 + b"\n"),
    ),
    "robots-octets": lambda: Attack(
        "rules of octets that are no ASCII", **_robots(lambda _: b"Disallow: /" + b"\xff" * 900 + b"\n")
    ),
    "robots-keys": lambda: Attack("128,000 lines that begin like rules", **_robots(lambda _: b"dis\n")),
    "robots-sitemaps": lambda: Attack("40,000 sitemaps", **_robots(lambda n: b"sitemap:/%x\n" % n)),
    "robots-plain": lambda: Attack("35,000 plain rules", **_robots(lambda n: b"Disallow:/%x\n" % n)),
    "cookies": lambda: Attack(
        "cookies of 8 kB, again on every page",
        {
            "/": Answer(_HOME.encode(), headers=_cookies()),
            "/bad": Answer(b"x", headers=_cookies()),
            "/good": Answer(b"good", headers=_cookies()),
        },
    ),
    "patterns": lambda: Attack("URLs that take a pattern long", **_bad(_page(_loops()), exclude=(_TRAP,))),
    "media-type": lambda: Attack(
        "a media type that writes to terminals", **_bad(Answer(b"x", "text/html\x1b]0;owned\x07" + "x" * 20_000))
    ),
}


class Site(NamedTuple):
    """A site that is served."""

    url: str
    asked: list[str]  # paths, in their order


@contextmanager
def served(pages: dict[str, Answer], address: str) -> Iterator[Site]:
    """Serve pages at an address of this machine."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append(self.path)
            body, kind, status, headers = pages.get(self.path, _NO_PAGE)
            self.send_response(status)
            given = {name for name, _ in headers}
            usual = (("Content-Type", kind), ("Content-Length", str(len(body))))
            for name, value in (*(each for each in usual if each[0] not in given), *headers):
                self.send_header(name, value)
            self.end_headers()
            try:
                self.wfile.write(body)
            except OSError:  # it was cut
                self.close_connection = True

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer((address, 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield Site(f"http://{address}:{server.server_address[1]}/", asked)
    finally:
        server.shutdown()
        server.server_close()


def innocent(pages: int = 12) -> dict[str, Answer]:
    """A site that means no harm."""
    home = "".join(f'<a href="/{number}">{number}</a>' for number in range(1, pages))
    return {"/": Answer(home.encode())} | {f"/{number}": Answer(b"%d" % number) for number in range(1, pages)}
