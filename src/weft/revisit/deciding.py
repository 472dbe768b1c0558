"""When, page by page. In: fetches as they come. Out: the time at which each page is due again.

This is the part that the simulator and a crawl share: it takes in what a fetch has found, plans anew when it is asked
to, and gives the time of the next fetch. It holds 12 bytes a page of evidence and 8 of plan, reads no clock and draws
chance from what it is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.revisit.bounds import Bounds
from weft.revisit.contract import Numbers, Pages, Policy
from weft.revisit.evidence import Evidence
from weft.revisit.hours import Hours
from weft.revisit.planning import Capacity, Plan, make_plan
from weft.revisit.priors import Groups, Priors


class Revisits:
    """Decides when pages are fetched again."""

    def __init__(self, policy: Policy, levels: Sequence[Groups], hours: Hours | None = None) -> None:
        self.policy = policy
        self.evidence = Evidence(len(levels[0]))
        self.frequency = np.zeros(len(levels[0]))
        self._priors = Priors(levels)
        self.hours = hours

    def learn(self, page: NDArray[Any], elapsed: Numbers, changed: NDArray[np.bool_]) -> None:
        """Take in fetches of known pages: had they changed since the fetch before?"""
        self.evidence.add(page, elapsed, changed)

    def rates(self) -> Numbers:
        """Changes a day of each page, as far as is known; of pages that are not, what their neighbours say."""
        return self._priors.learn(self.evidence)[1].mean

    def replan(
        self,
        known: NDArray[np.bool_],
        budget: float,
        rate: Numbers | None = None,
        weight: Numbers | float = 1.0,
        bounds: Bounds | None = None,
        capacity: Capacity | None = None,
    ) -> Plan:
        """Plan anew for the pages that are known; by rates that are given, or learned.

        Pages that become known before the next plan get what they are worth at this one's price.
        """
        pages = Pages.of(self.rates() if rate is None else rate, weight)
        bounds = Bounds.none(len(known)) if bounds is None else bounds
        capacity = None if capacity is None else Capacity(capacity.site[known], capacity.most)
        plan = make_plan(self.policy, pages.only(known), budget, bounds.only(known), capacity)
        self.frequency[known] = plan.frequency
        if 0 < plan.price < np.inf:
            later = ~known
            self.frequency[later] = bounds.only(later).cut(self.policy.frequency(pages.only(later), plan.price))
        else:
            self.frequency[~known] = plan.frequency.mean() if len(plan.frequency) else 0.0
        return plan

    def due(self, page: NDArray[Any], fetched: Numbers, draw: Numbers) -> Numbers:
        """When pages that were fetched at these times are due again; infinite: never.

        Random fetches are drawn by numbers between 0 and 1, one a page; periodic ones do not look at them.
        """
        with np.errstate(divide="ignore"):
            interval = 1 / self.frequency[page]
        if self.policy.kind == "random":
            interval = np.where(np.isfinite(interval), interval * -np.log1p(-draw), np.inf)
        if self.hours is None:
            return np.asarray(fetched + interval)
        some = np.isfinite(interval)
        return np.where(some, self.hours.after(fetched, np.where(some, interval, 0.0)), np.inf)

    def due_anew(self, page: NDArray[Any], fetched: Numbers, now: float, draw: Numbers) -> Numbers:
        """The same after a new plan: periodic fetches keep their places, random ones know nothing of the past."""
        return self.due(page, np.full(len(page), now) if self.policy.kind == "random" else fetched, draw)
