"""What copies were like over time. In: fetches, and when pages changed. Out: freshness, age, views of stale copies.

Nothing is sampled: a copy is stale from the first change after its fetch to the next fetch, and that stretch is added
as a whole, when it ends. Only what lies in the time that is measured counts (the first days are left out, in which a
crawl has yet to find its pace). Age is the time since that first change, 0 while the copy is fresh.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.revisit.contract import Numbers
from weft.sim.moving import Moving


class Staleness:
    """Adds up the time in which copies were held, and in which they were stale."""

    def __init__(self, web: Moving, begin: float) -> None:
        self._web = web
        self._begin = begin
        self._held, self._stale, self._aged, self._seen, self._missed = (0.0 for _ in range(5))

    def add(self, page: NDArray[Any], last: Numbers, until: Numbers) -> None:
        """The copies of pages, fetched at `last`, were replaced, or looked at no longer, at `until`."""
        change = np.minimum(self._web.next_change(page, last), until)
        weight = self._web.weight[page]
        end = np.maximum(until, self._begin)
        held = end - np.maximum(last, self._begin)
        begun = np.maximum(change, self._begin)
        stale = end - begun
        self._held += float(held.sum())
        self._stale += float(stale.sum())
        self._aged += float((stale * ((begun + end) / 2 - change)).sum())
        self._seen += float(weight @ held)
        self._missed += float(weight @ stale)

    def measures(self) -> dict[str, float]:
        """Means over the time that is measured."""
        held = max(self._held, 1e-300)
        return {
            "freshness": 1 - self._stale / held,
            "age_days": self._aged / held,
            "embarrassment": self._missed / max(self._seen, 1e-300),
        }
