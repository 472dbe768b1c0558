"""Writing an outcome down. In: an outcome, and whether its connection is closed. Out: its record, its row, an event."""

from __future__ import annotations

from typing import Any

from weft.engine.asker import discreet
from weft.engine.wires import Wires
from weft.events import Fetched
from weft.frontier.local.visit import Visit
from weft.model import Kind, Outcome, Reason
from weft.parse.directives import asks_not_to_be_kept
from weft.parse.media import HTML

_REDIRECT, _ROBOTS, _TYPE = int(Kind.REDIRECT), int(Kind.ROBOTS), Reason.TYPE  # they are slow to find in Python 3.11
_MAP, _JS, _OK = int(Kind.MAP), int(Kind.JS), 200  # what comes before sitemaps are pages
_NOARCHIVE = "noarchive"
_THIN = 2_000  # bytes of a page without a link that is worth little


def write_down(
    wires: Wires,
    visit: Visit,
    outcome: Outcome,
    links: int = 0,
    *,
    closed_at: float | None = None,
    dropped: str = "",
    staged: dict[str, Any] | None = None,
    conversion: str = "",
) -> None:
    """Write an outcome down: in the volume when it is final and there is an answer that may be kept, as a row in any
    case. `dropped` says why it may not, where that is known already; `staged` is what stages found out, and
    `conversion` a text that one of them made of it.

    Where the connection is closed behind it, how long the site rests is decided here, and stands in the row.
    """
    began, page = wires.clock.now(), outcome.page
    rest = None if closed_at is None else wires.frontier.schedule.decide(visit)
    stored = None
    parsed = outcome.parsed
    robots = parsed.robots if parsed is not None and parsed.reason is None else wires.parser.asked(page).text
    if not (outcome.final and page.status and outcome.reason is not _TYPE):
        dropped = ""
    elif wires.obey_noarchive and outcome.turn.kind != _ROBOTS and asks_not_to_be_kept(robots):
        dropped = _NOARCHIVE
    elif not dropped:
        kept = discreet(page) if wires.asker.guarded else page
        stored = wires.store.archive(outcome.turn, kept, cut=outcome.cut, conversion=conversion)
        if page.status == _OK and (outcome.turn.kind < _MAP or outcome.turn.kind == _JS):
            # A page that is as it was is no copy, nor is one that an earlier crawl has: sites move.
            copy = stored.duplicate_of not in (0, outcome.turn.id) and not stored.duplicate_in
            simhash = staged.get("simhash") if staged else None
            thin = not links and len(page.body) < _THIN and parsed is not None and parsed.type in HTML
            wires.frontier.sites.note_content(visit.site, outcome.turn.url, copy=copy, thin=thin, simhash=simhash)
    fetched = Fetched(
        outcome,
        visit.site.name,
        visit.number,
        "" if stored is None else stored.digest,
        stored is not None and stored.duplicate_of != 0,
        rest,
        closed_at,
        wires.frontier.redirects.begin_of(outcome.turn) if outcome.turn.kind == _REDIRECT else 0,
        robots,
        links,
        staged,
        dropped,
    )
    wires.store.note_page(fetched, stored)
    wires.bus.emit(fetched)
    wires.progress.counts.storing += wires.clock.now() - began
