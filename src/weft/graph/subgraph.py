"""Some pages of a graph as a graph of its own. In: a graph, some of its pages. Out: these, and the links among them.

The pages nearest to the seeds can be crawled without the others: each is linked to by one that is among them. They are
the same whatever ordering, and however many connections, a crawl of them has.

>>> graph = Graph.from_links([3, 2], [(0, 1), (0, 3), (1, 2), (3, 4)], parent=[-1, 0, 1, -1, 3])
>>> nearest(graph, 4).tolist()
[0, 3, 1, 4]
>>> some = subgraph_of(graph, nearest(graph, 4))
>>> some.graph, some.pages.tolist(), some.graph.links_of(0).tolist()
(Graph(sites=2, pages=4, links=3), [0, 1, 3, 4], [1, 2])
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.graph.model import Graph


class Subgraph(NamedTuple):
    """The pages, and where they are in the whole."""

    graph: Graph
    pages: NDArray[np.int32]
    """By page of the subgraph: its number in the whole."""
    sites: NDArray[np.int32]
    """By site of the subgraph: its number in the whole."""


def nearest(graph: Graph, count: int) -> NDArray[np.int32]:
    """At most so many pages, by how many links they are away from the seeds; of equal ones those that are found first,
    when the pages before them are read in this order.
    """
    seeds = _once(graph.seeds)
    found = np.zeros(graph.pages, dtype=np.bool_)
    found[seeds] = True
    levels = [seeds]
    many = len(seeds)
    while len(levels[-1]) and many < count:
        targets = graph.links[_places(graph, levels[-1])]
        following = _once(targets[~found[targets]])
        found[following] = True
        levels.append(following)
        many += len(following)
    return np.concatenate(levels)[:count].astype(np.int32)


def subgraph_of(graph: Graph, pages: NDArray[np.integer]) -> Subgraph:
    """The graph that has these pages only, in the order of the whole, the links among them, and the seeds that are
    among them.
    """
    kept = np.unique(pages).astype(np.int32)
    number = np.full(graph.pages, -1, dtype=np.int32)
    number[kept] = np.arange(len(kept), dtype=np.int32)
    sites, sizes = np.unique(graph.site_of(kept), return_counts=True)
    targets = number[graph.links[_places(graph, kept)]]
    source = np.repeat(np.arange(len(kept)), graph.offsets[kept + 1] - graph.offsets[kept])
    out = np.bincount(source[targets >= 0], minlength=len(kept))
    parent = graph.parent[kept]
    small = Graph(
        first_page=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32),
        offsets=np.concatenate([[0], np.cumsum(out)]).astype(np.int64),
        links=targets[targets >= 0],
        parent=np.where(parent >= 0, number[parent], -1).astype(np.int32),
        depth=graph.depth[kept],
        seeds=number[graph.seeds][number[graph.seeds] >= 0],
    )
    return Subgraph(small, kept, sites.astype(np.int32))


def _places(graph: Graph, pages: NDArray[np.int32]) -> NDArray[np.int64]:
    """Where the links of some pages are, page by page."""
    start, many = graph.offsets[pages], graph.offsets[pages + 1] - graph.offsets[pages]
    before = np.cumsum(many) - many
    return np.asarray(np.repeat(start - before, many) + np.arange(int(many.sum())))


def _once(pages: NDArray[np.int32]) -> NDArray[np.int32]:
    """Each page where it stands first."""
    return pages[np.sort(np.unique(pages, return_index=True)[1])]
