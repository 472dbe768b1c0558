"""Contents already stored, by all workers of a machine. In: payload digests. Out: where the same content was stored
first.

A content is stored once even if it is served under many URLs (P3 5.5). Each worker has a table of those that it
stored, which it alone writes and all others read, without locks (`ContentTable`). A worker knows its own contents at
once. Others know them when their records can no longer be taken back, which is when two further commits are on disk:
until then they are on its list of what is not settled, and in no table. So a revisit record refers to a record that is
there, whoever is killed when.

What two workers store at the same time is therefore stored twice; it is counted when the second copy is settled. A
table may lose entries (a power failure, a file that was removed): then a content is stored again, and nothing is wrong
with it. None can stand for another: entries are compared by the whole SHA-1, and have a checksum of their own.

One more table may be there beside those of workers: what earlier crawls have (`known`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import address_of, array_at, compiled, table_at, table_of
from weft.store.content_table import HALVES, ContentTable, Keys, halves_of, mark_of, open_tables, place_of
from weft.store.known import NAME, Known
from weft.store.volumes import Original

_PLACES = 65_536  # tables, at most


class _View(NamedTuple):
    """The tables as compiled code finds them, this worker's own first; replaced as a whole when one changes."""

    tables: tuple[ContentTable, ...]
    slots: tuple[NDArray[np.int64], ...]  # as long as the address is in use, whatever takes the place of which
    array: NDArray[np.int64]
    address: int


class Contents:
    """What is known of stored contents, owned by the store of one worker.

    `first` and `mark` are called by the thread that writes, `settle` by one beside it. A content is on the list of what
    is not settled until it is in the table, and found in one of both at any moment.
    """

    def __init__(self, folder: Path, worker: int, secret: bytes, *, most: int = 1 << 30) -> None:
        self._folder = folder
        self._worker = worker
        self._keys = Keys.of(secret)
        self._own = ContentTable.of_worker(folder, worker, self._keys, most=most)
        self._view = _view((self._own,))
        self._known = Known(folder)  # where the contents of earlier crawls are
        self._unsettled: dict[bytes, Original] = {}
        self._new: list[tuple[bytes, Original]] = []  # since the last mark
        self._marked: deque[tuple[int, list[tuple[bytes, Original]]]] = deque()  # by the number of their commit
        self._look_around()

    def __repr__(self) -> str:
        return f"Contents({len(self)} known, {len(self._unsettled)} not settled)"

    def __len__(self) -> int:
        return sum(table.count for table in self._view.tables)

    @property
    def copies(self) -> int:
        """Contents that this worker stored though another one had, whose copy was not settled by then; in all runs."""
        return self._own.copies

    @property
    def unremembered(self) -> int:
        """Contents that are in no table, because it is full or their URL is too long; in all runs."""
        return self._own.left_out

    @property
    def part(self) -> int:
        """The last of this worker's parts of `pages` whose contents are all in its table."""
        return self._own.part

    def first(self, digest: bytes, url_id: int, url: str, wall: float) -> Original | None:
        """Where a content was stored; if it was not, note that it is now, so."""
        known = self._unsettled.get(digest)
        if known is not None:
            return known
        known = self.find(digest)
        if known is None:
            self._unsettled[digest] = entry = Original(url_id, url, wall)
            self._new.append((digest, entry))
        return known

    def take_up(self, entries: Iterable[tuple[bytes, Original]]) -> None:
        """Contents that this worker stored in a run before, whose records are not settled: be they stored elsewhere."""
        for digest, entry in entries:
            if digest not in self._unsettled and not self._has(digest):
                self._unsettled[digest] = entry
                self._new.append((digest, entry))

    def find(self, digest: bytes) -> Original | None:
        """Where a content was stored whose record is settled."""
        view = self._view
        first, second = HALVES.unpack_from(digest)
        found = _find_at(view.address, len(view.tables), first, second, *self._keys)
        if found < 0:
            return None
        table = view.tables[found % _PLACES]
        entry = table.read(found // _PLACES, digest)
        return entry if entry is None or table.name != NAME else self._known.original(entry)

    def mark(self, commit: int) -> None:
        """What came since the last mark is in this commit."""
        if self._new:
            self._marked.append((commit, self._new))
            self._new = []

    def settle(self, commit: int) -> None:
        """Let others know what this commit and those before it have; and hear of theirs."""
        due = [entries for number, entries in self._marked if number <= commit]
        settled = [entry for entries in due for entry in entries]
        self._settled(settled)  # a full disk may keep it from that: then it is done the next time
        for _ in due:
            self._marked.popleft()
        for digest, _ in settled:
            del self._unsettled[digest]

    def _settled(self, entries: list[tuple[bytes, Original]]) -> None:
        """Put contents into the table, and count those that another worker has by now. It looks behind its own step, so
        that one of two workers sees the other; where they take it in the same moment both do, and one is counted twice.
        """
        self._look_around()
        self._own.add(entries)
        self._own.copies += self._elsewhere([digest for digest, _ in entries])
        if self._own.replaced:
            self._look_around()

    def learn(self, entries: list[tuple[bytes, Original]], part: int) -> None:
        """Take in what a sealed part of `pages` has; what this worker's table has is left as it is."""
        new = {digest: entry for digest, entry in reversed(entries) if not self._has(digest)}
        self._settled(list(new.items()))
        self.sealed(part)

    def _has(self, digest: bytes) -> bool:
        """Is a content in this worker's own table?"""
        first, second = HALVES.unpack_from(digest)
        return bool(_find_at(self._view.address, 1, first, second, *self._keys) >= 0)

    def sealed(self, part: int) -> None:
        """A part of `pages` was sealed, and what is in it was settled before."""
        self._own.part = max(self._own.part, part)

    def close(self) -> None:
        """Nothing more comes: have the table be as it is when it is opened again."""
        self._own.close()

    def _look_around(self) -> None:
        """See which tables there are by now, and which have grown out of their files."""
        others = open_tables(self._folder, self._keys, self._view.tables[1:], besides=self._worker)
        if others != self._view.tables[1:] or self._own.replaced:
            self._own.replaced = False
            self._view = _view((self._own, *others))

    def _elsewhere(self, digests: list[bytes]) -> int:
        """How many of these are in another worker's table?"""
        view = self._view
        if len(view.tables) == 1 or not digests:
            return 0
        return int(_count_at(view.address, len(view.tables), halves_of(digests), *self._keys))


def _view(tables: tuple[ContentTable, ...]) -> _View:
    slots = tuple(table.slots for table in tables)
    array = table_of(slots)
    return _View(tables, slots, array, address_of(array))


@compiled
def _find_at(address: int, tables: int, first: int, second: int, key: int, other: int) -> int:
    """Which table has a content, and where."""
    every = table_at(address, tables)
    mark = mark_of(first, second, key, other)
    for number in range(tables):
        at = place_of(array_at(every, number, np.int64), mark)
        if at >= 0:
            return at * _PLACES + number
    return -1


@compiled
def _count_at(address: int, tables: int, halves: NDArray[np.int64], key: int, other: int) -> int:
    """How many contents are in a table that is not the first?"""
    every = table_at(address, tables)
    found = 0
    for each in range(halves.shape[0]):
        mark = mark_of(halves[each, 0], halves[each, 1], key, other)
        for number in range(1, tables):
            if place_of(array_at(every, number, np.int64), mark) >= 0:
                found += 1
                break
    return found
