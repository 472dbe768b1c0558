"""Partial PageRank (P0, P1): PageRank of what is known is computed every K pages; a page found since then has, until
the next time, the sum of what the pages that link to it would give it.
"""

from __future__ import annotations

from weft.compiled import inlined
from weft.ordering.contract import Scored
from weft.ordering.known import Known
from weft.ordering.reranking import Every


@inlined
def found(_known: Known, _page: int, parent: int, _out: float) -> float:
    """Seeds are equal at the start; others have what their links give them."""
    return 1.0 if parent < 0 else 0.0


@inlined
def linked(known: Known, page: int, parent: int, out: float) -> float:
    """A part of the score of the page that links to it, if it is new; others keep theirs."""
    had = known.score[page]
    return float(had + known.score[parent] / out) if page >= known.ranked[0] else float(had)


class Partial(Scored):
    """Highest estimate of PageRank first, new pages at once."""

    name = "partial"
    by_size = False
    scored = True
    found = staticmethod(found)
    linked = staticmethod(linked)
    rerank = Every.PAGES
