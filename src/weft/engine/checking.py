"""Checks: requests whose answer is compared with others, and not kept. In: a visit. Out: what was found out, and the
visit's next turn.

A check is a request like any other: robots.txt allows it, it takes the place of a page in its visit, and has a row, of
the kind `check`.
"""

from __future__ import annotations

from typing import Any

from weft.engine.outcome import cut_of, is_lost, keeps_open, pause_of, verdict
from weft.engine.wires import Wires
from weft.engine.writing import write_down
from weft.fetch.transport import Connection, Request
from weft.frontier.local.apologies import likeness, words_of
from weft.frontier.local.site import Signs, Site
from weft.frontier.local.visit import Visit
from weft.frontier.traps import absurd_url
from weft.model import NO_ID, NO_PAGE, Kind, Outcome, Page, Reason, Turn
from weft.parse.media import HTML
from weft.stages.cloaking import BROWSER, COLUMN
from weft.urls import fingerprint

_PARTS = 1 << 20
_DROPPED = "check"  # why its content is not kept


def is_due(wires: Wires, visit: Visit, turn: Turn) -> bool:
    """Is a check to take the place of this turn? It is of the site's, of the visit's scheme, and puts off no request
    that is more than a URL.
    """
    signs = visit.site.signs
    if signs is None:
        return False
    url = signs.unsure or (signs.shown[0].url if signs.shown is not None else "")
    return url.startswith(f"{visit.scheme}:") and wires.frontier.specials.get(turn.page) is None


async def check(wires: Wires, visit: Visit, connection: Connection, turn: Turn) -> Turn | None:
    """Make a check that is due in place of a turn; the visit's next turn, None where it ends."""
    wires.frontier.give_back(visit, turn)
    assert visit.site.signs is not None
    if visit.site.signs.unsure:
        return await _sound(wires, visit, connection)
    return await _ask_as_browser(wires, visit, connection)


def note_shown(wires: Wires, site: Site, outcome: Outcome) -> None:
    """A page was concluded: where it is one of the sample, it is asked for as a browser would, too."""
    if wires.cloaking and _is_sampled(wires, outcome):
        site.signs = site.signs or Signs()
        site.signs.shown = outcome.turn, words_of(wires.parser.content(outcome.page)[0])


async def _sound(wires: Wires, visit: Visit, connection: Connection) -> Turn | None:
    """Ask a site for a URL that cannot exist, and take in what it says; the visit's next turn, None where it ends."""
    frontier, site = wires.frontier, visit.site
    assert site.signs is not None
    url = absurd_url(site.signs.unsure, frontier.pages.seen.keyed.of(site.signs.unsure))
    if frontier.refusal(site, url) is not None:
        frontier.apologies.learn(site, None)
        return frontier.turn(visit)
    turn = Turn(NO_PAGE, fingerprint(url), url, 0, Kind.CHECK, NO_ID, 1)
    visit.pages += 1
    page = await wires.network.fetch(connection, _request(wires, visit, turn))
    if page is None:  # the server had closed the connection: the next visit asks
        return None
    frontier.apologies.learn(site, wires.parser.content(page)[0] if page.status == 200 and not is_lost(page) else None)
    if site.signs.apology:
        frontier.discovery.note_stopped(site.name, Reason.SOFT_404)
    return _go_on(wires, visit, connection, turn, page)


def _is_sampled(wires: Wires, outcome: Outcome) -> bool:
    """Is a page one of those that are asked for as a browser would, too? By its key, so that it is so again."""
    good = outcome.reason is None and outcome.page.status == 200 and outcome.turn.kind < Kind.MAP
    if not good or outcome.parsed is None or outcome.parsed.type not in HTML:
        return False
    return wires.frontier.pages.seen.keyed.of(outcome.turn.url) % _PARTS < wires.cloaking * _PARTS


async def _ask_as_browser(wires: Wires, visit: Visit, connection: Connection) -> Turn | None:
    """Ask for a page once more as a browser would, and note how much is the same; the visit's next turn."""
    signs = visit.site.signs
    assert signs is not None
    assert signs.shown is not None
    shown, words = signs.shown
    turn = Turn(NO_PAGE, shown.id, shown.url, shown.depth, Kind.CHECK, shown.via, 1)
    visit.pages += 1
    last = visit.pages >= wires.frontier.per_visit(visit.site)
    request = wires.asker.browser(visit.site, turn, BROWSER, last=last, now=wires.clock.wall())
    page = await wires.network.fetch(connection, request)
    if page is None:
        return None
    signs.shown = None
    same = None if is_lost(page) else likeness(words, words_of(wires.parser.content(page)[0]))
    return _go_on(wires, visit, connection, turn, page, {COLUMN: same})


def _request(wires: Wires, visit: Visit, turn: Turn) -> Request:
    last = visit.pages >= wires.frontier.per_visit(visit.site)
    return wires.asker.page(visit.site, turn, last=last, now=wires.clock.wall())


def _go_on(
    wires: Wires, visit: Visit, connection: Connection, turn: Turn, page: Page, found: dict[str, Any] | None = None
) -> Turn | None:
    """Write a check down; the visit's next turn, None where it ends here."""
    pause = pause_of(page, wires.politeness, wires.clock.wall())
    visit.took = page.took
    following = None if pause or not keeps_open(page) else wires.frontier.turn(visit)
    closed_at = None
    if following is None:
        wires.network.close(connection)
        closed_at, visit.pause = wires.clock.wall(), pause
    outcome = Outcome(turn, page, None, verdict(page), None, cut_of(page), pause)
    write_down(wires, visit, outcome, closed_at=closed_at, dropped=_DROPPED, staged=found)
    return following
