"""The frontier's log: an append-only file that is both the store of URL texts and the memory across restarts.

In: what changed since the last commit. Out: one record with a checksum; later, the text of any page by its number,
and every record again in order. Nothing is ever rewritten: a record is valid or it is cut off.

A record is a head (magic, CRC of what follows, its length) and a payload: a small msgpack part, and the new pages
as three arrays behind it (rows of fixed size, keys, texts), so that one page's text is two short reads away
without an index per page: the pages of one record have consecutive numbers, and the record's place is all that is
kept in memory.

A record is made in two steps: `pack` takes what changed, at one moment, and `write` puts it on disk, in a thread
beside the loop if need be. Between the two its pages are read from memory.
"""

from __future__ import annotations

import mmap
import os
import struct
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from weft.frontier.records import HEAD, LENGTHS, MAGIC, Commit, commit_of, kept, whole
from weft.store.files import sync_folder, write_all, writing

__all__ = ["Commit", "Entry", "FrontierLog", "Replayed", "entries_of"]

_ROW = struct.Struct("<QIiHBB")  # where it was found, end of its text, site, depth, kind, steps
# Pages read of the log, after which what was read no longer counts as our memory; each may map 64 KB of it.
_FORGET = 2_000
DEEPEST = 65_535  # what is deeper counts as this deep
MOST_STEPS = 255  # likewise
ROW = np.dtype([("via", "<u8"), ("end", "<u4"), ("site", "<i4"), ("depth", "<u2"), ("kind", "u1"), ("steps", "u1")])


class Entry(NamedTuple):
    """What is kept of a page from its discovery."""

    url: str
    via: int  # id of the page where it was found first, 0 for a seed
    site: int
    depth: int
    kind: int
    steps: int = 0  # redirects in a row that led to it; of a sitemap or a part: such as it above it


class Replayed(NamedTuple):
    """A record read back."""

    commit: Commit
    rows: NDArray[Any]
    fingerprints: NDArray[np.uint64]
    robots_at: list[int]  # where in the log each of its robots.txt files stands


class FrontierLog:
    """The log of one local frontier."""

    def __init__(self, path: Path, *, read_only: bool = False, private: bool = False) -> None:
        self.path = path
        self._read_only = read_only
        how = os.O_RDONLY if read_only else os.O_RDWR | os.O_CREAT | os.O_APPEND
        self._file = os.open(path, how, 0o600 if private else 0o644)
        if private and not read_only:  # it may be older than what must not be read
            os.fchmod(self._file, 0o600)
        self._length = 0  # of the records that are on disk
        self._written: mmap.mmap | bytes = b""  # these, as far as they were there when last looked for
        self._packed = b""  # the record that is to be written, or is being written
        self._reads = 0  # of the map, since it was last forgotten
        self.dropped: list[Commit] = []  # records at the end whose outputs were not all there
        # By record: its first page, and where its rows and its texts begin.
        self._first = array("q")
        self._rows_at = array("q")
        self._texts_at = array("q")
        self._pages = 0
        # The new pages of the next record.
        self._rows = bytearray()
        self._fingerprints = array("Q")
        self._texts: list[bytes] = []
        self._text_bytes = 0

    def __repr__(self) -> str:
        return f"FrontierLog({self.path.name}, {self._pages} pages, {self._length} bytes)"

    @property
    def pages(self) -> int:
        """How many pages are known, those not yet committed included."""
        return self._pages + len(self._texts)

    def append(self, fingerprint: int, url: str, via: int, site: int, depth: int, kind: int, steps: int = 0) -> None:
        """Note a new page, found on the one with the id `via`; its number is the count of those before it."""
        text = url.encode()
        self._texts.append(text)
        self._text_bytes += len(text)
        self._rows += _ROW.pack(via, self._text_bytes, site, min(depth, DEEPEST), kind, min(steps, MOST_STEPS))
        self._fingerprints.append(fingerprint)

    def entry(self, page: int) -> Entry:
        """What was noted of a page."""
        if page >= self._pages:
            at = page - self._pages
            via, _end, site, depth, kind, steps = _ROW.unpack_from(self._rows, at * _ROW.size)
            return Entry(self._texts[at].decode(), via, site, depth, kind, steps)
        record = bisect_right(self._first, page) - 1
        at = page - self._first[record]
        place = self._rows_at[record] + at * _ROW.size
        texts = self._texts_at[record]
        written: mmap.mmap | bytes = self._packed
        if texts >= self._length:
            place -= self._length
            texts -= self._length
        else:
            if texts >= len(self._written):  # behind the record's rows: if they begin within the map it holds all
                self._written = mmap.mmap(self._file, self._length, prot=mmap.PROT_READ)
            written = self._written
            self._reads += 1
            if self._reads >= _FORGET and isinstance(written, mmap.mmap):
                self._reads = 0
                written.madvise(mmap.MADV_DONTNEED)
        start = _ROW.unpack_from(written, place - _ROW.size)[1] if at else 0
        via, end, site, depth, kind, steps = _ROW.unpack_from(written, place)
        return Entry(written[texts + start : texts + end].decode(), via, site, depth, kind, steps)

    def pages_of(self, url: str) -> list[int]:
        """The pages of a URL, oldest first, found by its text: all texts of its length are looked at."""
        text, found = url.encode(), list[int]()
        ends_at = [*self._first, self._pages][1:]  # of an empty log, none
        for first, rows_at, texts_at, end in zip(self._first, self._rows_at, self._texts_at, ends_at, strict=True):
            rows = np.frombuffer(os.pread(self._file, (end - first) * ROW.itemsize, rows_at), ROW)
            ends = rows["end"].astype(np.int64)
            starts = np.concatenate(([0], ends[:-1]))
            for place in np.flatnonzero(ends - starts == len(text)).tolist():
                if os.pread(self._file, len(text), texts_at + int(starts[place])) == text:
                    found.append(first + place)
        return found

    def commit(self, commit: Commit, *, sync: bool = False) -> None:
        """Write what changed as one record."""
        self.pack(commit)
        self.write(sync=sync)
        self.written()

    def pack(self, commit: Commit) -> list[int]:
        """Take what changed as one record, to be written next; where in the log each of its robots.txt files stands."""
        assert not self._packed, "one record at a time"
        part = msgspec.msgpack.encode(commit)
        texts = b"".join(self._texts)
        payload = b"".join(
            (
                LENGTHS.pack(len(part), len(self._texts), len(texts)),
                part,
                self._rows,
                self._fingerprints.tobytes(),
                texts,
            )
        )
        self._packed = HEAD.pack(MAGIC, isal_zlib.crc32(payload), len(payload)) + payload
        self._note(self._length + HEAD.size, len(part), len(self._texts))
        self._rows = bytearray()
        self._fingerprints = array("Q")
        self._texts = []
        self._text_bytes = 0
        return _places(commit, self._packed, self._length)

    def read(self, at: int, length: int) -> bytes:
        """Bytes of a record that was packed, wherever it is by now."""
        if at >= self._length:
            return self._packed[at - self._length : at - self._length + length]
        return os.pread(self._file, length, at)

    def write(self, *, sync: bool) -> None:
        """Put the packed record on disk; may be called from another thread than the rest."""
        with writing(self.path):
            write_all(self._file, self._packed)
            if sync:
                os.fdatasync(self._file)
                if self._length == 0:
                    sync_folder(self.path.parent)

    def written(self) -> None:
        """The packed record is on disk."""
        self._length += len(self._packed)
        self._packed = b""

    def replay(
        self, intact: Callable[[Commit], bool] = lambda _commit: True, *, applied: int = 0
    ) -> Iterator[Replayed]:
        """Every record that counts, from the beginning (see `records.kept`); what follows the last one is cut off.

        Of the last records those are dropped, and kept in `dropped`, whose outputs are not all there: `intact` says
        so. Older ones are settled: their outputs were on disk before later records were written. `applied` is the
        last commit that the global frontier heard of.
        """
        self.dropped = []
        for record in kept(self._file, self.path, intact, applied=applied, dropped=self.dropped):
            yield self._take(record.end, record.payload)
        if not self._read_only and os.fstat(self._file).st_size > self._length:
            os.ftruncate(self._file, self._length)
            os.fsync(self._file)  # a record that was dropped must not come back

    def good_part(self) -> Iterator[Replayed]:
        """The records up to the first that is not whole, of a log that may be damaged; nothing is changed."""
        for record in whole(self._file):
            yield self._take(record.end, record.payload)

    def close(self) -> None:
        """Give the file back."""
        os.close(self._file)

    def _take(self, end: int, payload: bytes) -> Replayed:
        part, pages, _texts = LENGTHS.unpack_from(payload)
        at = LENGTHS.size + part
        rows = np.frombuffer(payload, dtype=ROW, count=pages, offset=at)
        prints = np.frombuffer(payload, dtype=np.uint64, count=pages, offset=at + pages * ROW.itemsize)
        commit, payload_at = commit_of(payload), self._length + HEAD.size
        self._note(payload_at, part, pages)
        self._length = end
        return Replayed(commit, rows, prints, _places(commit, payload, payload_at))

    def _note(self, payload_at: int, part: int, pages: int) -> None:
        if pages:
            rows_at = payload_at + LENGTHS.size + part
            self._first.append(self._pages)
            self._rows_at.append(rows_at)
            self._texts_at.append(rows_at + pages * (ROW.itemsize + 8))
            self._pages += pages


def _places(commit: Commit, record: bytes, at: int) -> list[int]:
    """Where the robots.txt files of a commit stand in the log, in their order; its record begins at `at`."""
    places, found = list[int](), 0
    for _, _, data in commit.robots:
        found = record.index(data, found)
        places.append(at + found)
        found += len(data)
    return places


def entries_of(payload: bytes) -> Iterator[Entry]:
    """The pages of a record, wherever it stands; their sites' numbers mean nothing without the records before."""
    part, pages, _texts = LENGTHS.unpack_from(payload)
    at = LENGTHS.size + part
    texts, start = at + pages * (ROW.itemsize + 8), 0
    for page in range(pages):
        via, end, site, depth, kind, steps = _ROW.unpack_from(payload, at + page * _ROW.size)
        yield Entry(payload[texts + start : texts + end].decode(), via, site, depth, kind, steps)
        start = end
