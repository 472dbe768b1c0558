"""Omniscient (P1; *Optimal* in P0): an oracle knows the score that every page has in the whole graph.

A page can still be visited only when a page that links to it was, and its site allows it.
"""

from __future__ import annotations

from weft.compiled import inlined
from weft.ordering.contract import Scored
from weft.ordering.known import Known, stays


@inlined
def found(known: Known, page: int, _parent: int, _out: float) -> float:
    """What the oracle says; a page it does not know comes last."""
    true = known.true[page]
    return 0.0 if true != true else float(true)  # noqa: PLR0124  that is NaN


class Omniscient(Scored):
    """Highest true score first."""

    name = "omniscient"
    by_size = False
    scored = True
    needs = ("true",)
    found = staticmethod(found)
    linked = staticmethod(stays)
