"""The shelf: groups that a worker has put away, as files. In: pieces of groups, by key. Out: the pieces of one group
again, by a few short reads; or those of all groups, in one sequential pass.

A *shelf run* is a segment of a checkpoint with pieces sorted by the keys of their groups, in compressed blocks with an
index behind them. Every checkpoint adds what came since the one before as one run, and joins it with the last ones as
long as these are not much larger (so that a piece is written a few times, whatever the number of checkpoints): nothing
is ever looked up to write something down. A piece is the whole of a group, mail for one, or the word that one is
*back*: what checkpoints up to a number say of it counts no more.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import zstandard
from isal import isal_zlib
from numpy.typing import NDArray

from weft.frontier.durable.chain import Base, Segment, sibling
from weft.store.files import damaged

WHOLE, MAIL, BACK = range(3)
KIND = "shelf"
PIECE = np.dtype([("key", "<u8"), ("checkpoint", "<u4"), ("kind", "u1"), ("length", "<u4")])
_INDEX = np.dtype([("first", "<u8"), ("last", "<u8"), ("at", "<u8"), ("length", "<u4"), ("checksum", "<u4")])
_FOOT = struct.Struct("<8sIIQ")  # magic, checksum of the index, blocks, where the index begins
_MAGIC = b"weftrun1"
_BLOCK = 1 << 18  # bytes of pieces that are compressed together
_LEVEL = 3
_LARGER = 2  # a run is joined with what is behind it, unless it is so much larger


class Piece(NamedTuple):
    """A piece of one group."""

    kind: int
    checkpoint: int  # whose run it was in first; of `BACK`: up to which nothing counts
    data: bytes


class Pieces(NamedTuple):
    """Pieces in the order of their keys, those with one key in the order of their age."""

    table: NDArray[Any]  # of `PIECE`
    data: bytes | memoryview  # one after the other


def pieces_of(rows: Sequence[tuple[int, int, int, bytes]]) -> Pieces:
    """Pieces that are given as key, checkpoint, kind and data, in the order of their age."""
    table = np.array([(key, checkpoint, kind, len(data)) for key, checkpoint, kind, data in rows], PIECE)
    return _ordered(table, [row[3] for row in rows])


def _ordered(table: NDArray[Any], data: Sequence[bytes | memoryview]) -> Pieces:
    order = np.argsort(table["key"], kind="stable")
    return Pieces(table[order], b"".join([data[place] for place in order.tolist()]))


def _split(pieces: Pieces) -> list[memoryview]:
    ends = np.cumsum(pieces.table["length"], dtype=np.int64).tolist()
    view = memoryview(pieces.data)
    return [view[begin:end] for begin, end in zip([0, *ends], ends, strict=False)]


# Writing.


def run_of(pieces: Iterable[Pieces]) -> Iterator[bytes]:
    """A run as bytes; nothing, where there are no pieces. What is given is in the order of keys."""
    rows: list[tuple[int, int, int, int, int]] = []
    press = zstandard.ZstdCompressor(_LEVEL)
    at = 0
    for block in _blocks(pieces):
        data = press.compress(len(block.table).to_bytes(4, "little") + block.table.tobytes() + block.data)
        keys = block.table["key"]
        rows.append((int(keys[0]), int(keys[-1]), at, len(data), isal_zlib.crc32(data)))
        at += len(data)
        yield data
    if rows:
        index = np.array(rows, _INDEX).tobytes()
        yield index + _FOOT.pack(_MAGIC, isal_zlib.crc32(index), len(rows), at)


def _blocks(pieces: Iterable[Pieces]) -> Iterator[Pieces]:
    """Pieces so many at a time that they are worth compressing together."""
    for some in _enough(pieces):
        lengths = some.table["length"].astype(np.int64) + PIECE.itemsize
        number = (np.cumsum(lengths) - lengths) // _BLOCK
        bounds = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(some.table)]
        ends = np.concatenate([[0], np.cumsum(some.table["length"], dtype=np.int64)])
        for begin, end in pairwise(bounds):
            if end > begin:
                yield Pieces(some.table[begin:end], some.data[ends[begin] : ends[end]])


def _enough(pieces: Iterable[Pieces]) -> Iterator[Pieces]:
    held, size = list[Pieces](), 0
    for some in pieces:
        held.append(some)
        size += len(some.data) + some.table.nbytes
        if size >= _BLOCK:
            yield Pieces(np.concatenate([each.table for each in held]), b"".join([each.data for each in held]))
            held, size = [], 0
    if held:
        yield Pieces(np.concatenate([each.table for each in held]), b"".join([each.data for each in held]))


def joined(runs: Sequence[Iterator[Pieces]], *, all_there: bool) -> Iterator[Pieces]:
    """Runs as one, the oldest first. Where these are `all_there` are, nothing is kept of what does not count."""
    held: list[Pieces | None] = [next(run, None) for run in runs]
    while any(each is not None for each in held):
        bound = min(int(each.table["key"][-1]) for each in held if each is not None)
        tables, data = [np.empty(0, PIECE)], list[memoryview]()
        for place, run in enumerate(runs):
            while (some := held[place]) is not None and some.table["key"][0] <= bound:
                cut = int(np.searchsorted(some.table["key"], np.uint64(bound), side="right"))
                size = int(some.table["length"][:cut].sum(dtype=np.int64))
                tables.append(some.table[:cut])
                data += _split(Pieces(some.table[:cut], memoryview(some.data)[:size]))
                rest = Pieces(some.table[cut:], memoryview(some.data)[size:])  # no copy: it may be large
                held[place] = rest if len(rest.table) else next(run, None)
        table = np.concatenate(tables)
        counts = np.flatnonzero(_counting(table, all_there=all_there))
        if len(counts):
            yield _ordered(table[counts], [data[place] for place in counts.tolist()])


def _counting(table: NDArray[Any], *, all_there: bool) -> NDArray[np.bool_]:
    """Which pieces count: those that came behind the last word that their group is back."""
    back = table["kind"] == BACK
    if not back.any():
        return np.ones(len(table), np.bool_)
    keys, place = np.unique(table["key"], return_inverse=True)
    until = np.zeros(len(keys), np.int64)
    np.maximum.at(until, place[back], table["checkpoint"][back].astype(np.int64))
    counts: NDArray[np.bool_] = table["checkpoint"].astype(np.int64) > until[place]
    counts[back] = False
    if not all_there:
        last = np.flatnonzero(back & (table["checkpoint"].astype(np.int64) == until[place]))
        counts[last[np.unique(table["key"][last], return_index=True)[1]]] = True
    return counts


def to_join(runs: Sequence[Segment], size: int) -> list[Segment]:
    """The last of some runs, the oldest first, with which a new one of about so many bytes is joined."""
    chosen: list[Segment] = []
    for run in reversed(runs):
        if run.length > _LARGER * size:
            break
        chosen.insert(0, run)
        size += run.length
    return chosen


# Reading.


def pieces_left(path: Path) -> Iterator[Piece]:
    """Every piece that can be read of a run that may be damaged."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        index = _index_of(file.fileno(), size)
        for where in () if index is None else index:
            block = _block_of(file.fileno(), where)
            for about, data in zip(block.table, _split(block), strict=True) if block is not None else ():
                yield Piece(int(about["kind"]), int(about["checkpoint"]), bytes(data))


def _index_of(file: int, size: int) -> NDArray[Any] | None:
    """The index of a run, if it is whole."""
    foot = os.pread(file, _FOOT.size, max(0, size - _FOOT.size))
    if len(foot) == _FOOT.size:
        magic, checksum, blocks, at = _FOOT.unpack(foot)
        index = os.pread(file, blocks * _INDEX.itemsize, at) if magic == _MAGIC else b""
        if index and isal_zlib.crc32(index) == checksum:
            return np.frombuffer(index, _INDEX)
    return None


def _block_of(file: int, where: Any) -> Pieces | None:
    """A block of a run, if it is whole."""
    packed = os.pread(file, int(where["length"]), int(where["at"]))
    if len(packed) != where["length"] or isal_zlib.crc32(packed) != where["checksum"]:
        return None
    data = zstandard.ZstdDecompressor().decompress(packed)
    rows = int.from_bytes(data[:4], "little")
    return Pieces(np.frombuffer(data, PIECE, rows, 4), data[4 + rows * PIECE.itemsize :])


class Shelf:
    """The runs of a checkpoint, the oldest first; the checkpoint has them open."""

    def __init__(self, base: Base, segments: Sequence[Segment] | None = None) -> None:
        chosen = [each for each in base.manifest.segments if each.kind == KIND] if segments is None else segments
        self.number = base.manifest.number
        self._base = base
        self._runs = [(segment, base.segment(segment), self._index(segment)) for segment in chosen]

    def __repr__(self) -> str:
        return f"Shelf({self.number}, {len(self._runs)} runs)"

    def pieces(self, key: int) -> list[Piece]:
        """What there is of a group, the oldest first."""
        found: list[Piece] = []
        wanted = np.uint64(key)
        for segment, file, index in self._runs:
            place = int(np.searchsorted(index["last"], wanted))
            while place < len(index) and index["first"][place] <= wanted:
                block = self._block(segment, file, index[place])
                keys = block.table["key"]
                begin, end = np.searchsorted(keys, wanted), np.searchsorted(keys, wanted, side="right")
                starts = np.concatenate([[0], np.cumsum(block.table["length"], dtype=np.int64)])
                for row in range(int(begin), int(end)):
                    about = block.table[row]
                    data = bytes(block.data[starts[row] : starts[row + 1]])
                    found.append(Piece(int(about["kind"]), int(about["checkpoint"]), data))
                place += 1
        until = max((piece.checkpoint for piece in found if piece.kind == BACK), default=-1)
        return [piece for piece in found if piece.kind != BACK and piece.checkpoint > until]

    def runs(self) -> list[Iterator[Pieces]]:
        """Every run, block by block."""
        return [self._blocks(*run) for run in self._runs]

    def groups(self) -> Iterator[tuple[int, list[Piece]]]:
        """Every group, in the order of keys: its key, and what there is of it."""
        last, found = -1, list[Piece]()
        for some in joined(self.runs(), all_there=True):
            columns = (some.table["key"].tolist(), some.table["kind"].tolist(), some.table["checkpoint"].tolist())
            for key, kind, checkpoint, data in zip(*columns, _split(some), strict=True):
                if key != last and found:
                    yield last, found
                    found = []
                last = key
                found.append(Piece(kind, checkpoint, bytes(data)))
        if found:
            yield last, found

    def _blocks(self, segment: Segment, file: int, index: NDArray[Any]) -> Iterator[Pieces]:
        for place in range(len(index)):
            yield self._block(segment, file, index[place])

    def _index(self, segment: Segment) -> NDArray[Any]:
        index = _index_of(self._base.segment(segment), segment.length)
        if index is None:
            raise damaged("it is not as it was written", sibling(self._base.log, segment.number, segment.kind))
        return index

    def _block(self, segment: Segment, file: int, where: Any) -> Pieces:
        block = _block_of(file, where)
        if block is None:
            raise damaged("it is not as it was written", sibling(self._base.log, segment.number, segment.kind))
        return block
