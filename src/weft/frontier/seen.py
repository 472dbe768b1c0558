"""URL-seen: every URL is tested once, in bulk, without touching the disk (P3 3.2, P4).

In: 64-bit fingerprints of URLs, many at a time, with their sites. Out: for each the number of its page; a new page
gets the next number and stands in its site's heap. The URL's text is not here: it is in the frontier's log.

Memory is about 15 bytes a URL: the fingerprint, and a hash table that holds page numbers only. The table is split
into shards by the fingerprint's upper bits; each lies in address space reserved for it and grows in place, one
shard at a time, so that no growth stops the crawl for long and none needs the old and the new table side by side.

Invariant: a fingerprint has one number, whatever the order or the number of offers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled, reserve
from weft.ordering.heaps import Heaps, push

SHARDS = 64
_FIRST = 256  # slots of a new shard


class Seen(NamedTuple):
    """The arrays of URL-seen."""

    fingerprint: NDArray[np.uint64]  # by page
    table: NDArray[np.uint32]  # page numbers plus one, 0 for empty; SHARDS regions of equal size
    slots: NDArray[np.int64]  # by shard: how much of its region is in use, a power of two
    held: NDArray[np.int64]  # by shard: pages in it
    found: NDArray[np.int32]  # by site: pages found, their parts not counted
    most: NDArray[np.int32]  # by site: pages it may have
    counts: NDArray[np.int64]  # pages in all


def make_seen(pages: int, sites: int) -> Seen:
    """An empty URL-seen with room for so many pages."""
    region = _FIRST
    while region * SHARDS < 4 * pages:
        region *= 2
    return Seen(
        fingerprint=reserve(pages, np.uint64),
        table=reserve(region * SHARDS, np.uint32),
        slots=np.full(SHARDS, _FIRST, dtype=np.int64),
        held=np.zeros(SHARDS, dtype=np.int64),
        found=reserve(sites, np.int32),
        most=reserve(sites, np.int32),
        counts=np.zeros(1, dtype=np.int64),
    )


@compiled
def find(seen: Seen, fingerprint: np.uint64) -> int:
    """The page with this fingerprint, or -1."""
    shard = np.int64(fingerprint >> np.uint64(58))
    start = shard * (seen.table.size // SHARDS)
    mask = seen.slots[shard] - 1
    slot = np.int64(fingerprint) & mask
    while True:
        entry = seen.table[start + slot]
        if entry == 0:
            return -1
        if seen.fingerprint[entry - 1] == fingerprint:
            return int(entry) - 1
        slot = (slot + 1) & mask


@compiled
def insert(seen: Seen, fingerprint: np.uint64) -> int:
    """Give a fingerprint that is not there the next page number."""
    page = seen.counts[0]
    if page >= seen.fingerprint.size:
        raise MemoryError("the frontier is full")
    shard = np.int64(fingerprint >> np.uint64(58))
    if (seen.held[shard] + 1) * 5 > seen.slots[shard] * 4:
        _grow(seen, shard)
    seen.fingerprint[page] = fingerprint
    seen.counts[0] = page + 1
    seen.held[shard] += 1
    _place(seen, shard, page)
    return int(page)


@compiled
def offer(
    seen: Seen,
    heaps: Heaps,
    fingerprints: NDArray[np.uint64],
    sites: NDArray[np.int32],
    scores: NDArray[np.float64],
    pages: NDArray[np.int32],
) -> int:
    """Look every fingerprint up; a new one becomes a pending page of its site. Write the pages' numbers.

    A site takes no more pages than it may have, the rest is refused (-1). What is only a part of another page comes
    under the complement of its site's number, and does not count. `scores` is empty where the ordering does not score.
    Returns the number of the first new page: all from there on are new.
    """
    first = seen.counts[0]
    for i in range(fingerprints.size):
        page = find(seen, fingerprints[i])
        if page < 0:
            site = sites[i]
            if site < 0:
                site = ~site
            elif seen.found[site] >= seen.most[site]:
                pages[i] = -1
                continue
            else:
                seen.found[site] += 1
            page = insert(seen, fingerprints[i])
            if scores.size > 0:
                heaps.score[page] = scores[i]
            push(heaps, site, page)
        pages[i] = page
    return int(first)


@compiled
def restore(seen: Seen, fingerprints: NDArray[np.uint64]) -> None:
    """Put back pages in the order of their numbers, without making them pending."""
    for i in range(fingerprints.size):
        insert(seen, fingerprints[i])


@compiled
def _place(seen: Seen, shard: np.int64, page: np.int64) -> None:
    start = shard * (seen.table.size // SHARDS)
    mask = seen.slots[shard] - 1
    slot = np.int64(seen.fingerprint[page]) & mask
    while seen.table[start + slot] != 0:
        slot = (slot + 1) & mask
    seen.table[start + slot] = np.uint32(page + 1)


@compiled
def _grow(seen: Seen, shard: np.int64) -> None:
    """Double a shard in place: take its pages out, clear it, put them back."""
    start = shard * (seen.table.size // SHARDS)
    old = seen.slots[shard]
    pages = np.empty(seen.held[shard], dtype=np.uint32)
    n = 0
    for slot in range(start, start + old):
        if seen.table[slot] != 0:
            pages[n] = seen.table[slot]
            n += 1
            seen.table[slot] = 0
    seen.slots[shard] = old * 2
    for i in range(n):
        _place(seen, shard, np.int64(pages[i]) - 1)
