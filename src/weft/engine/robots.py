"""Robots.txt, fetched on a visit's own connection before its pages. In: a visit. Out: what the frontier learns.

By RFC 9309: redirects are followed, five at most; an answer in the 400s means that everything is allowed; one in
the 500s, a 429 or none at all means that nothing is, for now. A redirect to another origin becomes an errand: the
file is fetched on a visit to that site, under its politeness, and the site that it speaks for is held until it has
come.
"""

from __future__ import annotations

from typing import NamedTuple

from weft.engine.exchange import cut_of, keeps_open, pause_of, redirect_of, verdict
from weft.engine.wires import Wires
from weft.fetch.transport import Connection
from weft.frontier.schedule import Visit
from weft.frontier.sites import Errand, RobotsRecord
from weft.model import Kind, Page, Reason, Turn
from weft.urls import fingerprint, origin_of

MOST_HOPS = 5
MOST_BYTES = 524_288


class Learned(NamedTuple):
    """What came of asking for robots.txt."""

    go_on: bool  # the visit may fetch pages on its connection
    pause: float  # what the site must be left alone for, beside its wait


_END = Learned(go_on=False, pause=0.0)


async def ask_robots(wires: Wires, visit: Visit, connection: Connection) -> Learned:
    """Fetch the robots.txt of the visit's site, or the one that it was sent for."""
    own = Errand(f"{visit.scheme}://{visit.site.name}/robots.txt", 0, visit.site.name, visit.scheme)
    errand = visit.errand or own
    url = errand.url
    for hop in range(errand.hops, MOST_HOPS + 1):
        request = wires.asker.robots(visit.site, url, most=MOST_BYTES, now=wires.clock.wall())
        page = await wires.network.fetch(connection, request)
        if page is None:
            return _give_back(visit)
        reason = verdict(page)
        redirect = redirect_of(page)
        here = redirect is not None and origin_of(redirect) == origin_of(url) and keeps_open(page)
        _record(wires, visit, url, page, reason, redirect=redirect, over=not keeps_open(page))
        if page.reason is Reason.TLS and visit.site.tls == "" and page.tls and not wires.verify_tls:
            visit.site.tls = page.tls  # its certificate is looked at once; the next visit takes it as it is
            return _give_back(visit)
        if redirect is None or hop == MOST_HOPS:
            return _learn(wires, visit, page, reason)
        if not here:
            wires.frontier.send(Errand(redirect, hop + 1, errand.owner, errand.scheme))
            return _END
        url = redirect
    raise AssertionError("the last hop returns")


def _learn(wires: Wires, visit: Visit, page: Page, reason: Reason | None) -> Learned:
    """Take in what was answered, for the visit's own site or for the one that it was sent for."""
    frontier, site = wires.frontier, visit.site
    pause = pause_of(page, wires.politeness, wires.clock.wall())
    record = None
    if reason is None or reason is Reason.STATUS_4XX or cut_of(page) == "length":
        body = None
        if 200 <= page.status < 300:
            body, _ = wires.parser.content(page)
        # A redirect that leads nowhere, or the last of too many, is as good as no file.
        record = RobotsRecord(wires.clock.wall(), True, body)
    if visit.errand is not None:
        frontier.deliver(visit.errand, record)
        return Learned(go_on=False, pause=pause)
    if record is None:
        return Learned(go_on=False, pause=max(pause, frontier.failed(site)))
    site.failures = 0
    frontier.learn_robots(site, visit.scheme, allowed=record.allowed, body=record.body)
    return Learned(keeps_open(page), pause)


def _give_back(visit: Visit) -> Learned:
    """Nothing was learned: the same will be asked on the next visit."""
    if visit.errand is not None:
        visit.site.errands.insert(0, visit.errand)
    return _END


def _record(
    wires: Wires, visit: Visit, url: str, page: Page, reason: Reason | None, *, redirect: str | None, over: bool
) -> None:
    turn = Turn(-1, fingerprint(url), url, 0, Kind.ROBOTS, 0, 1)
    wires.record(
        visit, turn, page, reason=reason, final=True, closed_at=wires.clock.wall() if over else None, redirect=redirect
    )
