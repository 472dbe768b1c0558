"""Link farms in a generated web. In: a graph, how many pages of farms it is to have. Out: a graph with them, and where
all its sites are.

A farm is some sites with a few pages each. Every page links to all of its own site, to the farm's target (the home
page that the farm is there for), to the next site, and to pages of the farm drawn for each page anew. Ordinary pages
lead to a farm by links that somebody smuggled in. No page of a farm is a seed. There are three kinds, by turns: all
sites under one registered domain, all at one address, and sites with a domain and an address of their own each.

Ordinary sites share addresses, few of them with hundreds; every tenth is a further site of the domain before it.

The ordinary sites, their pages and the links they had are as they were, and come first.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.graph.assembly import LinkRows
from weft.graph.hosting import Hosting
from weft.graph.model import Graph

SITES: Final = 40  # of a farm
PAGES: Final = 12  # of each of its sites
ELSEWHERE: Final = 30  # links of a page to pages of the farm
SMUGGLED: Final = 30  # links of ordinary pages to a farm
_SITES_PER_ADDRESS: Final = 3.0  # ordinary ones, in the mean


class Planted(NamedTuple):
    """A web with farms."""

    graph: Graph
    hosting: Hosting


def plant(graph: Graph, share: float, seed: int) -> Planted:
    """The web with so large a share of its pages on farms, whole farms only; without any, the same graph."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed).spawn(4)[3]))  # three are the generator's
    farms = round(graph.pages * share / (1 - share) / (SITES * PAGES))
    domain, address = _ordinary(rng, graph.sites)
    if farms == 0:
        return Planted(graph, Hosting(domain, address, np.zeros(graph.sites, np.int32)))
    pages, sites = farms * SITES * PAGES, farms * SITES
    rows = LinkRows(graph.pages + pages)
    rows.add(np.repeat(np.arange(graph.pages, dtype=np.int32), np.diff(graph.offsets)), graph.links)
    smuggled = farms * SMUGGLED
    homes = graph.pages + PAGES * (np.repeat(np.arange(farms), SMUGGLED) * SITES + _draw(rng, smuggled, SITES))
    rows.add(_draw(rng, smuggled, graph.pages), homes)
    own = np.arange(pages)  # pages of farms, from 0
    home = own - own % PAGES
    rows.add(
        graph.pages + np.repeat(own, PAGES), graph.pages + np.repeat(home, PAGES) + np.tile(np.arange(PAGES), pages)
    )
    first = own - own % (SITES * PAGES)  # of its farm: the target's home page
    drawn = first[:, None] + _draw(rng, pages * ELSEWHERE, SITES * PAGES).reshape(pages, ELSEWHERE)
    drawn[:, 0] = first
    drawn[:, 1] = first + (home - first + PAGES) % (SITES * PAGES)  # the next site: so every one can be reached
    rows.add(graph.pages + np.repeat(own, ELSEWHERE), graph.pages + drawn.ravel())
    offsets, links, _, _ = rows.rows()
    farm = np.repeat(np.arange(farms), SITES)
    hosting = Hosting(
        np.concatenate([domain, _of_farms(farm, int(domain.max()), alike=0)]),
        np.concatenate([address, _of_farms(farm, int(address.max()), alike=1)]),
        np.concatenate([np.zeros(graph.sites, np.int32), farm.astype(np.int32) + 1]),
    )
    grown = Graph(
        first_page=np.concatenate([graph.first_page, graph.pages + PAGES * np.arange(1, sites + 1)]),
        offsets=offsets,
        links=links,
        parent=np.concatenate([graph.parent, np.where(own == home, -1, graph.pages + home)]),
        depth=np.concatenate([graph.depth, own != home]),
        seeds=graph.seeds,
    )
    return Planted(grown, hosting)


def _ordinary(rng: np.random.Generator, sites: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Domains and addresses of ordinary sites, from 1 on."""
    own = rng.random(sites) >= 0.1
    own[:1] = True
    addresses = max(1, round(sites / _SITES_PER_ADDRESS))
    address = 1 + (addresses * rng.random(sites) ** 3).astype(np.uint64)  # the first have most
    return np.cumsum(own).astype(np.uint64), address


def _of_farms(farm: NDArray[np.int64], last: int, *, alike: int) -> NDArray[np.uint64]:
    """Numbers behind the last one: farms of one kind have one each, the others one for every site."""
    sites = np.arange(len(farm))
    numbers = np.where(farm % 3 == alike, sites - sites % SITES, sites)
    return (last + 1 + numbers).astype(np.uint64)


def _draw(rng: np.random.Generator, count: int, below: int) -> NDArray[np.int64]:
    return (rng.random(count) * below).astype(np.int64)
