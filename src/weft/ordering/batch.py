"""Batch PageRank (P0, P1): the K best of the known pages are visited, then PageRank of what is known is computed, and
so on. Pages found meanwhile wait for the next batch. The first batch is seeds.
"""

from __future__ import annotations

from weft.compiled import inlined
from weft.ordering.contract import Scored
from weft.ordering.known import HELD, Known, stays
from weft.ordering.reranking import Every


@inlined
def found(_known: Known, _page: int, _parent: int, _out: float) -> float:
    """It waits for the next batch."""
    return HELD


class Batch(Scored):
    """Highest estimate of PageRank first, in batches."""

    name = "batch"
    by_size = False
    scored = True
    found = staticmethod(found)
    linked = staticmethod(stays)
    rerank = Every.BATCH
