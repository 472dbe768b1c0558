"""The records of a frontier's log as bytes. In: files. Out: what each record says, and which records count.

A log begins with a head: a magic, the version of the format, and what tells it from others. A record is a magic, the
CRC of what follows, its length, and a payload. A crash may leave less than a record at the end, and a disk that loses
what it said it had synced may lose the last two records, or what they promise of other files: these are dropped.
Anything else is no accident of writing. Records that were settled are missing or bad, and whoever reads the log is told
so (`damaged`) before anything is cut.

What is new in a format has a key and a default, so that older files can be read; the version changes only where that
is not enough.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from isal import isal_zlib

from weft.errors import WeftError
from weft.store.files import SETTLED, Mark, damaged, other_format

HEAD = struct.Struct("<4sIQ")
LENGTHS = struct.Struct("<III")
MAGIC = b"weft"
VERSION = 2  # of logs and checkpoints; 1 had no head
_BEGIN = struct.Struct("<8sIII")  # of a log: magic, version, length and CRC of its head
_BEGINNING = b"weft log"
_AT_ONCE = 1 << 24  # bytes of a log that are looked at in one go


class LogHead(msgspec.Struct, omit_defaults=True, frozen=True):
    """What tells a log from others."""

    number: int = 0  # how many logs of the same life came before it
    life: int = 0  # how often the frontier began with nothing; the same in all its logs and checkpoints


class Shelved(msgspec.Struct, array_like=True, frozen=True):
    """A group that is put away: what is known of it without looking into its files."""

    key: int  # of its name, under the crawl's secret
    group: str
    sites: list[int]  # numbers, which stand for them no more
    pending: int  # pages that may be visited, those of sites that were set aside not counted
    pages: int  # that are known
    worth: float  # of the best of those that may be visited, by the ordering
    at: float  # wall time before which nothing can be done there
    aside: bool  # a site of it was set aside


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
    application: bytes = b""  # the state of the worker's application, where it changed; encoded by whoever hosts it
    untold: bytes = b""  # what an application in a process of its own has not been told yet, encoded likewise
    marks: dict[str, Mark] = {}  # how far every output file is valid that is not sealed
    counts: bytes = b""  # totals of the crawl so far, encoded by whoever counts
    batch: bytes = b""  # what the global frontier is to be told, encoded
    number: int = 0  # of that batch; each record has one
    taken: int = 0  # how far this worker's inbox was read
    version: int = 0  # how far the global frontier was when it was last heard of
    groups: list[str] = []  # that were checked out
    left: list[int] = []  # sites that were checked in: numbers
    shelved: list[Shelved] = []  # groups that are put away, and stay ours
    unshelved: list[tuple[int, int]] = []  # groups that came back, or their mail: key, the checkpoint where it was read
    mail: list[tuple[int, int, float, bytes]] = []  # for groups on the shelf: key, how many notices, worth, encoded
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


class LogFile(NamedTuple):
    """A log that is open."""

    file: int
    path: Path
    begin: int  # where its first record begins


def packed_head(head: LogHead, version: int = VERSION) -> bytes:
    """How a log begins.

    >>> packed_head(LogHead(3))[:8]
    b'weft log'
    """
    data = msgspec.msgpack.encode(head)
    return _BEGIN.pack(_BEGINNING, version, len(data), _checksum(version, data)) + data


def _checksum(version: int, data: bytes) -> int:
    """Of a head, its version included: a version that is garbled is damage, and no other version."""
    return isal_zlib.crc32(data, version)


def read_head(file: int, path: Path) -> tuple[LogHead, int] | None:
    """The head of a log, and where its first record begins; None where it is not whole. A log of another version is
    refused.
    """
    found = head_of_any(file)
    if found is None:
        if record_at(file, 0, os.fstat(file).st_size) is not None:
            check_version(1, path)
        return None
    head, begin, version = found
    check_version(version, path)
    return head, begin


def head_of_any(file: int) -> tuple[LogHead, int, int] | None:
    """The head of a log of any version that has one, where its first record begins, and its version."""
    begin = os.pread(file, _BEGIN.size, 0)
    if not begin.startswith(_BEGINNING) or len(begin) < _BEGIN.size:
        return None
    _magic, version, length, checksum = _BEGIN.unpack(begin)
    data = os.pread(file, min(length, 1 << 16), _BEGIN.size)
    if len(data) < length or _checksum(version, data) != checksum:
        return None
    return msgspec.msgpack.decode(data, type=LogHead), _BEGIN.size + length, version


def check_version(version: int, path: Path) -> None:
    """Refuse what another version of weft wrote."""
    if version != VERSION:
        raise other_format("this", version, VERSION, path)


def encoded(commit: Commit) -> bytes:
    """The part of a record that is not pages, as bytes."""
    return msgspec.msgpack.encode(commit)


def commit_of(payload: bytes) -> Commit:
    """The part of a record that is not pages."""
    part, _pages, _texts = LENGTHS.unpack_from(payload)
    return msgspec.msgpack.decode(memoryview(payload)[LENGTHS.size : LENGTHS.size + part], type=Commit)


def whole(file: int, at: int = 0) -> Iterator[Whole]:
    """The records from a place on, up to the first that is not whole."""
    size = os.fstat(file).st_size
    while at < size:
        found = record_at(file, at, size)
        if found is None:
            return
        yield found
        at = found.end


def places(file: int, at: int, size: int) -> Iterator[int]:
    """Where the records from a place on begin, by their lengths alone; the last one need not be whole."""
    while at < size:
        head = os.pread(file, HEAD.size, at)
        if len(head) < HEAD.size or head[: len(MAGIC)] != MAGIC:
            return
        yield at
        at += HEAD.size + HEAD.unpack(head)[2]


def record_at(file: int, at: int, size: int) -> Whole | None:
    """The record that begins at a place; None where it is not whole."""
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
        if at >= 0 and (found := record_at(file, at, size)) is not None:
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
    logs: Sequence[LogFile],
    intact: Callable[[Commit], bool] = lambda _commit: True,
    *,
    applied: int = 0,
    dropped: list[Commit] | None = None,
    last: Commit | None = None,
) -> Iterator[tuple[int, Whole]]:
    """The records that count, from the beginning, each with the place of its log in `logs`, which follow each other.

    Of the last two those are `dropped` whose outputs are not all there (`intact` says so), or that are not whole. The
    global frontier says which commit it heard of last (`applied`); `last` is the commit before the first record. Where
    more is missing than the last two, the log is damaged: that is raised behind the last good record, so whoever
    changes files does so afterwards.
    """
    undecided: deque[tuple[int, Whole]] = deque()
    good: Whole | None = None
    lost, bad, broken = 0, logs[-1].path, False
    for place, (file, path, begin) in enumerate(logs):
        end = begin - broken  # behind a bad record the first one may be good
        for record in () if broken else whole(file, begin):
            end = record.end
            undecided.append((place, record))
            if len(undecided) > SETTLED:
                good = undecided[0][1]
                yield undecided.popleft()
        found = sum(1 for _ in behind(file, end))
        lost += found
        if not broken and (found or (place + 1 < len(logs) and end < os.fstat(file).st_size)):
            broken, bad = True, path
    if lost >= SETTLED:
        raise damaged(f"a record of it is bad, and {lost} good ones are behind it", bad)
    while undecided and intact(undecided[0][1].commit()):
        good = undecided[0][1]
        yield undecided.popleft()
    ends = good.commit() if good is not None else last
    commit = ends or Commit()
    if commit.number + SETTLED < applied:
        raise damaged(f"its last commits are missing: it ends with number {commit.number}, {applied} was there", bad)
    if len(undecided) == SETTLED and ends is not None and not intact(commit):
        raise damaged("files that it names are not as they were committed long ago", bad)
    if dropped is not None:
        dropped += [record.commit() for _, record in undecided]


def records_of(path: Path, *, headed: bool = True) -> Iterator[Whole]:
    """Every whole record of a file, those behind bad ones too; it is only read. A segment has no head."""
    file = _open(path)
    try:
        head = read_head(file, path) if headed else (None, 0)
        end = 0 if head is None else head[1]
        for record in whole(file, end):
            yield record
            end = record.end
        yield from behind(file, end - 1 if head is None else end)
    finally:
        os.close(file)


def _open(path: Path) -> int:
    try:
        return os.open(path, os.O_RDONLY)
    except OSError as error:
        raise WeftError(f"cannot read: {error.strerror}", where=str(path), todo="look at its permissions") from error
