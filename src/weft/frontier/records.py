"""The records of a frontier's log as bytes. In: a file. Out: what each record says, and which records count.

A record is a head (magic, CRC of what follows, its length) and a payload. A crash may leave less than a record at the
end, and a disk that loses what it said it had synced may lose the last two records, or what they promise of other
files: these are dropped. Anything else is no accident of writing. Records that were settled are missing or bad, and
whoever reads the log is told so (`damaged`) before anything is cut.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
from isal import isal_zlib

from weft.errors import WeftError
from weft.store.files import SETTLED, Mark, damaged

HEAD = struct.Struct("<4sIQ")
LENGTHS = struct.Struct("<III")
MAGIC = b"weft"
_AT_ONCE = 1 << 24  # bytes of a log that are looked at in one go


class Commit(msgspec.Struct, omit_defaults=True):
    """What changed between two commits, apart from new pages."""

    sites: list[str] = []  # names of new sites, in the order of their numbers
    settled: bytes = b""  # numbers of pages that are done, uint32
    refused: dict[str, bytes] = {}  # by reason: numbers of pages that were refused when their turn came, uint32
    replaced: bytes = b""  # numbers of pages that are fetched again, under new numbers; uint32
    redirects: bytes = b""  # pages that were found by a redirect, each with the page that it was on; uint32
    delayed: list[tuple[int, int, float]] = []  # pages to be tried again: page, tries so far, wall time
    states: list[tuple[int, bytes]] = []  # sites whose memory changed: number, encoded state
    jars: list[tuple[int, bytes]] = []  # sites whose cookies changed: number, encoded cookies
    robots: list[tuple[int, str, bytes]] = []  # robots.txt files had: site, scheme, encoded record
    scores: bytes = b""  # of the new pages, float64, where the ordering scores
    rescored: bytes = b""  # pages whose scores changed, uint32
    rescores: bytes = b""  # … to these, float64
    edges: bytes = b""  # of visited pages, where scores are computed from them: page, number of links, these; int32
    requests: list[tuple[int, bytes]] = []  # pages that are asked for in a way of their own: page, encoded `Special`
    sent: list[tuple[int, bool]] = []  # pages that are about to be asked for, once, or are so no more
    scope: list[str] = []  # what redirected seeds added to the scope
    marks: dict[str, Mark] = {}  # how far every output file is valid that is not sealed
    counts: bytes = b""  # totals of the crawl so far, encoded by whoever counts
    batch: bytes = b""  # what the global frontier is to be told, encoded
    number: int = 0  # of that batch; each record has one
    taken: int = 0  # how far this worker's inbox was read
    version: int = 0  # how far the global frontier was when it was last heard of
    groups: list[str] = []  # that were checked out
    left: list[int] = []  # sites that were checked in: numbers
    wall: float = 0.0  # when it was made
    clean: bool = False  # the worker stopped after this


class Whole(NamedTuple):
    """A record whose checksum is right."""

    start: int
    end: int
    payload: bytes

    def commit(self) -> Commit:
        """What it says, but for its pages."""
        return commit_of(self.payload)


def commit_of(payload: bytes) -> Commit:
    """The part of a record that is not pages."""
    part, _pages, _texts = LENGTHS.unpack_from(payload)
    return msgspec.msgpack.decode(memoryview(payload)[LENGTHS.size : LENGTHS.size + part], type=Commit)


def whole(file: int, at: int = 0) -> Iterator[Whole]:
    """The records from a place on, up to the first that is not whole."""
    size = os.fstat(file).st_size
    while at < size:
        found = _record_at(file, at, size)
        if found is None:
            return
        yield found
        at = found.end


def _record_at(file: int, at: int, size: int) -> Whole | None:
    head = os.pread(file, HEAD.size, at)
    if len(head) < HEAD.size:
        return None
    magic, crc, length = HEAD.unpack(head)
    if magic != MAGIC or at + HEAD.size + length > size:
        return None
    payload = os.pread(file, length, at + HEAD.size)
    if len(payload) < length or isal_zlib.crc32(payload) != crc:
        return None
    return Whole(at, at + HEAD.size + length, payload)


def behind(file: int, at: int) -> Iterator[Whole]:
    """The whole records behind a bad one that begins here."""
    size = os.fstat(file).st_size
    while 0 <= at < size:
        at = _next_magic(file, at + 1, size)
        if at >= 0 and (found := _record_at(file, at, size)) is not None:
            yield found
            at = found.end
            for record in whole(file, at):
                yield record
                at = record.end


def _next_magic(file: int, at: int, size: int) -> int:
    """Where the magic stands next, or -1."""
    while at < size:
        start = at - at % mmap.ALLOCATIONGRANULARITY
        length = min(size - start, _AT_ONCE)
        with mmap.mmap(file, length, prot=mmap.PROT_READ, offset=start) as window:
            place = window.find(MAGIC, at - start)
        if place >= 0:
            return start + place
        at = max(at + 1, start + length - len(MAGIC) + 1) if start + length < size else size
    return -1


def kept(
    file: int,
    path: Path,
    intact: Callable[[Commit], bool] = lambda _commit: True,
    *,
    applied: int = 0,
    dropped: list[Commit] | None = None,
) -> Iterator[Whole]:
    """The records that count, from the beginning.

    Of the last two those are `dropped` whose outputs are not all there (`intact` says so), or that are not whole. The
    global frontier says which commit it heard of last (`applied`). Where more is missing than the last two, the log is
    damaged: that is raised behind the last good record, so whoever changes files does so afterwards.
    """
    undecided: deque[Whole] = deque()
    last: Whole | None = None
    end = 0
    for record in whole(file):
        end = record.end
        undecided.append(record)
        if len(undecided) > SETTLED:
            last = undecided.popleft()
            yield last
    lost = sum(1 for _ in behind(file, end))
    if lost >= SETTLED:
        raise damaged(f"a record of it is bad, and {lost} good ones are behind it", path)
    while undecided and intact(undecided[0].commit()):
        last = undecided.popleft()
        yield last
    commit = Commit() if last is None else last.commit()
    if commit.number + SETTLED < applied:
        raise damaged(f"its last commits are missing: it ends with number {commit.number}, {applied} was there", path)
    if len(undecided) == SETTLED and last is not None and not intact(commit):
        raise damaged("files that it names are not as they were committed long ago", path)
    if dropped is not None:
        dropped += [record.commit() for record in undecided]


def records_of(path: Path) -> Iterator[Whole]:
    """Every whole record of a log, those behind bad ones too; it is only read."""
    file = _open(path)
    try:
        end = 0
        for record in whole(file):
            yield record
            end = record.end
        yield from behind(file, end)
    finally:
        os.close(file)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY)
    except OSError as error:
        raise WeftError(f"cannot read: {error.strerror}", where=str(path), todo="look at its permissions") from error
