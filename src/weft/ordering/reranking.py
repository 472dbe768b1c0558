"""Scores computed anew in the course of a crawl, for batch and partial PageRank. In: the links of visited pages. Out:
an estimate of PageRank for every known page.

The estimate is the papers' formula on the known graph: nodes are the pages found, edges those of the pages visited. It
starts from the estimate before, so that two iterations are enough. What the pages look like at download n (the
*snapshot*) takes effect at download n + d: a live crawl has the time of d downloads to compute, and a simulation with
the same d orders pages in the same way. With d = 0 the crawl stands still meanwhile.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import binder, compiled, reserve
from weft.ordering.heaps import Heaps, reheap
from weft.ordering.known import HELD, Known
from weft.ordering.ties import Ties, weight

_FROM_NOTHING: Final = 20  # iterations of the first computation, which has nothing to start from
EPSILON: Final = 0.15  # the papers' chance of a random jump


class Every(enum.Enum):
    """When scores are computed anew: an ordering says so."""

    PAGES = "pages"  # every K pages
    BATCH = "batch"  # when the K pages of a page batch are done; `batch` below is always one of these


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranking:
    """How often scores are computed anew, and how exactly; a part of the settings, the same for a whole run."""

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


edges_at = binder(Edges)
"""The arrays whose table lies at an address."""


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

    def __init__(self, pages: int, settings: Reranking, site: NDArray[np.int32]) -> None:
        """`site` has that of each page, which matters where some links count less than others."""
        self._site = site
        self._rank = reserve(pages, np.float64)
        self._next = reserve(pages, np.float64)
        self._had = 0  # pages that have an estimate
        self._settings = settings

    def __repr__(self) -> str:
        return f"Estimate({self._had} pages)"

    def compute(self, edges: Edges, visits: int, pages: int, ties: Ties) -> NDArray[np.float64]:
        """The scores of the first pages, when so many were visited and so many known, and sites are tied like this.
        May run in a thread.
        """
        iterations = self._settings.iterations if self._had else max(self._settings.iterations, _FROM_NOTHING)
        self._rank[self._had : pages] = EPSILON / pages
        self._had = pages
        for _ in range(iterations):
            change = _iterate(edges, visits, self._rank[:pages], self._next[:pages], self._site, ties)
            self._rank, self._next = self._next, self._rank
            if change < self._settings.tolerance:
                break
        return self._rank[:pages]


@compiled
def _iterate(
    edges: Edges,
    visits: int,
    rank: NDArray[np.float64],
    following: NDArray[np.float64],
    site: NDArray[np.int32],
    ties: Ties,
) -> float:
    """One step of the power iteration; how much has changed. What a link counts less is lost, as what comes to a page
    without links is.
    """
    following[:] = EPSILON / rank.size
    for visit in range(visits):
        start, end = edges.start[visit], edges.start[visit + 1]
        if end > start:
            share = (1 - EPSILON) * rank[edges.source[visit]] / (end - start)
            if ties.on:
                source = site[edges.source[visit]]
                for i in range(start, end):
                    following[edges.target[i]] += share * weight(ties, source, site[edges.target[i]])
            else:
                for i in range(start, end):
                    following[edges.target[i]] += share
    change = 0.0
    for page in range(rank.size):
        change += abs(following[page] - rank[page])
    return change


class RerankPlan:
    """When scores are computed anew and when they take effect; one for a crawl, simulated or live.

    It is told how many pages are over (fetched; for batches, pages of the batch that had their turn) and how many are
    known, and says what is due. It knows neither a clock nor a page. Always: between two effects one snapshot is due,
    and it is due as many pages before the effect as the delay says, or at once where fewer are left.
    """

    def __init__(self, every: Every, terms: Reranking) -> None:
        self.every = every
        self._terms = terms
        self._over = 0
        self._snapshot_at = self._effect_at = 0
        self._taken = False  # the snapshot for the next effect
        self._complete = -1  # pages known when a batch was chosen that has all that were pending; else -1

    def __repr__(self) -> str:
        return f"RerankPlan({self.every.value}, {self._over} over, due at {self.next_at})"

    def begin(self, pages: int, *, resumed: bool = False) -> int:
        """So many pages are pending at the start; how many of them make the first batch. One that goes on with what an
        earlier run knew computes at once.
        """
        first = 0 if resumed or self.every is Every.PAGES else min(self._terms.pages, pages)
        self._plan(0 if resumed else self._terms.pages if self.every is Every.PAGES else first)
        return first

    def over(self, pages: int) -> None:
        """So many more pages are over."""
        self._over += pages

    @property
    def next_at(self) -> int:
        """How many pages are over when something is due next."""
        return self._effect_at if self._taken else self._snapshot_at

    def snapshot_due(self, known: int) -> bool:
        """Is it time to compute? To be asked once: what is due is taken to be done. While all known pages are in the
        batch none waits for the next one.
        """
        if self._taken or known == self._complete or self._over < self._snapshot_at:
            return False
        self._taken = True
        return True

    def effect_due(self, known: int) -> bool:
        """Is it time for what was computed to take effect?"""
        return self._taken and known != self._complete and self._over >= self._effect_at

    def take_effect(
        self,
        heaps: Heaps,
        known: Known,
        pages: int,
        ranks: NDArray[np.float64],
        pending: Callable[[], NDArray[np.int64]],
        compute: Callable[[], NDArray[np.float64]],
    ) -> NDArray[np.int64]:
        """Give pages what was computed at the snapshot, of `pages` known by now; the pages of the next batch, if there
        are batches. Where nothing that was known then is pending, it is computed again.
        """
        self._taken = False
        if self.every is Every.PAGES:
            rescore_all(heaps, known, ranks)
            self._plan(self._terms.pages)
            return np.empty(0, np.int64)
        waiting = pending()
        chosen = choose_batch(heaps, known, ranks, waiting, self._terms.pages)
        if chosen.size == 0 and waiting.size:
            chosen = choose_batch(heaps, known, compute(), waiting, self._terms.pages)
        self._complete = pages if chosen.size == waiting.size else -1
        self._plan(chosen.size)
        return chosen

    def _plan(self, pages: int) -> None:
        """So many pages from now the next scores take effect."""
        self._effect_at = self._over + pages
        self._snapshot_at = max(self._over, self._effect_at - self._terms.delay)


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
