"""Uniform: every page as often as any other. Better for freshness than fetching in proportion to change."""

from __future__ import annotations

import numpy as np

from weft.revisit.contract import Kind, Numbers, Pages, Price


class Uniform:
    """All pages alike."""

    name = "uniform"
    kind: Kind = "periodic"

    def frequency(self, pages: Pages, price: Price) -> Numbers:
        """The same for all."""
        return np.broadcast_to(1 / np.asarray(price, np.float64), pages.rate.shape)
