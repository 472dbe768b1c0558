"""What an audit finds. In: how close the crawl came to a rule, and how often it broke one. Out: an `Audit`.

Of each rule the closest case is kept and all violations are counted; the first `MOST_KEPT` are kept one by one, each
with the request that broke the rule. What the crawl's files do not tell is counted, too: it was not judged.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

MOST_KEPT = 10_000  # violations of one rule that are kept one by one; all are counted
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record begins."""

    volume: str
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """How close the crawl came to a rule, or by how much it broke it."""

    rule: str  # site-wait, site-connections, domain-gap … disallowed, crawl-delay, retry-after, blacklist, nofollow
    who: str  # the site, domain, address, network or origin
    figure: float | None  # seconds or connections; None where the rule has none
    limit: float | None
    when: datetime  # the opening of the connection, or the request
    since: datetime | None = None  # the end of the visit before, the opening before, or when the rule was said
    url: str = ""  # what was asked for
    says: str = ""  # what the rule says, in the words of who made it
    asked: Place | None = None  # the record of the request; None where its answer was not stored
    said: Place | None = None  # the record of what says so: robots.txt, the answer before, the page with the link


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The result of an audit: what the files of a crawl prove, and what they do not tell."""

    rows: int = 0
    visits: int = 0
    sites: int = 0
    domains: int = 0
    addresses: int = 0
    networks: int = 0  # 0 where they had no limits
    smallest_gap: dict[str, Finding] = field(default_factory=dict)  # by site, domain, address, network
    most_connections: dict[str, Finding] = field(default_factory=dict)  # by site, domain, address, network
    oldest_robots: Finding | None = None
    judged: dict[str, int] = field(default_factory=dict)  # by rule: requests that were held against it
    unjudged: dict[str, int] = field(default_factory=dict)  # what could not be judged, in words: how often
    broken: dict[str, int] = field(default_factory=dict)  # by rule: how often
    violations: list[Finding] = field(default_factory=list)  # the oldest first, at most MOST_KEPT of a rule

    @property
    def ok(self) -> bool:
        """Was no rule broken?"""
        return not self.broken


Noted = tuple[Finding, int]
"""A finding, and the number of the row that its request is in, where it gets its URL from."""


class Findings:
    """Collects what one audit finds, rule by rule. Every violation is counted, and the first ones are kept."""

    def __init__(self) -> None:
        self.smallest: dict[str, Noted] = {}
        self.most: dict[str, Noted] = {}
        self.oldest: Noted | None = None
        self.judged: Counter[str] = Counter()
        self.unjudged: Counter[str] = Counter()
        self.broken: Counter[str] = Counter()
        self._kept: list[Noted] = []

    def __repr__(self) -> str:
        return f"Findings({dict(self.broken)})"

    def add(self, rule: str, count: int, finding: Callable[[int], Noted]) -> None:
        """Take violations in, of which so many are found by their number."""
        if count:
            kept = min(count, MOST_KEPT - min(MOST_KEPT, self.broken[rule]))
            self._kept += [finding(number) for number in range(kept)]
            self.broken[rule] += count

    def add_one(self, finding: Finding, row: int) -> None:
        """Take one violation in."""
        self.add(finding.rule, 1, lambda _: (finding, row))

    @property
    def rows(self) -> list[int]:
        """The rows of all requests that are kept one by one."""
        oldest = [] if self.oldest is None else [self.oldest]
        return [row for _, row in (*self._kept, *self.smallest.values(), *self.most.values(), *oldest)]

    def audit(self, requests: Iterable[tuple[int, str, str | None, int | None]], **counts: int) -> Audit:
        """What was found, by the requests in these rows: number, URL, volume and offset."""
        known = {row: (url, place(volume, offset)) for row, url, volume, offset in requests}

        def named(noted: Noted) -> Finding:
            url, asked = known[noted[1]]
            return replace(noted[0], url=url, asked=asked)

        return Audit(
            **counts,
            smallest_gap={kind: named(noted) for kind, noted in self.smallest.items()},
            most_connections={kind: named(noted) for kind, noted in self.most.items()},
            oldest_robots=None if self.oldest is None else named(self.oldest),
            judged=dict(self.judged),
            unjudged={what: times for what, times in self.unjudged.items() if times},
            broken=dict(self.broken),
            violations=sorted(map(named, self._kept), key=lambda finding: finding.when),
        )


def place(volume: str | None, offset: int | None) -> Place | None:
    """Where a record begins, if there is one."""
    return None if volume is None or offset is None else Place(volume, offset)


def moment(microseconds: Any) -> datetime:
    """The time so long after the epoch."""
    return _EPOCH + timedelta(microseconds=int(microseconds))
