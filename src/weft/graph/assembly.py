"""From pages and links in any order to a `Graph`. In: each page's site, links, seeds. Out: the graph, and who is who.

Self-links and repeated links are dropped, the first one kept; pages that no seed reaches are dropped; what is left is
numbered site by site, sites in order of first appearance, a site's home page first and its other pages in their
order. Parents and depths are those of the breadth-first tree from the seeds.

>>> rows = LinkRows(3)
>>> rows.add(np.array([2, 2, 2, 1]), np.array([0, 0, 2, 0]))
>>> made = assemble(np.array([0, 1, 0]), rows, seeds=np.array([2]), worth=Worth.of_order(3))
>>> made.graph, made.pages.tolist(), (made.self_links, made.repeats, made.unreached)
(Graph(sites=1, pages=2, links=1), [2, 0], (1, 1, 1))
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled
from weft.graph.model import Graph

Pages = NDArray[np.int32]


class Worth(NamedTuple):
    """By what a site's home page is chosen: the shortest path, then the shortest URL, then the lowest id."""

    path_length: Pages
    url_length: Pages
    ids: NDArray[np.int64]

    @classmethod
    def of_order(cls, pages: int) -> Worth:
        """The first page of a site is its home page."""
        same = np.zeros(pages, dtype=np.int32)
        return cls(same, same, np.arange(pages))


class Assembled(NamedTuple):
    """A graph, and what became of what it was made from."""

    graph: Graph
    pages: Pages
    """For each page of the graph its former number."""
    self_links: int
    repeats: int
    unreached: int


class LinkRows:
    """Links as they come, in chunks of sources and targets, until they are rows of a page."""

    def __init__(self, pages: int) -> None:
        self._chunks: list[tuple[Pages, Pages]] = []
        self._out = np.zeros(pages, dtype=np.int64)
        self.links = 0

    def add(self, sources: NDArray[np.integer], targets: NDArray[np.integer]) -> None:
        """Take links; those of one page stay in the order in which they are given."""
        source, target = sources.astype(np.int32), targets.astype(np.int32)
        _count(source, self._out)
        self._chunks.append((source, target))
        self.links += len(source)

    def rows(self) -> tuple[NDArray[np.int64], Pages, int, int]:
        """Offsets and links, self-links and repeats dropped, and how many of both; the chunks are given back."""
        offsets = np.concatenate([[0], np.cumsum(self._out)])
        links = np.empty(self.links, dtype=np.int32)
        free = offsets[:-1].copy()
        self._chunks.reverse()
        while self._chunks:  # each is forgotten once it is placed: 40 million links need not be held twice
            _place(*self._chunks.pop(), free, links)
        self_links, repeats = _drop_repeats(offsets, links)
        return offsets, links[: offsets[-1]], self_links, repeats


def assemble(site: Pages, rows: LinkRows, *, seeds: Pages | None, worth: Worth) -> Assembled:
    """Make the graph; without seeds every site's home page is one."""
    site = site.astype(np.int32)
    pages, sites = len(site), int(site.max()) + 1 if len(site) else 0
    offsets, links, self_links, repeats = rows.rows()
    all_pages = np.ones(pages, dtype=np.bool_)
    if seeds is None:
        seeds = _homes(site, sites, np.empty(0, dtype=np.int32), all_pages, worth)
    seeds = np.asarray(seeds, dtype=np.int32)
    _, at = np.unique(seeds, return_index=True)
    seeds = seeds[np.sort(at)]
    parent, depth, reached = breadth_first(offsets, links, seeds)
    homes = _homes(site, sites, seeds, reached, worth)
    order, sizes = _order(site, homes, reached)
    new = np.full(pages, -1, dtype=np.int32)
    new[order] = np.arange(len(order), dtype=np.int32)
    new_offsets, new_links = _renumber(offsets, links, order, new)
    above = parent[order]
    graph = Graph(
        first_page=np.concatenate([[0], np.cumsum(sizes[sizes > 0])]).astype(np.int32),
        offsets=new_offsets,
        links=new_links,
        parent=np.where(above >= 0, new[above], -1),
        depth=depth[order],
        seeds=new[seeds],
    )
    return Assembled(graph, order, self_links, repeats, pages - len(order))


def breadth_first(
    offsets: NDArray[np.int64], links: Pages, seeds: Pages
) -> tuple[Pages, NDArray[np.uint8], NDArray[np.bool_]]:
    """For each page where it was found first (-1: a seed, or not at all), how deep (at most 255), and whether."""
    pages = len(offsets) - 1
    parent = np.full(pages, -1, dtype=np.int32)
    depth = np.zeros(pages, dtype=np.uint8)
    reached = np.zeros(pages, dtype=np.bool_)
    _breadth_first(offsets, links, seeds, parent, depth, reached)
    return parent, depth, reached


def _order(site: Pages, homes: Pages, kept: NDArray[np.bool_]) -> tuple[Pages, NDArray[np.int64]]:
    """The pages that stay, site by site, and how many of each site."""
    sizes = np.bincount(site[kept], minlength=len(homes))
    order = np.empty(int(kept.sum()), dtype=np.int32)
    _fill_order(site, homes, kept, np.concatenate([[0], np.cumsum(sizes)])[:-1], order)
    return order, sizes


@compiled
def _count(sources: Pages, out: NDArray[np.int64]) -> None:
    for source in sources:
        out[source] += 1


@compiled
def _place(sources: Pages, targets: Pages, free: NDArray[np.int64], links: Pages) -> None:
    """Put links into their pages' rows, behind those already there."""
    for number in range(len(sources)):
        links[free[sources[number]]] = targets[number]
        free[sources[number]] += 1


@compiled
def _drop_repeats(offsets: NDArray[np.int64], links: Pages) -> tuple[int, int]:
    """Close the rows up in place; count self-links and repeats."""
    linked_by = np.full(len(offsets) - 1, -1, dtype=np.int32)
    self_links = repeats = kept = 0
    begin = offsets[0]
    for page in range(len(offsets) - 1):
        end = offsets[page + 1]
        for place in range(begin, end):
            target = links[place]
            if target == page:
                self_links += 1
            elif linked_by[target] == page:
                repeats += 1
            else:
                linked_by[target] = page
                links[kept] = target
                kept += 1
        begin = end
        offsets[page + 1] = kept
    return self_links, repeats


@compiled
def _homes(site: Pages, sites: int, seeds: Pages, kept: NDArray[np.bool_], worth: Worth) -> Pages:
    """Each site's first seed, else the page of most worth among those kept; -1 where there is none."""
    homes = np.full(sites, -1, dtype=np.int32)
    for seed in seeds:
        if homes[site[seed]] < 0:
            homes[site[seed]] = seed
    seeded = homes >= 0
    for page in range(len(site)):
        if seeded[site[page]] or not kept[page]:
            continue
        best = homes[site[page]]
        if best < 0:
            homes[site[page]] = page
            continue
        difference = worth.path_length[page] - worth.path_length[best]
        if difference == 0:
            difference = worth.url_length[page] - worth.url_length[best]
        if difference < 0 or (difference == 0 and worth.ids[page] < worth.ids[best]):
            homes[site[page]] = page
    return homes


@compiled
def _breadth_first(
    offsets: NDArray[np.int64],
    links: Pages,
    seeds: Pages,
    parent: Pages,
    depth: NDArray[np.uint8],
    reached: NDArray[np.bool_],
) -> None:
    queue = np.empty(len(reached), dtype=np.int32)
    end = 0
    for seed in seeds:
        if not reached[seed]:
            reached[seed] = True
            queue[end] = seed
            end += 1
    begin = 0
    while begin < end:
        page = queue[begin]
        begin += 1
        for place in range(offsets[page], offsets[page + 1]):
            target = links[place]
            if not reached[target]:
                reached[target] = True
                parent[target] = page
                depth[target] = min(depth[page] + 1, 255)
                queue[end] = target
                end += 1


@compiled
def _fill_order(site: Pages, homes: Pages, kept: NDArray[np.bool_], free: NDArray[np.int64], order: Pages) -> None:
    for number in range(len(homes)):
        if homes[number] >= 0:
            order[free[number]] = homes[number]
            free[number] += 1
    for page in range(len(site)):
        if kept[page] and homes[site[page]] != page:
            order[free[site[page]]] = page
            free[site[page]] += 1


@compiled
def _renumber(offsets: NDArray[np.int64], links: Pages, order: Pages, new: Pages) -> tuple[NDArray[np.int64], Pages]:
    """The rows of the pages in this order, their targets by new numbers: a reached page links to reached ones only."""
    new_offsets = np.zeros(len(order) + 1, dtype=np.int64)
    for number in range(len(order)):
        page = order[number]
        new_offsets[number + 1] = new_offsets[number] + offsets[page + 1] - offsets[page]
    new_links = np.empty(new_offsets[-1], dtype=np.int32)
    for number in range(len(order)):
        page = order[number]
        begin = new_offsets[number]
        for step in range(offsets[page + 1] - offsets[page]):
            new_links[begin + step] = new[links[offsets[page] + step]]
    return new_offsets, new_links
