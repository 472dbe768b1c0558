"""Answers that cost a crawler time: they drip, never end, or say that it should come back later."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import count, repeat

from weft.testbed.answers import HTML, Answer, Delivery, Step, plain_answer
from weft.testbed.scenarios.scenario import Ask, Place, Scenario, number_in, page, sheet

_ROOMS = 4
"""Addresses of a hazard that takes a client's time, on one site."""

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
_CLOSE = b"Connection: close\r\n\r\n"
_BLOCK = b"<p>and so on, and so on, and so on</p>\n" * 1_600
_FLOOD = 15_000
"""Header lines of a flood."""

REFUSED_OF_100 = 25
"""Of a hundred requests for a page so many are turned away in a storm."""


def _numbered(ask: Ask, prefix: bytes, name: str) -> Answer | None:
    """The answer to an address that is not one of a hazard's few; None: it is one."""
    return None if 0 <= number_in(ask.path, prefix, b".html") < _ROOMS else plain_answer(404, name)


def _links(prefix: str) -> list[str]:
    return [f"{prefix}{number}.html" for number in range(_ROOMS)]


def _drip(ask: Ask) -> Answer:
    """A page that comes letter by letter."""

    def steps() -> Iterator[Step]:
        yield Step(_HEAD + _CLOSE + b"<!DOCTYPE html><html><body><p>")
        yield from repeat(Step(b"a", wait=0.3))

    missing = _numbered(ask, b"/drip/", "drip")
    return missing or Answer(200, "drip", HTML, b"", Delivery.STEPS, steps=steps)


def _endless(ask: Ask) -> Answer:
    """A page that comes as fast as it can, and does not end."""

    def steps() -> Iterator[Step]:
        yield Step(_HEAD + _CLOSE + b"<!DOCTYPE html><html><body>")
        yield from repeat(Step(_BLOCK))

    missing = _numbered(ask, b"/stream/", "endless")
    return missing or Answer(200, "endless", HTML, b"", Delivery.STEPS, steps=steps)


def _endless_header(ask: Ask) -> Answer:
    """Header lines without end."""

    def steps() -> Iterator[Step]:
        yield Step(_HEAD)
        yield from (Step(b"X-Line-%d: and so on\r\n" % number, wait=0.02) for number in count())

    missing = _numbered(ask, b"/head/", "endless-headers")
    return missing or Answer(200, "endless-headers", HTML, b"", Delivery.STEPS, steps=steps)


@cache
def _flood() -> bytes:
    return b"".join(b"X-Flood-%d: %b\r\n" % (number, b"f" * 80) for number in range(_FLOOD))


def _header_flood(ask: Ask) -> Answer:
    """A page behind a header of more than a megabyte."""
    missing = _numbered(ask, b"/flood/", "header-flood")
    body = sheet(ask.place, "Behind the flood", draw=ask.place.draw("flood", ask.path))
    return missing or page("header-flood", body, HTML + _flood())


def _storm(ask: Ask, status: int, name: str) -> Answer | None:
    """A quarter of the requests is turned away, whatever they are for; a few addresses always are."""
    place = ask.place
    always = number_in(ask.path, b"/busy/", b".html")
    draw = place.draw("storm", ask.path.decode("latin-1"), ask.asked.connection)
    if not 0 <= always < _ROOMS and draw % 100 >= REFUSED_OF_100:
        return None
    return plain_answer(status, name, b"Retry-After: %d\r\n" % place.retry_after_s)


def _busy(_: Place) -> list[str]:
    return _links("/busy/")


SLOW = (
    Scenario(
        name="drip",
        about="pages that come letter by letter",
        source="P3 4.1, 5.4 (a limit on the time for each URL); slowloris, the other way round",
        family="time",
        prefix=b"/drip/",
        links=lambda _: _links("/drip/"),
        answer=_drip,
    ),
    Scenario(
        name="endless",
        about="pages that come at full speed and do not end",
        source="P3 4.1 (infinite size contents, such as radio)",
        family="bytes",
        prefix=b"/stream/",
        links=lambda _: _links("/stream/"),
        answer=_endless,
    ),
    Scenario(
        name="endless-headers",
        about="header lines without end, fifty a second",
        source="RFC 9110 5.4; libcurl: a header has 300 kB at most",
        family="time",
        prefix=b"/head/",
        links=lambda _: _links("/head/"),
        answer=_endless_header,
    ),
    Scenario(
        name="header-flood",
        about="a header of 15,000 lines, more than a megabyte, before a small page",
        source="RFC 9110 5.4; libcurl: a header has 300 kB at most",
        family="bytes",
        prefix=b"/flood/",
        links=lambda _: _links("/flood/"),
        answer=_header_flood,
    ),
    Scenario(
        name="storm-429",
        about="a quarter of all requests is answered with 429 and Retry-After",
        source="RFC 6585 4",
        family="time",
        prefix=b"/busy/",
        everywhere=True,
        links=_busy,
        answer=lambda ask: _storm(ask, 429, "storm-429"),
    ),
    Scenario(
        name="storm-503",
        about="a quarter of all requests is answered with 503 and Retry-After",
        source="RFC 9110 15.6.4; P3 4.1 (unavailable services)",
        family="time",
        prefix=b"/busy/",
        everywhere=True,
        links=_busy,
        answer=lambda ask: _storm(ask, 503, "storm-503"),
    ),
)
