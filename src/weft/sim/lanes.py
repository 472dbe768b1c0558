"""Who is served first. In: what the capacity allows now, and how much each lane wants. Out: how much each gets.

Lanes stand in an order: hubs, new pages, known pages. Each is served before those behind it as long as it keeps within
its share, counted over a day, so that what is urgent need not wait for its turn and cannot take more than it is given.
What is left then is for whoever wants it, the lane with the largest share first.

>>> lanes = Lanes(np.array([24.0, 24.0, 48.0]))  # fetches a day
>>> lanes.give(4.0, [0, 10, 10])  # an hour: hubs want nothing, new pages have saved nothing up
[0, 1, 3]
>>> lanes.give(4.0, [3, 10, 10])  # hubs have saved up an hour
[2, 1, 1]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from weft.revisit.contract import Numbers


class Lanes:
    """The capacity, shared."""

    def __init__(self, per_day: Numbers) -> None:
        self._per_day = per_day
        self._saved = np.zeros(len(per_day))
        self._whole = 0.0  # parts of a fetch that are left of the steps so far

    def give(self, tokens: float, wanted: Sequence[int]) -> list[int]:
        """Fetches for each lane, of so many that there are."""
        self._whole = self._whole % 1.0 + tokens
        self._saved = np.minimum(
            self._saved + tokens * self._per_day / self._per_day.sum(), np.maximum(self._per_day, 1.0)
        )
        left, given = int(self._whole), [0] * len(wanted)
        for lane, many in enumerate(wanted):
            given[lane] = min(many, int(self._saved[lane] + 1e-9), left)
            left -= given[lane]
        for lane in sorted(range(len(wanted)), key=lambda lane: -self._per_day[lane]):
            more = min(wanted[lane] - given[lane], left)
            given[lane] += more
            left -= more
        self._whole -= sum(given)
        self._saved = np.maximum(self._saved - given, 0.0)
        return given
