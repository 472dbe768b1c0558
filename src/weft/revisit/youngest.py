"""Age-optimal: copies that are as little out of date as possible, by weight (Cho and Garcia-Molina 2003).

No page is given up, since a copy that is left alone gets older without end: pages that change often get more fetches
than others, but far fewer than in proportion (at a given price, towards the root of what they are worth).
"""

from __future__ import annotations

import numpy as np

from weft.revisit import marginal
from weft.revisit.contract import Kind, Numbers, Pages, Price


class Youngest:
    """For age, with periodic fetches."""

    name = "age"
    kind: Kind = "periodic"
    _back = staticmethod(marginal.r_age_periodic)

    def frequency(self, pages: Pages, price: Price) -> Numbers:
        """By the worth of one fetch more."""
        with np.errstate(divide="ignore", invalid="ignore"):
            worth = pages.rate**2 * pages.cost * price / pages.weight
            return np.where((worth > 0) & np.isfinite(worth), pages.rate / self._back(worth), 0.0)


class YoungestAtRandom(Youngest):
    """For age, with random fetches."""

    name = "age-random"
    kind: Kind = "random"
    _back = staticmethod(marginal.r_age_random)
