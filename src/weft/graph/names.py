"""Numbers for millions of texts. In: texts, cut out of one array of bytes. Out: their numbers, by a compiled table.

A dictionary of 3.5 million URLs takes half a gigabyte and a loop in Python; this takes four bytes a slot beside the
text itself, and whole chunks of a file are looked up in one call.

>>> names = Names(Texts.of([b"b", b"a", b"b", b"c"]))
>>> names.codes.tolist(), names.count, names.first.tolist()
([0, 1, 0, 2], 3, [0, 1, 3])
>>> names.find(Texts.of([b"c", b"z"])).tolist()
[2, -1]
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]


class Texts(NamedTuple):
    """Texts in one array of bytes; text i is whole[start[i]:end[i]]."""

    whole: Bytes
    start: Places
    end: Places

    @classmethod
    def of(cls, texts: Sequence[bytes]) -> Texts:
        """A few texts, put one behind the other."""
        ends = np.cumsum([0, *map(len, texts)])
        return cls(np.frombuffer(b"".join(texts) or b"\0", np.uint8), ends[:-1], ends[1:])

    def text(self, number: int) -> bytes:
        """One of them."""
        return self.whole[self.start[number] : self.end[number]].tobytes()


class Names:
    """Equal texts have equal numbers, in the order in which they first appear."""

    def __init__(self, texts: Texts) -> None:
        self._texts = texts
        slots = 1 << max(4, int(2 * len(texts.start) - 1).bit_length())
        self._table = np.full(slots, -1, dtype=np.int32)
        self.codes = np.empty(len(texts.start), dtype=np.int32)
        first = np.empty(len(texts.start), dtype=np.int32)
        self.count = _number(texts, self._table, self.codes, first)
        self.first = first[: self.count]

    def find(self, asked: Texts) -> NDArray[np.int32]:
        """The number of each text, -1 where it is not known."""
        found = np.empty(len(asked.start), dtype=np.int32)
        _find(self._texts, self._table, self.first, asked, found)
        return found


@compiled
def _hash(whole: Bytes, start: int, end: int) -> int:
    """FNV-1a, its bits stirred so that the low ones depend on all bytes."""
    value = np.uint64(14695981039346656037)
    for place in range(start, end):
        value = (value ^ np.uint64(whole[place])) * np.uint64(1099511628211)
    value ^= value >> np.uint64(32)
    return np.int64(value & np.uint64(0x7FFFFFFFFFFFFFFF))  # type: ignore[return-value]


@compiled
def _same(one: Bytes, start: int, end: int, other: Bytes, other_start: int, other_end: int) -> bool:
    if end - start != other_end - other_start:
        return False
    for step in range(end - start):  # noqa: SIM110  compiled code knows no `all`
        if one[start + step] != other[other_start + step]:
            return False
    return True


@compiled
def _number(texts: Texts, table: NDArray[np.int32], codes: NDArray[np.int32], first: NDArray[np.int32]) -> int:
    mask = len(table) - 1
    count = 0
    for number in range(len(texts.start)):
        start, end = texts.start[number], texts.end[number]
        slot = _hash(texts.whole, start, end) & mask
        while table[slot] >= 0:
            known = first[table[slot]]
            if _same(texts.whole, start, end, texts.whole, texts.start[known], texts.end[known]):
                break
            slot = (slot + 1) & mask
        if table[slot] < 0:
            table[slot] = count
            first[count] = number
            count += 1
        codes[number] = table[slot]
    return count


@compiled
def _find(
    texts: Texts, table: NDArray[np.int32], first: NDArray[np.int32], asked: Texts, found: NDArray[np.int32]
) -> None:
    mask = len(table) - 1
    for number in range(len(asked.start)):
        start, end = asked.start[number], asked.end[number]
        slot = _hash(asked.whole, start, end) & mask
        found[number] = -1
        while table[slot] >= 0:
            known = first[table[slot]]
            if _same(asked.whole, start, end, texts.whole, texts.start[known], texts.end[known]):
                found[number] = table[slot]
                break
            slot = (slot + 1) & mask
