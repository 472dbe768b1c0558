"""The frontier's log: an append-only file that is both the store of URL texts and the memory across restarts.

In: what changed since the last commit. Out: one record with a checksum; later, the text of any page by its number,
and every record again in order. Nothing is ever rewritten: a record is valid or it is cut off.

A record is a head (magic, CRC of what follows, its length) and a payload: a small msgpack part, and the new pages
as three arrays behind it (rows of fixed size, fingerprints, texts), so that one page's text is two short reads away
without an index per page: the pages of one record have consecutive numbers, and the record's place is all that is
kept in memory.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from weft.store.volumes import write_all, writing

_HEAD = struct.Struct("<4sIQ")
_LENGTHS = struct.Struct("<III")
_MAGIC = b"weft"
_ROW = struct.Struct("<IIiHBB")  # end of its text, page where it was found plus one, site, depth, kind, spare
DEEPEST = 65_535  # what is deeper counts as this deep
ROW = np.dtype([("end", "<u4"), ("via", "<u4"), ("site", "<i4"), ("depth", "<u2"), ("kind", "u1"), ("spare", "u1")])


class Entry(NamedTuple):
    """What is kept of a page from its discovery."""

    url: str
    via: int  # number of the page where it was found, or -1
    site: int
    depth: int
    kind: int


class Commit(msgspec.Struct, omit_defaults=True):
    """What changed between two commits, apart from new pages."""

    sites: list[str] = []  # names of new sites, in the order of their numbers
    settled: bytes = b""  # numbers of pages that are done, uint32
    refused: bytes = b""  # numbers of pages that were refused when their turn came, uint32
    delayed: list[tuple[int, int, float]] = []  # pages to be tried again: page, tries so far, wall time
    states: list[tuple[int, bytes]] = []  # sites whose memory changed: number, encoded state
    robots: list[tuple[int, str, bytes]] = []  # robots.txt files had: site, scheme, encoded record
    scores: bytes = b""  # of the new pages, float64, where the ordering scores
    scope: list[str] = []  # what redirected seeds added to the scope
    lengths: dict[str, int] = {}  # valid length of every open output file
    counts: bytes = b""  # totals of the crawl so far, encoded by whoever counts
    clean: bool = False  # the worker stopped after this


class Replayed(NamedTuple):
    """A record read back."""

    commit: Commit
    rows: NDArray[Any]
    fingerprints: NDArray[np.uint64]


class FrontierLog:
    """The log of one local frontier."""

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self._path = path
        self._read_only = read_only
        self._file = os.open(path, os.O_RDONLY if read_only else os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        self._length = 0
        self._written: mmap.mmap | bytes = b""  # the records as far as they were there when last looked for
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
        return f"FrontierLog({self._path.name}, {self._pages} pages, {self._length} bytes)"

    @property
    def pages(self) -> int:
        """How many pages are known, those not yet committed included."""
        return self._pages + len(self._texts)

    def append(self, fingerprint: int, url: str, via: int, site: int, depth: int, kind: int) -> None:
        """Note a new page; its number is the count of those before it."""
        text = url.encode()
        self._texts.append(text)
        self._text_bytes += len(text)
        self._rows += _ROW.pack(self._text_bytes, via + 1, site, min(depth, DEEPEST), kind, 0)
        self._fingerprints.append(fingerprint)

    def entry(self, page: int) -> Entry:
        """What was noted of a page."""
        if page >= self._pages:
            at = page - self._pages
            _end, via, site, depth, kind, _ = _ROW.unpack_from(self._rows, at * _ROW.size)
            return Entry(self._texts[at].decode(), via - 1, site, depth, kind)
        record = bisect_right(self._first, page) - 1
        at = page - self._first[record]
        place = self._rows_at[record] + at * _ROW.size
        texts = self._texts_at[record]
        if texts >= len(self._written):  # behind the record's rows: if they begin within the map it holds all of it
            self._written = mmap.mmap(self._file, self._length, prot=mmap.PROT_READ)
        written = self._written
        start = _ROW.unpack_from(written, place - _ROW.size)[0] if at else 0
        end, via, site, depth, kind, _ = _ROW.unpack_from(written, place)
        return Entry(written[texts + start : texts + end].decode(), via - 1, site, depth, kind)

    def commit(self, commit: Commit) -> None:
        """Write what changed as one record."""
        part = msgspec.msgpack.encode(commit)
        texts = b"".join(self._texts)
        payload = b"".join(
            (
                _LENGTHS.pack(len(part), len(self._texts), len(texts)),
                part,
                self._rows,
                self._fingerprints.tobytes(),
                texts,
            )
        )
        head = _HEAD.pack(_MAGIC, zlib.crc32(payload), len(payload))
        with writing(self._path):
            write_all(self._file, head + payload)
        self._note(self._length + len(head), len(part), len(self._texts))
        self._length += len(head) + len(payload)
        self._rows = bytearray()
        self._fingerprints = array("Q")
        self._texts = []
        self._text_bytes = 0

    def replay(self) -> Iterator[Replayed]:
        """Every valid record from the beginning; what follows the last valid one is cut off."""
        size = os.fstat(self._file).st_size
        self._length = 0
        while self._length < size:
            head = os.pread(self._file, _HEAD.size, self._length)
            if len(head) < _HEAD.size:
                break
            magic, crc, length = _HEAD.unpack(head)
            if magic != _MAGIC or self._length + _HEAD.size + length > size:
                break
            payload = os.pread(self._file, length, self._length + _HEAD.size)
            if len(payload) < length or zlib.crc32(payload) != crc:
                break
            yield self._read(payload)
            self._length += _HEAD.size + length
        if not self._read_only:
            os.ftruncate(self._file, self._length)

    def close(self) -> None:
        """Give the file back."""
        os.close(self._file)

    def _read(self, payload: bytes) -> Replayed:
        part, pages, _texts = _LENGTHS.unpack_from(payload)
        at = _LENGTHS.size
        commit = msgspec.msgpack.decode(payload[at : at + part], type=Commit)
        at += part
        rows = np.frombuffer(payload, dtype=ROW, count=pages, offset=at)
        prints = np.frombuffer(payload, dtype=np.uint64, count=pages, offset=at + pages * ROW.itemsize)
        self._note(self._length + _HEAD.size, part, pages)
        return Replayed(commit, rows, prints)

    def _note(self, payload_at: int, part: int, pages: int) -> None:
        if pages:
            rows_at = payload_at + _LENGTHS.size + part
            self._first.append(self._pages)
            self._rows_at.append(rows_at)
            self._texts_at.append(rows_at + pages * (ROW.itemsize + 8))
            self._pages += pages
