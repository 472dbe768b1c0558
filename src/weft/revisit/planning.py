"""How often every page, with what there is. In: a policy, pages, a budget, bounds, what sites can bear. Out: `Plan`.

A policy says how often pages are worth a fetch at a price; the price is searched at which all of it together costs the
budget. Bounds cut what a page gets, on both sides, and what they free or take moves the price. A site has one
connection and a wait, and so a capacity: one that would get more has a higher price of its own, at which it just does
not, and the rest of the budget is for the others. For policies that are optima this is the optimum under all of these
(each solves the conditions of Karush, Kuhn and Tucker); for the others it is what they say, cut to what is possible.

Invariant: a plan costs the budget (to a millionth), or less where bounds and capacities allow no more, never more:
where longest intervals ask for more than there is, all are stretched alike, and `Plan.short` says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.revisit.bounds import Bounds
from weft.revisit.contract import Numbers, Pages, Policy

_CLOSE = 1e-6  # of the budget
_STEPS = 200
_FURTHEST = 130.0  # from a price of 1, as a logarithm


class Capacity(NamedTuple):
    """What sites can bear."""

    site: NDArray[np.int32]  # by page
    most: Numbers  # by site: fetches a day


class Plan(NamedTuple):
    """How often each page is fetched."""

    frequency: Numbers  # fetches a day, by page; 0: never
    price: float  # what one fetch more would have to be worth; 0 where there is more than anybody wants
    full: NDArray[np.int64]  # sites that get all they can bear, and would be given more
    short: bool  # the longest intervals ask for more than the budget
    stretched: NDArray[np.int64]  # sites whose longest intervals ask for more than they can bear

    @property
    def never(self) -> NDArray[np.int64]:
        """Pages that are not fetched at all."""
        return np.flatnonzero(self.frequency == 0)


def make_plan(
    policy: Policy, pages: Pages, budget: float, bounds: Bounds | None = None, capacity: Capacity | None = None
) -> Plan:
    """Spend a budget (cost a day) by a policy."""
    bounds = bounds or Bounds.none(len(pages.rate))
    search = _Search(policy, pages, bounds)
    nobody = np.zeros(0, np.int64)
    if capacity is None:
        prices, frequency = search.spend(np.zeros(len(pages.rate), np.int32), np.array([budget]), pages.cost)
        return Plan(frequency, float(prices[0]), nobody, _asked(pages, bounds) > budget * (1 + _CLOSE), nobody)
    site, most = capacity
    asked = np.bincount(site, bounds.asked, len(most))
    frequency = np.zeros(len(pages.rate))
    full = np.zeros(len(most), np.bool_)
    free, left, price = ~full[site], budget, 0.0
    while free.any():
        prices, frequency[free] = search.only(free).spend(
            np.zeros(int(free.sum()), np.int32), np.array([left]), pages.cost[free]
        )
        price = float(prices[0])
        over = ~full & (np.bincount(site, frequency, len(most)) > most * (1 + _CLOSE))
        if not over.any():
            break
        # A site that is full at this price is full at every lower one; taking it out leaves more for the others.
        those = over[site]
        _, frequency[those] = search.only(those).spend(site[those], most, np.ones(int(those.sum())))
        full |= over
        free = ~full[site]
        left = budget - float(pages.cost[~free] @ frequency[~free])
        if left <= 0:  # fetches of different costs, which a site's capacity does not know
            frequency *= budget / float(pages.cost @ frequency)
            break
    short = float(pages.cost @ np.minimum(bounds.asked, frequency)) < _asked(pages, bounds) * (1 - 1e-6)
    return Plan(frequency, price, np.flatnonzero(full), short, np.flatnonzero(asked > most * (1 + _CLOSE)))


def _asked(pages: Pages, bounds: Bounds) -> float:
    """What the longest intervals alone cost a day."""
    return float(pages.cost @ bounds.asked)


class _Search(NamedTuple):
    """The price at which groups of pages take what they are given."""

    policy: Policy
    pages: Pages
    bounds: Bounds

    def only(self, chosen: NDArray[np.bool_]) -> _Search:
        """The same for some pages."""
        return _Search(self.policy, self.pages.only(chosen), self.bounds.only(chosen))

    def spend(self, group: NDArray[np.int32], given: Numbers, cost: Numbers) -> tuple[Numbers, Numbers]:
        """The price in each group, and how often its pages are fetched."""
        many = len(given)
        given = np.maximum(given, 0.0)

        def taken(frequency: Numbers) -> Numbers:
            return np.asarray(np.bincount(group, cost * frequency, many), np.float64)

        def at(price: Numbers) -> Numbers:
            return self.bounds.cut(self.policy.frequency(self.pages, price[group]))

        low, high = _bracket(lambda price: taken(at(price)), given)
        cheap, dear = at(low), at(high)
        # Between two prices that cannot be told apart (whole groups come in at one price) each gets its part of both.
        most, least = taken(cheap), taken(dear)
        with np.errstate(invalid="ignore", over="ignore"):
            part = np.clip((given - least) / np.maximum(most - least, 1e-300), 0.0, 1.0)[group]
            frequency = np.where(cheap == dear, dear, dear + part * (cheap - dear))
        spent = taken(frequency)
        scale = np.where(spent > given * (1 + _CLOSE), given / np.maximum(spent, 1e-300), 1.0)
        unwanted, unmet = most < given * (1 - _CLOSE), least > given * (1 + _CLOSE)
        price = np.where(unwanted, 0.0, np.where(unmet, np.inf, np.sqrt(low * high)))
        return price, frequency * scale[group]


def _bracket(taken: Callable[[Numbers], Numbers], given: Numbers) -> tuple[Numbers, Numbers]:
    """Prices just below and just above the one at which what is given is taken, group by group.

    Regula falsi in logarithms (Illinois), since what is taken is nearly a power of the price; halves where it is none.
    """
    low, high, above, below = _around(taken, given)
    before = np.zeros(len(given))
    for _ in range(_STEPS):
        open_ = (high - low > 1e-12) & (above > 0) & (below < 0)
        if not open_.any():
            break
        with np.errstate(divide="ignore", invalid="ignore"):
            falsi = low + (high - low) * above / (above - below)
        middle = np.where(np.isfinite(falsi) & (falsi > low) & (falsi < high), falsi, (low + high) / 2)
        middle = np.where(open_, middle, low)
        excess = _excess(taken(np.exp(middle)), given)
        met = open_ & (np.abs(excess) <= _CLOSE)
        up, down = open_ & (excess > 0), open_ & (excess <= 0)
        below = np.where(up & (before > 0), below / 2, below)  # twice the same side: the other one counts half
        above = np.where(down & (before < 0), above / 2, above)
        low, above = np.where(up | met, middle, low), np.where(up, excess, above)
        high, below = np.where(down | met, middle, high), np.where(down, excess, below)
        before = np.sign(excess)
    return np.exp(low), np.exp(high)


def _around(taken: Callable[[Numbers], Numbers], given: Numbers) -> tuple[Numbers, Numbers, Numbers, Numbers]:
    """Logarithms of two prices with the one that is searched between them, as far as there is one, and their excess."""
    low, high = np.zeros(len(given)), np.zeros(len(given))
    above = below = _excess(taken(np.exp(low)), given)
    step = 1.0
    while step < _FURTHEST:
        cheaper, dearer = above < 0, below > 0
        if not (cheaper | dearer).any():
            break
        high, below = np.where(cheaper, low, high), np.where(cheaper, above, below)
        low, above = np.where(dearer, high, low), np.where(dearer, below, above)
        next_ = np.where(cheaper, low - step, np.where(dearer, high + step, low))
        excess = _excess(taken(np.exp(next_)), given)
        low, above = np.where(cheaper, next_, low), np.where(cheaper, excess, above)
        high, below = np.where(dearer, next_, high), np.where(dearer, excess, below)
        step *= 2
    return low, high, above, below


def _excess(taken: Numbers, given: Numbers) -> Numbers:
    """How much more is taken than given, as a logarithm; 0 where it is as good as the same."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(taken) - np.log(given)
    return np.where(np.abs(found) <= _CLOSE, 0.0, np.where(np.isnan(found), 0.0, found))
