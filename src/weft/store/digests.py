"""Contents already stored. In: payload digests. Out: where the same content was stored first.

A content is stored once even if it is served under many URLs (P3 5.5). The table holds sixteen bytes of each
digest, so a wrong match is out of the question; when it is full the oldest entries make room, because duplicates
mostly follow soon upon each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled, reserve


class Table(NamedTuple):
    """The arrays of the table: a ring of entries, and a hash table of their places plus one."""

    first: NDArray[np.uint64]  # the digest's first eight bytes
    second: NDArray[np.uint64]  # the next eight
    page: NDArray[np.uint64]  # the id of the URL it was stored under
    wall: NDArray[np.float64]  # when
    slots: NDArray[np.uint32]
    counts: NDArray[np.int64]  # entries ever made


class Digests:
    """What is known of stored contents."""

    def __init__(self, most: int = 1 << 22) -> None:
        assert most & (most - 1) == 0, "the table is addressed by the digest's last bits"
        self._table = Table(
            first=reserve(most, np.uint64),
            second=reserve(most, np.uint64),
            page=reserve(most, np.uint64),
            wall=reserve(most, np.float64),
            slots=reserve(most * 2, np.uint32),
            counts=np.zeros(1, dtype=np.int64),
        )

    def __len__(self) -> int:
        return int(min(self._table.counts[0], self._table.first.size))

    def find(self, digest: bytes) -> tuple[int, float] | None:
        """Under which URL's id, and when, this content was stored."""
        at = _find(self._table, *_halves(digest))
        if at < 0:
            return None
        return int(self._table.page[at]), float(self._table.wall[at])

    def add(self, digest: bytes, page: int, wall: float) -> None:
        """Note where a content was stored that was not known."""
        _add(self._table, *_halves(digest), np.uint64(page), wall)

    def learn(self, digests: Sequence[str], pages: NDArray[np.uint64], walls: NDArray[np.float64]) -> None:
        """Note many at once, as WARC writes them; where a content stands there twice, or is known, the first counts."""
        raw = b"".join([int(text[5:].translate(_DIGITS), 32).to_bytes(20) for text in digests])
        parts = np.frombuffer(raw, dtype=_PARTS)
        first, second = parts["first"].astype(np.uint64), parts["second"].astype(np.uint64)
        _learn(self._table, first, second, pages.astype(np.uint64), walls.astype(np.float64))


# WARC writes digests in the letters of RFC 4648, Python reads numbers of base 32 in others.
_DIGITS = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "0123456789abcdefghijklmnopqrstuv")
_PARTS = np.dtype([("first", ">u8"), ("second", ">u8"), ("rest", "V4")])


def _halves(digest: bytes) -> tuple[np.uint64, np.uint64]:
    return np.uint64(int.from_bytes(digest[:8])), np.uint64(int.from_bytes(digest[8:16]))


@compiled
def _find(table: Table, first: np.uint64, second: np.uint64) -> int:
    mask = table.slots.size - 1
    slot = np.int64(first) & mask
    while table.slots[slot] != 0:
        at = np.int64(table.slots[slot]) - 1
        if table.first[at] == first and table.second[at] == second:
            return int(at)
        slot = (slot + 1) & mask
    return -1


@compiled
def _add(table: Table, first: np.uint64, second: np.uint64, page: np.uint64, wall: float) -> None:
    size = table.first.size
    mask = table.slots.size - 1
    at = table.counts[0] % size
    if table.counts[0] >= size:
        _remove(table, at)
    table.counts[0] += 1
    table.first[at] = first
    table.second[at] = second
    table.page[at] = page
    table.wall[at] = wall
    slot = np.int64(first) & mask
    while table.slots[slot] != 0:
        slot = (slot + 1) & mask
    table.slots[slot] = np.uint32(at + 1)


@compiled
def _learn(
    table: Table,
    first: NDArray[np.uint64],
    second: NDArray[np.uint64],
    page: NDArray[np.uint64],
    wall: NDArray[np.float64],
) -> None:
    for number in range(first.size):
        if _find(table, first[number], second[number]) < 0:
            _add(table, first[number], second[number], page[number], wall[number])


@compiled
def _remove(table: Table, at: int) -> None:
    """Take an entry out of the hash table, and move up those that were pushed behind it."""
    mask = table.slots.size - 1
    hole = np.int64(table.first[at]) & mask
    while np.int64(table.slots[hole]) - 1 != at:
        hole = (hole + 1) & mask
    table.slots[hole] = 0
    slot = (hole + 1) & mask
    while table.slots[slot] != 0:
        home = np.int64(table.first[np.int64(table.slots[slot]) - 1]) & mask
        if ((slot - home) & mask) >= ((slot - hole) & mask):
            table.slots[hole] = table.slots[slot]
            table.slots[slot] = 0
            hole = slot
        slot = (slot + 1) & mask
