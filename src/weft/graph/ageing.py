"""Two snapshots in time. In: a graph and its PageRank, a seed. Out: PageRank as it was before some pages were there.

Which pages are old is decided by b * log PageRank and by chance, drawn for the site, for the page under which it hangs
(its directory) and for itself: the 55 % with the highest sum are old, and b is such that they hold 72 % of the
PageRank, as in Baeza-Yates et al. 2005. Old PageRank is that of the links between old pages, a tenth of which led to
another old page of the same site then. Both shares are by construction, not findings.

Old scores are multiplied by N_old / N, so that an old page and a new one of the same standing compare; new pages have
NaN.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled
from weft.graph.model import Graph
from weft.graph.rank import pagerank

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ageing:
    """How the earlier snapshot differs."""

    old_pages: float = 0.55
    """Share of the pages that were there."""
    old_score: float = 0.72
    """Share of today's PageRank that they hold."""
    rewired: float = 0.1
    """Share of the links between old pages that led elsewhere."""


AGEING = Ageing()


def old_scores(graph: Graph, scores: Scores, seed: int, ageing: Ageing = AGEING) -> Scores:
    """PageRank in the earlier snapshot, times N_old / N; NaN for new pages."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed).spawn(4)[3]))
    old = old_pages(graph, scores, rng, ageing)
    found = np.full(graph.pages, np.nan)
    if not old.any():
        return found
    offsets, links = _induced(graph, old, rng, ageing.rewired)
    found[old] = pagerank(offsets, links) * (old.sum() / graph.pages)
    return found


def old_pages(graph: Graph, scores: Scores, rng: np.random.Generator, ageing: Ageing = AGEING) -> NDArray[np.bool_]:
    """Which pages are old: a mask."""
    many = round(ageing.old_pages * graph.pages)
    old = np.zeros(graph.pages, dtype=np.bool_)
    if many == 0:
        return old
    chance = _chance(graph, rng)
    standing = np.log(np.maximum(scores, np.finfo(np.float64).tiny) * graph.pages)
    low, high = -8.0, 8.0
    for _ in range(24):
        weight = (low + high) / 2
        chosen = _top(weight * standing + chance, many)
        if scores[chosen].sum() < ageing.old_score * scores.sum():
            low = weight
        else:
            high = weight
    old[_top((low + high) / 2 * standing + chance, many)] = True
    return old


def _chance(graph: Graph, rng: np.random.Generator) -> Scores:
    """The sum of three standard normal draws: the site's, the directory's and the page's own."""
    sites = np.repeat(_normals(rng, graph.sites), np.diff(graph.first_page))
    directories = _normals(rng, graph.pages)[np.where(graph.parent >= 0, graph.parent, np.arange(graph.pages))]
    return np.asarray(sites + directories + _normals(rng, graph.pages))


def _normals(rng: np.random.Generator, count: int) -> Scores:
    """Standard normal draws from uniform ones (Box and Muller), the same on every machine."""
    return np.asarray(np.sqrt(-2 * np.log(1 - rng.random(count))) * np.cos(2 * np.pi * rng.random(count)))


def _top(values: Scores, many: int) -> NDArray[np.int64]:
    return np.asarray(np.argpartition(values, len(values) - many)[len(values) - many :])


class _Old(NamedTuple):
    """The old pages as compiled code wants them."""

    number: NDArray[np.int32]
    """For each page how many old ones come before it."""
    old: NDArray[np.bool_]
    site: NDArray[np.int32]
    first: NDArray[np.int64]
    """For each site the number of its first old page."""


def _induced(
    graph: Graph, old: NDArray[np.bool_], rng: np.random.Generator, rewired: float
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The links between old pages, by their numbers among these, some of them led elsewhere."""
    before = np.concatenate([[0], np.cumsum(old)])
    pages = _Old(
        number=before[:-1].astype(np.int32),
        old=old,
        site=np.repeat(np.arange(graph.sites, dtype=np.int32), np.diff(graph.first_page)),
        first=before[graph.first_page],
    )
    offsets = np.zeros(int(before[-1]) + 1, dtype=np.int64)
    links = np.empty(len(graph.links), dtype=np.int32)
    kept = _lead(rng, graph.offsets, graph.links, pages, rewired, offsets, links)
    return offsets, links[:kept]


@compiled
def _lead(
    rng: np.random.Generator,
    offsets: NDArray[np.int64],
    links: NDArray[np.int32],
    pages: _Old,
    rewired: float,
    new_offsets: NDArray[np.int64],
    new_links: NDArray[np.int32],
) -> int:
    """Copy the links between old pages, rewired ones to any old page of the target's site; return how many."""
    kept = 0
    for page in range(len(offsets) - 1):
        if not pages.old[page]:
            continue
        for place in range(offsets[page], offsets[page + 1]):
            target = links[place]
            if not pages.old[target]:
                continue
            led = pages.number[target]
            if rng.random() < rewired:
                first = pages.first[pages.site[target]]
                led = np.int32(first + int(rng.random() * (pages.first[pages.site[target] + 1] - first)))
            if led != pages.number[page]:
                new_links[kept] = led
                kept += 1
        new_offsets[pages.number[page] + 1] = kept
    return kept
