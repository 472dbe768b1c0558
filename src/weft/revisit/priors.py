"""What neighbours say of a page (empirical Bayes). In: evidence, and the groups of pages. Out: a `Prior` for each page.

Pages of one pattern change alike, pages of a folder almost so, and those of a site more than any two of the web. The
mean of a group is that of what its pages say, each of which counts for no more than a page can, however long it was
watched; and as if a few changes more (`PSEUDO`) had been seen, at the rate of the group around it: a group that was
hardly watched is like that. How alike pages of a group are, the shape, is one number for all: the likeliest one for a
gamma distribution, of what the pages' posteriors say. Since estimates depend on priors and priors on them, both are
computed in turn until they stand still (EM), from wherever they stood the last time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.revisit.contract import Numbers
from weft.revisit.evidence import Evidence
from weft.revisit.rates import Prior, Rates, estimate

PSEUDO = 2.0  # changes, in the time that they take in the group around, added to each group
FIRST_GUESS = 0.05  # changes a day, before anything was seen: a page changes every three weeks
_LEAST_SHAPE, _MOST_SHAPE = 0.05, 50.0
_ROUNDS = 20
_FIRST = 0.1  # changes that the first guess is worth
_STILL = 0.01  # a shape that moves by less has settled

Groups = NDArray[Any]


class Priors:
    """What is thought of pages by their groups, the widest first: sites, folders, patterns."""

    def __init__(self, levels: Sequence[Groups], pseudo: float = PSEUDO) -> None:
        self._levels = [np.asarray(each) for each in levels]
        self._pseudo = pseudo
        self.shape = 1.0
        self.mean = FIRST_GUESS
        """Of all pages."""
        self._before: Numbers | None = None  # means when they were last computed: a start that is near

    def learn(self, evidence: Evidence) -> tuple[Prior, Rates]:
        """The prior of each page, and its rate by that and by its own fetches."""
        begun = np.full(len(evidence), self.mean) if self._before is None else self._before
        prior = Prior(begun, self.shape)
        rates = estimate(evidence, prior)
        for _ in range(_ROUNDS):
            before = self.shape
            means = self._means(evidence, prior, rates)
            moved = float(np.abs(means / prior.mean - 1).max(initial=0.0))
            prior = Prior(means, self.shape)
            rates = estimate(evidence, prior)
            self.shape = _likeliest_shape(rates, prior)
            if moved < _STILL and abs(self.shape - before) < _STILL * before:
                break
        self._before = prior.mean
        return prior, rates

    def _means(self, evidence: Evidence, prior: Prior, rates: Rates) -> Numbers:
        """The mean of each page's nearest group, held towards those around.

        A page's estimate is its prior's mean in one part and its own in the other, and the mean of a group is that of
        what its pages say themselves; the mean of the estimates would be the same in the end, but is slow to move.
        """
        quiet = np.asarray(evidence.quiet, np.float64)
        lasting = self.shape / prior.mean  # days of evidence that the prior is worth
        days = quiet * lasting / (lasting + quiet)
        changes = np.maximum(rates.mean * lasting - self.shape * lasting / (lasting + quiet), 0.0)
        self.mean = float((_FIRST + changes.sum()) / (_FIRST / self.mean + days.sum()))
        found = np.full(len(days), self.mean)
        for group in self._levels:
            around = np.bincount(group, found) / np.maximum(np.bincount(group), 1)
            counted = self._pseudo + np.bincount(group, changes)
            found = (counted / (self._pseudo / np.maximum(around, 1e-300) + np.bincount(group, days)))[group]
        return found


def _likeliest_shape(rates: Rates, prior: Prior) -> float:
    """The shape of the gamma distributions, with the prior's means, that the posteriors fit best.

    Mean over pages of E[l]/m - 1 + ln m - E[ln l] = ln a - psi(a): a falling function of a, halved down to its root.
    """
    expected_log = np.log(rates.mean) + digamma(rates.shape) - np.log(rates.shape)
    spread = float((rates.mean / prior.mean - 1 + np.log(prior.mean) - expected_log).mean())
    low, high = math.log(_LEAST_SHAPE), math.log(_MOST_SHAPE)
    for _ in range(40):
        middle = (low + high) / 2
        if middle - float(digamma(np.array([math.exp(middle)]))[0]) > spread:
            low = middle
        else:
            high = middle
    return math.exp((low + high) / 2)


def digamma(x: Numbers) -> Numbers:
    """The derivative of ln gamma, for x above 0, to 1e-9: stepped up to 6, then by its series.

    >>> digamma(np.array([1.0, 0.5])).round(6).tolist()
    [-0.577216, -1.96351]
    """
    x = np.asarray(x, np.float64)
    below = np.zeros_like(x)
    for step in range(6):
        below += np.where(x + step < 6, 1 / (x + step), 0.0)
    up = np.where(x < 6, x + np.ceil(6 - np.minimum(x, 6.0)), x)
    inverse = 1 / up**2
    series = inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse * (1 / 240 - inverse / 132))))
    return np.log(up) - 0.5 / up - series - below
