"""robots.txt of every broken kind: a domain for each, with a page that everybody may read and one that few may."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from itertools import repeat

from weft.testbed.answers import HTML, TEXT, Answer, Delivery, Step, plain_answer
from weft.testbed.scenarios.scenario import Ask, Scenario, page, sheet

NAME = "robots-broken"
_RULES = b"User-agent: *\nDisallow: /private/\n"


def _text(body: bytes, headers: bytes = TEXT, status: int = 200) -> Callable[[Ask], Answer]:
    return lambda _: Answer(status, NAME, headers, body)


def _status(status: int) -> Callable[[Ask], Answer]:
    return lambda _: plain_answer(status, NAME)


def _to(target: str) -> Callable[[Ask], Answer]:
    return lambda _: plain_answer(302, NAME, b"Location: %b\r\n" % target.encode())


def _endless(_: Ask) -> Answer:
    def steps() -> Iterator[Step]:
        yield Step(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n" + _RULES)
        yield from repeat(Step(b"Disallow: /and/so/on\n" * 1_000))

    return Answer(200, NAME, TEXT, b"", Delivery.STEPS, steps=steps)


def _cut(_: Ask) -> Answer:
    steps = (Step(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + _RULES), Step(wait=0.05, reset=True))
    return Answer(200, NAME, TEXT, b"", Delivery.STEPS, steps=lambda: steps)


KINDS: dict[str, Callable[[Ask], Answer]] = {
    "empty": _text(b""),
    "html": _text(b"<!DOCTYPE html><html><body><h1>Welcome</h1><a href=/>home</a></body></html>", HTML),
    "binary": _text(bytes(range(256)) * 20, b"Content-Type: application/octet-stream\r\n"),
    "bom": _text(b"\xef\xbb\xbf" + _RULES),
    "returns": _text(_RULES.replace(b"\n", b"\r")),
    "utf-16": _text(_RULES.decode().encode("utf-16")),
    "capitals": _text(_RULES.upper().replace(b"/PRIVATE/", b"/private/")),
    "no-colon": _text(b"User-agent *\nDisallow /private/\n"),
    "no-agent": _text(b"Disallow: /private/\n"),
    "blank-lines": _text(b"User-agent: *\n\n\nDisallow: /private/\n"),
    "addresses": _text(b"User-agent: *\nDisallow: http://somewhere.test/private/\nDisallow: private\nAllow: *\n"),
    "misspelt": _text(b"Useragent: *\nDissallow: /private/\nDisalow: /\n"),
    "zeros": _text(b"User-agent: *\n\0\0\0Disallow: /private/\0\n"),
    "gzip": _text(gzip.compress(_RULES, mtime=0)),
    "large": _text(_RULES + b"# nothing\n" * 200_000 + b"Disallow: /\n"),
    "long-line": _text(b"User-agent: *\nDisallow: /" + b"a" * 1_000_000 + b"\nDisallow: /private/\n"),
    "delays": _text(b"User-agent: *\nCrawl-delay: -1\nCrawl-delay: soon\nCrawl-delay: 1e9\nDisallow: /private/\n"),
    "sitemaps": _text(_RULES + b"".join(b"Sitemap: /map-%d.xml\n" % number for number in range(2_000))),
    "401": _status(401),
    "403": _status(403),
    "410": _status(410),
    "429": _status(429),
    "500": _status(500),
    "loop": _to("/robots.txt"),
    "away": _to("http://nowhere.invalid/robots.txt"),
    "to-home": _to("/"),
    "endless": _endless,
    "cut": _cut,
}
"""Every kind; the domain `robots-1-of-N` has the first."""


def _answer(ask: Ask) -> Answer:
    """robots.txt of one kind, and two pages."""
    if not ask.label:
        return plain_answer(404, NAME)
    number = int(ask.label.partition("-")[2]) - 1
    if ask.path == b"/robots.txt":
        return list(KINDS.values())[number](ask)
    path = ask.path.decode("latin-1")
    if path not in {"/", "/private/page.html"}:
        return plain_answer(404, NAME)
    links = ["/private/page.html"] if path == "/" else []
    return page(NAME, sheet(ask.place, f"House {number}", links, draw=ask.place.draw("house", number, path)))


ROBOTS = (
    Scenario(
        name=NAME,
        about=f"{len(KINDS)} domains, each with a robots.txt of another broken kind",
        source="P3 5.4 (64.3 % did not comply); RFC 9309",
        family="protocol",
        names={"robots": len(KINDS)},
        own_robots=True,
        links=lambda place: [place.url(f"robots-{number}") for number in range(1, len(KINDS) + 1)],
        answer=_answer,
    ),
)
