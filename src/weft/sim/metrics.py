"""How good an order is. In: the pages in the order of their download, the times, PageRank by page. Out: the measures.

The measures are those of Castillo et al. 2004 (cumulative PageRank, T*, wasted bandwidth) and of
Baeza-Yates et al. 2005, section 5 (average cumulative PageRank, Kendall's tau, search length). `order` has every page
at most once and may leave pages out; `scores` has all pages of the graph and sums to 1.

>>> scores = np.array([0.5, 0.1, 0.4])
>>> order = np.array([0, 1, 2])
>>> cumulative(order, scores).tolist()
[0.5, 0.6, 1.0]
>>> round(average(order, scores), 3), round(optimal_average(scores), 3)
(0.7, 0.8)
>>> search_length(order, scores, 0.67).whole
3
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled

Order = NDArray[np.integer[Any]]

SAMPLE = 5_000
SAMPLES = 4


def cumulative(order: Order, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """PageRank that is in after 1, 2, 3 … downloads."""
    return np.cumsum(scores[order])


def average(order: Order, scores: NDArray[np.float64]) -> float:
    """Mean over i of the cumulative PageRank after i downloads."""
    return float(cumulative(order, scores).mean()) if len(order) else 0.0


def optimal_average(scores: NDArray[np.float64]) -> float:
    """The average of a crawl that may take any page at any time and knows every PageRank: nothing is above it."""
    return float(np.cumsum(np.sort(scores)[::-1]).mean()) if len(scores) else 0.0


def kendall(order: Order, scores: NDArray[np.float64], seed: int) -> float:
    """Kendall's tau-a between the order and the order by score, mean of four samples drawn with replacement.

    Pairs of equal score, and so a page drawn twice, count for neither side. The same seed draws the same pages
    whatever their order is, so that orderings of the same pages can be compared.
    """
    if not len(order):
        return 0.0
    place = np.full(len(scores), -1, dtype=np.int64)
    place[order] = np.arange(len(order))
    pages = np.flatnonzero(place >= 0)
    rng = np.random.Generator(np.random.PCG64(seed))
    # A double below 1 times n, rounded down: unlike `integers`, the same with every version of NumPy.
    drawn = pages[(rng.random((SAMPLES, SAMPLE)) * len(pages)).astype(np.int64)]
    return float(np.mean([tau(place[sample], scores[sample]) for sample in drawn]))


def tau(places: NDArray[np.int64], scores: NDArray[np.float64]) -> float:
    """Tau-a: 1 where the better is always earlier, -1 where it is always later.

    >>> tau(np.array([0, 1, 2]), np.array([0.5, 0.1, 0.4])) == 1 / 3
    True
    """
    pairs = len(places) * (len(places) - 1) // 2
    if not pairs:
        return 0.0
    _, rank, count = np.unique(scores, return_inverse=True, return_counts=True)
    tied = int((count * (count - 1) // 2).sum())
    discordant = int(_rises(rank[np.argsort(places, kind="stable")].astype(np.int64)))
    return (pairs - tied - 2 * discordant) / pairs


@compiled
def _rises(values: NDArray[np.int64]) -> int:
    """Pairs whose later value is the larger one, counted while the values are merged from small runs to large.

    Changes the values.
    """
    n = len(values)
    merged = np.empty_like(values)
    found = 0
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            middle, end = min(start + width, n), min(start + 2 * width, n)
            left, right = start, middle
            for at in range(start, end):
                # Runs are in falling order; all that is left of the left run is smaller than a right value that goes
                # before it.
                if left < middle and (right >= end or values[left] >= values[right]):
                    merged[at] = values[left]
                    left += 1
                else:
                    merged[at] = values[right]
                    found += middle - left
                    right += 1
        values, merged = merged, values
        width *= 2
    return found


@dataclass(frozen=True, slots=True)
class SearchLength:
    """Downloads until the best pages are in; None where they never all were.

    One good page at the end of the crawl decides `whole`, hence the other two.
    """

    pages: int
    """How many the best pages are."""
    most: int | None
    """Until 90 % of them are in."""
    nearly: int | None
    """Until 99 % of them are in."""
    whole: int | None
    """Until all of them are in."""


def search_length(order: Order, scores: NDArray[np.float64], share: float) -> SearchLength:
    """Downloads until the top share of all pages is in, by score; of equal ones those of lower number are the top."""
    wanted = min(len(scores), max(1, round(share * len(scores))))
    places = np.flatnonzero(_top(scores, wanted)[order])

    def until(hundredths: int) -> int | None:
        needed = -(-wanted * hundredths // 100)
        return int(places[needed - 1]) + 1 if 0 < needed <= len(places) else None

    return SearchLength(pages=wanted, most=until(90), nearly=until(99), whole=until(100))


def _top(scores: NDArray[np.float64], wanted: int) -> NDArray[np.bool_]:
    """Which pages are the best, exactly as many as wanted."""
    if not wanted:
        return np.zeros(len(scores), dtype=np.bool_)
    edge = np.partition(scores, len(scores) - wanted)[len(scores) - wanted]
    top = np.asarray(scores > edge)
    equal = np.flatnonzero(scores == edge)
    top[equal[: wanted - int(top.sum())]] = True
    return top


@dataclass(frozen=True, slots=True, eq=False)
class ByTime:
    """What is in at equally distant instants from the start to the last download."""

    time: NDArray[np.float64]
    pages: NDArray[np.int64]
    pagerank: NDArray[np.float64]


def by_time(finished: NDArray[np.float64], order: Order, scores: NDArray[np.float64], points: int = 1_000) -> ByTime:
    """Downloads and cumulative PageRank over time."""
    time = np.linspace(0.0, float(finished[-1]) if len(finished) else 0.0, points)
    pages = np.searchsorted(finished, time, side="right")
    return ByTime(time, pages.astype(np.int64), _from_nothing(cumulative(order, scores))[pages])


def _from_nothing(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The values after 0, 1, 2 … downloads: 0 goes before them."""
    return np.concatenate([np.zeros(1), values])


def bound(sizes: NDArray[np.float64] | float, bandwidth: float) -> float:
    """T*: the seconds that a crawler takes whose bandwidth is in use all the time (Castillo et al. 2004, section 2).

    >>> bound(np.array([100.0, 300.0]), bandwidth=200.0)
    2.0
    """
    return float(np.sum(sizes)) / bandwidth


def wasted(least: float, taken: float) -> float:
    """The share of the bandwidth that was not used: 1 - T* / T.

    >>> wasted(bound(400.0, bandwidth=200.0), taken=8.0)
    0.75
    """
    return 1.0 - least / taken if taken > 0 else 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """How a crawl goes on, after equal steps of downloads; the first point is the beginning, with nothing in."""

    pages: NDArray[np.int64]
    """Downloads so far."""
    fraction: NDArray[np.float64]
    """Their share of all pages."""
    pagerank: NDArray[np.float64]
    """Their PageRank together."""
    time: NDArray[np.float64]
    """When the last of them was finished."""


def curve(order: Order, scores: NDArray[np.float64], finished: NDArray[np.float64], points: int = 1_000) -> Curve:
    """At most so many points of a crawl, the beginning and the end among them."""
    pages = np.unique(np.linspace(0, len(order), points).round().astype(np.int64))
    return Curve(
        pages=pages,
        fraction=pages / max(1, len(scores)),
        pagerank=_from_nothing(cumulative(order, scores))[pages],
        time=_from_nothing(finished)[pages],
    )
