"""Pages that are linked to but missing or failing. In: site and number, or a path. Out: how it fails.

Their addresses look like `/section-3/gone-12.html`. How one of them fails follows from its site, its number
and the seed alone, and never changes, so that a crawl can be compared with what it should have met.
"""

from __future__ import annotations

import re

import numpy as np

from weft.testbed.answers import HTML, Answer, Delivery, plain_answer
from weft.testbed.compose import write_gone_path
from weft.testbed.dice import Dice
from weft.testbed.links import Scene, gone_pages
from weft.testbed.options import Options, parse_kinds

_GONE = re.compile(rb"/gone-([0-9]{1,9})\.html\Z")

_DELIVERIES = {
    "closed": Delivery.CLOSED,
    "short": Delivery.SHORT,
    "reset": Delivery.RESET,
    "hang": Delivery.HANG,
    "endless": Delivery.ENDLESS,
    "malformed": Delivery.MALFORMED,
}

_MALFORMED = (
    b"HTTP/1.1 200 OK\r\nContent-Type text/html\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 7\r\n\r\nhello",
    b"HTP/1.1 OK\r\n\r\nhello",
)


class Hazards:
    """The missing pages of a web."""

    def __init__(self, scene: Scene, options: Options, seed: int) -> None:
        self._scene = scene
        self._kinds = parse_kinds(options.failing_kinds)
        self._dice = Dice(seed, "gone")
        self._retry_after = b"Retry-After: %d\r\n" % options.retry_after_s
        self._buffer = np.empty(4096, dtype=np.uint8)

    def count(self, site: int) -> int:
        """How many missing pages of a site are linked to from somewhere."""
        return int(gone_pages(self._scene, site))

    def path(self, site: int, number: int) -> bytes:
        """The path of a missing page."""
        return self._buffer[: write_gone_path(self._scene, site, number, self._buffer, 0)].tobytes()

    def number(self, site: int, path: bytes) -> int:
        """The number of the missing page with this path; -1 if it is none."""
        found = _GONE.search(path)
        if found is None:
            return -1
        number = int(found[1])
        return number if number < self.count(site) and self.path(site, number) == path else -1

    def kind(self, site: int, number: int) -> str:
        """How a missing page fails."""
        share = self._dice.share((site << 31) + number)
        return next(kind for kind, reached in self._kinds if share < reached)

    def answer(self, site: int, number: int) -> Answer:
        """What is answered for a missing page."""
        kind = self.kind(site, number)
        if kind in {"503", "429"}:
            return plain_answer(int(kind), kind, self._retry_after)
        if kind.isdigit():
            return plain_answer(int(kind), kind)
        if kind == "soft-404":
            return plain_answer(404, kind)._replace(status=200)
        delivery = _DELIVERIES[kind]
        if delivery is Delivery.MALFORMED:
            return Answer(0, kind, b"", _MALFORMED[number % len(_MALFORMED)], delivery)
        status = 200 if delivery in {Delivery.SHORT, Delivery.RESET, Delivery.ENDLESS} else 0
        body = b"<!DOCTYPE html>\n<html><head><title>Half a page</title></head><body>\n" + b"<p>word</p>\n" * 500
        return Answer(status, kind, HTML, body, delivery)
