"""Filling: as many births as possible within so many hours. Hubs in the order of their rates are polled at that
interval until no polls are left, and the others not at all (or at their longest interval, which should be set).

Polled at intervals longer than X, a hub shows the share X / interval of its births within X: each poll adds the same,
births times X, up to the interval X, and then nothing. So the best is all or nothing, and the mean delay of the rest is
what it costs: name the aim before the policy.
"""

from __future__ import annotations

import numpy as np

from weft.revisit.contract import Kind, Numbers, Pages, Price


class Filling:
    """The busiest first, to an interval of so many hours."""

    name = "filling"
    kind: Kind = "periodic"

    def __init__(self, hours: float = 1.0) -> None:
        self.hours = hours

    def frequency(self, pages: Pages, price: Price) -> Numbers:
        """All or nothing."""
        return np.where(pages.weight * pages.rate / pages.cost > price, 24 / self.hours, 0.0)
