"""Contents already stored. In: payload digests. Out: where the same content was stored first.

A content is stored once even if it is served under many URLs (P3 5.5). The table holds sixteen bytes of each
digest, so a wrong match is out of the question; when it is full the oldest entries make room, because duplicates
mostly follow soon upon each other.

Two arrays: a ring of entries, behind a count of all that were ever made and the size of the hash table; and the hash
table of places in the ring, plus one. It grows in place as it fills, so that a short crawl touches little memory.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from weft.compiled import address_of, array_at, compiled, reserve, table_at, table_of

# An entry: the digest's first eight bytes, the next eight, the id of the URL it was stored under, when (microseconds),
# the number of its page.
_ENTRY = 5
_HEAD = 2
_FIRST = 4096  # slots of a new table
_HALVES = struct.Struct(">qq")


class Digests:
    """What is known of stored contents."""

    def __init__(self, most: int = 1 << 22) -> None:
        assert most & (most - 1) == 0, "the table is addressed by the digest's last bits"
        self._ring = reserve(_ENTRY * most + _HEAD, np.int64)
        self._slots = reserve(most * 2, np.uint32)
        self._ring[1] = min(_FIRST, most * 2)
        self._table = table_of((self._ring, self._slots))
        self._address = address_of(self._table)
        self._most = most

    def __len__(self) -> int:
        return int(min(self._ring[0], self._most))

    def find(self, digest: bytes) -> tuple[int, float, int] | None:
        """Under which URL's id, when, and as which page this content was stored."""
        first, second = _HALVES.unpack_from(digest)
        return self._entry(_find_at(self._address, first, second))

    def first(self, digest: bytes, url_id: int, wall: float, page: int) -> tuple[int, float, int] | None:
        """Under which URL's id, when, and as which page it was stored; if it was not, note that it is now, so."""
        first, second = _HALVES.unpack_from(digest)
        signed = url_id if url_id < 1 << 63 else url_id - (1 << 64)
        return self._entry(_find_or_add_at(self._address, first, second, signed, round(wall * 1e6), page))

    def learn(
        self,
        digests: Sequence[str],
        ids: NDArray[np.uint64],
        walls: NDArray[np.float64],
        pages: NDArray[np.int64],
    ) -> None:
        """Note many at once, as WARC writes them; where a content stands there twice, or is known, the first counts."""
        raw = b"".join([int(text[5:].translate(_DIGITS), 32).to_bytes(20) for text in digests])
        parts = np.frombuffer(raw, dtype=_PARTS)
        first, second = parts["first"].astype(np.int64), parts["second"].astype(np.int64)
        moments = np.rint(walls * 1e6).astype(np.int64)
        _learn(self._ring, self._slots, first, second, ids.astype(np.uint64).view(np.int64), moments, pages)

    def _entry(self, at: int) -> tuple[int, float, int] | None:
        if at < 0:
            return None
        start = _HEAD + _ENTRY * at
        url_id, moment, page = self._ring[start + 2 : start + 5].tolist()
        return url_id & (1 << 64) - 1, moment / 1e6, page


# WARC writes digests in the letters of RFC 4648, Python reads numbers of base 32 in others.
_DIGITS = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "0123456789abcdefghijklmnopqrstuv")
_PARTS = np.dtype([("first", ">i8"), ("second", ">i8"), ("rest", "V4")])


@compiled
def _find(ring: NDArray[np.int64], slots: NDArray[np.uint32], first: int, second: int) -> int:
    mask = ring[1] - 1
    slot = first & mask
    while slots[slot] != 0:
        at = np.int64(slots[slot]) - 1
        start = _HEAD + _ENTRY * at
        if ring[start] == first and ring[start + 1] == second:
            return int(at)
        slot = (slot + 1) & mask
    return -1


@compiled
def _find_or_add(
    ring: NDArray[np.int64], slots: NDArray[np.uint32], first: int, second: int, url_id: int, moment: int, page: int
) -> int:
    known = _find(ring, slots, first, second)
    if known >= 0:
        return known
    size = slots.size // 2
    if 2 * (ring[0] + 1) > ring[1] and ring[1] < slots.size:
        _grow(ring, slots)
    at = ring[0] % size
    if ring[0] >= size:
        _remove(ring, slots, at)
    ring[0] += 1
    start = _HEAD + _ENTRY * at
    ring[start] = first
    ring[start + 1] = second
    ring[start + 2] = url_id
    ring[start + 3] = moment
    ring[start + 4] = page
    _place(ring, slots, at)
    return -1


@compiled
def _place(ring: NDArray[np.int64], slots: NDArray[np.uint32], at: int) -> None:
    mask = ring[1] - 1
    slot = ring[_HEAD + _ENTRY * at] & mask
    while slots[slot] != 0:
        slot = (slot + 1) & mask
    slots[slot] = np.uint32(at + 1)


@compiled
def _grow(ring: NDArray[np.int64], slots: NDArray[np.uint32]) -> None:
    """Double the hash table, before the ring has come round for the first time."""
    slots[: ring[1]] = 0
    ring[1] *= 2
    for at in range(ring[0]):
        _place(ring, slots, at)


@compiled
def _find_at(address: int, first: int, second: int) -> int:
    table = table_at(address, 2)
    return _find(array_at(table, 0, np.int64), array_at(table, 1, np.uint32), first, second)


@compiled
def _find_or_add_at(address: int, first: int, second: int, url_id: int, moment: int, page: int) -> int:
    table = table_at(address, 2)
    ring, slots = array_at(table, 0, np.int64), array_at(table, 1, np.uint32)
    return _find_or_add(ring, slots, first, second, url_id, moment, page)


@compiled
def _learn(
    ring: NDArray[np.int64],
    slots: NDArray[np.uint32],
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    url_id: NDArray[np.int64],
    moment: NDArray[np.int64],
    page: NDArray[np.int64],
) -> None:
    for number in range(first.size):
        _find_or_add(ring, slots, first[number], second[number], url_id[number], moment[number], page[number])


@compiled
def _remove(ring: NDArray[np.int64], slots: NDArray[np.uint32], at: int) -> None:
    """Take an entry out of the hash table, and move up those that were pushed behind it."""
    mask = ring[1] - 1
    hole = ring[_HEAD + _ENTRY * at] & mask
    while np.int64(slots[hole]) - 1 != at:
        hole = (hole + 1) & mask
    slots[hole] = 0
    slot = (hole + 1) & mask
    while slots[slot] != 0:
        home = ring[_HEAD + _ENTRY * (np.int64(slots[slot]) - 1)] & mask
        if ((slot - home) & mask) >= ((slot - hole) & mask):
            slots[hole] = slots[slot]
            slots[slot] = 0
            hole = slot
        slot = (slot + 1) & mask
