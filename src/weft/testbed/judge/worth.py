"""What the requests were worth. In: what the servers saw. Out: good pages, and every request in one class.

Classes, the first that fits: robots.txt; what it forbids; a hazard, by name; an address once more that had been
answered for good; the content of an address that had been fetched from another; a page that could be had; a failure;
the rest (redirects, sitemaps, what is embedded).
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from weft.testbed.judge.evidence import Evidence, Known, Request
from weft.testbed.judge.robots import forbidden
from weft.testbed.purpose import Sort
from weft.testbed.web import Web

CLASSES = ("new", "duplicate", "again", "hazard", "failed", "forbidden", "robots", "other")
_TRY_AGAIN = (0, 429)


class Cost:
    """Requests, bytes, and seconds in which servers were busy."""

    __slots__ = ("requests", "seconds", "size")

    def __init__(self) -> None:
        self.requests, self.size, self.seconds = 0, 0, 0.0

    def add(self, request: Request) -> None:
        """Count one more."""
        self.requests += 1
        self.size += request.entry.size
        self.seconds += request.seconds

    def told(self) -> dict[str, Any]:
        """As numbers with names."""
        return {"requests": self.requests, "bytes": self.size, "seconds": round(self.seconds, 3)}


class _Sorter:
    """Says the class of each request, in the order in which they began."""

    def __init__(self, web: Web, known: Known) -> None:
        self._web, self._could = web, known.could
        self._answered: set[tuple[str, str, str]] = set()
        self._contents: set[int] = set()
        self.asked: set[tuple[str, str, str]] = set()
        self.repeated = 0
        self.retried = 0
        self.copies = 0
        self.had: dict[int, Request] = {}
        """Pages that could be had, with the request that brought them first."""

    def sort(self, request: Request) -> str:
        """The class of a request; what it brought is remembered."""
        entry, purpose = request.entry, request.purpose
        if purpose.sort is Sort.ROBOTS:
            return "robots"
        again = self._once_more(request)
        copied = self._is_copy(request, again=again)
        if forbidden(self._web, request):
            return "forbidden"
        if request.fetched and purpose.sort is Sort.GOOD and self._could[purpose.page]:
            self.had.setdefault(purpose.page, request)
        if purpose.sort is Sort.HAZARD:
            return "hazard"
        if again:
            return "again"
        if copied:
            return "duplicate"
        if request.fetched and purpose.sort is Sort.GOOD:
            return "new"
        return "failed" if entry.status >= 400 or entry.status == 0 else "other"

    def _once_more(self, request: Request) -> bool:
        """Whether this address was answered for good before."""
        url, status = request.url, request.entry.status
        again = url in self._answered
        if url in self.asked:
            self.repeated += 1
            self.retried += not again
        self.asked.add(url)
        if status not in _TRY_AGAIN and status < 500:
            self._answered.add(url)
        return again

    def _is_copy(self, request: Request, *, again: bool) -> bool:
        """Whether the content was fetched before, from another address."""
        if not request.fetched or request.purpose.page < 0:
            return False
        content = self._web.pages.original(request.purpose.page)
        copied = content in self._contents and not again
        self._contents.add(content)
        self.copies += copied
        return copied


def worth(evidence: Evidence, known: Known) -> tuple[dict[str, Any], dict[int, Request]]:
    """What the requests were worth, and the pages that were had, each with the request that brought it first."""
    sorter = _Sorter(evidence.web, known)
    classes = {name: Cost() for name in CLASSES}
    hazards: dict[str, Cost] = defaultdict(Cost)
    for request in evidence.requests:
        found = sorter.sort(request)
        classes[found].add(request)
        if found == "hazard":
            hazards[request.purpose.scenario].add(request)
    fetched = sum(request.fetched for request in evidence.requests)
    told = {
        "good": len(sorter.had),
        "could": len(known.pages),
        "addresses": len(sorter.asked),
        "repeated": sorter.repeated,
        "retried": sorter.retried,
        "fetched": fetched,
        "copies": sorter.copies,
        "classes": {name: cost.told() for name, cost in classes.items()},
        "hazards": _hazards(evidence.web, known, hazards, sorter.had),
    }
    return told, sorter.had


def _hazards(web: Web, known: Known, costs: dict[str, Cost], had: dict[int, Request]) -> dict[str, dict[str, Any]]:
    """For each scenario that the web plays what it cost, and the good pages of its sites."""
    told: dict[str, dict[str, Any]] = {}
    for site, played in sorted(web.played.items(), key=lambda item: (item[1].scenario.name, item[0])):
        name = played.scenario.name
        row = told.setdefault(name, {**costs.get(name, Cost()).told(), "sites": 0, "good": 0, "could": 0})
        pages = [page for page in web.graph.pages_of(site) if known.could[page]]
        row["sites"] += 1
        row["could"] += len(pages)
        row["good"] += sum(page in had for page in pages)
    return told
