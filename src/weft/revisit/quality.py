"""Quality times change (P1 4, P4): a page is fetched when its quality times the chance that it has changed is enough.

After t days a page of rate l has changed with the chance 1 - e^-lt. The page with the largest product comes first, so
that a page is fetched whenever its product reaches what the budget allows, the price: its interval is
-ln(1 - price / quality) / l. Pages of a quality below the price are never fetched. Unlike the freshness optimum it does
not give up what changes too often to be kept fresh: it counts changes that are seen, not the time in which copies hold.
"""

from __future__ import annotations

import numpy as np

from weft.revisit.contract import Kind, Numbers, Pages, Price


class Quality:
    """By quality and by the chance of a change together."""

    name = "quality"
    kind: Kind = "periodic"

    def frequency(self, pages: Pages, price: Price) -> Numbers:
        """By the time until the product reaches the price."""
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.minimum(price * pages.cost / pages.weight, 1.0)
            return np.where(share < 1, pages.rate / -np.log1p(-share), 0.0)
