"""Freshness-optimal: the largest share of pages, by weight, that are as we have them (Cho and Garcia-Molina 2003; with
random fetches Azar et al. 2018, where the weights are requests of users).

One fetch more adds the same at every page that is fetched at all. A page of which even the first fetch is worth less,
weight / (rate x cost) below the price, is never fetched: it would have changed again too soon. `never` names these.

>>> from weft.revisit.contract import Pages
>>> Freshest().frequency(Pages.of(np.array([0.1, 1.0, 10.0])), 0.5).round(3).tolist()
[0.281, 0.596, 0.0]
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.revisit import marginal
from weft.revisit.contract import Kind, Numbers, Pages, Price


class Freshest:
    """For freshness, with periodic fetches."""

    name = "freshness"
    kind: Kind = "periodic"
    _back = staticmethod(marginal.r_fresh_periodic)

    def frequency(self, pages: Pages, price: Price) -> Numbers:
        """By the worth of one fetch more."""
        worth = pages.rate * pages.cost * price / pages.weight
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where((worth > 0) & (worth < 1), pages.rate / self._back(worth), 0.0)


class FreshestAtRandom(Freshest):
    """For freshness, with random fetches."""

    name = "freshness-random"
    kind: Kind = "random"
    _back = staticmethod(marginal.r_fresh_random)


def never(pages: Pages, price: Price) -> NDArray[np.bool_]:
    """Pages that the freshness optimum leaves alone at this price because they change too often."""
    return np.asarray(pages.rate * pages.cost * price >= pages.weight) & (pages.rate > 0)
