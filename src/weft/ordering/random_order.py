"""Random (P1): pages in an order drawn at random, over all sites; what others are measured by."""

from __future__ import annotations

from weft.compiled import inlined
from weft.ordering.contract import Scored
from weft.ordering.known import Known, chance, stays


@inlined
def found(known: Known, page: int, _parent: int, _out: float) -> float:
    """Every page that is found draws a key."""
    return chance(known.seed, page)


class Random(Scored):
    """Any page first."""

    name = "random"
    by_size = False
    scored = True
    found = staticmethod(found)
    linked = staticmethod(stays)
