"""How gently: waits between visits, and limits for a registered domain, an address and a network beside the site's.

In: the present time, and what the last visit was like. Out: whether a visit may begin, and when the next one may.
Pure: no clock, no sockets.

A site has one connection at a time and rests for its wait w after each visit. A *throttle* stands for a registered
domain or for an address: at most n connections at once, and w/4 between one opening and the next. Between two
openings means: from the moment the server has shown that it took the first one (the first byte of an answer, or the
end of the connection), so that the distance holds by the server's clock and not only by ours.

Where that is set, the addresses of a network (/24, in IPv6 /48) have a throttle of their own as well (P4 3.3), with a
gap that is a setting: w/4 would make one address of a network.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from weft.model import SiteNumber
from weft.settings import setting
from weft.urls import network_of

NEVER = float("inf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Politeness:
    """Waits and limits."""

    wait: float | None = setting(
        None,
        "seconds between visits to a site, fixed; 0 is no waiting. When not given, the wait follows the last download",
        at_least=0,
        unit="seconds",
    )
    wait_small: float | None = setting(
        None, "seconds between visits to a site with fewer pages than small_site", at_least=0, unit="seconds"
    )
    small_site: int = setting(100, "pages below which a site is small", at_least=0)
    wait_least: float = setting(2.0, "the shortest adaptive wait, in seconds", at_least=0, unit="seconds")
    wait_most: float = setting(60.0, "the longest adaptive wait, in seconds", at_least=0, unit="seconds")
    wait_factor: float = setting(5.0, "the adaptive wait is so many times the last download", at_least=0)
    per_visit: int = setting(1, "pages fetched on one connection to a site", at_least=1)
    connections: int = setting(500, "connections at once, to as many sites", at_least=1, at_most=100_000)
    per_domain: int = setting(4, "connections at once to the sites of one registered domain", at_least=1)
    per_address: int = setting(4, "connections at once to one address", at_least=1)
    per_network: int | None = setting(
        None,
        "connections at once to the addresses of one network (/24, in IPv6 /48). When not given, any number",
        at_least=1,
    )
    network_gap: float = setting(
        0.0,
        "least seconds between two openings of connections to the addresses of one network; 0 keeps no gap",
        at_least=0,
        unit="seconds",
    )
    margin: float = setting(
        0.03,
        "seconds added to every wait: a server sees the end of a visit a little later than we do",
        at_least=0,
        unit="seconds",
    )
    crawl_delay_most: float = setting(
        300.0, "a longer Crawl-delay in robots.txt is taken as this, in seconds", at_least=0, unit="seconds"
    )
    retry_after_most: float = setting(
        86_400.0, "a longer Retry-After is taken as this, in seconds", at_least=0, unit="seconds"
    )
    too_often_pause: float = setting(
        60.0, "seconds a site is left alone that answers 429 without a Retry-After", at_least=0, unit="seconds"
    )
    robots_age: float = setting(
        86_400.0,
        "a robots.txt is asked for anew after so many seconds, at most 86,400",
        above=0,
        at_most=86_400,
        unit="seconds",
    )

    @property
    def by_network(self) -> bool:
        """Have networks limits of their own?"""
        return self.per_network is not None or self.network_gap > 0


def lent_as(settings: Politeness, address: str) -> str:
    """What is lent to one worker at a time, so that the limits hold over all of them: an address, or all of its
    network where networks have limits.

    >>> lent_as(Politeness(), "192.0.2.77"), lent_as(Politeness(per_network=2), "192.0.2.77")
    ('192.0.2.77', '192.0.2.0/24')
    """
    return network_of(address) if settings.by_network else address


def wait_after(settings: Politeness, took: float, crawl_delay: float | None, fixed: float | None, pages: int) -> float:
    """The wait of a site with so many pages after a visit whose last download took so long.

    >>> wait_after(Politeness(), 1.0, None, None, 1), wait_after(Politeness(wait=0.0), 1.0, None, None, 1)
    (5.0, 0.0)
    >>> wait_after(Politeness(wait=0.0), 1.0, 1000.0, None, 1)
    300.0
    """
    wait = settings.wait if fixed is None else fixed
    if settings.wait_small is not None and fixed is None and pages < settings.small_site:
        wait = settings.wait_small
    if wait is None:
        wait = min(max(settings.wait_least, settings.wait_factor * took), settings.wait_most)
    if crawl_delay is not None:
        wait = max(wait, min(crawl_delay, settings.crawl_delay_most))
    return wait


def shortest_wait(settings: Politeness) -> float:
    """The shortest wait of sites without settings of their own; where small sites have another, the longer of the two.

    >>> shortest_wait(Politeness()), shortest_wait(Politeness(wait=5.0, wait_small=15.0))
    (2.0, 15.0)
    """
    return max(settings.wait_least if settings.wait is None else settings.wait, settings.wait_small or 0.0)


def quiet_time(settings: Politeness) -> float:
    """How long nothing may begin where nobody knows what was visited until now."""
    return max(shortest_wait(settings), settings.network_gap)


class Throttle:
    """What the sites of one domain, at one address, or in one network share. A connection is known by any object of
    its own.
    """

    __slots__ = (
        "insists",
        "kept_until",
        "lent",
        "limit",
        "open",
        "opening",
        "opens_at",
        "parked",
        "recalled",
        "rests_until",
        "spaced",
        "within",
        "woken_at",
    )

    def __init__(self, limit: int, *, lent: bool = True, within: Throttle | None = None) -> None:
        self.limit = limit
        self.within = within  # of an address: its network, where that has limits
        self.lent = lent  # the global frontier has lent it to this worker; a domain always is
        self.recalled = False  # another worker waits for it
        self.kept_until = 0.0  # it may wait so long, for the one visit that the address was lent for
        self.insists = False  # sites here cannot be given to the worker to whom it is lent
        self.open = 0
        self.opening: object | None = None  # the connection that the server has not yet shown to have taken
        self.opens_at = 0.0  # no opening before this; NEVER while one is under way
        self.rests_until = 0.0  # of a network: when the gaps of all its addresses are over
        self.spaced = False  # a gap is kept between openings
        self.parked: deque[SiteNumber] = deque()  # sites that wait for a place
        self.woken_at = NEVER  # when a timer will look after the parked ones

    def __repr__(self) -> str:
        return f"Throttle({self.open}/{self.limit} open, {len(self.parked)} parked)"

    def free(self, now: float) -> bool:
        """May a connection be opened now?"""
        ours = self.lent and (not self.recalled or now < self.kept_until)
        return self.open < self.limit and now >= self.opens_at and ours

    def begin(self, connection: object, gap: float) -> None:
        """A connection is being opened; unless there is no gap to keep, the next must wait for its confirmation."""
        self.open += 1
        self.kept_until = 0.0
        self.spaced = gap > 0
        if gap > 0:
            self.opening = connection
            self.opens_at = NEVER

    def confirm(self, connection: object, now: float, gap: float) -> None:
        """The server has taken the connection, or it is gone: the gap begins, if it is the one that was awaited."""
        if self.opening is connection:
            self.opening = None
            self.opens_at = now + gap
            if self.within is not None:
                self.within.rests_until = max(self.within.rests_until, self.opens_at)

    def not_before(self, at: float) -> None:
        """No opening before this, whatever is known otherwise."""
        self.opens_at = max(self.opens_at, at)
        if self.within is not None:
            self.within.rests_until = max(self.within.rests_until, at)

    def end(self, connection: object, now: float, gap: float) -> None:
        """The connection is closed; with no gap it had never been opened."""
        self.open -= 1
        self.confirm(connection, now, gap)

    @property
    def idle(self) -> bool:
        """Nothing is known here that must be remembered, but for a gap that may still run."""
        return self.open == 0 and not self.parked
