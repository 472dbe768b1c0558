"""The rules of all built-in orderings behind one compiled door. In: the number of an ordering. Out: its scores.

The simulator's loop is compiled whole, and cannot call what it does not know: an ordering that is not in this table
(somebody else's) is asked in Python, page by page, and orders in the same way. The compiled functions are generated
from the table: a built-in ordering stands there once, and a number that does not is an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from weft.compiled import generated, inlined, uncounted
from weft.ordering.backlink import Backlink
from weft.ordering.batch import Batch
from weft.ordering.contract import Ordering, Scored
from weft.ordering.depth import Depth
from weft.ordering.heaps import Heaps, reorder
from weft.ordering.historical import HistoricalOmniscient, HistoricalParent, HistoricalRandom, HistoricalZero
from weft.ordering.known import Known
from weft.ordering.length import Length
from weft.ordering.omniscient import Omniscient
from weft.ordering.opic import Opic
from weft.ordering.opic_seeds import OpicSeeds
from weft.ordering.partial import Partial
from weft.ordering.random_order import Random
from weft.ordering.ties import FARM, TURNED, Ties, counted

PYTHON: Final = 0  # ask in Python
UNSCORED: Final = 1  # nothing to ask

BUILT_IN: Final[tuple[type[Scored], ...]] = (
    Random,
    Depth,
    Length,
    Backlink,
    Opic,
    OpicSeeds,
    Partial,
    Batch,
    HistoricalZero,
    HistoricalRandom,
    HistoricalParent,
    HistoricalOmniscient,
    Omniscient,
)
_NUMBERS: Final[dict[type, int]] = {kind: number for number, kind in enumerate(BUILT_IN, UNSCORED + 1)}

Rule = Callable[[int, Known, int, int, float], float]
"""In: the number of an ordering, what is known, a page, the page that links to it, and the links on that."""


def rule_of(ordering: Ordering) -> int:
    """The number by which compiled code knows an ordering."""
    return _NUMBERS.get(type(ordering), PYTHON) if ordering.scored else UNSCORED


def by_lot(rule: int) -> bool:
    """May a rule give two pages different scores that were found on the same page, by chance or by who knows what?"""
    return rule in (PYTHON, _NUMBERS[Random], _NUMBERS[HistoricalRandom])


def _dispatched(name: str) -> Rule:
    """A compiled function that calls the rule of this name of the ordering whose number it is given."""
    numbers: dict[Any, list[int]] = {}
    for kind, number in _NUMBERS.items():
        numbers.setdefault(getattr(kind, name), []).append(number)
    names: dict[str, Any] = {}
    lines = [f"def {name}(rule, known, page, parent, out):"]
    for function, those in numbers.items():
        called = f"{name}_{those[0]}"
        names[called] = function
        lines.append(f"    if {' or '.join(f'rule == {number}' for number in those)}:")
        lines.append(f"        return {called}(known, page, parent, out)")
    lines.append("    raise ValueError('there is no rule of this number')")
    rule: Rule = generated(name, "\n".join(lines), names, __name__)
    return inlined(rule)


found = _dispatched("found")
"""The score of a page that is found."""

linked = _dispatched("linked")
"""The score of a page that one more visited page links to."""


@uncounted
def lower_farms(ties: Ties, heaps: Heaps, known: Known, rule: int) -> None:
    """Take from the pending pages of sites that were just taken for parts of a farm what links have given them, as far
    as links of a farm count less: most of it came from the farm.
    """
    share = ties.weights[FARM]
    for i in range(ties.counts[TURNED]):
        site = ties.turned[i]
        base, n = heaps.block[site], heaps.length[site]
        for at in range(base, base + n):
            page = heaps.pool[at]
            start = found(rule, known, page, page, np.inf)  # as if it was found on a page that gives nothing
            known.score[page] = counted(start, known.score[page], share)
        if n > 0:
            reorder(heaps, site)
    ties.counts[TURNED] = 0
