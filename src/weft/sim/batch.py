"""Short-term scheduling: a batch from the middle of a crawl, downloaded alone. In: a graph, the pages visited so far.
Out: the batch as a graph of its own, and how its download goes.

A crawler that works in batches fetches a fixed set of pages, whatever it finds meanwhile (Castillo et al. 2004, section
6). What matters then is how many sites the batch has and how unequally its pages lie on them: a site allows one
connection at a time, so robots fall idle when only few sites are left. The batch is a graph without links whose pages
are all seeds.

>>> graph = Graph.from_links([3, 2], [(0, 1), (0, 2), (0, 3), (3, 4)], parent=[-1, 0, 0, -1, 3])
>>> pending_after(graph, np.array([0, 3])).tolist()
[1, 2, 4]
>>> choose(graph, np.array([0, 3]), 2, Choice.SPREAD).tolist()
[4, 1]
>>> alone(graph, np.array([4, 1, 2])).graph
Graph(sites=2, pages=3, links=0)
"""

from __future__ import annotations

import enum
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled
from weft.graph import Graph
from weft.graph.rank import pagerank
from weft.ordering.contract import Ordering
from weft.sim.result import Simulated
from weft.sim.run import Conditions, simulate
from weft.sim.times import PageTimes

Pages = NDArray[np.int32]

_ROUGH = 1e-4  # an estimate of PageRank that decides about a batch need not be exact


class Choice(enum.Enum):
    """Which of the pending pages make a batch."""

    BEST = "best"
    """Those with the highest estimate of PageRank, as in batch PageRank."""
    RANDOM = "random"
    """Any of them."""
    SPREAD = "spread"
    """As many sites as possible: the best page of every site, then the second best of every site, and so on."""


class Batch(NamedTuple):
    """A batch as a graph of its own."""

    graph: Graph
    pages: Pages
    """For each page of the batch's graph its number in the graph it was taken from."""
    sites: Pages
    """For each site of the batch's graph its number in the graph it was taken from."""


def pending_after(graph: Graph, visited: NDArray[np.integer]) -> Pages:
    """The pages that are known when these are visited, and not among them; ascending."""
    found = np.zeros(graph.pages, dtype=np.bool_)
    found[graph.seeds] = True
    _mark_targets(graph.offsets, graph.links, visited.astype(np.int32), found)
    found[visited] = False
    return np.flatnonzero(found).astype(np.int32)


@compiled
def _mark_targets(offsets: NDArray[np.int64], links: Pages, visited: Pages, found: NDArray[np.bool_]) -> None:
    for page in visited:
        for place in range(offsets[page], offsets[page + 1]):
            found[links[place]] = True


def choose(
    graph: Graph, visited: NDArray[np.integer], size: int, choice: Choice = Choice.BEST, *, seed: int = 1
) -> Pages:
    """At most so many of the pages that are pending when these are visited, the first to be fetched first."""
    pending = pending_after(graph, visited)
    if choice is Choice.RANDOM:
        rng = np.random.Generator(np.random.PCG64([seed, 0xBA]))
        return pending[np.argsort(rng.random(len(pending)), kind="stable")[:size]]
    estimate = _estimate(graph, visited)[pending]
    ranked = pending[np.argsort(-estimate, kind="stable")]
    if choice is Choice.BEST:
        return ranked[:size]
    sites = graph.site_of(ranked)
    by_site = np.argsort(sites, kind="stable")
    _, first = np.unique(sites[by_site], return_index=True)
    turn = np.empty(len(ranked), dtype=np.int64)  # how many pages of its site are better
    turn[by_site] = np.arange(len(ranked)) - np.repeat(first, np.diff(np.append(first, len(ranked))))
    return ranked[np.argsort(turn, kind="stable")[:size]]


def _estimate(graph: Graph, visited: NDArray[np.integer]) -> NDArray[np.float64]:
    """PageRank of what is known: of pages that are not visited no links are known.

    Pages that are not known are in it, too. As nothing links to them they only change the scale.
    """
    known = np.zeros(graph.pages, dtype=np.bool_)
    known[visited] = True
    out = np.where(known, np.diff(graph.offsets), 0)
    offsets = np.concatenate([[0], np.cumsum(out)])
    links = np.empty(int(offsets[-1]), dtype=np.int32)
    _copy_known(graph.offsets, graph.links, known, offsets, links)
    return pagerank(offsets, links, tolerance=_ROUGH)


@compiled
def _copy_known(
    offsets: NDArray[np.int64], links: Pages, known: NDArray[np.bool_], new_offsets: NDArray[np.int64], new_links: Pages
) -> None:
    for page in range(len(known)):
        if known[page]:
            for step in range(offsets[page + 1] - offsets[page]):
                new_links[new_offsets[page] + step] = links[offsets[page] + step]


def alone(graph: Graph, batch: NDArray[np.integer]) -> Batch:
    """The graph that has these pages only, no links, and all of them as seeds, in their order."""
    pages = np.sort(batch).astype(np.int32)
    sites, sizes = np.unique(graph.site_of(pages), return_counts=True)
    small = Graph(
        first_page=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
        offsets=np.zeros(len(pages) + 1, dtype=np.int64),
        links=np.empty(0, dtype=np.int32),
        parent=np.full(len(pages), -1, dtype=np.int32),
        depth=np.zeros(len(pages), dtype=np.uint8),
        seeds=np.searchsorted(pages, batch).astype(np.int32),
    )
    return Batch(small, pages, sites.astype(np.int32))


def simulate_batch(
    graph: Graph,
    batch: NDArray[np.integer],
    ordering: Ordering,
    conditions: Conditions,
    times: PageTimes | None = None,
) -> Simulated:
    """Download a batch alone; pages and sites of the result are numbered as in the graph it was taken from.

    The ordering cannot be one that needs scores. `times` are those of the whole graph.
    """
    own = alone(graph, batch)
    if times is not None:
        times = PageTimes(times.latency[own.pages], times.size[own.pages], times.speed[own.sites])
    found = simulate(own.graph, ordering, conditions, times=times)
    return replace(
        found,
        order=own.pages[found.order],
        site=own.sites[found.site],
        parameters={**found.parameters, "batch": len(own.pages)},
    )
