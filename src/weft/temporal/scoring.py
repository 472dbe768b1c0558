"""How temporal a group of pages is: a site, a folder. In: pages with labels, in groups. Out: a score for each group.

The score is P2's (4.3): alpha times the share of temporal pages among a group's pages, and beta times the share of
their views among its views. The paper takes it as it is, so one page that happens to be temporal makes a perfect site,
and thousands of tiny hosts fill the list. Here some pages are added to those that each group has. A site is given
untemporal ones, `pseudo_pages` of them: it must earn its place by what it has published. (Pages as temporal as all
pages together are the textbook's choice; with them a tiny host's one page still stands above a large site with a third
of its pages temporal, and lists are no better for it.) With none added the score is the paper's.

>>> one, many = Tally(*np.array([[1.0, 1, 60, 60]]).T), Tally(*np.array([[200.0, 160, 9000, 6000]]).T)
>>> [shrunk(each, Added(20, 60.0)).pages.round(2).tolist() for each in (one, many)]
[[0.05], [0.73]]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.temporal.places import Places
from weft.temporal.views import Labels, Views

_TINY = 1e-300  # instead of nothing, below a fraction


@dataclass(frozen=True, slots=True)
class Tally:
    """How many pages and views there are in groups of pages, and how many of them temporal."""

    pages: NDArray[np.float64]
    temporal_pages: NDArray[np.float64]
    views: NDArray[np.float64]
    temporal_views: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Shares:
    """P2's Score1 and Score2 of groups."""

    pages: NDArray[np.float64]  # temporal pages among the pages
    views: NDArray[np.float64]  # their views among the views


@dataclass(frozen=True, slots=True)
class Added:
    """Pages that are added to each group: how many, with how many views each, and how temporal they are."""

    pages: float
    page_views: float
    shares: Shares | None = None  # None: they are not


def tally(views: Views, labels: Labels, weight: NDArray[np.float64], places: Places) -> Tally:
    """Count the pages of places, each with its weight."""
    weighed = weight * views.totals()

    def added(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.bincount(places.of, values, len(places.names)), np.float64)

    return Tally(added(weight), added(weight * labels.temporal), added(weighed), added(weighed * labels.temporal))


def mean_views(found: Tally) -> float:
    """Views of a page."""
    return float(found.views.sum() / max(found.pages.sum(), 1.0))


def shrunk(found: Tally, added: Added) -> Shares:
    """The shares after pages were added; 0 where there is nothing."""
    views = added.pages * added.page_views
    temporal_pages, temporal_views = found.temporal_pages, found.temporal_views
    if added.shares is not None:
        temporal_pages = temporal_pages + added.pages * added.shares.pages
        temporal_views = temporal_views + views * added.shares.views
    return Shares(
        temporal_pages / np.maximum(found.pages + added.pages, _TINY),
        temporal_views / np.maximum(found.views + views, _TINY),
    )


def gains(found: Tally, most: int) -> NDArray[np.float64]:
    """What each group adds to the F-measure of the best list of at most so many groups.

    F = 2t / (n + T), with t temporal pages among n in the list and T in all, is largest for the groups with the largest
    2t - F n (Dinkelbach's method): start with F = 0, and take the F of each list for the next. F only grows, so it
    comes to rest; a group that is better left out has a gain below 0.
    """
    everything = max(float(found.temporal_pages.sum()), _TINY)
    measure = -1.0
    better = 0.0
    gain = 2 * found.temporal_pages
    while better > measure:
        measure = better
        gain = 2 * found.temporal_pages - measure * found.pages
        best = np.argsort(-gain, kind="stable")[:most]
        best = best[gain[best] > 0]
        better = float(2 * found.temporal_pages[best].sum() / (found.pages[best].sum() + everything))
    return gain
