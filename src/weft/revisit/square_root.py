"""Square root: hubs by the root of what is born there, for the least mean delay (`weft temporal` makes its lists so).

What is born on a hub waits half an interval, 1 / 2f; births times that, summed over hubs, is least where one poll more
takes the same from it everywhere: births / 2 f^2 = price. A whole interval, as with random polls, gives the same.
"""

from __future__ import annotations

import numpy as np

from weft.revisit.contract import Kind, Numbers, Pages, Price


class SquareRoot:
    """By the root of the rate."""

    name = "square-root"
    kind: Kind = "periodic"

    def frequency(self, pages: Pages, price: Price) -> Numbers:
        """The root of births by price."""
        return np.asarray(np.sqrt(pages.weight * pages.rate / (pages.cost * price)))
