"""What the servers saw of one crawler. In: a log and the web it was served from. Out: requests, and what each was for.

Invariant: requests are in the order in which they began.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.errors import UsageError
from weft.graph.rank import pagerank
from weft.testbed.log import Entry, is_cut, read_log
from weft.testbed.messages import without_port
from weft.testbed.purpose import Purpose, Sort, purpose_of_entry
from weft.testbed.traits import COMPRESSED
from weft.testbed.truth import reachable
from weft.testbed.web import Web

_WEIGHED = 1_000
"""Pages whose sizes are compared, which takes the making of each."""
_ABOUT = 2_000
"""Bytes by which they may differ, for the answer's header; and a tenth more, for ports in addresses are not known."""


class Request(NamedTuple):
    """A line of the log, and what it was for."""

    entry: Entry
    purpose: Purpose
    site: int
    """The number of the site that was asked, under whichever name; -1 if there is none."""

    @property
    def url(self) -> tuple[str, str, str]:
        """What tells addresses apart."""
        return self.entry.scheme, self.entry.site, self.entry.path

    @property
    def seconds(self) -> float:
        """How long the server was busy with it."""
        return self.entry.last_byte - self.entry.first_byte

    @property
    def fetched(self) -> bool:
        """Whether the client was given a content."""
        return self.entry.status == 200 and self.entry.method == "GET"


class Known:
    """What is known of a web before anybody crawls it."""

    def __init__(self, web: Web) -> None:
        self._plain, self._secure = web.at(80), web.at(80, 443)
        self.web = self._plain

    def as_served(self, entries: Iterable[Entry]) -> Web:
        """The web as a log shows it: over TLS, or not."""
        secure = any(entry.scheme == "https" or entry.kind == "scheme" for entry in entries)
        return self._secure if secure else self._plain

    @cached_property
    def pages(self) -> NDArray[np.int64]:
        """The pages that could be had by who obeys robots.txt and follows links, in breadth-first order."""
        return np.array(reachable(self.web), dtype=np.int64)

    @cached_property
    def could(self) -> NDArray[np.bool_]:
        """Of each page of the graph, whether it is one of these."""
        could = np.zeros(self.web.graph.pages, dtype=bool)
        could[self.pages] = True
        return could

    @cached_property
    def worth(self) -> NDArray[np.float64]:
        """The PageRank of each page, as a share of what all pages have together that could be had."""
        rank = pagerank(self.web.graph.offsets, self.web.graph.links)
        return np.asarray(np.where(self.could, rank, 0.0) / rank[self.could].sum())


@dataclass(frozen=True, eq=False)
class Evidence:
    """All that the servers saw of one crawler."""

    name: str
    web: Web
    requests: Sequence[Request]
    closed: dict[int, float]
    """When each connection ended, as far as it did."""
    cut: bool
    """The last line of the log is not whole."""

    @property
    def began(self) -> float:
        """When the first request began."""
        return self.requests[0].entry.first_byte

    @property
    def seconds(self) -> float:
        """From the first request to the last byte of the last answer."""
        return max(each.entry.last_byte for each in self.requests) - self.began


def gather(name: str, path: Path, known: Known, first: int | None = None) -> Evidence:
    """Read a log of this web, or its first so many requests."""
    entries = read_log(path)
    web = known.as_served(entries)
    requests = [_request(web, entry) for entry in entries if entry.event == "request"]
    if not requests:
        raise UsageError(
            "nobody asked these servers for anything", where=str(path), todo="crawl the web first, and wait for its end"
        )
    for place, each in enumerate(requests):
        if _is_foreign(web, each, weigh=place < _WEIGHED):
            raise UsageError(
                f"this is the log of another web, in which {each.entry.site}{each.entry.path} is another page or none",
                where=str(path),
                todo="give the options that the web was served with: --standard, or the numbers and the seed",
            )
    requests.sort(key=lambda each: each.entry.first_byte)
    closed = {entry.connection: entry.last_byte for entry in entries if entry.event == "close"}
    return Evidence(name, web, requests[:first], closed, is_cut(path))


def _request(web: Web, entry: Entry) -> Request:
    site = web.names.site_of(without_port(entry.site.lower().encode()))
    return Request(entry, purpose_of_entry(web, entry), site)


def _is_foreign(web: Web, request: Request, *, weigh: bool) -> bool:
    """Whether a page was answered that this web does not have; home pages are told apart by their sizes alone."""
    entry, purpose = request.entry, request.purpose
    if not request.fetched or entry.kind not in {"page", "duplicate"}:
        return False
    if purpose.sort is not Sort.GOOD or not weigh or web.traits.special[purpose.page] & COMPRESSED:
        return purpose.sort is Sort.OTHER
    return abs(entry.size - len(web.body(purpose.page))) > _ABOUT + entry.size // 10
