"""What is there at one time. In: a world and a time. Out: an ordinary graph of the pages that are alive, and which.

Two snapshots of a country are two times of one world (Baeza-Yates et al. 2005: April and May). Each is a graph like any
other: pages are numbered anew, and `Snapshot.pages` says which they are in the world. Links to dead pages are not in
it, as they are not in a graph that was built from a crawl.

>>> from weft.graph import Recipe
>>> from weft.graph.changing import Changes, make_world
>>> world = make_world(Recipe(sites=5, pages=200), Changes(days=30, news=0.4), seed=1)
>>> april, may = snapshot(world, 0.0), snapshot(world, 30 * 86_400.0)
>>> april.graph.pages, bool(may.graph.pages > 200), april.graph.sites == may.graph.sites
(200, True, True)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.errors import UsageError
from weft.graph.changing.world import World
from weft.graph.model import Graph


class Snapshot(NamedTuple):
    """A graph of one time."""

    graph: Graph
    pages: NDArray[np.int64]
    """For each of its pages the number in the world."""


def snapshot(world: World, at: float) -> Snapshot:
    """The graph of the pages that are alive at a time, with what hubs list then."""
    if not at >= 0:
        raise UsageError(f"there is no snapshot at {at:g} s", todo="give a time after the world's start, which is 0")
    graph = world.graph
    alive = world.alive(np.arange(graph.pages), at)
    number = np.cumsum(alive) - 1
    source, target = _links(world, at)
    kept = alive[source] & alive[target]
    pages = np.flatnonzero(alive)
    before = np.concatenate([[0], np.cumsum(alive)])
    offsets = np.concatenate([[0], np.cumsum(np.bincount(number[source[kept]], minlength=len(pages)))])
    parent = graph.parent[pages]
    made = Graph(
        first_page=before[graph.first_page],
        offsets=offsets,
        links=number[target[kept]],
        parent=np.where(parent >= 0, number[parent], -1),
        depth=graph.depth[pages],
        seeds=number[graph.seeds],
    )
    return Snapshot(made, pages)


def _links(world: World, at: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """All links, those that hubs list behind their other ones, by the page that they are on."""
    graph = world.graph
    source = np.repeat(np.arange(graph.pages), np.diff(graph.offsets))
    listed = [world.links_at(int(hub), at)[len(graph.links_of(int(hub))) :] for hub in world.hubs]
    of_hubs = np.repeat(world.hubs, [len(each) for each in listed])
    source = np.concatenate([source, of_hubs])
    target = np.concatenate([graph.links, *listed]).astype(np.int64)
    order = np.argsort(source, kind="stable")
    return source[order], target[order]
