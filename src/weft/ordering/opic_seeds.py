"""OPIC with cash for the seeds only: what a page has is what came to it from them."""

from __future__ import annotations

from weft.compiled import inlined
from weft.ordering.contract import Scored
from weft.ordering.known import Known
from weft.ordering.opic import linked


@inlined
def found(_known: Known, _page: int, parent: int, _out: float) -> float:
    """Seeds start with cash, others with none."""
    return 1.0 if parent < 0 else 0.0


class OpicSeeds(Scored):
    """Most cash first, all of which was the seeds'."""

    name = "opic-seeds"
    by_size = False
    scored = True
    found = staticmethod(found)
    linked = staticmethod(linked)
