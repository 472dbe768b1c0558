"""The two-level heap: a heap of sites and, under each site, a heap of its pending pages (P0, figure 4).

In: page numbers and site numbers, both dense integers from 0; scores where the ordering has them. Out: the best
site that is ready, the best page of a site. Everything is flat arrays and compiled functions, because the simulator
and the live crawler both call this for every page.

A page's number is its position in the order of discovery, so equal scores fall back to first found, first served. A
site is *ready* when it may be visited; only ready sites with pending pages stand in the heap of sites. Pages found
for a site that is busy or waiting enter its own heap at once and are seen when it is ready again.

Invariants: `at[s]` is the position of site s in `sites`, or -1; no child comes before its parent; a site's pages lie
in one block of `pool`, which begins at `block[s]` (-1: none) and has room for `CAPACITY[size_class[s]]`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from weft.compiled import address_of, binder, compiled, inlined, reserve, table_of, uncounted
from weft.model import PageNumber, SiteNumber


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
    free: NDArray[np.int64]  # by size class: where a free block begins, or -1; the next one is noted inside it
    block: NDArray[np.int64]  # by site: where its block begins, or -1
    size_class: NDArray[np.int8]  # by site: that of its block, an index into CAPACITY
    length: NDArray[np.int32]  # by site: pending pages
    ready: NDArray[np.bool_]  # by site: may be visited now
    at: NDArray[np.int32]  # by site: position in `sites`, or -1
    sites: NDArray[np.int32]  # the heap of sites
    # By position in it: what the site is compared by, so that its pages need not be looked at. Sites do not equal each
    # other: no page is the best of two.
    site_score: NDArray[np.float64]  # pending pages, or the score of its best one
    site_top: NDArray[np.int32]  # its best page
    score: NDArray[np.float64]  # by page: larger is better
    position: NDArray[np.int32]  # by page: in its site's heap, from 1; 0: it is in none. For scores that change
    owner: NDArray[np.int32]  # by page: its site, for the same
    copied: NDArray[
        np.float64
    ]  # by site: the share of its pages that counts as nothing in its size; one element: all do
    counts: NDArray[np.int64]
    by_size: bool  # sites by their number of pending pages, else by their best page


class TwoLevelHeap:
    """A two-level heap for a caller in Python. What can be done with it is said at the compiled functions below."""

    def __init__(
        self,
        *,
        pages: int,
        sites: int,
        scored: bool,
        by_size: bool,
        fixed: bool = False,
        numbers: int = 0,
        but_copies: bool = False,
    ) -> None:
        """With `but_copies` copies do not count in the size of a site. With `fixed` scores never change: where a page
        stands need not be known, which saves a fifth of the time. With `numbers` so many can be given, more than there
        are pages at a time, and the site of each is known.
        """
        self.arrays = _make_heaps(pages, sites, scored=scored, by_size=by_size, fixed=fixed, numbers=numbers)
        if but_copies and by_size:
            self.arrays = self.arrays._replace(copied=reserve(sites, np.float64))
        self._table = table_of(self.arrays)
        address = self.address = address_of(self._table)
        self.add_site = partial(add_site_at, address)
        self.push = partial(push_at, address)
        self.pop = cast("Callable[[int], PageNumber]", partial(pop_at, address))
        self.set_ready = partial(set_ready_at, address)
        self.set_unready = partial(set_unready_at, address)
        self.take_site = cast("Callable[[], SiteNumber]", partial(take_site_at, address))
        self.rescore = partial(rescore_at, address)
        self.but_copies = self.arrays.copied.size > 1

    def pages_of(self, site: int) -> NDArray[np.int32]:
        """The pending pages of a site, in no order."""
        start, length = int(self.arrays.block[site]), int(self.arrays.length[site])
        return self.arrays.pool[start : start + length].copy() if length else np.empty(0, np.int32)

    def drain(self, site: int) -> list[PageNumber]:
        """Take all pending pages of a site, the best one first, those too that may not be taken yet."""
        pages = np.sort(self.pages_of(site))
        if self.arrays.score.size > 1:
            pages = pages[np.argsort(-self.arrays.score[pages], kind="stable")]
        clear(self.arrays, site)
        return cast("list[PageNumber]", pages.tolist())

    def __repr__(self) -> str:
        return f"TwoLevelHeap({self.arrays.counts[PENDING]} pages, {self.arrays.counts[IN_HEAP]} sites ready)"


def _make_heaps(pages: int, sites: int, *, scored: bool, by_size: bool, fixed: bool, numbers: int) -> Heaps:
    """Empty heaps with room for so many pages and sites; only what is used takes memory."""
    most = numbers or pages
    return Heaps(
        # A site that has grown page by page has left blocks behind that are twice its size together, and the one it is
        # in may be half as large again; a small one has room for four pages.
        pool=reserve(5 * pages + 4 * sites, np.int32, large=True),
        free=np.full(len(CAPACITY), -1, dtype=np.int64),
        block=reserve(sites, np.int64),
        size_class=reserve(sites, np.int8),
        length=reserve(sites, np.int32),
        ready=reserve(sites, np.bool_),
        at=reserve(sites, np.int32),
        sites=reserve(sites, np.int32),
        site_score=reserve(sites, np.float64),
        site_top=reserve(sites, np.int32),
        score=reserve(most if scored else 1, np.float64, large=True),
        position=reserve(most if scored and not fixed else 1, np.int32, large=True),
        owner=reserve(most if numbers or (scored and not fixed) else 1, np.int32, large=True),
        copied=np.zeros(1),
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


def add_sites(heaps: Heaps, sites: int) -> None:
    """Make room for the first so many sites, all without pages and ready."""
    heaps.block[:sites] = heaps.at[:sites] = -1
    heaps.length[:sites] = 0
    heaps.ready[:sites] = True
    heaps.counts[SITES] = sites


@inlined
def push(heaps: Heaps, site: int, page: int) -> None:
    """Give a site one more pending page."""
    n = heaps.length[site]
    if heaps.block[site] < 0:
        heaps.size_class[site] = 0
        heaps.block[site] = _allocate(heaps, 0)
    elif n == CAPACITY[heaps.size_class[site]]:
        _move(heaps, site, heaps.size_class[site] + 1)
    heaps.length[site] = n + 1
    heaps.counts[PENDING] += 1
    base = heaps.block[site]
    heaps.pool[base + n] = page
    if heaps.owner.size > 1:
        heaps.owner[page] = site
    position = _page_up(heaps, base, n)
    if heaps.at[site] >= 0:
        if position == 0 or heaps.by_size:
            _site_up(heaps, heaps.at[site])
    elif heaps.ready[site]:
        _enter(heaps, site)


@uncounted
def push_all(heaps: Heaps, sites: NDArray[np.int32], pages: NDArray[np.int32]) -> None:
    """Give sites many pending pages."""
    for i in range(pages.size):
        push(heaps, sites[i], pages[i])


@uncounted
def stand_all(heaps: Heaps, sites: NDArray[np.int32], waits: NDArray[np.bool_], first: int) -> None:
    """Give sites that have no pages all those that wait, at once; `sites` has that of each page from the `first` on."""
    for page in range(waits.size):
        if waits[page]:
            heaps.length[sites[page]] += 1
    for site in range(heaps.counts[SITES]):
        if heaps.length[site] > 0:
            _make_room(heaps, site)
    for page in range(waits.size):
        if waits[page]:
            site = sites[page]
            heaps.pool[heaps.block[site] + heaps.length[site]] = first + page  # by their numbers, and that is an order
            heaps.length[site] += 1
            if heaps.owner.size > 1:
                heaps.owner[first + page] = site
    for site in range(heaps.counts[SITES]):
        if heaps.length[site] > 0:
            if heaps.score.size > 1:
                _order(heaps, site)
            if heaps.ready[site] and heaps.at[site] < 0:
                _enter(heaps, site)


@uncounted
def _make_room(heaps: Heaps, site: int) -> None:
    """Give a site a block for as many pages as it has, and none of them yet."""
    n = heaps.length[site]
    size_class = 0
    while CAPACITY[size_class] < n:
        size_class += 1
    heaps.size_class[site] = size_class
    heaps.block[site] = _allocate(heaps, size_class)
    heaps.counts[PENDING] += n
    heaps.length[site] = 0


@uncounted
def _order(heaps: Heaps, site: int) -> None:
    """Put the pages of a site in order."""
    base, n = heaps.block[site], heaps.length[site]
    for at in range(n // 2 - 1, -1, -1):
        _page_down(heaps, base, n, at)
    if heaps.position.size > 1:
        for at in range(n):
            heaps.position[heaps.pool[base + at]] = at + 1


@inlined
def pop(heaps: Heaps, site: int) -> int:
    """Take the best pending page of a site, or -1 when there is none that may be taken."""
    n = heaps.length[site]
    if n == 0 or _held(heaps, site):
        return -1
    base = heaps.block[site]
    page = heaps.pool[base]
    if heaps.position.size > 1:
        heaps.position[page] = 0
    heaps.length[site] = n - 1
    heaps.counts[PENDING] -= 1
    if n == 1:
        _release(heaps, base, heaps.size_class[site])
        heaps.block[site] = -1
        if heaps.at[site] >= 0:
            _leave(heaps, site)
        return int(page)
    heaps.pool[base] = heaps.pool[base + n - 1]
    _page_down(heaps, base, n - 1, 0)
    if heaps.size_class[site] > 4 and (n - 1) * 4 < CAPACITY[heaps.size_class[site]]:
        _move(heaps, site, heaps.size_class[site] - 2)
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
    if heaps.position.size > 1:
        for at in range(n):
            heaps.position[heaps.pool[base + at]] = 0
    heaps.length[site] = 0
    heaps.counts[PENDING] -= n
    _release(heaps, base, heaps.size_class[site])
    heaps.block[site] = -1
    if heaps.at[site] >= 0:
        _leave(heaps, site)


@uncounted
def clear_all(heaps: Heaps, sites: NDArray[np.int32]) -> None:
    """Take all pending pages from sites that are here no more."""
    for i in range(sites.size):
        clear(heaps, sites[i])
        set_unready(heaps, sites[i])


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
        position = _page_up(heaps, base, heaps.position[page] - 1)
        if position == 0 and heaps.at[site] >= 0 and not heaps.by_size:
            _site_up(heaps, heaps.at[site])
    elif score < before:
        top = heaps.position[page] == 1
        _page_down(heaps, base, heaps.length[site], heaps.position[page] - 1)
        if top and heaps.at[site] >= 0:
            _site_down(heaps, heaps.at[site])


@uncounted
def note_copies(heaps: Heaps, site: int, pages: int, copies: int) -> None:
    """So many pages of a site were seen, and so many of them are copies. Of those that are pending as many will be; the
    first copy alone does not yet say that all are.
    """
    heaps.copied[site] = copies / (pages + 1.0)
    if heaps.at[site] >= 0 and not _site_up(heaps, heaps.at[site]):
        _site_down(heaps, heaps.at[site])


@uncounted
def reorder(heaps: Heaps, site: int) -> None:
    """Put the pages of a site in order again after their scores were made lower from outside."""
    _order(heaps, site)
    if heaps.at[site] >= 0:
        _site_down(heaps, heaps.at[site])


@uncounted
def reheap(heaps: Heaps) -> None:
    """Put everything in order again after scores were changed from outside."""
    for site in range(heaps.counts[SITES]):
        if heaps.length[site] > 0:
            _order(heaps, site)
    for at in range(heaps.counts[IN_HEAP]):
        site = heaps.sites[at]
        score, top = _worth(heaps, site), _best(heaps, site)
        _stand(heaps, at, site, score, top)
    for at in range(heaps.counts[IN_HEAP] // 2 - 1, -1, -1):
        _site_down(heaps, at)


# The same by address.

heaps_at = binder(Heaps)
"""The arrays whose table lies at an address."""


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
    """Let the page at a position rise to where it belongs; return that position."""
    pool = heaps.pool
    page = pool[base + at]
    while at > 0:
        above = (at - 1) >> 1
        other = pool[base + above]
        if not _earlier(heaps, page, other):
            break
        pool[base + at] = other
        if heaps.position.size > 1:
            heaps.position[other] = at + 1
        at = above
    pool[base + at] = page
    if heaps.position.size > 1:
        heaps.position[page] = at + 1
    return at


@inlined
def _page_down(heaps: Heaps, base: int, n: int, at: int) -> None:
    """Let the page at a position sink to where it belongs among the first n."""
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
        if heaps.position.size > 1:
            heaps.position[other] = at + 1
        at = below
    pool[base + at] = page
    if heaps.position.size > 1:
        heaps.position[page] = at + 1


# The heap of sites.


@inlined
def _best(heaps: Heaps, site: int) -> int:
    """The best page of a site with pending pages: the second of the two things by which sites are compared."""
    return int(heaps.pool[heaps.block[site]])


@inlined
def _worth(heaps: Heaps, site: int) -> float:
    """The first of them: larger comes first."""
    if heaps.by_size:
        pages = float(heaps.length[site])
        return pages * (1.0 - heaps.copied[site]) if heaps.copied.size > 1 else pages
    return float(heaps.score[heaps.pool[heaps.block[site]]]) if heaps.score.size > 1 else 0.0


@inlined
def _ahead(heaps: Heaps, score: float, top: int, at: int) -> bool:
    """Does a site with this key come before the one at a position?"""
    other = heaps.site_score[at]
    return bool(score > other or (score == other and top < heaps.site_top[at]))


@inlined
def _stand(heaps: Heaps, at: int, site: int, score: float, top: int) -> None:
    """Put a site at a position."""
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
    """Let the site at a position rise to where its pages put it; whether it moved."""
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
    """Let the site at a position sink to where its pages put it."""
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


# Blocks of the pool. A free block holds the start of the next free one of its size class in its first two slots.


@inlined
def _allocate(heaps: Heaps, size_class: int) -> int:
    start = heaps.free[size_class]
    if start >= 0:
        low, high = np.int64(heaps.pool[start]), np.int64(heaps.pool[start + 1])
        heaps.free[size_class] = (high << 31) + low if high >= 0 else -1
        return int(start)
    start = heaps.counts[POOLED]
    if start + CAPACITY[size_class] > heaps.pool.size:
        raise MemoryError("the frontier's page pool is full")
    heaps.counts[POOLED] = start + CAPACITY[size_class]
    return int(start)


@inlined
def _release(heaps: Heaps, start: int, size_class: int) -> None:
    following = heaps.free[size_class]
    heaps.pool[start] = following & 0x7FFFFFFF if following >= 0 else 0
    heaps.pool[start + 1] = following >> 31 if following >= 0 else -1
    heaps.free[size_class] = start


@uncounted
def _move(heaps: Heaps, site: int, size_class: int) -> None:
    """Give a site's pages a block of another size class."""
    old, old_kind = heaps.block[site], heaps.size_class[site]
    new = _allocate(heaps, size_class)
    for i in range(heaps.length[site]):  # most blocks are small: assigning a slice costs more
        heaps.pool[new + i] = heaps.pool[old + i]
    _release(heaps, old, old_kind)
    heaps.block[site] = new
    heaps.size_class[site] = size_class
