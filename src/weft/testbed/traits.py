"""What is special about pages and sites. In: a graph, options, a seed. Out: arrays, one entry a page or site.

Drawn for all at once, since the server asks for each page: a look at an array costs it next to nothing.

Invariant: a duplicate is a leaf whose left neighbour, also a leaf and no duplicate, is its original; so
what hangs under a page is never lost to a duplicate, and the original of page p is always p - 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.graph import Graph
from weft.testbed.dice import Dice
from weft.testbed.options import Options

DUPLICATE, ORIGINAL, COMPRESSED, CHUNKED, CHARSET, META_ROBOTS, X_ROBOTS, PRIVATE = (1 << bit for bit in range(8))

ROBOTS_OPEN, ROBOTS_MISSING, ROBOTS_ERROR, ROBOTS_RULES = range(4)

LARGEST_PAGE = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Traits:
    """Everything drawn for pages (`special`, `size`, …) and sites (`robots`, …)."""

    special: NDArray[np.uint8]
    """Bits of the page: DUPLICATE and so on; 0 for an ordinary page."""
    dynamic: NDArray[np.bool_]
    leaf: NDArray[np.bool_]
    size: NDArray[np.int32]
    """Bytes the page should have."""
    start: NDArray[np.uint32]
    """Where the page begins to read in shared tables of random things."""
    latency: NDArray[np.float32]
    """Seconds before the page's answer; empty if there is no latency."""
    private_root: NDArray[np.int32]
    """Of each site the page that becomes /private/, -1 if none does."""
    robots: NDArray[np.uint8]
    delay: NDArray[np.bool_]
    cookie: NDArray[np.bool_]
    sitemap: NDArray[np.bool_]
    https: NDArray[np.bool_]


def draw_traits(graph: Graph, options: Options, seed: int) -> Traits:
    """Draw everything for a web."""
    pages, sites = np.arange(graph.pages), np.arange(graph.sites)
    leaf = np.ones(graph.pages, dtype=bool)
    leaf[graph.parent[graph.parent >= 0]] = False

    def drawn(question: str, share: float, of: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.asarray(Dice(seed, question).shares(of) < share)

    robots = _draw_robots(sites, options, seed)
    private_root = _private_roots(graph, robots == ROBOTS_RULES, seed)
    duplicate = _duplicates(graph, leaf, options.duplicates, seed)
    special = duplicate * np.uint8(DUPLICATE)
    special[:-1] |= duplicate[1:] * np.uint8(ORIGINAL)
    special |= drawn("compressed", options.compressed, pages) * np.uint8(COMPRESSED)
    special |= drawn("chunked", options.chunked, pages) * np.uint8(CHUNKED)
    special |= drawn("charset", options.charsets, pages) * np.uint8(CHARSET)
    special |= drawn("meta-robots", options.meta_robots, pages) * np.uint8(META_ROBOTS)
    special |= drawn("x-robots", options.x_robots, pages) * np.uint8(X_ROBOTS)
    special |= _below(graph, private_root) * np.uint8(PRIVATE)
    latency = np.zeros(0)
    if options.latency_ms:
        spread = options.latency_spread * Dice(seed, "latency").normals(pages)
        latency = options.latency_ms / 1000 * np.exp(spread)
    size = options.median_bytes * np.exp(options.size_spread * Dice(seed, "size").normals(pages))
    return Traits(
        special=special,
        dynamic=drawn("dynamic", options.dynamic, pages) & leaf & (graph.parent >= 0),
        leaf=leaf,
        size=np.minimum(size, LARGEST_PAGE).astype(np.int32),
        start=(Dice(seed, "start").many(pages) >> np.uint64(32)).astype(np.uint32),
        latency=latency.astype(np.float32),
        private_root=private_root,
        robots=robots,
        delay=drawn("robots-delay", options.robots_delays, sites) & (robots != ROBOTS_MISSING),
        cookie=drawn("cookie", options.cookies, sites),
        sitemap=drawn("sitemap", options.sitemaps, sites) & (robots != ROBOTS_MISSING),
        https=drawn("https", options.https, sites),
    )


def _draw_robots(sites: NDArray[np.int64], options: Options, seed: int) -> NDArray[np.uint8]:
    shares = Dice(seed, "robots").shares(sites)
    robots = np.full(len(sites), ROBOTS_OPEN, dtype=np.uint8)
    reached = 0.0
    for kind, share in (
        (ROBOTS_MISSING, options.robots_missing),
        (ROBOTS_ERROR, options.robots_errors),
        (ROBOTS_RULES, options.robots_rules),
    ):
        robots[(shares >= reached) & (shares < reached + share)] = kind
        reached += share
    return robots


def _private_roots(graph: Graph, wanted: NDArray[np.bool_], seed: int) -> NDArray[np.int32]:
    """For each site that forbids a section one child of its home page, chosen by draw."""
    roots = np.full(graph.sites, -1, dtype=np.int32)
    children = np.flatnonzero(graph.depth == 1)
    children = children[np.argsort(Dice(seed, "private").many(children), kind="stable")]
    roots[graph.site_of(children)] = children  # of several the last one stays
    roots[~wanted] = -1
    return roots


def _below(graph: Graph, roots: NDArray[np.int32]) -> NDArray[np.bool_]:
    """The pages that are one of these or hang somewhere under one."""
    below = np.zeros(graph.pages, dtype=bool)
    below[roots[roots >= 0]] = True
    inner = np.flatnonzero(graph.depth > 1)
    while True:
        found = inner[below[graph.parent[inner]] & ~below[inner]]
        if not len(found):
            return below
        below[found] = True


def _duplicates(graph: Graph, leaf: NDArray[np.bool_], share: float, seed: int) -> NDArray[np.bool_]:
    """Leaves that repeat the leaf before them, about as many as asked for or as there can be."""
    fit = np.zeros(graph.pages, dtype=bool)
    fit[1:] = leaf[1:] & leaf[:-1]
    fit[graph.first_page[:-1]] = False
    # A page is a duplicate if it is chosen and its neighbour is not: c (1 - c) of those that fit, at most 1/4.
    wanted = min(0.25, share * graph.pages / max(1, fit.sum()))
    chosen = fit & (Dice(seed, "duplicate").shares(np.arange(graph.pages)) < (1 - np.sqrt(1 - 4 * wanted)) / 2)
    duplicate: NDArray[np.bool_] = chosen.copy()
    duplicate[1:] &= ~chosen[:-1]
    return duplicate
