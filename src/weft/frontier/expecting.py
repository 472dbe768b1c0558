"""When a page that waits will be fetched, as far as that can be said. In: its place in the order, the waits of its
site, the speed of the crawl. Out: a time and what it is reckoned from.

Two things keep a page waiting. Its site is visited once a wait, for so many pages; and connections are given to the
pages that come first. The later of the two is the estimate. It assumes that no better page is found meanwhile, that the
site's next downloads take as long as its last, and that the crawl is as fast as recently.

>>> expect(on_site=9, in_all=50, now=100.0, rests_until=90.0, wait=2.0, per_visit=5, took=0.5, speed=10.0)
Expected(at=106.5, by_site=106.5, by_crawl=105.0)
"""

from __future__ import annotations

from typing import NamedTuple


class Expected(NamedTuple):
    """When a page will be fetched, in wall time."""

    at: float
    by_site: float  # when its site could have come to it, had the crawl nothing else to do
    by_crawl: float | None  # when the crawl will have come to it, had sites no waits; None: its speed is not known


def expect(
    *,
    on_site: int,
    in_all: int,
    now: float,
    rests_until: float,
    wait: float,
    per_visit: int,
    took: float,
    speed: float | None,
) -> Expected:
    """When a page with so many before it will be fetched.

    A visit takes `took` seconds a page and is followed by the site's `wait`; the crawl fetches `speed` pages a second.
    """
    visits, left = divmod(on_site, per_visit)
    by_site = max(now, rests_until) + visits * (wait + per_visit * took) + left * took
    by_crawl = now + in_all / speed if speed else None
    return Expected(max(by_site, by_crawl or now), by_site, by_crawl)
