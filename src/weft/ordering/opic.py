"""OPIC (P1, after Abiteboul et al. 2003): all pages start with the same cash; the cash of a page that is visited is
split among the pages it links to; the page with most cash comes first.

Cash sent to a page that was visited already, and that of a page without links, is lost.
"""

from __future__ import annotations

from weft.compiled import inlined
from weft.ordering.contract import Scored
from weft.ordering.known import Known


@inlined
def found(_known: Known, _page: int, _parent: int, _out: float) -> float:
    """The cash every page starts with."""
    return 1.0


@inlined
def linked(known: Known, page: int, parent: int, out: float) -> float:
    """Its cash, and its part of the cash of the page that links to it."""
    return float(known.score[page] + known.score[parent] / out)


class Opic(Scored):
    """Most cash first."""

    name = "opic"
    by_size = False
    scored = True
    found = staticmethod(found)
    linked = staticmethod(linked)
