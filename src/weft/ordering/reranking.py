"""Scores computed anew in the course of a crawl, for batch and partial PageRank. In: the links of visited pages. Out:
an estimate of PageRank for every known page.

The estimate is the papers' formula on the known graph: nodes are the pages found, edges those of the pages visited. It
starts from the estimate before, so that two iterations are enough. What the pages look like at download n (the
*snapshot*) takes effect at download n + d: a live crawl has the time of d downloads to compute, and a simulation with
the same d orders pages in the same way. With d = 0 the crawl stands still meanwhile.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import array_at, compiled, reserve, table_at
from weft.ordering.heaps import Heaps, reheap
from weft.ordering.known import HELD, Known

_FROM_NOTHING: Final = 20  # iterations of the first computation, which has nothing to start from
EPSILON: Final = 0.15  # the papers' chance of a random jump


class Every(enum.Enum):
    """When scores are computed anew."""

    PAGES = "pages"  # every K pages
    BATCH = "batch"  # when the K pages of a batch are done


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranking:
    """The numbers of it."""

    pages: int = 100_000  # K
    delay: int = 0  # d
    iterations: int = 2
    tolerance: float = 1e-4  # the change in all scores together at which no further iteration is needed


class Edges(NamedTuple):
    """The known graph, one visited page after the other."""

    source: NDArray[np.int32]  # by visit: the page
    start: NDArray[np.int64]  # by visit: where its links begin
    target: NDArray[np.int32]
    counts: NDArray[np.int64]  # visits


def make_edges(pages: int, links: int) -> Edges:
    """An empty graph with room for so many pages and links; only what is used takes memory."""
    return Edges(
        reserve(pages, np.int32), reserve(pages + 1, np.int64), reserve(links, np.int32), np.zeros(1, np.int64)
    )


@compiled
def edges_at(address: int) -> Edges:
    """The arrays whose table lies at an address."""
    table = table_at(address, 4)
    return Edges(
        array_at(table, 0, np.int32),
        array_at(table, 1, np.int64),
        array_at(table, 2, np.int32),
        array_at(table, 3, np.int64),
    )


@compiled
def add_edges(edges: Edges, page: int, links: NDArray[np.int32]) -> None:
    """Note the links of a visited page."""
    visit = edges.counts[0]
    start = edges.start[visit]
    if start + links.size > edges.target.size:
        raise MemoryError("there is no room for more links in the known graph")
    edges.source[visit] = page
    for i in range(links.size):
        edges.target[start + i] = links[i]
    edges.start[visit + 1] = start + links.size
    edges.counts[0] = visit + 1


class Estimate:
    """The estimate of PageRank, kept from one computation to the next."""

    def __init__(self, pages: int, settings: Reranking) -> None:
        self._rank = reserve(pages, np.float64)
        self._next = reserve(pages, np.float64)
        self._had = 0  # pages that have an estimate
        self._settings = settings

    def __repr__(self) -> str:
        return f"Estimate({self._had} pages)"

    def compute(self, edges: Edges, visits: int, pages: int) -> NDArray[np.float64]:
        """The scores of the first pages, when so many were visited and so many known. May run in a thread."""
        iterations = self._settings.iterations if self._had else max(self._settings.iterations, _FROM_NOTHING)
        self._rank[self._had : pages] = EPSILON / pages
        self._had = pages
        for _ in range(iterations):
            change = _iterate(edges, visits, self._rank[:pages], self._next[:pages])
            self._rank, self._next = self._next, self._rank
            if change < self._settings.tolerance:
                break
        return self._rank[:pages]


@compiled
def _iterate(edges: Edges, visits: int, rank: NDArray[np.float64], following: NDArray[np.float64]) -> float:
    """One step of the power iteration; how much has changed."""
    following[:] = EPSILON / rank.size
    for visit in range(visits):
        start, end = edges.start[visit], edges.start[visit + 1]
        if end > start:
            share = (1 - EPSILON) * rank[edges.source[visit]] / (end - start)
            for i in range(start, end):
                following[edges.target[i]] += share
    change = 0.0
    for page in range(rank.size):
        change += abs(following[page] - rank[page])
    return change


def rescore_all(heaps: Heaps, known: Known, rank: NDArray[np.float64]) -> None:
    """Partial: every page that was known at the snapshot has its estimate from now on."""
    known.score[: rank.size] = rank
    known.ranked[0] = rank.size
    reheap(heaps)


def choose_batch(
    heaps: Heaps, known: Known, rank: NDArray[np.float64], pending: NDArray[np.int64], most: int
) -> NDArray[np.int64]:
    """Batch: the best of the pending pages known at the snapshot make the next batch, the others wait."""
    chosen = pending[pending < rank.size]
    if chosen.size > most:
        ranks = rank[chosen]
        least = np.partition(ranks, chosen.size - most)[chosen.size - most]
        better, equal = chosen[ranks > least], chosen[ranks == least]
        chosen = np.concatenate([better, equal[: most - better.size]])  # among equals, those found first
    known.score[pending] = HELD
    known.score[chosen] = rank[chosen]
    known.ranked[0] = rank.size
    reheap(heaps)
    return chosen
