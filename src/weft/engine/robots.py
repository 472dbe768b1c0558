"""Robots.txt, fetched on a visit's own connection before its pages. In: a visit. Out: what the frontier learns.

By RFC 9309: redirects are followed, five at most; an answer in the 400s means that everything is allowed; one in
the 500s, a 429 or none at all means that nothing is, for now. So does a file that came in part or cannot be decoded,
and a redirect to where nothing may be asked for: a port that is not for the web, a site on the blacklist. What a file
says beyond the first 500 KiB is left out.

A redirect to another origin becomes an errand: the file is fetched on a visit to that site, under its politeness, and
the site that it speaks for is held until it has come.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from weft.engine.doubt import counts
from weft.engine.outcome import UNREACHED, cut_of, is_lost, keeps_open, nothing_came, pause_of, redirect_of, verdict
from weft.engine.wires import Wires
from weft.engine.writing import write_down
from weft.fetch.transport import Connection
from weft.frontier.durable.memory import RobotsRecord
from weft.frontier.local.site import Errand
from weft.frontier.local.visit import Visit
from weft.frontier.rules import forbidden
from weft.model import NO_ID, NO_PAGE, Kind, Outcome, Page, Reason, Turn
from weft.parse.decode import undo_codings
from weft.parse.robots import READ_AT_LEAST
from weft.urls import fingerprint, origin_of

MOST_HOPS = 5
_no_text = re.compile(rb"[\x00-\x08\x0e-\x1f\x7f]").search


class _Found(NamedTuple):
    """What one answer means."""

    reason: Reason | None  # why the file cannot be had; "missing" is no such reason
    redirect: str | None = None
    body: bytes | None = None
    cut: bool = False  # the file has more than is read


async def ask_robots(wires: Wires, visit: Visit, connection: Connection) -> bool:
    """Fetch the robots.txt of the visit's site, or the one that it was sent for; may the visit fetch pages then?

    What the site must be left alone for, beside its wait, is the visit's pause.
    """
    errand = visit.errand or Errand(_own(visit), 0, visit.site.name, visit.scheme)
    refused = (
        forbidden(wires.frontier.scope, errand.url) if errand.hops else None
    )  # the rules may have changed on its way
    if refused is not None:
        note_unsent(wires, visit, errand.url, refused)
        _fail(wires, visit, (errand,), refused)
        return False
    while True:
        request = wires.asker.robots(visit.site, errand.url, most=READ_AT_LEAST, now=wires.clock.wall())
        page = await wires.network.fetch(connection, request)
        if page is None:  # the server has closed the connection: the next visit goes on where this one ends
            wires.frontier.errands.send(errand)
            return False
        if is_lost(page):
            if not await counts(wires, visit, _turn(errand.url), page):  # it is as if nothing had been asked
                if visit.errand is not None or errand.hops:
                    wires.frontier.errands.send(errand)
                return False
        else:
            wires.outage.reached(visit.site, wires.clock.now())
        found = _read(wires, page)
        further = _take(wires, visit, errand, page, found)
        over = further is False or not keeps_open(page)
        reason = verdict(page) or found.reason
        outcome = Outcome(_turn(page.url), page, None, reason, found.redirect, cut_of(page), visit.pause)
        write_down(wires, visit, outcome, closed_at=wires.clock.wall() if over else None)
        if isinstance(further, bool):
            return further
        errand = further


def _take(wires: Wires, visit: Visit, errand: Errand, page: Page, found: _Found) -> Errand | bool:
    """Take in an answer: what to ask for next on this connection, or whether the visit may fetch pages now."""
    if page.reason is Reason.TLS and visit.site.tls == "" and page.tls and not wires.verify_tls:
        visit.site.tls = page.tls  # its certificate is looked at once; the next visit takes it as it is
        wires.frontier.errands.send(errand)
        return False
    visit.pause = pause_of(page, wires.politeness, wires.clock.wall())
    same = [each for each in visit.site.errands if each.url == errand.url]  # others that wait for the very file
    if found.reason is not None:
        _fail(wires, visit, (errand, *same), found.reason)
        return False
    if found.redirect is None or errand.hops == MOST_HOPS:
        visit.pause = 0.0
        return _learn(wires, visit, (errand, *same), page, found)
    further = Errand(found.redirect, errand.hops + 1, errand.owner, errand.scheme)
    if origin_of(found.redirect) != origin_of(errand.url) or not keeps_open(page):
        wires.frontier.errands.send(further)
        visit.pause = 0.0
        return False
    return further


def note_unsent(wires: Wires, visit: Visit, url: str, reason: Reason) -> None:
    """Write down that a robots.txt was not asked for, and why."""
    turn = _turn(url)
    write_down(wires, visit, Outcome(turn, nothing_came(turn, reason, wires.clock.wall()), None, reason))


def _read(wires: Wires, page: Page) -> _Found:
    """What an answer to a request for robots.txt means."""
    reason = verdict(page)
    if reason is Reason.STATUS_4XX:
        return _Found(None)
    if reason is not None:
        return _Found(reason)
    if page.status >= 300:
        redirect = redirect_of(page)
        if redirect is not None:
            return _Found(forbidden(wires.frontier.scope, redirect), redirect)
        # A redirect that says nothing of where to is as good as no file; one to where no web is, is not.
        return _Found(Reason.NOT_A_URL if page.headers.get("location") else None)
    if page.truncated == "time":
        return _Found(Reason.TIMEOUT)
    body, reason = page.body, None
    if coding := page.headers.get("content-encoding", ""):
        body, reason, whole = undo_codings(page.body, coding, READ_AT_LEAST + 1)
        if not whole and not page.truncated:  # what it forbids may stand in what is missing
            return _Found(Reason.ENCODING)
    if reason is Reason.ENCODING:
        if _no_text(page.body) or not _is_utf8(page.body):
            return _Found(reason)
        body = page.body  # text that was never coded, whatever the header says: it is clear what is meant
    cut = reason is Reason.EXPANSION or len(body) > READ_AT_LEAST or page.truncated != ""
    if cut:  # in the middle of a line, most likely, which would say something else than it does
        body = body[:READ_AT_LEAST]
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    return _Found(None, None, body, cut)


def _is_utf8(body: bytes) -> bool:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.end >= len(body) and error.reason == "unexpected end of data"  # cut in the middle of a character
    return True


def _learn(wires: Wires, visit: Visit, errands: tuple[Errand, ...], page: Page, found: _Found) -> bool:
    """Take in what was answered, for the sites that it speaks for; and for the one visited, if it is its own, too. May
    pages of that be fetched now?
    """
    frontier, site = wires.frontier, visit.site
    # The last of too many redirects is as good as no file.
    record = RobotsRecord(wires.clock.wall(), found.body)
    if found.cut:
        cuts = wires.progress.counts.robots_truncated
        cuts["length"] = cuts.get("length", 0) + 1
    site.failures = 0
    if visit.errand is not None:
        for errand in _taken(visit, errands):
            frontier.errands.deliver(errand, record)
    # Its own, or where its own led to on this very connection: else it would be asked for again, without end.
    if visit.errand is None or errands[0].url == _own(visit):
        frontier.robots.learn(site, visit.scheme, record.body)
    return keeps_open(page) and not site.held and not frontier.robots.due(site, visit.scheme)


def _fail(wires: Wires, visit: Visit, errands: tuple[Errand, ...], reason: Reason) -> None:
    """It cannot be had: the sites that it speaks for get a pause, as those that cannot be reached."""
    frontier, site = wires.frontier, visit.site
    own = any(errand.owner == site.name for errand in errands)
    if reason in UNREACHED:
        frontier.errands.give_up(visit)
    else:
        for errand in _taken(visit, errands):
            if errand.owner != site.name:
                frontier.errands.deliver(errand, None)
        if own:
            frontier.schedule.release(site, wires.clock.now())
    if own or reason in UNREACHED:
        visit.pause = max(visit.pause, frontier.failed(site))


def _taken(visit: Visit, errands: tuple[Errand, ...]) -> tuple[Errand, ...]:
    """Errands that are done: the site has them no more."""
    visit.site.errands = [each for each in visit.site.errands if each not in errands]
    return errands


def _own(visit: Visit) -> str:
    """Where the robots.txt of the visit's site is."""
    return f"{visit.scheme}://{visit.site.name}/robots.txt"


def _turn(url: str) -> Turn:
    return Turn(NO_PAGE, fingerprint(url), url, 0, Kind.ROBOTS, NO_ID, 1)
