"""What an audit finds. In: how close the crawl came to a rule, and how often it broke one. Out: an `Audit`.

Of each rule the closest case is kept and all violations are counted; the first `MOST_KEPT` are kept one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

MOST_KEPT = 10_000  # violations of one rule that are kept one by one; all are counted
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """How close the crawl came to a rule, or by how much it broke it."""

    rule: str  # site-wait, site-connections, domain-gap … robots-age, robots-missing
    who: str  # the site, domain, address or origin
    figure: float | None  # seconds or connections; None where there was no robots.txt
    limit: float
    when: datetime  # the opening of the connection
    since: datetime | None = None  # the end of the visit before, the opening before, or when robots.txt was had


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What the columns of a crawl prove."""

    rows: int = 0
    visits: int = 0
    sites: int = 0
    domains: int = 0
    addresses: int = 0
    smallest_gap: dict[str, Finding] = field(default_factory=dict)  # by site, domain, address
    most_connections: dict[str, Finding] = field(default_factory=dict)  # by site, domain, address
    oldest_robots: Finding | None = None
    broken: dict[str, int] = field(default_factory=dict)  # by rule: how often
    violations: list[Finding] = field(default_factory=list)  # the oldest first, at most MOST_KEPT of a rule

    @property
    def ok(self) -> bool:
        """Was no rule broken?"""
        return not self.broken


class Findings:
    """What was found so far."""

    def __init__(self) -> None:
        self.smallest: dict[str, tuple[Finding, int]] = {}
        self.most: dict[str, Finding] = {}
        self.oldest: Finding | None = None
        self.broken: Counter[str] = Counter()
        self.violations: list[Finding] = []

    def add(self, rule: str, count: int, finding: Callable[[int], Finding]) -> None:
        """Take violations in, of which so many are found by their number."""
        if count:
            kept = min(count, MOST_KEPT - min(MOST_KEPT, self.broken[rule]))
            self.violations += [finding(number) for number in range(kept)]
            self.broken[rule] += count


def moment(microseconds: Any) -> datetime:
    """The time so long after the epoch."""
    return _EPOCH + timedelta(microseconds=int(microseconds))
