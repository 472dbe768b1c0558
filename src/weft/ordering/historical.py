"""Historical PageRank (P1): a page of an earlier crawl has the score it had there. Four ways to score a new page."""

from __future__ import annotations

from weft.compiled import inlined
from weft.ordering.contract import Scored
from weft.ordering.known import Known, chance, stays


@inlined
def zero(known: Known, page: int, _parent: int, _out: float) -> float:
    """New pages after all old ones."""
    old = known.old[page]
    return 0.0 if old != old else float(old)  # noqa: PLR0124  that is NaN


@inlined
def random(known: Known, page: int, parent: int, _out: float) -> float:
    """A new page has the score of an old one drawn at random; a new seed has none."""
    old = known.old[page]
    if old == old:  # noqa: PLR0124
        return float(old)
    if parent < 0:
        return 0.0
    return float(known.past[int(chance(known.seed, page) * known.past.size)])


@inlined
def parent(known: Known, page: int, parent: int, out: float) -> float:
    """A new page has the score of the page it was found on, divided by the links on that; a new seed has none."""
    old = known.old[page]
    if old == old:  # noqa: PLR0124
        return float(old)
    return 0.0 if parent < 0 else float(known.score[parent] / out)


@inlined
def omniscient(known: Known, page: int, _parent: int, _out: float) -> float:
    """An oracle knows the score of a new page."""
    old = known.old[page]
    true = known.true[page] if old != old else old  # noqa: PLR0124
    return 0.0 if true != true else float(true)  # noqa: PLR0124


class HistoricalZero(Scored):
    """Old scores first, then new pages."""

    name = "historical-zero"
    by_size = False
    scored = True
    needs = ("old",)
    found = staticmethod(zero)
    linked = staticmethod(stays)


class HistoricalRandom(Scored):
    """Old scores, new pages at random."""

    name = "historical-random"
    by_size = False
    scored = True
    needs = ("old",)
    found = staticmethod(random)
    linked = staticmethod(stays)


class HistoricalParent(Scored):
    """Old scores, new pages by their parents'."""

    name = "historical-parent"
    by_size = False
    scored = True
    needs = ("old",)
    found = staticmethod(parent)
    linked = staticmethod(stays)


class HistoricalOmniscient(Scored):
    """Old scores, new pages by an oracle."""

    name = "historical-omniscient"
    by_size = False
    scored = True
    needs = ("old", "true")
    found = staticmethod(omniscient)
    linked = staticmethod(stays)
