"""What neighbours say of a page (empirical Bayes). In: evidence, and the groups of pages. Out: a `Prior` for each page.

Pages of one pattern change alike, pages of a folder almost so, and those of a site more than any two of the web. The
mean of a group is that of its pages' estimates, of those that were fetched twice, held towards the group around it as
if a page like that were in it (`PSEUDO`); logarithms are held, since groups differ by factors. How alike pages of a
group are, the shape, is one number for all: the likeliest one for a gamma distribution, of what the pages' posteriors
say. Since estimates depend on priors and priors on them, both are computed in turn until they stand still (EM), from
wherever they stood the last time.

A page that had changed whenever it was looked at says only that it changes often. Its estimate counts like any other's:
to weigh pages by the days in which they did not change left such pages out, and held whole sites of them far too low,
which cost age most (docs/freshness.md).
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

PSEUDO = 1.0  # pages like those of the group around, added to each group
FIRST_GUESS = 0.05  # changes a day, before anything was seen: a page changes every three weeks
_LEAST_SHAPE, _MOST_SHAPE = 0.05, 50.0
_ROUNDS = 20
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
        seen = (evidence.quiet > 0) | (evidence.changes > 0)
        for _ in range(_ROUNDS):
            before = self.shape
            means = self._means(rates, seen)
            moved = float(np.abs(means / prior.mean - 1).max(initial=0.0))
            prior = Prior(means, self.shape)
            rates = estimate(evidence, prior)
            self.shape = _likeliest_shape(rates, prior)
            if moved < _STILL and abs(self.shape - before) < _STILL * before:
                break
        self._before = prior.mean
        return prior, rates

    def _means(self, rates: Rates, seen: NDArray[np.bool_]) -> Numbers:
        """The mean of each page's nearest group, held towards those around; by the pages that something is known of."""
        found = np.full(len(seen), np.log(self.mean))
        if not seen.any():
            return np.asarray(np.exp(found))
        for level, group in enumerate(self._levels):
            many = np.bincount(group)
            pages = np.bincount(group[seen], minlength=len(many))
            total = np.bincount(group[seen], rates.mean[seen], len(many))
            with np.errstate(divide="ignore", invalid="ignore"):
                own = np.where(pages > 0, np.log(total / pages), 0.0)
            if not level:
                self.mean = float(np.exp(own[pages > 0].mean()))
                found = np.full(len(seen), np.log(self.mean))
            around = np.bincount(group, found) / np.maximum(many, 1)
            found = ((pages * own + self._pseudo * around) / (pages + self._pseudo))[group]
        return np.asarray(np.exp(found))


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
