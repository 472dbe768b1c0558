"""The two-level heap: a heap of sites and, under each site, a heap of its pending pages (P0, figure 4).

In: page numbers and site numbers, both dense integers from 0; scores where the ordering has them. Out: the best
site that is ready, the best page of a site. Everything is flat arrays and compiled functions, because the simulator
and the live crawler both call this for every page.

A page's number is its place in the order of discovery, so equal scores fall back to first found, first served. A
site is *ready* when it may be visited; only ready sites with pending pages stand in the heap of sites. Pages found
for a site that is busy or waiting enter its own heap at once and are seen when it is ready again.

Invariants: `at[s]` is the place of site s in `sites`, or -1; no child comes before its parent; a site's pages lie
in one block of `pool`, which begins at `block[s]` (-1: none) and has room for `CAPACITY[kind[s]]`.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from weft.compiled import address_of, array_at, compiled, inlined, reserve, table_at, table_of, uncounted


def _capacities() -> NDArray[np.int64]:
    """Block sizes, each half as large again as the last, so that little of a grown block is spare."""
    sizes = [4]
    while sizes[-1] < 2**31:
        sizes.append(sizes[-1] + max(2, sizes[-1] // 2))
    return np.array(sizes, dtype=np.int64)


CAPACITY = _capacities()

# What `counts` holds.
IN_HEAP = 0  # sites standing in the heap of sites
POOLED = 1  # pool slots ever used
PENDING = 2  # pending pages of all sites
SITES = 3  # sites there are


class Heaps(NamedTuple):
    """The arrays of a two-level heap. Where the ordering does not score, those for scores have one element."""

    pool: NDArray[np.int32]  # the sites' blocks of page numbers, each a binary heap
    free: NDArray[np.int64]  # by block kind: where a free block begins, or -1; the next one is noted inside it
    block: NDArray[np.int64]  # by site: where its block begins, or -1
    kind: NDArray[np.int8]  # by site: its block's kind, an index into CAPACITY
    length: NDArray[np.int32]  # by site: pending pages
    ready: NDArray[np.bool_]  # by site: may be visited now
    at: NDArray[np.int32]  # by site: place in `sites`, or -1
    sites: NDArray[np.int32]  # the heap of sites
    # By place in it: what the site is compared by, so that its pages need not be looked at. Sites do not equal each
    # other: no page is the best of two.
    site_score: NDArray[np.float64]  # pending pages, or the score of its best one
    site_top: NDArray[np.int32]  # its best page
    score: NDArray[np.float64]  # by page: larger is better
    place: NDArray[np.int32]  # by page: where it stands in its site's heap, from 1; 0: nowhere. For scores that change
    owner: NDArray[np.int32]  # by page: its site, for the same
    counts: NDArray[np.int64]
    by_size: bool  # sites by their number of pending pages, else by their best page


class TwoLevelHeap:
    """A two-level heap for a caller in Python. What can be done with it is said at the compiled functions below."""

    def __init__(self, *, pages: int, sites: int, scored: bool, by_size: bool, fixed: bool = False) -> None:
        """With `fixed` scores never change: where a page stands need not be known, which saves a fifth of the time."""
        self.arrays = _make_heaps(pages, sites, scored=scored, by_size=by_size, fixed=fixed)
        self._table = table_of(self.arrays)
        address = self.address = address_of(self._table)
        self.add_site = partial(add_site_at, address)
        self.push = partial(push_at, address)
        self.pop = partial(pop_at, address)
        self.set_ready = partial(set_ready_at, address)
        self.set_unready = partial(set_unready_at, address)
        self.take_site = partial(take_site_at, address)
        self.rescore = partial(rescore_at, address)

    def pages_of(self, site: int) -> NDArray[np.int32]:
        """The pending pages of a site, in no order."""
        start, length = int(self.arrays.block[site]), int(self.arrays.length[site])
        return self.arrays.pool[start : start + length].copy() if length else np.empty(0, np.int32)

    def drain(self, site: int) -> list[int]:
        """Take all pending pages of a site, the best one first, those too that may not be taken yet."""
        pages = np.sort(self.pages_of(site))
        if self.arrays.score.size > 1:
            pages = pages[np.argsort(-self.arrays.score[pages], kind="stable")]
        clear(self.arrays, site)
        return cast("list[int]", pages.tolist())

    def __repr__(self) -> str:
        return f"TwoLevelHeap({self.arrays.counts[PENDING]} pages, {self.arrays.counts[IN_HEAP]} sites ready)"


def _make_heaps(pages: int, sites: int, *, scored: bool, by_size: bool, fixed: bool) -> Heaps:
    """Empty heaps with room for so many pages and sites; only what is used takes memory."""
    return Heaps(
        # A site that has grown page by page has left blocks behind that are twice its size together, and the one it is
        # in may be half as large again; a small one has room for four pages.
        pool=reserve(5 * pages + 4 * sites, np.int32, large=True),
        free=np.full(len(CAPACITY), -1, dtype=np.int64),
        block=reserve(sites, np.int64),
        kind=reserve(sites, np.int8),
        length=reserve(sites, np.int32),
        ready=reserve(sites, np.bool_),
        at=reserve(sites, np.int32),
        sites=reserve(sites, np.int32),
        site_score=reserve(sites, np.float64),
        site_top=reserve(sites, np.int32),
        score=reserve(pages if scored else 1, np.float64, large=True),
        place=reserve(pages if scored and not fixed else 1, np.int32, large=True),
        owner=reserve(pages if scored and not fixed else 1, np.int32, large=True),
        counts=np.zeros(4, dtype=np.int64),
        by_size=by_size,
    )


@uncounted
def add_site(heaps: Heaps, site: int) -> None:
    """Make room for a new site, without pages and not ready."""
    heaps.block[site] = -1
    heaps.at[site] = -1
    heaps.length[site] = 0
    heaps.ready[site] = False
    heaps.counts[SITES] = max(heaps.counts[SITES], site + 1)


@inlined
def push(heaps: Heaps, site: int, page: int) -> None:
    """Give a site one more pending page."""
    n = heaps.length[site]
    if heaps.block[site] < 0:
        heaps.kind[site] = 0
        heaps.block[site] = _allocate(heaps, 0)
    elif n == CAPACITY[heaps.kind[site]]:
        _move(heaps, site, heaps.kind[site] + 1)
    heaps.length[site] = n + 1
    heaps.counts[PENDING] += 1
    base = heaps.block[site]
    heaps.pool[base + n] = page
    if heaps.owner.size > 1:
        heaps.owner[page] = site
    place = _page_up(heaps, base, n)
    if heaps.at[site] >= 0:
        if place == 0 or heaps.by_size:
            _site_up(heaps, heaps.at[site])
    elif heaps.ready[site]:
        _enter(heaps, site)


@uncounted
def push_all(heaps: Heaps, sites: NDArray[np.int32], pages: NDArray[np.int32]) -> None:
    """Give sites many pending pages."""
    for i in range(pages.size):
        push(heaps, sites[i], pages[i])


@inlined
def pop(heaps: Heaps, site: int) -> int:
    """Take the best pending page of a site, or -1 when there is none that may be taken."""
    n = heaps.length[site]
    if n == 0 or _held(heaps, site):
        return -1
    base = heaps.block[site]
    page = heaps.pool[base]
    if heaps.place.size > 1:
        heaps.place[page] = 0
    heaps.length[site] = n - 1
    heaps.counts[PENDING] -= 1
    if n == 1:
        _release(heaps, base, heaps.kind[site])
        heaps.block[site] = -1
        if heaps.at[site] >= 0:
            _leave(heaps, site)
        return int(page)
    heaps.pool[base] = heaps.pool[base + n - 1]
    _page_down(heaps, base, n - 1, 0)
    if heaps.kind[site] > 4 and (n - 1) * 4 < CAPACITY[heaps.kind[site]]:
        _move(heaps, site, heaps.kind[site] - 2)
    if heaps.at[site] >= 0:
        _site_down(heaps, heaps.at[site])
    return int(page)


@uncounted
def clear(heaps: Heaps, site: int) -> None:
    """Take all pending pages from a site."""
    n = heaps.length[site]
    if n == 0:
        return
    base = heaps.block[site]
    if heaps.place.size > 1:
        for at in range(n):
            heaps.place[heaps.pool[base + at]] = 0
    heaps.length[site] = 0
    heaps.counts[PENDING] -= n
    _release(heaps, base, heaps.kind[site])
    heaps.block[site] = -1
    if heaps.at[site] >= 0:
        _leave(heaps, site)


@inlined
def set_ready(heaps: Heaps, site: int) -> None:
    """The site may be visited: it stands in the heap of sites as soon as it has a page."""
    heaps.ready[site] = True
    if heaps.length[site] > 0 and heaps.at[site] < 0:
        _enter(heaps, site)


@uncounted
def set_unready(heaps: Heaps, site: int) -> None:
    """The site may not be visited for now."""
    heaps.ready[site] = False
    if heaps.at[site] >= 0:
        _leave(heaps, site)


@inlined
def take_site(heaps: Heaps) -> int:
    """Take the best ready site, which is not ready from now on; -1 when there is none."""
    if heaps.counts[IN_HEAP] == 0:
        return -1
    site = int(heaps.sites[0])
    if _held(heaps, site):  # and so are all others: none is better
        return -1
    heaps.ready[site] = False
    _leave(heaps, site)
    return site


@inlined
def rescore(heaps: Heaps, site: int, page: int, score: float) -> None:
    """Change the score of a pending page of a site."""
    before = heaps.score[page]
    heaps.score[page] = score
    base = heaps.block[site]
    if score > before:
        place = _page_up(heaps, base, heaps.place[page] - 1)
        if place == 0 and heaps.at[site] >= 0 and not heaps.by_size:
            _site_up(heaps, heaps.at[site])
    elif score < before:
        top = heaps.place[page] == 1
        _page_down(heaps, base, heaps.length[site], heaps.place[page] - 1)
        if top and heaps.at[site] >= 0:
            _site_down(heaps, heaps.at[site])


@uncounted
def reheap(heaps: Heaps) -> None:
    """Put everything in order again after scores were changed from outside."""
    for site in range(heaps.counts[SITES]):
        n = heaps.length[site]
        if n > 0:
            base = heaps.block[site]
            for at in range(n // 2 - 1, -1, -1):
                _page_down(heaps, base, n, at)
            for at in range(n):
                heaps.place[heaps.pool[base + at]] = at + 1
    for at in range(heaps.counts[IN_HEAP]):
        site = heaps.sites[at]
        score, top = _worth(heaps, site), _best(heaps, site)
        _stand(heaps, at, site, score, top)
    for at in range(heaps.counts[IN_HEAP] // 2 - 1, -1, -1):
        _site_down(heaps, at)


# The same by address.


@compiled
def heaps_at(address: int) -> Heaps:
    """The arrays whose table lies at an address."""
    table = table_at(address, 15)
    return Heaps(
        array_at(table, 0, np.int32),
        array_at(table, 1, np.int64),
        array_at(table, 2, np.int64),
        array_at(table, 3, np.int8),
        array_at(table, 4, np.int32),
        array_at(table, 5, np.bool_),
        array_at(table, 6, np.int32),
        array_at(table, 7, np.int32),
        array_at(table, 8, np.float64),
        array_at(table, 9, np.int32),
        array_at(table, 10, np.float64),
        array_at(table, 11, np.int32),
        array_at(table, 12, np.int32),
        array_at(table, 13, np.int64),
        table[28] != 0,
    )


@compiled
def add_site_at(address: int, site: int) -> None:
    """`add_site` of the heaps at an address."""
    add_site(heaps_at(address), site)


@compiled
def push_at(address: int, site: int, page: int) -> None:
    """`push` of the heaps at an address."""
    push(heaps_at(address), site, page)


@compiled
def pop_at(address: int, site: int) -> int:
    """`pop` of the heaps at an address."""
    return pop(heaps_at(address), site)


@compiled
def set_ready_at(address: int, site: int) -> None:
    """`set_ready` of the heaps at an address."""
    set_ready(heaps_at(address), site)


@compiled
def set_unready_at(address: int, site: int) -> None:
    """`set_unready` of the heaps at an address."""
    set_unready(heaps_at(address), site)


@compiled
def take_site_at(address: int) -> int:
    """`take_site` of the heaps at an address."""
    return take_site(heaps_at(address))


@compiled
def rescore_at(address: int, site: int, page: int, score: float) -> None:
    """`rescore` of the heaps at an address."""
    rescore(heaps_at(address), site, page, score)


# The heap of pages within a site.


@inlined
def _earlier(heaps: Heaps, a: int, b: int) -> bool:
    """Does page a come before page b?"""
    if heaps.score.size > 1 and heaps.score[a] != heaps.score[b]:
        return bool(heaps.score[a] > heaps.score[b])
    return a < b


@inlined
def _held(heaps: Heaps, site: int) -> bool:
    """Do all pages of a site wait for another score? Its best one tells."""
    return heaps.score.size > 1 and heaps.score[heaps.pool[heaps.block[site]]] == -np.inf


@inlined
def _page_up(heaps: Heaps, base: int, at: int) -> int:
    """Let the page at a place rise to where it belongs; return that place."""
    pool = heaps.pool
    page = pool[base + at]
    while at > 0:
        above = (at - 1) >> 1
        other = pool[base + above]
        if not _earlier(heaps, page, other):
            break
        pool[base + at] = other
        if heaps.place.size > 1:
            heaps.place[other] = at + 1
        at = above
    pool[base + at] = page
    if heaps.place.size > 1:
        heaps.place[page] = at + 1
    return at


@inlined
def _page_down(heaps: Heaps, base: int, n: int, at: int) -> None:
    """Let the page at a place sink to where it belongs among the first n."""
    pool = heaps.pool
    page = pool[base + at]
    while True:
        below = 2 * at + 1
        if below >= n:
            break
        if below + 1 < n and _earlier(heaps, pool[base + below + 1], pool[base + below]):
            below += 1
        other = pool[base + below]
        if not _earlier(heaps, other, page):
            break
        pool[base + at] = other
        if heaps.place.size > 1:
            heaps.place[other] = at + 1
        at = below
    pool[base + at] = page
    if heaps.place.size > 1:
        heaps.place[page] = at + 1


# The heap of sites.


@inlined
def _best(heaps: Heaps, site: int) -> int:
    """The best page of a site with pending pages: the second of the two things by which sites are compared."""
    return int(heaps.pool[heaps.block[site]])


@inlined
def _worth(heaps: Heaps, site: int) -> float:
    """The first of them: larger comes first."""
    if heaps.by_size:
        return float(heaps.length[site])
    return float(heaps.score[heaps.pool[heaps.block[site]]]) if heaps.score.size > 1 else 0.0


@inlined
def _ahead(heaps: Heaps, score: float, top: int, at: int) -> bool:
    """Does a site with this key come before the one at a place?"""
    other = heaps.site_score[at]
    return bool(score > other or (score == other and top < heaps.site_top[at]))


@inlined
def _stand(heaps: Heaps, at: int, site: int, score: float, top: int) -> None:
    """Put a site at a place."""
    heaps.sites[at] = site
    heaps.site_score[at] = score
    heaps.site_top[at] = top
    heaps.at[site] = at


@inlined
def _enter(heaps: Heaps, site: int) -> None:
    n = heaps.counts[IN_HEAP]
    heaps.counts[IN_HEAP] = n + 1
    heaps.sites[n] = site
    _site_up(heaps, n)


@inlined
def _leave(heaps: Heaps, site: int) -> None:
    n = heaps.counts[IN_HEAP] - 1
    heaps.counts[IN_HEAP] = n
    at = heaps.at[site]
    heaps.at[site] = -1
    if at < n:
        heaps.sites[at] = heaps.sites[n]
        if not _site_up(heaps, at):
            _site_down(heaps, at)


@inlined
def _site_up(heaps: Heaps, at: int) -> bool:
    """Let the site at a place rise to where its pages put it; whether it moved."""
    site = heaps.sites[at]
    score, top = _worth(heaps, site), _best(heaps, site)
    start = at
    while at > 0:
        above = (at - 1) >> 1
        if not _ahead(heaps, score, top, above):
            break
        _stand(heaps, at, heaps.sites[above], heaps.site_score[above], heaps.site_top[above])
        at = above
    _stand(heaps, at, site, score, top)
    return at != start


@inlined
def _site_down(heaps: Heaps, at: int) -> None:
    """Let the site at a place sink to where its pages put it."""
    n = heaps.counts[IN_HEAP]
    site = heaps.sites[at]
    score, top = _worth(heaps, site), _best(heaps, site)
    while True:
        below = 2 * at + 1
        if below >= n:
            break
        right = below + 1
        if right < n and _ahead(heaps, heaps.site_score[right], heaps.site_top[right], below):
            below = right
        if _ahead(heaps, score, top, below):
            break
        _stand(heaps, at, heaps.sites[below], heaps.site_score[below], heaps.site_top[below])
        at = below
    _stand(heaps, at, site, score, top)


# Blocks of the pool. A free block holds the start of the next free one of its kind in its first two slots.


@inlined
def _allocate(heaps: Heaps, kind: int) -> int:
    start = heaps.free[kind]
    if start >= 0:
        low, high = np.int64(heaps.pool[start]), np.int64(heaps.pool[start + 1])
        heaps.free[kind] = (high << 31) + low if high >= 0 else -1
        return int(start)
    start = heaps.counts[POOLED]
    if start + CAPACITY[kind] > heaps.pool.size:
        raise MemoryError("the frontier's page pool is full")
    heaps.counts[POOLED] = start + CAPACITY[kind]
    return int(start)


@inlined
def _release(heaps: Heaps, start: int, kind: int) -> None:
    following = heaps.free[kind]
    heaps.pool[start] = following & 0x7FFFFFFF if following >= 0 else 0
    heaps.pool[start + 1] = following >> 31 if following >= 0 else -1
    heaps.free[kind] = start


@uncounted
def _move(heaps: Heaps, site: int, kind: int) -> None:
    """Give a site's pages a block of another kind."""
    old, old_kind = heaps.block[site], heaps.kind[site]
    new = _allocate(heaps, kind)
    for i in range(heaps.length[site]):  # most blocks are small: assigning a slice costs more
        heaps.pool[new + i] = heaps.pool[old + i]
    _release(heaps, old, old_kind)
    heaps.block[site] = new
    heaps.kind[site] = kind
