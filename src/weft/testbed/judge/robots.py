"""Whether a crawler did as robots.txt and Retry-After ask. In: what the servers saw. Out: counts.

The rules are those of the web's own robots.txt files, which every crawler reads alike: a section that is forbidden to
all, a crawl-delay, an answer of 503 (RFC 9309 2.3.1.4: nothing may be fetched). What the broken ones of the scenario
`robots-broken` allow is a matter of opinion, and not judged.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from weft.testbed.judge.evidence import Evidence, Request
from weft.testbed.messages import without_port
from weft.testbed.purpose import Sort
from weft.testbed.traits import ROBOTS_ERROR
from weft.testbed.web import Web

_TOLERANCE = 0.95
"""A delay counts as kept if so much of it was: clocks of two programs are two clocks."""


def forbidden(web: Web, request: Request) -> bool:
    """Whether the robots.txt of the site that was asked forbids this."""
    if not _has_usual_robots(web, request):
        return False
    return web.disallowed(request.site, request.entry.path.encode())


def _has_usual_robots(web: Web, request: Request) -> bool:
    played = web.played.get(request.site)
    if played is None or not played.scenario.own_robots:
        return request.site >= 0
    return not web.names.label(request.site, without_port(request.entry.site.encode()))


class _Asked:
    """One site, as it is asked."""

    __slots__ = ("delay_ends", "known", "pages", "retry_at", "robots", "too_early")

    def __init__(self) -> None:
        self.robots = 0
        self.known = -1.0  # when the last robots.txt had been answered
        self.pages = 0
        self.too_early = False  # a page was asked for before
        self.delay_ends = 0.0
        self.retry_at = 0.0


def obedience(evidence: Evidence) -> dict[str, Any]:
    """What was asked for against the will of the sites."""
    web = evidence.web
    sites: dict[str, _Asked] = defaultdict(_Asked)
    counts = dict.fromkeys(("forbidden", "unavailable", "delays", "too_soon", "retries_too_soon"), 0)
    against: set[str] = set()
    oldest = 0.0
    for request in evidence.requests:
        entry, site = request.entry, sites[request.entry.site]
        counts["retries_too_soon"] += entry.first_byte < site.retry_at
        delay = _delay(web, request) if site.known >= 0 else 0.0
        counts["delays"] += bool(delay)
        counts["too_soon"] += entry.first_byte < site.delay_ends
        if delay:
            site.delay_ends = entry.last_byte + _TOLERANCE * delay
        if entry.status in {429, 503} and entry.kind != "robots":
            site.retry_at = entry.last_byte + _TOLERANCE * web.options.retry_after_s
        if request.purpose.sort is Sort.ROBOTS:
            site.robots += 1
            site.known = entry.last_byte
            continue
        if request.site < 0:
            continue
        site.pages += 1
        site.too_early |= site.known < 0
        oldest = max(oldest, entry.first_byte - site.known) if site.known >= 0 else oldest
        if forbidden(web, request):
            counts["forbidden"] += 1
            against.add(entry.site)
        counts["unavailable"] += _is_unavailable(web, request)
    asked = [site for site in sites.values() if site.pages]
    return {
        "sites": len(asked),
        "asked_first": sum(not site.too_early for site in asked),
        "asked_late": sum(site.too_early and site.robots > 0 for site in asked),
        "never_asked": sum(not site.robots for site in asked),
        "requests": sum(site.robots for site in sites.values()),
        "most_requests": max((site.robots for site in sites.values()), default=0),
        "oldest_s": round(oldest, 3),
        "forbidden_sites": len(against),
        **counts,
    }


def _delay(web: Web, request: Request) -> float:
    """The crawl-delay that the site asks for."""
    asks = request.site >= 0 and web.traits.delay[request.site] and not _fails(web, request.site)
    return web.options.crawl_delay_s if asks and _has_usual_robots(web, request) else 0.0


def _fails(web: Web, site: int) -> bool:
    return bool(web.traits.robots[site] == ROBOTS_ERROR)


def _is_unavailable(web: Web, request: Request) -> bool:
    """Whether the site's robots.txt fails, so that nothing may be asked for."""
    return _fails(web, request.site) and _has_usual_robots(web, request)
