"""Topics of a generated web. In: its trees, how many topics, a seed. Out: the topic of each page; and links to other
sites that lead to pages of the same topic more often than chance would have it.

A site has a topic, and so has its home page. A page has that of the page it hangs under, but for one in ten, which
begins another. So topics come in sites, sections and strays, as they do, and links between sites lead from like to like
(Davison, "Topical locality in the Web", 2000).

>>> topics = draw_topics(np.array([-1, 0, 1, -1]), np.array([0, 1, 2, 0]), count=5, seed=1)
>>> len(topics), int(topics.max()) < 5
(4, True)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled

DRIFT = 0.1
"""Share of the pages with another topic than the page they hang under."""

_STREAM = 3  # the first three are those of `generate`


def draw_topics(parent: NDArray[np.int32], depth: NDArray[np.integer], *, count: int, seed: int) -> NDArray[np.int32]:
    """The topic of each page: it follows from the trees and the seed alone."""
    rng = _rng(seed, 0)
    own = (rng.random(len(parent)) * count).astype(np.int32)
    drifts = rng.random(len(parent)) < DRIFT
    topics = own.copy()
    for level in range(1, int(depth.max(initial=0)) + 1):
        at = np.flatnonzero((depth == level) & ~drifts & (parent >= 0))
        topics[at] = topics[parent[at]]
    return topics


def lead_by_topic(
    first_page: NDArray[np.int32],
    offsets: NDArray[np.int64],
    links: NDArray[np.int32],
    topics: NDArray[np.int32],
    *,
    share: float,
    seed: int,
) -> NDArray[np.int32]:
    """Links of which this share of those to other sites leads to a page of the same topic, chosen among all that are
    linked from other sites: so each site is linked about as often as before.
    """
    pages = len(topics)
    site = np.repeat(np.arange(len(first_page) - 1, dtype=np.int32), np.diff(first_page))
    source = np.repeat(np.arange(pages, dtype=np.int32), np.diff(offsets))
    external = site[source] != site[links]
    targets = links[external]
    order = np.argsort(topics[targets], kind="stable")
    ends = np.searchsorted(topics[targets][order], np.arange(int(topics.max(initial=0)) + 2))
    made = links.copy()
    draws = _rng(seed, 1).random((len(links), 2)).T
    _lead(offsets, made, external & (draws[0] < share), site, topics, targets[order], ends, draws[1].copy())
    return made


def _rng(seed: int, part: int) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(_STREAM, part))))


@compiled
def _lead(
    offsets: NDArray[np.int64],
    links: NDArray[np.int32],
    replaced: NDArray[np.bool_],
    site: NDArray[np.int32],
    topics: NDArray[np.int32],
    targets: NDArray[np.int32],
    ends: NDArray[np.int64],
    draws: NDArray[np.float64],
) -> None:
    """Replace links in place, none by one that its page has already."""
    seen = np.full(len(topics), -1, dtype=np.int32)
    for page in range(len(topics)):
        for i in range(offsets[page], offsets[page + 1]):
            seen[links[i]] = page
        first = ends[topics[page]]
        choice = ends[topics[page] + 1] - first
        for i in range(offsets[page], offsets[page + 1]):
            if replaced[i] and choice > 0:
                target = targets[first + int(draws[i] * choice)]
                if site[target] != site[page] and seen[target] != page:
                    seen[target] = page
                    links[i] = target
