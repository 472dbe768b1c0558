"""URL-seen: every URL is tested once, in bulk, without touching the disk (P3 3.2, P4).

In: URLs, many at a time, with their sites. Out: for each the number of its page; a new page gets the next number and
stands in its site's heap. A URL is known by its key (`keyed`), which nobody outside can aim at. Its text is not here:
it is in the frontier's log.

Memory is 13 to 18 bytes a URL: the key, and a hash table, 0.4 to 0.8 full, that holds page numbers only. The table is
split into shards by the key's upper bits; each lies in address space reserved for it and grows in place, one shard at a
time, so that no growth stops the crawl for long and none needs two tables side by side.

Invariant: a key has one number, whatever the order or the number of offers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import address_of, binder, compiled, reserve, table_of, uncounted
from weft.frontier.keyed import Keyed
from weft.model import FIRST_REQUISITE, PageNumber, SiteNumber, UrlId
from weft.ordering.heaps import Heaps, TwoLevelHeap, heaps_at, push

SHARDS = 64
MOST_OFFERED = 4096  # URLs offered at once
FULL = -2  # in the place of a page: there is no room
_FIRST = 256  # slots of a new shard
_SOME = 1 << 22  # pages whose table is made in one go

Offer = tuple[str, UrlId, SiteNumber, int, int, float]
"""A URL on offer: text, id, site, kind, depth, score."""


class Arrays(NamedTuple):
    """The arrays of URL-seen, for compiled code. A page number that is in use has its key, and stands in one shard."""

    key: NDArray[np.uint64]  # by page, 0 for one that is not known any more
    table: NDArray[np.uint32]  # page numbers plus one, 0 for empty; SHARDS regions of equal size
    slots: NDArray[np.int64]  # by shard: how much of its region is in use, a power of two
    held: NDArray[np.int64]  # by shard: pages in it
    found: NDArray[np.int32]  # by site: pages found, their parts not counted
    most: NDArray[np.int32]  # by site: pages it may have
    counts: NDArray[np.int64]  # pages in all
    # What is on offer.
    keys: NDArray[np.uint64]
    sites: NDArray[np.int32]
    counted: NDArray[np.bool_]  # is it a page, and not a part of one?
    scores: NDArray[np.float64]
    pages: NDArray[np.int32]


class Seen:
    """URL-seen of one local frontier, for a caller in Python."""

    def __init__(self, pages: int, sites: int, heaps: TwoLevelHeap, keyed: Keyed, numbers: int = 0) -> None:
        """There is room for so many pages at a time; `numbers` can be given, where these are more."""
        self.keyed = keyed
        self.arrays = _make_seen(pages, sites, numbers or pages)
        self._table = table_of(self.arrays)
        self.address = address_of(self._table)
        self._heaps = heaps
        self._scored = heaps.arrays.score.size > 1
        self.key_of = _view(self.arrays.key)  # by page
        # Elements of a view are set and read at a third of what the array's own cost.
        self._keys, self._sites, self._counted, self._scores, self._pages = map(_view, self.arrays[-5:])

    def __repr__(self) -> str:
        return f"Seen({self.arrays.counts[0]} pages)"

    def find(self, key: int) -> PageNumber:
        """The page with this key, or -1."""
        return _find_at(self.address, key if key < 1 << 63 else key - (1 << 64))

    def page_of(self, url: str) -> PageNumber:
        """The page of a URL, or -1."""
        return self.find(self.keyed.of(url))

    def pages_of(self, urls: Sequence[str]) -> NDArray[np.int64]:
        """The pages of many URLs, -1 for one that is not there."""
        return _find_all(self.arrays, self.keyed.array_of(urls))

    def offer(self, offers: Sequence[Offer], key: int = 0) -> tuple[int, list[PageNumber]]:
        """Look up to `MOST_OFFERED` URLs up; new ones become pending pages. The number of the first new page,
        and that of each.

        All pages from the first new one on are new. -1 stands for one that its site has no more room for, `FULL` for
        one that nobody here has. With a `key` it is one URL, which has that instead of its own.
        """
        sites, counted, count = self._sites, self._counted, len(offers)
        for at, found in enumerate(offers):
            sites[at] = found[2]
            counted[at] = found[3] < FIRST_REQUISITE
        if key:
            self._keys[0] = key
        else:
            self._keys[:count] = self.keyed.of_all([found[0] for found in offers])
        if self._scored:
            for at, found in enumerate(offers):
                self._scores[at] = found[5]
        new = _offer_at(self.address, self._heaps.address, count)
        return new, self._pages[:count].tolist()


def _view(array: Any) -> Any:
    return memoryview(array)


def _make_seen(pages: int, sites: int, numbers: int) -> Arrays:
    """An empty URL-seen with room for so many pages."""
    region = _FIRST
    while region * SHARDS < 4 * pages:
        region *= 2
    return Arrays(
        key=reserve(numbers, np.uint64, large=True),
        table=reserve(region * SHARDS, np.uint32),
        slots=np.full(SHARDS, _FIRST, dtype=np.int64),
        held=np.zeros(SHARDS, dtype=np.int64),
        found=reserve(sites, np.int32),
        most=reserve(sites, np.int32),
        counts=np.zeros(1, dtype=np.int64),
        keys=np.zeros(MOST_OFFERED, dtype=np.uint64),
        sites=np.zeros(MOST_OFFERED, dtype=np.int32),
        counted=np.zeros(MOST_OFFERED, dtype=np.bool_),
        scores=np.zeros(MOST_OFFERED, dtype=np.float64),
        pages=np.zeros(MOST_OFFERED, dtype=np.int32),
    )


@uncounted
def find(seen: Arrays, key: np.uint64) -> Any:
    """The page with this key, or -1."""
    shard = np.int64(key >> np.uint64(58))
    start = shard * (seen.table.size // SHARDS)
    mask = seen.slots[shard] - 1
    slot = np.int64(key) & mask
    while True:
        entry = seen.table[start + slot]
        if entry == 0:
            return -1
        if seen.key[entry - 1] == key:
            return int(entry) - 1
        slot = (slot + 1) & mask


@uncounted
def insert(seen: Arrays, key: np.uint64) -> int:
    """Give a key that is not there the next page number."""
    page = seen.counts[0]
    if page >= seen.key.size:
        raise MemoryError("the frontier is full")
    shard = np.int64(key >> np.uint64(58))
    if (seen.held[shard] + 1) * 5 > seen.slots[shard] * 4:
        _grow(seen, shard)
    seen.key[page] = key
    seen.counts[0] = page + 1
    seen.held[shard] += 1
    _place(seen, shard, page)
    return int(page)


@uncounted
def offer(seen: Arrays, heaps: Heaps, count: int) -> int:
    """Look every key on offer up; a new one becomes a pending page of its site. Write the pages' numbers.

    A site takes no more pages than it may have, the rest is refused (-1); so is what there is no room for (`FULL`; the
    last page there is room for stands for pages of others, see `ranking`). What is only a part of another page
    does not count. Returns the number of the first new page: all from
    there on are new.
    """
    first = seen.counts[0]
    for i in range(count):
        page = find(seen, seen.keys[i])
        if page < 0:
            site = seen.sites[i]
            if seen.counts[0] >= seen.key.size - 1:
                seen.pages[i] = FULL
                continue
            if seen.counted[i]:
                if seen.found[site] >= seen.most[site]:
                    seen.pages[i] = -1
                    continue
                seen.found[site] += 1
            page = insert(seen, seen.keys[i])
            if heaps.score.size > 1:
                heaps.score[page] = seen.scores[i]
            push(heaps, site, page)
        seen.pages[i] = page
    return int(first)


seen_at = binder(Arrays)
"""The arrays whose table lies at an address."""


@compiled
def _offer_at(seen: int, heaps: int, count: int) -> int:
    return offer(seen_at(seen), heaps_at(heaps), count)


@compiled
def _find_at(seen: int, key: int) -> PageNumber:
    return find(seen_at(seen), np.uint64(key))  # type: ignore[no-any-return]


@compiled
def _find_all(seen: Arrays, keys: NDArray[np.uint64]) -> NDArray[np.int64]:
    pages = np.empty(keys.size, np.int64)
    for i in range(keys.size):
        pages[i] = find(seen, keys[i])
    return pages


@uncounted
def restore(seen: Arrays, keys: NDArray[np.uint64]) -> None:
    """Put back pages in the order of their numbers, without making them pending."""
    for i in range(keys.size):
        insert(seen, keys[i])


@compiled
def build(seen: Arrays, known: NDArray[np.bool_], begin: int) -> None:
    """Make the table anew, of the pages that have keys, from one on; those that are not `known` any more lose theirs.

    Pages are taken in shard by shard, some at a time, so that what is written at once lies together.
    """
    seen.held[:] = 0
    seen.slots[:] = _FIRST
    for page in range(known.size):
        if known[page]:
            seen.held[np.int64(seen.key[begin + page] >> np.uint64(58))] += 1
        else:
            seen.key[begin + page] = 0
    for each in range(SHARDS):
        while seen.held[each] * 5 > seen.slots[each] * 4:
            seen.slots[each] *= 2
    # The page and its first slot, side by side: the keys are not looked at again.
    some = np.empty((_SOME, 2), dtype=np.uint32)
    begins = np.zeros(SHARDS + 1, dtype=np.int64)
    for first in range(0, known.size, _SOME):
        end = min(first + _SOME, known.size)
        begins[:] = 0
        for page in range(first, end):
            if known[page]:
                begins[np.int64(seen.key[begin + page] >> np.uint64(58)) + 1] += 1
        for each in range(SHARDS):
            begins[each + 1] += begins[each]
        filled = begins.copy()
        for page in range(first, end):
            if known[page]:
                key = seen.key[begin + page]
                shard = np.int64(key >> np.uint64(58))
                some[filled[shard], 0] = np.uint32(np.int64(key) & (seen.slots[shard] - 1))
                some[filled[shard], 1] = np.uint32(begin + page + 1)
                filled[shard] += 1
        for each in range(SHARDS):
            _place_all(seen, np.int64(each), some[begins[each] : begins[each + 1]])


@uncounted
def _place_all(seen: Arrays, shard: np.int64, some: NDArray[np.uint32]) -> None:
    """Put pages into a shard: the first slot of each, and its number plus one."""
    region = seen.table.size // SHARDS
    table = seen.table[shard * region : (shard + 1) * region]
    mask = seen.slots[shard] - 1
    for at in range(some.shape[0]):
        slot = np.int64(some[at, 0])
        while table[slot] != 0:
            slot = (slot + 1) & mask
        table[slot] = some[at, 1]


@uncounted
def _place(seen: Arrays, shard: np.int64, page: np.int64) -> None:
    start = shard * (seen.table.size // SHARDS)
    mask = seen.slots[shard] - 1
    slot = np.int64(seen.key[page]) & mask
    while seen.table[start + slot] != 0:
        slot = (slot + 1) & mask
    seen.table[start + slot] = np.uint32(page + 1)


@compiled
def sweep(seen: Arrays, shard: int) -> None:
    """Take pages that are here no more out of a shard."""
    _grow(seen, np.int64(shard))


@uncounted
def give_up(
    seen: Arrays, heaps: Heaps, gone: NDArray[np.bool_], counts: NDArray[np.int32], begin: int, end: int
) -> int:
    """Forget the pages of sites that are `gone`, from one page to another; count those of each site. The first page
    that is still known.
    """
    first = end
    for page in range(begin, end):
        if seen.key[page] == 0:
            continue
        site = heaps.owner[page]
        if gone[site]:
            counts[site] += 1
            seen.key[page] = 0
        elif first == end:
            first = page
    return int(first)


@uncounted
def mark_sites(seen: Arrays, heaps: Heaps, marked: NDArray[np.bool_], begin: int, end: int) -> None:
    """Mark the sites that have one of some pages."""
    for page in range(begin, end):
        if seen.key[page] != 0:
            marked[heaps.owner[page]] = True


@compiled
def _grow(seen: Arrays, shard: np.int64) -> None:
    """Double a shard in place, unless most of it is of pages that are here no more: take its pages out, clear it, put
    them back.
    """
    start = shard * (seen.table.size // SHARDS)
    old = seen.slots[shard]
    pages = np.empty(seen.held[shard], dtype=np.uint32)
    n = 0
    for slot in range(start, start + old):
        if seen.table[slot] != 0:
            if seen.key[seen.table[slot] - 1] != 0:  # else it was given to another worker
                pages[n] = seen.table[slot]
                n += 1
            seen.table[slot] = 0
    if n * 5 > old * 2:
        seen.slots[shard] = old * 2
    seen.held[shard] = n
    for i in range(n):
        _place(seen, shard, np.int64(pages[i]) - 1)
