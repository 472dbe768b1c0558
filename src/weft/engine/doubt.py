"""Whose failure was it? In: a request of which nothing came, or not all. Out: whether that counts.

It may be our own failure, or the name has another address that is tried next; then it is as if nothing had been asked.
"""

from __future__ import annotations

from weft.engine.outage import SILENCE
from weft.engine.outcome import UNREACHED, cut_of
from weft.engine.wires import Wires
from weft.engine.writing import write_down
from weft.frontier.local.visit import Visit
from weft.model import Outcome, Page, Reason, Turn
from weft.urls import literal_address

# No connection was established.
_NOBODY_THERE = frozenset((Reason.CONNECT_REFUSED, Reason.CONNECT_TIMEOUT, Reason.CONNECT_FAILED))


async def counts(wires: Wires, visit: Visit, turn: Turn, page: Page) -> bool:
    """Does it count against the page, or its site, that nothing came of a request, or not all?"""
    frontier, site, reason = wires.frontier, visit.site, page.reason
    if reason is Reason.TLS and page.tls and site.tls == "" and not wires.verify_tls:
        return True  # its certificate is looked at once
    specials = frontier.specials
    if specials.of and not page.ours and not specials.may_retry(turn.page, reason or Reason.TIMEOUT):
        return True  # it may have been sent, and must not be twice
    ours = page.ours or await _ours(wires, visit, reason)
    if not ours and not wires.outage.cause and await _another(wires, visit, reason):
        outcome = Outcome(turn, page, None, reason, cut=cut_of(page), final=False)
        write_down(wires, visit, outcome, closed_at=wires.clock.wall())
        return False
    about = None if turn.page < 0 else turn
    of_site = reason in UNREACHED or about is None
    if visit.errand is not None:
        site = frontier.errands.owner(visit.errand) or site
    return await wires.outage.stands(
        frontier.undoing.before(site, about),
        reason or Reason.TIMEOUT,
        wires.clock.now(),
        address=visit.address,
        ours=ours,
        final=reason is None or frontier.gives_up(site, about, reason, of_site=of_site),
    )


async def _ours(wires: Wires, visit: Visit, reason: Reason | None) -> str:
    """What is wrong on our own side, where nobody said a word? Who answered for the name would still be there."""
    named = not wires.network.proxied and literal_address(visit.site.host) is None
    return await wires.network.silent() if named and reason in SILENCE and not wires.outage.cause else ""


async def _another(wires: Wires, visit: Visit, reason: Reason | None) -> bool:
    """Was nobody at this address of a name, and has it another one?"""
    host = visit.site.host
    if reason not in _NOBODY_THERE or wires.network.proxied or literal_address(host) is not None:
        return False
    return await wires.network.another(host, visit.address, lambda other: wires.gate.refusal(other) is None)
