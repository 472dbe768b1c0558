"""The rules of all built-in orderings behind one compiled door. In: the number of an ordering. Out: its scores.

The simulator's loop is compiled whole, and cannot call what it does not know: an ordering that is not in this table
(somebody else's) is asked in Python, page by page, and orders in the same way.
"""

from __future__ import annotations

from typing import Final

from weft.compiled import inlined
from weft.ordering import backlink, batch, depth, historical, omniscient, opic, opic_seeds, partial, random_order
from weft.ordering.contract import Ordering
from weft.ordering.known import Known, stays

PYTHON: Final = 0  # ask in Python
UNSCORED: Final = 1  # nothing to ask
_RANDOM, _DEPTH, _BACKLINK, _OPIC, _OPIC_SEEDS, _PARTIAL, _BATCH = range(2, 9)
_ZERO, _LOT, _PARENT, _HISTORICAL_OMNISCIENT, _OMNISCIENT = range(9, 14)

_NUMBERS: Final[dict[str, int]] = {
    "random": _RANDOM,
    "depth": _DEPTH,
    "length": _DEPTH,
    "backlink": _BACKLINK,
    "opic": _OPIC,
    "opic-seeds": _OPIC_SEEDS,
    "partial": _PARTIAL,
    "batch": _BATCH,
    "historical-zero": _ZERO,
    "historical-random": _LOT,
    "historical-parent": _PARENT,
    "historical-omniscient": _HISTORICAL_OMNISCIENT,
    "omniscient": _OMNISCIENT,
}


def rule_of(ordering: Ordering) -> int:
    """The number by which compiled code knows an ordering."""
    if not ordering.scored:
        return UNSCORED
    ours = type(ordering).__module__.startswith("weft.ordering.")
    return _NUMBERS.get(ordering.name, PYTHON) if ours else PYTHON


def by_lot(rule: int) -> bool:
    """May a rule give two pages different scores that were found on the same page, by chance or by who knows what?"""
    return rule in (PYTHON, _RANDOM, _LOT)


@inlined
def found(rule: int, known: Known, page: int, parent: int, out: int) -> float:
    """The score of a page that is found."""
    if rule == _RANDOM:
        return random_order.found(known, page, parent, out)
    if rule == _DEPTH:
        return depth.found(known, page, parent, out)
    if rule == _BACKLINK:
        return backlink.found(known, page, parent, out)
    if rule == _OPIC:
        return opic.found(known, page, parent, out)
    if rule == _OPIC_SEEDS:
        return opic_seeds.found(known, page, parent, out)
    if rule == _PARTIAL:
        return partial.found(known, page, parent, out)
    if rule == _BATCH:
        return batch.found(known, page, parent, out)
    if rule == _ZERO:
        return historical.zero(known, page, parent, out)
    if rule == _LOT:
        return historical.random(known, page, parent, out)
    if rule == _PARENT:
        return historical.parent(known, page, parent, out)
    if rule == _HISTORICAL_OMNISCIENT:
        return historical.omniscient(known, page, parent, out)
    return omniscient.found(known, page, parent, out)


@inlined
def linked(rule: int, known: Known, page: int, parent: int, out: int) -> float:
    """The score of a page that one more visited page links to."""
    if rule == _BACKLINK:
        return backlink.linked(known, page, parent, out)
    if rule in (_OPIC, _OPIC_SEEDS):
        return opic.linked(known, page, parent, out)
    if rule == _PARTIAL:
        return partial.linked(known, page, parent, out)
    return stays(known, page, parent, out)
