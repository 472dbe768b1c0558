"""What a page's neighbours say about it. In: a probability for each page. Out: log-odds from the pages around it.

A page's own views decide about it; where they leave a doubt, it helps to know that nearly all pages of its folder are
temporal, or none. The prior of a page is the mean probability of the other pages of its pattern; a pattern with few
pages leans on its folder, a folder on its site, a site on all pages, each with the weight of `PSEUDO_PAGES` pages.

However one-sided they are, neighbours speak with log-odds of at most `MOST_ODDS` (seven to one): on a site of nothing
but news the one page that is not must be able to show it.

Always: a page's own probability has no part in its own prior, nor have pages that are not `known` in anyone's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.temporal.places import levels
from weft.temporal.views import Views

PSEUDO_PAGES = 4.0
MOST_ODDS = 2.0


def prior_odds(views: Views, p: NDArray[np.float64], known: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The logarithm of the odds that a page is temporal, before its own views are looked at."""
    own = np.where(known, p, 0.0)
    usual = (own.sum() + 0.5) / (known.sum() + 1.0)
    prior = np.full(views.pages, usual)
    for level in levels(views):
        of = level.of
        sums, pages = np.bincount(of, own), np.bincount(of, known)
        prior = (sums[of] - own + PSEUDO_PAGES * prior) / (pages[of] - known + PSEUDO_PAGES)
    return np.clip(odds(prior), -MOST_ODDS, MOST_ODDS)


def odds(p: NDArray[np.float64]) -> NDArray[np.float64]:
    """The logarithm of the odds, kept finite.

    >>> odds(np.array([0.5, 1.0])).round(1).tolist()
    [0.0, 13.8]
    """
    kept = np.clip(p, 1e-6, 1.0 - 1e-6)
    return np.asarray(np.log(kept) - np.log1p(-kept))


def probability(log_odds: NDArray[np.float64]) -> NDArray[np.float64]:
    """The way back.

    >>> probability(np.array([0.0, -800.0])).tolist()
    [0.5, 0.0]
    """
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * log_odds))
