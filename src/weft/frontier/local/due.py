"""Pages that have a time. In: a page, its site, and when it is due. Out: the page stands in its site's heap when its
time has come; and how often it was tried so far.

A retry in ten minutes and a visit in six hours are the same here. Only pages that were tried, and are not done, are
known: the table is sparse, and takes some 50 bytes for each. It is flat arrays and compiled functions, like the heaps
that pages come from and go to.

Invariants: a page has one entry at most. It *waits* when the entry is in the heap of times; what is due first is on
top, and of equals what was put there first. When its time has come it waits no more, and its tries are known until it
is forgotten.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from weft.compiled import address_of, binder, compiled, inlined, reserve, table_of, uncounted
from weft.model import PageNumber, SiteNumber
from weft.ordering.heaps import Heaps, TwoLevelHeap, heaps_at, push

_FIRST = 64  # places of a new table
NEVER = float("inf")

# What `counts` holds.
KNOWN = 0  # entries
WAITING = 1  # of these, in the heap of times
USED = 2  # entries ever used
FREE = 3  # of these, on the stack of free ones
PLACES = 4  # of the table that are in use, a power of two
ORDER = 5  # how often a page was made to wait


class Times(NamedTuple):
    """The arrays of a due table."""

    page: NDArray[np.int32]  # by entry
    site: NDArray[np.int32]
    at: NDArray[np.float64]  # when it is due
    order: NDArray[np.int64]  # in which it was made to wait
    tries: NDArray[np.int32]  # so far
    place: NDArray[np.int32]  # in the heap, -1 where it does not wait
    heap: NDArray[np.int32]  # entries that wait
    free: NDArray[np.int32]  # entries that can be used again
    table: NDArray[np.uint32]  # entries plus one, 0 for none, by a hash of their pages
    counts: NDArray[np.int64]


times_at = binder(Times)


class Due:
    """The pages of one local frontier that have a time."""

    def __init__(self, pages: int, heaps: TwoLevelHeap) -> None:
        places = _FIRST
        while places < 2 * pages:
            places *= 2
        self.arrays = Times(
            page=reserve(pages, np.int32),
            site=reserve(pages, np.int32),
            at=reserve(pages, np.float64),
            order=reserve(pages, np.int64),
            tries=reserve(pages, np.int32),
            place=reserve(pages, np.int32),
            heap=reserve(pages, np.int32),
            free=reserve(pages, np.int32),
            table=reserve(places, np.uint32),
            counts=np.zeros(6, np.int64),
        )
        self.arrays.counts[PLACES] = _FIRST
        self._table = table_of(self.arrays)
        address = address_of(self._table)
        counts: Any = self.arrays.counts
        self._counts: memoryview[int] = memoryview(counts)  # its elements are read at a third of what the array's cost
        self.put = partial(put_at, address)
        self.note = partial(note_at, address)
        self.forget = partial(forget_at, address)
        self.wake = partial(wake_at, address)
        self.tries = partial(tries_at, address)
        self.wake_all = partial(wake_all_at, address, heaps.address)

    def __repr__(self) -> str:
        return f"Due({self.waiting} waiting of {self.known})"

    @property
    def known(self) -> int:
        """Pages that were tried and are not done."""
        return self._counts[KNOWN]

    @property
    def waiting(self) -> int:
        """Of these, those that wait for their time."""
        return self._counts[WAITING]

    @property
    def next_at(self) -> float:
        """When the next one is due; never, if none is."""
        return float(self.arrays.at[self.arrays.heap[0]]) if self._counts[WAITING] else NEVER

    def knows(self, page: int) -> bool:
        """Was a page tried, and is it not done?"""
        return self.tries(page) >= 0

    def of_site(self, site: SiteNumber) -> list[PageNumber]:
        """The pages of a site that wait, in the order in which they were made to."""
        entries = self.arrays.heap[: self.waiting]
        entries = entries[self.arrays.site[entries] == site]
        pages = self.arrays.page[entries[np.argsort(self.arrays.order[entries])]]
        return cast("list[PageNumber]", pages.tolist())

    def entries(self) -> NDArray[np.int64]:
        """The entries that are in use."""
        table = self.arrays.table[: self._counts[PLACES]]
        return table[table > 0].astype(np.int64) - 1

    def times(self) -> dict[int, tuple[float, int]]:
        """By page that waits: when it is due, and how often it was tried. For who looks from outside."""
        entries = self.arrays.heap[: self.waiting]
        columns = (self.arrays.page[entries], self.arrays.at[entries], self.arrays.tries[entries])
        return {page: (at, tries) for page, at, tries in zip(*(each.tolist() for each in columns), strict=True)}


@compiled
def put_at(address: int, page: int, site: int, at: float, tries: int) -> None:
    """Make a page of a site wait for a time; it was tried so often."""
    put(times_at(address), page, site, at, tries)


@compiled
def note_at(address: int, page: int, site: int, tries: int) -> None:
    """A page was tried so often; whether it waits stays as it is."""
    times = times_at(address)
    times.tries[_entry(times, page, site)] = tries


@compiled
def forget_at(address: int, page: int) -> None:
    """A page is done, or as it was at first."""
    forget(times_at(address), page)


@compiled
def wake_at(address: int, page: int) -> bool:
    """Let a page wait no more; did it?"""
    times = times_at(address)
    entry = _find(times, page)
    if entry < 0 or times.place[entry] < 0:
        return False
    _leave(times, times.place[entry])
    return True


@compiled
def tries_at(address: int, page: int) -> int:
    """How often a page was tried, -1 where it is not known."""
    times = times_at(address)
    entry = _find(times, page)
    return int(times.tries[entry]) if entry >= 0 else -1


@compiled
def wake_all_at(address: int, heaps: int, now: float) -> None:
    """Give all pages whose time has come to the heaps of their sites."""
    _wake_all(times_at(address), heaps_at(heaps), now)


@uncounted
def _wake_all(times: Times, heaps: Heaps, now: float) -> None:
    while times.counts[WAITING] > 0:
        entry = times.heap[0]
        if times.at[entry] > now:
            break
        _leave(times, 0)
        push(heaps, times.site[entry], times.page[entry])


@uncounted
def put(times: Times, page: int, site: int, at: float, tries: int) -> None:
    """Make a page of a site wait for a time; it was tried so often."""
    entry = _entry(times, page, site)
    if times.place[entry] >= 0:
        _leave(times, times.place[entry])
    times.tries[entry] = tries
    times.at[entry] = at
    times.order[entry] = times.counts[ORDER]
    times.counts[ORDER] += 1
    n = times.counts[WAITING]
    times.counts[WAITING] = n + 1
    times.heap[n] = entry
    _up(times, n)


@uncounted
def forget(times: Times, page: int) -> None:
    """A page is done, or as it was at first."""
    slot = _slot(times, page)
    found = times.table[slot]
    if found == 0:
        return
    entry = np.int64(found) - 1
    if times.place[entry] >= 0:
        _leave(times, times.place[entry])
    times.free[times.counts[FREE]] = entry
    times.counts[FREE] += 1
    times.counts[KNOWN] -= 1
    mask = times.counts[PLACES] - 1
    while True:  # what comes behind moves up, as far as it may
        times.table[slot] = 0
        behind = slot
        while True:
            behind = (behind + 1) & mask
            if times.table[behind] == 0:
                return
            home = _hash(times.page[times.table[behind] - 1]) & mask
            if ((behind - home) & mask) >= ((behind - slot) & mask):
                break
        times.table[slot] = times.table[behind]
        slot = behind


# The table.


@inlined
def _hash(page: int) -> Any:
    return np.int64((np.int64(page) * np.int64(0x9E3779B97F4A7C1)) >> np.int64(20))


@inlined
def _slot(times: Times, page: int) -> Any:
    """Where a page stands in the table, or would."""
    mask = times.counts[PLACES] - 1
    slot = _hash(page) & mask
    while times.table[slot] != 0 and times.page[times.table[slot] - 1] != page:
        slot = (slot + 1) & mask
    return slot


@inlined
def _find(times: Times, page: int) -> np.int64:
    """The entry of a page, or -1."""
    return np.int64(times.table[_slot(times, page)]) - 1


@uncounted
def _entry(times: Times, page: int, site: int) -> np.int64:
    """The entry of a page, which may be new."""
    entry = _find(times, page)
    if entry >= 0:
        return entry
    if times.counts[FREE] > 0:
        times.counts[FREE] -= 1
        entry = np.int64(times.free[times.counts[FREE]])
    else:
        entry = times.counts[USED]
        if entry >= times.page.size:
            raise MemoryError("there is no room for more pages that are tried again")
        times.counts[USED] = entry + 1
    times.counts[KNOWN] += 1
    if times.counts[KNOWN] * 2 > times.counts[PLACES]:
        _grow(times)
    times.page[entry] = page
    times.site[entry] = site
    times.tries[entry] = 0
    times.place[entry] = -1
    times.table[_slot(times, page)] = entry + 1
    return entry


@compiled
def _grow(times: Times) -> None:
    """Double the table in place."""
    old = times.counts[PLACES]
    entries = times.table[:old].copy()
    times.table[:old] = 0
    times.counts[PLACES] = 2 * old
    for at in range(old):
        if entries[at] != 0:
            times.table[_slot(times, times.page[entries[at] - 1])] = entries[at]


# The heap of times.


@inlined
def _sooner(times: Times, a: int, b: int) -> bool:
    """Is entry a due before entry b?"""
    if times.at[a] != times.at[b]:
        return bool(times.at[a] < times.at[b])
    return bool(times.order[a] < times.order[b])


@uncounted
def _up(times: Times, at: int) -> int:
    entry = times.heap[at]
    while at > 0:
        above = (at - 1) >> 1
        if not _sooner(times, entry, times.heap[above]):
            break
        times.heap[at] = times.heap[above]
        times.place[times.heap[at]] = at
        at = above
    times.heap[at] = entry
    times.place[entry] = at
    return at


@uncounted
def _down(times: Times, at: int) -> None:
    n = times.counts[WAITING]
    entry = times.heap[at]
    while True:
        below = 2 * at + 1
        if below >= n:
            break
        if below + 1 < n and _sooner(times, times.heap[below + 1], times.heap[below]):
            below += 1
        if not _sooner(times, times.heap[below], entry):
            break
        times.heap[at] = times.heap[below]
        times.place[times.heap[at]] = at
        at = below
    times.heap[at] = entry
    times.place[entry] = at


@uncounted
def _leave(times: Times, at: int) -> None:
    """Take the entry at a place out of the heap."""
    times.place[times.heap[at]] = -1
    n = times.counts[WAITING] - 1
    times.counts[WAITING] = n
    if at < n:
        times.heap[at] = times.heap[n]
        if _up(times, at) == at:
            _down(times, at)
