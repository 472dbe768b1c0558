"""The contents that one worker stored. In: digests, each with where it was stored. Out: the same, also for other
processes.

Two files. `N.log` has an entry for each content: checksum, SHA-1, id, time and text of the URL; it only grows.
`N.index` is a hash table of entries, mapped into the memory of every worker; when it is full a larger one takes its
place, and those who have the old one mapped miss what is new until they look again. An entry is in the log before it is
in the index.

The index says on which boot of the machine it was opened: after kill -9 on the same boot it is as it was, and entries
behind what it covers are read from the log; after a power failure it is made anew from the log. What is cut or damaged
in the log is dropped, and all behind it, and the columns tell it again. The table is addressed by a keyed hash, so that
nobody can make contents that crowd in one place.
"""

from __future__ import annotations

import mmap
import os
import struct
import weakref
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from weft.compiled import compiled
from weft.disk import rename, sync_folder, write_all, writing
from weft.store.volumes import Original

HALVES = struct.Struct("<qq")  # of a digest, as compiled code has them
_DIGESTS = np.dtype([("first", "<i8"), ("second", "<i8"), ("rest", "V4")])
_ENTRY = struct.Struct("<20sQqH")  # digest, id and time of the URL, length of its text; behind it the text, …
_CHECKSUM = struct.Struct("<I")  # … and the checksum of both
_USUAL = 400  # bytes that hold most entries
_MAGIC, _LOG = 0x3173746E65746E63, b"contlog1"
# The head of an index: what it is, a check of its keys, slots, entries, bytes of the log that are in it, the last part
# of `pages` whose contents are in it, the boot on which it is open (0: it was closed), contents that another worker has
# too, contents that there was no room for.
_HEAD = 16
_WHAT, _CHECK, _SLOTS, _COUNT, _COVERED, _PART, _BOOT, _COPIES, _LEFT_OUT = range(9)
_FIRST = 1 << 12  # slots of a new index
_BLOCK = 1 << 20
_LONGEST = 0xFFFF  # bytes of a URL


class Keys(NamedTuple):
    """The secret by which digests are hashed in a table: one for all workers of a crawl, drawn once."""

    first: int
    second: int

    @classmethod
    def of(cls, secret: bytes) -> Keys:
        """Those of a crawl."""
        return cls(*HALVES.unpack(sha256(b"contents" + secret).digest()[: HALVES.size]))

    @property
    def check(self) -> int:
        """By which an index knows them."""
        return int.from_bytes(sha256(HALVES.pack(*self)).digest()[:7])


class ContentTable:
    """One worker's table; written by its worker alone, in one thread at a time."""

    def __init__(self, log: Path, index: Path, keys: Keys, most: int) -> None:
        self._log_path, self._index_path = log, index
        self._keys = keys
        self._most = most  # slots
        self._log = -1
        self._head = np.empty(0, np.int64)
        self.slots = np.empty(0, np.int64)
        self._inode = 0
        self.replaced = False  # the index was, since somebody looked

    def __repr__(self) -> str:
        return f"ContentTable({self._log_path.stem}, {self.count} contents)"

    # Reading.

    @classmethod
    def of_other(cls, log: Path, index: Path, keys: Keys) -> ContentTable | None:
        """Another worker's table, if it can be read just now."""
        table = cls(log, index, keys, 0)
        try:
            if not table._map(writable=False):
                return None
            table._take_log(os.open(log, os.O_RDONLY))
        except FileNotFoundError:
            return None
        return table

    def _take_log(self, file: int) -> None:
        """Read and write an open log, until nobody has this table any more."""
        self._log = file
        weakref.finalize(self, os.close, file)

    @property
    def name(self) -> str:
        """The number of its worker, or what else it is called."""
        return self._log_path.stem

    @property
    def count(self) -> int:
        """How many contents it has."""
        return int(self._head[_COUNT])

    def read(self, at: int, digest: bytes) -> Original | None:
        """The entry at a place of the log; None where it is not that of this content."""
        data = os.pread(self._log, _USUAL, at)
        if len(data) < _ENTRY.size:
            return None
        stored, url_id, moment, length = _ENTRY.unpack_from(data)
        end = _ENTRY.size + length
        if len(data) < end + _CHECKSUM.size:
            data = os.pread(self._log, end + _CHECKSUM.size, at)
        whole, checksum = data[:end], data[end : end + _CHECKSUM.size]
        if stored != digest or _CHECKSUM.pack(isal_zlib.crc32(whole)) != checksum:
            return None
        return Original(url_id, whole[_ENTRY.size :].decode("utf-8", "surrogateescape"), moment / 1e6)

    def is_current(self) -> bool:
        """Is the index that is mapped the one that has its name?"""
        try:
            return self._index_path.stat().st_ino == self._inode
        except FileNotFoundError:
            return False

    def _map(self, *, writable: bool) -> bool:
        """Map the index into memory; False where it is none of ours."""
        file = os.open(self._index_path, os.O_RDWR if writable else os.O_RDONLY)
        try:
            about = os.fstat(file)
            if about.st_size < 8 * (_HEAD + 2 * _FIRST):
                return False
            access = mmap.ACCESS_WRITE if writable else mmap.ACCESS_READ
            words = np.frombuffer(mmap.mmap(file, about.st_size, access=access), np.int64)
        finally:
            os.close(file)
        slots = int(words[_SLOTS])
        if words[_WHAT] != _MAGIC or words[_CHECK] != self._keys.check or len(words) != _HEAD + 2 * slots:
            return False
        self._head, self.slots, self._inode = words[:_HEAD], words[_HEAD:], about.st_ino
        return True

    # Writing.

    @classmethod
    def of_worker(cls, folder: Path, worker: int | str, keys: Keys, *, most: int) -> ContentTable:
        """A worker's own table, or one with another name, as it was left, or a new one."""
        table = cls(folder / f"{worker}.log", folder / f"{worker}.index", keys, most)
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
            table._open_log()
            if not table._is_sound():
                counted = table._head[_COPIES:].copy()
                table._make(_FIRST)
                table._head[_COVERED] = len(_LOG)
                table._head[_COPIES:][: len(counted)] = counted
            table._cover()
            table._head[_BOOT] = _boot()
        return table

    @property
    def part(self) -> int:
        """The last part of `pages` whose contents are all here."""
        return int(self._head[_PART])

    @part.setter
    def part(self, number: int) -> None:
        self._head[_PART] = number

    @property
    def copies(self) -> int:
        """Contents here of which another worker has a copy."""
        return int(self._head[_COPIES])

    @copies.setter
    def copies(self, number: int) -> None:
        self._head[_COPIES] = number

    @property
    def left_out(self) -> int:
        """Contents that there was no room for."""
        return int(self._head[_LEFT_OUT])

    def add(self, entries: list[tuple[bytes, Original]]) -> None:
        """Add contents, as far as there is room."""
        room = 2 * self._most // 3 - self.count
        parts: list[bytes] = []
        digests: list[bytes] = []
        lengths: list[int] = []
        for digest, entry in entries:
            text = entry.url.encode("utf-8", "surrogateescape")
            if len(text) <= _LONGEST and len(digests) < room:
                data = _ENTRY.pack(digest, entry.id, round(entry.wall * 1e6), len(text)) + text
                parts += (data, _CHECKSUM.pack(isal_zlib.crc32(data)))
                digests.append(digest)
                lengths.append(len(data) + _CHECKSUM.size)
        if parts:
            sizes = np.array(lengths, np.int64)
            ends = self._head[_COVERED] + np.cumsum(sizes)
            with writing(self._log_path):
                if os.fstat(self._log).st_size > self._head[_COVERED]:  # half of it, when the disk was full
                    os.ftruncate(self._log, int(self._head[_COVERED]))
                write_all(self._log, b"".join(parts))
                self._index(halves_of(digests), ends - sizes, int(ends[-1]))
        self._head[_LEFT_OUT] += len(entries) - len(digests)

    def close(self) -> None:
        """Have it be as it is when it is opened again, whatever happens to the machine."""
        with writing(self._index_path):
            os.fsync(self._log)
            self._head[_BOOT] = 0
            file = os.open(self._index_path, os.O_RDWR)
            try:
                os.fsync(file)  # what is mapped, too
            finally:
                os.close(file)
            sync_folder(self._index_path.parent)

    def _open_log(self) -> None:
        self._take_log(os.open(self._log_path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644))
        if os.pread(self._log, len(_LOG), 0) != _LOG:
            os.ftruncate(self._log, 0)
            write_all(self._log, _LOG)

    def _is_sound(self) -> bool:
        """Is there an index, and can it be believed?"""
        try:
            if not self._map(writable=True):
                return False
        except FileNotFoundError:
            return False
        believed = self._head[_BOOT] in (0, _boot())
        return believed and len(_LOG) <= self._head[_COVERED] <= os.fstat(self._log).st_size

    def _make(self, slots: int) -> None:
        """Put a new index in place of the old one: an empty one, or one with what that has."""
        beside = self._index_path.with_name(f"{self._index_path.name}.new")
        size = 8 * (_HEAD + 2 * slots)
        old, self.replaced = self.slots, True
        file = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            os.posix_fallocate(file, 0, size)  # a full disk is to be told here, and not when it is written
            words = np.frombuffer(mmap.mmap(file, size), np.int64)
            inode = os.fstat(file).st_ino
        finally:
            os.close(file)
        if slots > _FIRST:
            words[:_HEAD] = self._head
            _move(old, words[_HEAD:])
        words[_WHAT], words[_CHECK], words[_SLOTS] = _MAGIC, self._keys.check, slots
        rename(beside, self._index_path, durable=False)  # after a power failure it is made anew
        self._head, self.slots, self._inode = words[:_HEAD], words[_HEAD:], inode

    def _index(self, halves: NDArray[np.int64], places: NDArray[np.int64], end: int) -> None:
        """Have the index know entries that are in the log up to an end."""
        while 3 * (self.count + len(places)) > 2 * (len(self.slots) // 2):
            self._make(len(self.slots))
        self._head[_COUNT] += _add(self.slots, halves, places, self._keys.first, self._keys.second)
        self._head[_COVERED] = end

    def _cover(self) -> None:
        """Index what is in the log and not yet in the index; what cannot be read is cut off, and learned again."""
        end = int(self._head[_COVERED])
        found = list(self._entries(end))
        if found:
            digests, places, ends = zip(*found, strict=True)
            end = ends[-1]
            self._index(halves_of(list(digests)), np.array(places, np.int64), end)
        if end < os.fstat(self._log).st_size:
            os.ftruncate(self._log, end)
            self._head[_PART] = 0

    def _entries(self, at: int) -> Iterator[tuple[bytes, int, int]]:
        """Whole entries of the log from a place on: the digest of each, where it is and where it ends."""
        data, start = b"", at
        while block := os.pread(self._log, _BLOCK, start + len(data)):
            data += block
            here = 0
            while len(data) - here >= _ENTRY.size:
                digest, _, _, length = _ENTRY.unpack_from(data, here)
                behind = here + _ENTRY.size + length
                if behind + _CHECKSUM.size > len(data):
                    break
                if isal_zlib.crc32(data[here:behind]) != _CHECKSUM.unpack_from(data, behind)[0]:
                    return
                behind += _CHECKSUM.size
                yield digest, start + here, start + behind
                here = behind
            start, data = start + here, data[here:]


def halves_of(digests: list[bytes]) -> NDArray[np.int64]:
    """The halves of digests, a row for each."""
    parts = np.frombuffer(b"".join(digests), _DIGESTS)
    return np.stack((parts["first"], parts["second"]), axis=1)


def open_tables(folder: Path, keys: Keys, known: tuple[ContentTable, ...], *, besides: int) -> tuple[ContentTable, ...]:
    """The tables of all workers but one that can be read; those that are known stay as they are, if they still are."""
    current = {table._log_path: table for table in known if table.is_current()}  # noqa: SLF001
    found = []
    for index in sorted(folder.glob("*.index")):
        log = index.with_suffix(".log")
        if index.stem != str(besides):
            table = current.get(log) or ContentTable.of_other(log, index, keys)
            if table is not None:
                found.append(table)
    return tuple(found)


def _boot() -> int:
    """Which boot of the machine this is; never 0."""
    try:
        text = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
    except OSError:  # nobody can tell: the index is made anew after each crash
        return int.from_bytes(os.urandom(7)) | 1
    return int.from_bytes(sha256(text.encode()).digest()[:7]) | 1


@compiled
def mark_of(first: int, second: int, key: int, other: int) -> int:
    """By which a table knows a content, given the halves of its digest: a keyed hash, never 0."""
    mark = first * key + second * other
    mark ^= mark >> 32
    return mark if mark != 0 else 1


@compiled
def place_of(slots: NDArray[np.int64], mark: int) -> int:
    """What a table has for a mark, or -1."""
    last = slots.size // 2 - 1
    slot = mark & last
    while slots[2 * slot] != 0:
        if slots[2 * slot] == mark:
            return int(slots[2 * slot + 1])
        slot = (slot + 1) & last
    return -1


@compiled
def _put(slots: NDArray[np.int64], mark: int, place: int) -> bool:
    """Put an entry into a table; False where it is there."""
    last = slots.size // 2 - 1
    slot = mark & last
    while slots[2 * slot] != 0:
        if slots[2 * slot] == mark:
            return False
        slot = (slot + 1) & last
    slots[2 * slot + 1] = place
    slots[2 * slot] = mark
    return True


@compiled
def _add(slots: NDArray[np.int64], halves: NDArray[np.int64], places: NDArray[np.int64], key: int, other: int) -> int:
    added = 0
    for number in range(places.size):
        if _put(slots, mark_of(halves[number, 0], halves[number, 1], key, other), places[number]):
            added += 1
    return added


@compiled
def _move(old: NDArray[np.int64], new: NDArray[np.int64]) -> None:
    for slot in range(old.size // 2):
        if old[2 * slot] != 0:
            _put(new, old[2 * slot], old[2 * slot + 1])
