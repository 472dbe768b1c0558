"""Which groups are on the shelf, in memory. In: keys. Out: what is known of each without looking into files.

Flat arrays and compiled functions, some fifty bytes a group: there may be millions. The same rows are in checkpoints
(`durable.shelved`). Invariant: a key has one row at most; totals are those of all rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import address_of, binder, compiled, inlined, reserve, table_of, uncounted
from weft.frontier.durable.shelved import ASIDE, AWAY, NOTHING

MOST = 1 << 28  # groups; address space, not memory
_FIRST = 64  # places of a new table

# What `counts` holds.
ROWS = 0  # that are in use
USED = 1  # ever
FREE = 2  # on the stack of free ones
PLACES = 3  # of the table
GROUPS = 4  # on the shelf
PENDING = 5  # pages of theirs that may be visited
MAIL = 6  # notices for them
WORK = 7  # rows with something to do
SET_ASIDE = 8  # groups with a site that was set aside
PAGES = 9  # that are known of groups on the shelf


class Arrays(NamedTuple):
    """The arrays of the index."""

    key: NDArray[np.uint64]  # by row, 0 for a free one
    left_in: NDArray[np.uint32]
    mail_in: NDArray[np.uint32]
    mail: NDArray[np.uint32]
    pending: NDArray[np.uint32]
    pages: NDArray[np.uint32]
    worth: NDArray[np.float64]
    at: NDArray[np.float64]  # by the monotonic clock, which nobody sets
    flags: NDArray[np.uint8]
    free: NDArray[np.uint32]
    table: NDArray[np.uint32]  # rows plus one
    counts: NDArray[np.int64]


class _Rows(NamedTuple):
    """Rows of a checkpoint, as columns."""

    key: NDArray[np.uint64]
    left_in: NDArray[np.uint32]
    mail_in: NDArray[np.uint32]
    mail: NDArray[np.uint32]
    pending: NDArray[np.uint32]
    pages: NDArray[np.uint32]
    worth: NDArray[np.float64]
    at: NDArray[np.float64]
    flags: NDArray[np.uint8]


class ShelfIndex:
    """The rows of one local frontier."""

    def __init__(self) -> None:
        kinds = (np.uint64, np.uint32, np.uint32, np.uint32, np.uint32, np.uint32, np.float64, np.float64, np.uint8)
        columns: list[Any] = [reserve(MOST, kind) for kind in (*kinds, np.uint32)]
        self.arrays = Arrays._make((*columns, reserve(4 * MOST, np.uint32), np.zeros(10, np.int64)))
        self.arrays.counts[PLACES] = _FIRST
        self._table = table_of(self.arrays)
        self._address = address_of(self._table)
        counts: Any = self.arrays.counts
        self.counts: memoryview[int] = memoryview(counts)

    def __repr__(self) -> str:
        return f"ShelfIndex({self.counts[GROUPS]} groups)"

    def has(self, key: int) -> bool:
        """Is a group on the shelf?"""
        return _away_at(self._address, _signed(key))

    def find(self, key: int) -> int:
        """The row of a key, or -1."""
        return _find_at(self._address, _signed(key))

    def put(self, key: int, *, log: int, pending: int, pages: int, worth: float, at: float, flags: int = AWAY) -> None:
        """A group is put away by a commit that is in a log."""
        _put_at(self._address, _signed(key), log, pending, pages, worth, at, flags)

    def add_mail(self, mail: list[tuple[int, int, float, bytes]], log: int) -> None:
        """A commit has mail for groups: key, how many notices, worth, what they are."""
        if mail:
            keys, counts, worths, _ = zip(*mail, strict=True)
            _mail_all(self.arrays, np.array(keys, np.uint64), np.array(counts, np.int64), np.array(worths), log)

    def take(self, key: int, upto: int) -> None:
        """A group is back, and what a checkpoint has of its mail was read."""
        _take_at(self._address, _signed(key), upto)

    def rouse(self) -> None:
        """Groups with sites that were set aside have something to do."""
        rows = np.flatnonzero(self.arrays.flags[: self.counts[USED]] & ASIDE)
        for row in rows.tolist():
            _rouse_at(self._address, row)

    def load(self, rows: NDArray[Any], now: float, wall: float) -> None:
        """Take up what a checkpoint and logs have, as it is now by the monotonic clock and by the wall clock: no group
        waits longer than when it was put away, whatever clock was set since.
        """
        left = np.minimum(np.maximum(rows["at"] - wall, 0.0), rows["rest"])
        columns = {name: np.ascontiguousarray(rows[name]) for name in _Rows._fields}
        _load_all(self.arrays, _Rows(**(columns | {"at": now + left})))


def _signed(key: int) -> int:
    return key if key < 1 << 63 else key - (1 << 64)


index_at = binder(Arrays)


@inlined
def _slot(index: Arrays, key: np.uint64) -> Any:
    mask = index.counts[PLACES] - 1
    slot = np.int64(key) & mask
    while index.table[slot] != 0 and index.key[index.table[slot] - 1] != key:
        slot = (slot + 1) & mask
    return slot


@uncounted
def _count(index: Arrays, row: int, sign: int) -> None:
    flags = index.flags[row]
    index.counts[GROUPS] += sign * (flags & AWAY)
    index.counts[PENDING] += sign * np.int64(index.pending[row])
    index.counts[PAGES] += sign * np.int64(index.pages[row])
    index.counts[MAIL] += sign * np.int64(index.mail[row])
    index.counts[SET_ASIDE] += sign * ((flags & ASIDE) >> 1)
    if index.pending[row] > 0 or index.mail[row] > 0:
        index.counts[WORK] += sign


@uncounted
def _row(index: Arrays, key: np.uint64) -> Any:
    """The row of a key, which may be new."""
    slot = _slot(index, key)
    if index.table[slot] != 0:
        return np.int64(index.table[slot]) - 1
    if (index.counts[ROWS] + 1) * 2 > index.counts[PLACES]:
        _grow(index)
        slot = _slot(index, key)
    if index.counts[FREE] > 0:
        index.counts[FREE] -= 1
        row = np.int64(index.free[index.counts[FREE]])
    else:
        row = index.counts[USED]
        index.counts[USED] = row + 1
    index.counts[ROWS] += 1
    index.table[slot] = row + 1
    index.key[row] = key
    index.left_in[row] = index.mail_in[row] = index.mail[row] = index.pending[row] = index.pages[row] = 0
    index.worth[row] = NOTHING
    index.at[row] = 0.0
    index.flags[row] = 0
    return row


@uncounted
def _grow(index: Arrays) -> None:
    places = 2 * index.counts[PLACES]
    index.table[:places] = 0
    index.counts[PLACES] = places
    for row in range(index.counts[USED]):
        if index.key[row] != 0:
            index.table[_slot(index, index.key[row])] = row + 1


@uncounted
def _remove(index: Arrays, row: int) -> None:
    slot = _slot(index, index.key[row])
    index.key[row] = 0
    index.free[index.counts[FREE]] = row
    index.counts[FREE] += 1
    index.counts[ROWS] -= 1
    mask = index.counts[PLACES] - 1
    while True:  # what comes behind moves up, as far as it may
        index.table[slot] = 0
        behind = slot
        while True:
            behind = (behind + 1) & mask
            if index.table[behind] == 0:
                return
            home = np.int64(index.key[index.table[behind] - 1]) & mask
            if ((behind - home) & mask) >= ((behind - slot) & mask):
                break
        index.table[slot] = index.table[behind]
        slot = behind


@compiled
def _find_at(address: int, key: int) -> int:
    index = index_at(address)
    return int(np.int64(index.table[_slot(index, np.uint64(key))]) - 1)


@compiled
def _away_at(address: int, key: int) -> bool:
    index = index_at(address)
    found = index.table[_slot(index, np.uint64(key))]
    return bool(found != 0 and (index.flags[found - 1] & AWAY) != 0)


@compiled
def _put_at(address: int, key: int, log: int, pending: int, pages: int, worth: float, at: float, flags: int) -> None:
    index = index_at(address)
    row = _row(index, np.uint64(key))
    _count(index, row, -1)
    index.left_in[row] = log
    index.pending[row] = pending
    index.pages[row] = pages
    index.worth[row] = worth
    index.at[row] = at
    index.flags[row] = flags
    _count(index, row, 1)


@uncounted
def _mail_all(
    index: Arrays, keys: NDArray[np.uint64], counts: NDArray[np.int64], worths: NDArray[np.float64], log: int
) -> None:
    for i in range(keys.size):
        row = _row(index, keys[i])
        _count(index, row, -1)
        index.mail[row] += counts[i]
        index.mail_in[row] = log
        index.worth[row] = max(index.worth[row], worths[i])
        _count(index, row, 1)


@compiled
def _take_at(address: int, key: int, upto: int) -> None:
    index = index_at(address)
    row = _row(index, np.uint64(key))
    _count(index, row, -1)
    index.flags[row] = 0
    index.pending[row] = index.pages[row] = 0
    index.worth[row] = NOTHING
    index.at[row] = 0.0
    if index.mail_in[row] < upto:
        index.mail[row] = 0
    if index.mail[row] == 0:
        _remove(index, row)
    else:
        _count(index, row, 1)


@uncounted
def _load_all(index: Arrays, rows: _Rows) -> None:
    for i in range(rows.key.size):
        row = _row(index, rows.key[i])
        index.left_in[row] = rows.left_in[i]
        index.mail_in[row] = rows.mail_in[i]
        index.mail[row] = rows.mail[i]
        index.pending[row] = rows.pending[i]
        index.pages[row] = rows.pages[i]
        index.worth[row] = rows.worth[i]
        index.at[row] = rows.at[i]
        index.flags[row] = rows.flags[i]
        _count(index, row, 1)


@compiled
def _rouse_at(address: int, row: int) -> None:
    index = index_at(address)
    _count(index, row, -1)
    index.pending[row] = max(index.pending[row], np.uint32(1))
    index.at[row] = 0.0
    _count(index, row, 1)
