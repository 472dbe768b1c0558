"""What a policy is. In: what is known of pages, and a price. Out: how often each page is worth a fetch at that price.

Every policy answers one question: *if a fetch cost so much, how often would this page be fetched?* Nobody knows the
price; `planning` finds the one at which all fetches together are what the crawl can spend (it is the Lagrange
multiplier of the budget). So a policy is one formula, whatever the budget, the bounds and the waits are.

Times are days, and rates and frequencies are numbers a day, in the whole room.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Price = float | Numbers
"""What a fetch costs; one for all pages, or one for each."""

Kind = Literal["periodic", "random"]
"""When a page is fetched that is fetched so often: at equal distances, or at any time, with no memory (Poisson)."""


class Pages(NamedTuple):
    """What a policy may look at, by page."""

    rate: Numbers  # changes a day; of a hub: new pages a day
    weight: Numbers  # what it is worth that this page is fresh: views a day, quality, or 1
    cost: Numbers  # what a fetch takes of the budget

    @classmethod
    def of(cls, rate: Numbers, weight: Numbers | float = 1.0, cost: Numbers | float = 1.0) -> Pages:
        """Pages that differ in their rates, and in the rest where that is given."""
        rate = np.asarray(rate, np.float64)
        return cls(rate, *(np.broadcast_to(np.asarray(each, np.float64), rate.shape) for each in (weight, cost)))

    def only(self, chosen: NDArray[np.bool_]) -> Pages:
        """Some of them."""
        return Pages(*(each[chosen] for each in self))


class Policy(Protocol):
    """How often pages are worth a fetch."""

    name: str
    kind: Kind

    def frequency(self, pages: Pages, price: Price) -> Numbers:
        """Fetches a day of each page at a price above 0; never more at a higher one, and 0: never at all."""
        ...
