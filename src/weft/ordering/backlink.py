"""Backlink count (P1): the page with most links from pages that were visited."""

from __future__ import annotations

from weft.compiled import inlined
from weft.ordering.contract import Scored
from weft.ordering.known import Known


@inlined
def found(_known: Known, _page: int, _parent: int, _out: float) -> float:
    """No link is counted yet; a seed that nobody links to stays last."""
    return 0.0


@inlined
def linked(known: Known, page: int, _parent: int, _out: float) -> float:
    """One link more."""
    return float(known.score[page] + 1.0)


class Backlink(Scored):
    """Most linked first."""

    name = "backlink"
    by_size = False
    scored = True
    found = staticmethod(found)
    linked = staticmethod(linked)
