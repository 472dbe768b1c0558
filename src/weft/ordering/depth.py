"""Depth (P0): the pages nearest to a seed first; among equals, the one found first.

Breadth-first is the same when all pages take their turn in the order of discovery. When the politeness of some sites
holds their pages back, a page found late may still be nearer than one found early.
"""

from __future__ import annotations

from weft.compiled import inlined
from weft.ordering.contract import Scored
from weft.ordering.known import Known, stays


@inlined
def found(known: Known, _page: int, parent: int, _out: float) -> float:
    """One link further from the seeds than the page it was found on. The score is the depth, below zero."""
    return float(known.score[parent] - 1.0) if parent >= 0 else 0.0


class Depth(Scored):
    """Smallest depth first."""

    name = "depth"
    by_size = False
    scored = True
    found = staticmethod(found)
    linked = staticmethod(stays)
