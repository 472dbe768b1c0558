"""Proportional: twice as often what changes twice as often. What seems natural, and is worse than uniform for freshness
(Cho and Garcia-Molina 2003): most of it goes to pages that have changed again before the next fetch.
"""

from __future__ import annotations

import numpy as np

from weft.revisit.contract import Kind, Numbers, Pages, Price


class Proportional:
    """By the rate of change."""

    name = "proportional"
    kind: Kind = "periodic"

    def frequency(self, pages: Pages, price: Price) -> Numbers:
        """The rate, at a scale."""
        return np.asarray(pages.rate / price)
