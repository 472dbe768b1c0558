"""The frontier's log: append-only files that are both the store of URL texts and the memory across restarts.

In: what changed since the last commit. Out: one record with a checksum; later, the text of any page by its number,
and every record again in order. Nothing is ever rewritten: a record is valid or it is cut off. Which files there are
says `chain`: the log that grows, others that were closed before, and segments of a checkpoint.

The payload of a record is a small msgpack part, and the new pages as four arrays behind it (keys, sites, rows of fixed
size, texts), so that one page's text is a few short reads away without an index per page: the pages of one record have
consecutive numbers, and the record's place is all that is kept in memory. Segments have the same records, large ones.

A record is made in two steps: `pack` takes what changed, at one moment, and `write` puts it on disk, in a thread
beside the loop if need be. Between the two its pages are read from memory.
"""

from __future__ import annotations

import mmap
import os
import shutil
import struct
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from weft.disk import rename, sync_folder, write_all, writing
from weft.frontier.durable.chain import Base, Chain, Segment, open_chain, records_behind, remove_stale, sibling
from weft.frontier.durable.records import (
    HEAD,
    LENGTHS,
    MAGIC,
    Commit,
    LogHead,
    commit_of,
    encoded,
    kept,
    packed_head,
    whole,
)
from weft.model import SiteNumber, UrlId
from weft.store.files import SETTLED, damaged

__all__ = ["Commit", "Entry", "Extent", "FrontierLog", "Replayed", "entries_of"]

_ROW = struct.Struct("<QIHBB")  # where it was found, end of its text, depth, kind, steps
_SITE = struct.Struct("<i")
# Pages read of a file, after which what was read no longer counts as our memory; each may map 64 KB of it.
_FORGET = 2_000
DEEPEST = 65_535  # what is deeper counts as this deep
MOST_STEPS = 255  # likewise
ROW = np.dtype([("via", "<u8"), ("end", "<u4"), ("depth", "<u2"), ("kind", "u1"), ("steps", "u1")])
_READERS = 2  # threads that read a checkpoint
_COLUMNS = 12  # bytes a page of the arrays that are read when a crawl goes on: its key and its site


class Entry(NamedTuple):
    """What is kept of a page from its discovery."""

    url: str
    via: UrlId  # the page where it was found first, `NO_ID` for a seed
    site: SiteNumber
    depth: int
    kind: int
    steps: int = 0  # redirects in a row that led to it; of a sitemap or a part: such as it above it


class Extent(NamedTuple):
    """Where something stands that is read again."""

    file: str  # "3.log" or "3.robots": of this number and kind
    at: int
    length: int


class Replayed(NamedTuple):
    """A record read back."""

    commit: Commit
    keys: NDArray[np.uint64]
    sites: NDArray[np.int32]
    rows: NDArray[Any]
    texts: memoryview
    robots_at: list[Extent]  # where each of its robots.txt files stands
    log: int  # the number of the log that it is in


class Chunk(msgspec.Struct, omit_defaults=True):
    """What a record of a segment says of itself."""

    columns: int = 0  # the checksum of keys and sites


class _Part:
    """A file with records."""

    __slots__ = ("_map", "_reads", "file", "length", "name")

    def __init__(self, name: str, file: int, length: int = 0) -> None:
        self.name = name
        self.file = file
        self.length = length  # of the records that are on disk
        self._map: mmap.mmap | bytes = b""  # these, as far as they were there when last looked for
        self._reads = 0  # of the map, since it was last forgotten

    def upto(self, end: int) -> mmap.mmap | bytes:
        """What is on disk, at least up to a place."""
        if end > len(self._map):
            try:
                self._map = mmap.mmap(self.file, self.length, prot=mmap.PROT_READ)
            except ValueError:
                raise damaged("it is shorter than it was", self.name) from None
        self._reads += 1
        if self._reads >= _FORGET and isinstance(self._map, mmap.mmap):
            self._reads = 0
            self._map.madvise(mmap.MADV_DONTNEED)
        return self._map


class FrontierLog:
    """The log of one local frontier."""

    def __init__(self, path: Path, *, read_only: bool = False, private: bool = False, life: int = 0) -> None:
        """A log that is not there yet begins with nothing; `life` tells it from one whose place it takes."""
        self.path = path
        self._read_only = read_only
        self._private = private
        self._chain = open_chain(path, read_only=read_only, private=private)
        self._head = self._chain.head or LogHead(0, life)
        self._packed = b""  # the record that is to be written, or is being written
        self._rolls = False  # it begins another file
        self.dropped: list[Commit] = []  # records at the end whose outputs were not all there
        # By record: its first page, how many it has, where its arrays begin, and in which file.
        self._first = array("q")
        self._count = array("q")
        self._at = array("q")
        self._file = array("i")
        self._pages = self.first
        self._parts: list[_Part] = []
        self._retired: list[_Part] = []  # logs that a checkpoint stands for, until nobody reads them any more
        self._retired_base: Base | None = None
        self._take_segments(self.base)
        number = self._head.number - len(self._chain.logs) + 1
        for place, log in enumerate(self._chain.logs):
            self._parts.append(_Part(f"{number + place}.log", log.file, log.begin))
        # The new pages of the next record.
        self._keys = array("Q")
        self._sites = array("i")
        self._rows = bytearray()
        self._texts: list[bytes] = []
        self._text_bytes = 0

    def __repr__(self) -> str:
        return f"FrontierLog({self.path.name}, {self._pages} pages, {self.size} bytes)"

    @property
    def base(self) -> Base | None:
        """The checkpoint that it goes on from."""
        return self._chain.base

    @property
    def first(self) -> int:
        """The first page that the checkpoint has; what was before is on the shelf."""
        return 0 if self.base is None else self.base.manifest.first

    @property
    def pages(self) -> int:
        """How many numbers of pages were given, those not yet committed included."""
        return self._pages + len(self._texts)

    @property
    def number(self) -> int:
        """Of the file that grows."""
        return self._head.number

    @property
    def life(self) -> int:
        """What its checkpoints have in common with it."""
        return self._head.life

    def settled(self) -> bool:
        """Is there a closed log, and is all settled that closed logs say? So many commits are behind it."""
        return self.closed and records_behind(self._chain.grows) >= SETTLED

    @property
    def closed(self) -> bool:
        """Are there closed logs that are in no checkpoint?"""
        return sum(part.name.endswith(".log") for part in self._parts) > 1

    @property
    def size(self) -> int:
        """Bytes in the file that grows."""
        return self._parts[-1].length

    def append(self, key: int, url: str, via: UrlId, site: SiteNumber, depth: int, kind: int, steps: int = 0) -> None:
        """Note a new page, found on the one with the id `via`; its number is the count of those before it."""
        text = url.encode()
        self._texts.append(text)
        self._text_bytes += len(text)
        self._rows += _ROW.pack(via, self._text_bytes, min(depth, DEEPEST), kind, min(steps, MOST_STEPS))
        self._keys.append(key)
        self._sites.append(site)

    def entry(self, page: int) -> Entry:
        """What was noted of a page."""
        if page >= self._pages:
            at = page - self._pages
            via, _end, depth, kind, steps = _ROW.unpack_from(self._rows, at * _ROW.size)
            return Entry(self._texts[at].decode(), via, self._sites[at], depth, kind, steps)  # type: ignore[arg-type]
        record = bisect_right(self._first, page) - 1
        at = page - self._first[record]
        count, begin = self._count[record], self._at[record]
        part = self._parts[self._file[record]]
        rows = begin + count * _COLUMNS
        place = rows + at * _ROW.size
        texts = rows + count * _ROW.size
        if begin >= part.length:
            written: mmap.mmap | bytes = self._packed
            begin, place, texts = begin - part.length, place - part.length, texts - part.length
        else:
            written = part.upto(texts)  # if a record begins within the map, the map holds all of it
        start = _ROW.unpack_from(written, place - _ROW.size)[1] if at else 0
        via, end, depth, kind, steps = _ROW.unpack_from(written, place)
        (site,) = _SITE.unpack_from(written, begin + 8 * count + 4 * at)
        return Entry(written[texts + start : texts + end].decode(), via, site, depth, kind, steps)

    def pages_of(self, url: str) -> list[int]:
        """The pages of a URL, oldest first, found by its text: all texts of its length are looked at."""
        text, found = url.encode(), list[int]()
        for first, count, begin, which in zip(self._first, self._count, self._at, self._file, strict=True):
            file, rows_at = self._parts[which].file, begin + count * _COLUMNS
            rows = np.frombuffer(os.pread(file, count * ROW.itemsize, rows_at), ROW)
            ends = rows["end"].astype(np.int64)
            starts = np.concatenate(([0], ends[:-1]))
            texts_at = rows_at + count * ROW.itemsize
            for place in np.flatnonzero(ends - starts == len(text)).tolist():
                if os.pread(file, len(text), texts_at + int(starts[place])) == text:
                    found.append(first + place)
        return found

    def commit(self, commit: Commit, *, sync: bool = False) -> None:
        """Write what changed as one record."""
        self.pack(commit)
        self.write(sync=sync)
        self.written()

    def pack(self, commit: Commit, *, roll: bool = False) -> list[Extent]:
        """Take what changed as one record, to be written next; where each of its robots.txt files stands. It may begin
        another file: then the one that grew so far is closed.
        """
        assert not self._packed, "one record at a time"
        self._rolls = roll and self.size > 0
        if self._rolls:
            self._head = LogHead(self._head.number + 1, self._head.life)
            self._parts.append(_Part(f"{self._head.number}.log", -1))
        part = self._parts[-1]
        head = b"" if part.length else packed_head(self._head)
        data = encoded(commit)
        texts = b"".join(self._texts)
        lengths = LENGTHS.pack(len(data), len(self._texts), len(texts))
        payload = b"".join((lengths, data, self._keys.tobytes(), self._sites.tobytes(), self._rows, texts))
        self._packed = b"".join((head, HEAD.pack(MAGIC, isal_zlib.crc32(payload), len(payload)), payload))
        payload_at = part.length + len(head) + HEAD.size
        self._note(len(self._parts) - 1, payload_at, len(data), len(self._texts))
        self._keys = array("Q")
        self._sites = array("i")
        self._rows = bytearray()
        self._texts = []
        self._text_bytes = 0
        return _extents(commit, payload, part.name, payload_at)

    def read(self, extent: Extent) -> bytes:
        """What stands at an extent, wherever its record is by now."""
        name, at, length = extent
        part = self._parts[-1]
        if name == part.name and at >= part.length:
            return self._packed[at - part.length : at - part.length + length]
        data = os.pread(self._file_of(name), length, at)
        if len(data) != length:
            number, _, kind = name.partition(".")
            raise damaged("it is not as long as it was", sibling(self.path, int(number), kind))
        return data

    def _file_of(self, name: str) -> int:
        if name.endswith(".log"):
            return next(part.file for part in (*self._parts, *self._retired) if part.name == name)
        for base in (self.base, self._retired_base):
            if base is not None and base.has(name):
                return base.file(name)
        raise damaged("it is missing", self.path)

    def write(self, *, sync: bool) -> None:
        """Put the packed record on disk; may be called from another thread than the rest. Where the disk was full it
        may be called again: half a record is cut off first.
        """
        with writing(self.path):
            if self._rolls:
                self._begin(self._parts[-1], sync=sync)
                return
            if os.fstat(self._parts[-1].file).st_size > self.size:
                os.ftruncate(self._parts[-1].file, self.size)
            write_all(self._parts[-1].file, self._packed)
            if sync:
                os.fdatasync(self._parts[-1].file)
                if self.size == 0:
                    sync_folder(self.path.parent)

    def _begin(self, part: _Part, *, sync: bool) -> None:
        """Write the record to a file of its own, which takes the log's name when it is whole."""
        if part.file >= 0:  # it is tried again
            if os.path.samestat(os.fstat(part.file), self.path.stat()):  # and had its name already
                sync_folder(self.path.parent)
                return
            os.close(part.file)
            part.file = -1
        beside = self.path.with_name(f"{self.path.name}.next")
        closed = sibling(self.path, self._head.number - 1, "log")
        beside.unlink(missing_ok=True)
        closed.unlink(missing_ok=True)
        how = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND
        part.file = os.open(beside, how, 0o600 if self._private else 0o644)
        write_all(part.file, self._packed)
        if sync:
            os.fdatasync(part.file)
        try:
            os.link(self.path, closed)
        except OSError:  # a file system without links
            shutil.copyfile(self.path, closed)
            shutil.copymode(self.path, closed)
        if sync:
            sync_folder(self.path.parent)
        rename(beside, self.path, durable=sync)

    def written(self) -> None:
        """The packed record is on disk."""
        self._parts[-1].length += len(self._packed)
        self._packed = b""
        self._rolls = False

    def replay(
        self, intact: Callable[[Commit], bool] = lambda _commit: True, *, applied: int = 0
    ) -> Iterator[Replayed]:
        """Every record that counts, from the checkpoint on (see `records.kept`); what follows the last one is cut off.

        Of the last records those are dropped, and kept in `dropped`, whose outputs are not all there: `intact` says
        so. Older ones are settled: their outputs were on disk before later records were written. `applied` is the
        last commit that the global frontier heard of.
        """
        self.dropped = []
        logs = self._chain.logs
        parts = self._parts[-len(logs) :]
        last = None if self.base is None else self.base.manifest.last
        for place, record in kept(logs, intact, applied=applied, dropped=self.dropped, last=last):
            yield self._take(len(self._parts) - len(logs) + place, record.end, record.payload)
        for part in parts if not self._read_only else ():
            if os.fstat(part.file).st_size > part.length:
                os.ftruncate(part.file, part.length)
                os.fsync(part.file)  # a record that was dropped must not come back

    def good_part(self) -> Iterator[Replayed]:
        """The records up to the first that is not whole, of a log that may be damaged; nothing is changed."""
        logs = self._chain.logs
        for place, log in enumerate(logs):
            part = len(self._parts) - len(logs) + place
            for record in whole(log.file, log.begin):
                yield self._take(part, record.end, record.payload)
            if self._parts[part].length < os.fstat(log.file).st_size:
                return

    def read_columns(self, keys: NDArray[np.uint64] | None, sites: NDArray[np.int32]) -> None:
        """Read keys and sites of the pages of the checkpoint, in their order, to where they are wanted: by threads, as
        memory that is new to a process is slow when it is first written to.
        """

        def read(segment: Segment, file: int, at: int, data: int, some: slice) -> None:
            said = msgspec.msgpack.decode(os.pread(file, data, at + LENGTHS.size), type=Chunk)
            count = some.stop - some.start
            there: list[Any] = [np.empty(count, np.uint64) if keys is None else keys[some], sites[some]]
            length = os.preadv(file, there, at + LENGTHS.size + data)
            if length != count * _COLUMNS or isal_zlib.crc32(there[1], isal_zlib.crc32(there[0])) != said.columns:
                raise damaged("it is not as it was written", sibling(self.path, segment.number, segment.kind))

        first, reading = 0, list[Future[None]]()
        with ThreadPoolExecutor(_READERS, "columns") as readers:
            for segment, file in self._segments(self.base):
                for at, data, count in _chunks(file, segment.length):
                    reading.append(readers.submit(read, segment, file, at, data, slice(first, first + count)))
                    first += count
            for each in reading:
                each.result()

    def stored(self) -> Iterator[tuple[int, NDArray[np.int32], NDArray[Any], bytes]]:
        """All pages that are on disk, in their order, piece by piece: the number of the first, their sites, what was
        noted of each, and their texts.
        """
        for first, count, begin, which in zip(self._first, self._count, self._at, self._file, strict=True):
            file, rows_at = self._parts[which].file, begin + count * _COLUMNS
            sites = np.frombuffer(os.pread(file, 4 * count, begin + 8 * count), np.int32)
            rows = np.frombuffer(os.pread(file, count * ROW.itemsize, rows_at), ROW)
            texts = os.pread(file, int(rows["end"][-1]), rows_at + count * ROW.itemsize)
            yield first, sites, rows, texts

    def closed_records(self) -> Iterator[Replayed]:
        """The records of the logs that are closed: all of them are settled, and whole."""
        logs = self._chain.logs[:-1]
        for place, log in enumerate(logs):
            part = len(self._parts) - len(logs) - 1 + place
            for record in whole(log.file, log.begin):
                yield self._take(part, record.end, record.payload)
            if self._parts[part].length < os.fstat(log.file).st_size:
                raise damaged("a record of it is bad", log.path)

    def adopt(self, base: Base) -> None:
        """A checkpoint has all that closed logs said: pages are read from its segments from now on. What was there
        before can be read until `retire`.
        """
        logs = [part for part in self._parts if part.name.endswith(".log")]
        old = dict(enumerate(self._parts))
        records = list(zip(self._first, self._count, self._at, self._file, strict=True))
        pages = self._pages
        self._retired = [part for part in logs if _number(part.name) < base.manifest.number]
        self._retired_base, self._chain = self.base, Chain(base, [], self._head)
        self._first, self._count, self._at, self._file = array("q"), array("q"), array("q"), array("i")
        self._parts, self._pages = [], self.first
        self._take_segments(base)
        self._parts += [part for part in logs if part not in self._retired]
        for first, count, at, file in records:
            if old[file] in self._parts:
                self._first.append(first)
                self._count.append(count)
                self._at.append(at)
                self._file.append(self._parts.index(old[file]))
        self._pages = pages

    def retire(self) -> None:
        """Nobody reads any more what was before the checkpoint that was adopted last."""
        for part in self._retired:
            os.close(part.file)
        if self._retired_base is not None:
            self._retired_base.close()
        self._retired, self._retired_base = [], None

    def tidy(self) -> None:
        """Remove files that do not count."""
        with writing(self.path):
            remove_stale(self.path, self._chain._replace(head=self._head))

    def close(self) -> None:
        """Give the files back."""
        self.retire()
        for part in self._parts:
            if part.name.endswith(".log") and part.file >= 0:
                os.close(part.file)
        if self.base is not None:
            self.base.close()
        self._parts = []

    @staticmethod
    def _segments(base: Base | None) -> Iterator[tuple[Segment, int]]:
        """The segments of a checkpoint that have pages, open."""
        for segment in base.manifest.segments if base is not None else ():
            if base is not None and segment.kind == "pages":
                yield segment, base.segment(segment)

    def _take_segments(self, base: Base | None) -> None:
        for segment, file in self._segments(base):
            self._parts.append(_Part(f"{segment.number}.pages", file, segment.length))
            before = self._pages
            for at, data, count in _chunks(file, segment.length):
                self._note(len(self._parts) - 1, at, data, count)
            if self._pages - before != segment.pages:
                raise damaged("it is not as it was written", sibling(self.path, segment.number, segment.kind))

    def _take(self, place: int, end: int, payload: bytes) -> Replayed:
        part = self._parts[place]
        data, count, _texts = LENGTHS.unpack_from(payload)
        at = LENGTHS.size + data
        commit, payload_at = commit_of(payload), end - len(payload)
        self._note(place, payload_at, data, count)
        part.length = end
        return Replayed(
            commit,
            np.frombuffer(payload, np.uint64, count, at),
            np.frombuffer(payload, np.int32, count, at + 8 * count),
            np.frombuffer(payload, ROW, count, at + _COLUMNS * count),
            memoryview(payload)[at + (_COLUMNS + ROW.itemsize) * count :],
            _extents(commit, payload, part.name, payload_at),
            _number(part.name),
        )

    def _note(self, place: int, payload_at: int, part: int, count: int) -> None:
        if count:
            self._first.append(self._pages)
            self._count.append(count)
            self._at.append(payload_at + LENGTHS.size + part)
            self._file.append(place)
            self._pages += count


def _chunks(file: int, length: int) -> Iterator[tuple[int, int, int]]:
    """The records of a segment: where the payload of each begins, how long its first part is, how many pages it has."""
    at = 0
    while at < length:
        head = os.pread(file, HEAD.size + LENGTHS.size, at)
        if len(head) < HEAD.size + LENGTHS.size or not head.startswith(MAGIC):
            return
        _magic, _checksum, payload = HEAD.unpack_from(head)
        data, count, _texts = LENGTHS.unpack_from(head, HEAD.size)
        yield at + HEAD.size, data, count
        at += HEAD.size + payload


def _number(name: str) -> int:
    return int(name.partition(".")[0])


def _extents(commit: Commit, payload: bytes, file: str, at: int) -> list[Extent]:
    """Where the robots.txt files of a commit stand, in their order; its payload begins at `at`."""
    places, found = list[Extent](), 0
    for _, _, data in commit.robots:
        found = payload.index(data, found)
        places.append(Extent(file, at + found, len(data)))
        found += len(data)
    return places


def packed_chunk(keys: bytes, sites: bytes, rows: bytes, texts: bytes) -> bytes:
    """A record of a segment."""
    part = msgspec.msgpack.encode(Chunk(isal_zlib.crc32(sites, isal_zlib.crc32(keys))))
    lengths = LENGTHS.pack(len(part), len(keys) // 8, len(texts))
    payload = b"".join((lengths, part, keys, sites, rows, texts))
    return HEAD.pack(MAGIC, isal_zlib.crc32(payload), len(payload)) + payload


def entries_of(payload: bytes) -> Iterator[Entry]:
    """The pages of a record, wherever it stands; their sites' numbers mean nothing without the records before."""
    part, pages, _texts = LENGTHS.unpack_from(payload)
    sites = LENGTHS.size + part + 8 * pages
    rows = sites + 4 * pages
    texts, start = rows + pages * _ROW.size, 0
    for page in range(pages):
        via, end, depth, kind, steps = _ROW.unpack_from(payload, rows + page * _ROW.size)
        (site,) = _SITE.unpack_from(payload, sites + 4 * page)
        yield Entry(payload[texts + start : texts + end].decode(), via, site, depth, kind, steps)
        start = end
