"""What can be saved of damaged outputs. In: a damaged file. Out: a whole one beside it, and how much is lost.

A record of a volume stays where it was, so that rows and indexes go on pointing to it: what cannot be read is replaced
by records that say so, of the same length. Of a part every row group stays whose checksums are right, of a journal
every batch up to the first that cannot be read.
"""

from __future__ import annotations

import os
import random
import shutil
import struct
import zlib
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ipc

from weft.disk import sync_file
from weft.store.cdxj import cdxj_line
from weft.store.columns import LINKS, PAGES, URLS, read_batches, writing_options
from weft.store.verifying import fields_of, members
from weft.store.warc import RecordIds, record, sha1, warc_date

_SCHEMAS = {"pages": PAGES, "links": LINKS, "urls": URLS}
_FILLER = 60_000  # bytes of one record that stands for lost ones
_LEAST = 300
_MENDABLE = (pa.ArrowException, OSError, ValueError)


class Saved(NamedTuple):
    """What came of a file."""

    kept: int  # records or rows
    lost: int  # stretches of a volume; rows, as far as they can be counted; -1: nobody knows how many


def save_volume(path: Path, target: Path, *, length: int | None = None, wall: float = 0.0) -> Saved:
    """Copy a volume up to a length, with fillers where it cannot be read; what cannot be read at its end is cut."""
    shutil.copyfile(path, target)
    if length is not None and target.stat().st_size > length:
        os.truncate(target, length)
    found = list(members(target))
    kept = sum(member.record is not None for member in found)
    bad = [(member.start, member.end) for member in found if member.record is None]
    lost = len(bad)
    size = target.stat().st_size
    with target.open("r+b") as file:
        if bad and bad[-1][1] == size:
            file.truncate(bad.pop()[0])
        for start, end in bad:
            file.seek(start)
            file.write(b"".join(_fillers(end - start, wall)))
    sync_file(target)
    return Saved(kept, lost)


def _fillers(length: int, wall: float) -> Iterator[bytes]:
    """Records that take exactly so many bytes: gzip lets a member carry what nobody reads."""
    ids = RecordIds(random.SystemRandom())
    while length:
        some = length if length <= _FILLER else min(_FILLER, length - _LEAST)
        said = f"comment: {some} bytes could not be read any more\r\n".encode()
        lines = (
            f"WARC-Type: metadata\r\nWARC-Record-ID: {ids.next()}\r\nWARC-Date: {warc_date(wall)}\r\n"
            f"WARC-Block-Digest: {sha1(said)}\r\nContent-Type: application/warc-fields\r\n"
        )
        yield _padded(record(lines, said), some)
        length -= some


def _padded(data: bytes, length: int) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(data) + packer.flush()
    room = length - len(packed) - 20
    if room < 0:  # too short for words
        packed = b"\x03\x00"
        data, room = b"", length - 22
    head = b"\x1f\x8b\x08\x04" + bytes(6) + struct.pack("<H", room) + bytes(room)
    return head + packed + struct.pack("<II", zlib.crc32(data), len(data))


def empty_volume(target: Path, wall: float) -> None:
    """In place of a volume that is gone: a record that says so."""
    target.write_bytes(b"".join(_fillers(2 * _LEAST, wall)))


def lost_stretches(path: Path) -> list[tuple[int, int]]:
    """Where a volume cannot be read: from, to."""
    return [(member.start, member.end) for member in members(path) if member.record is None]


def index_volume(volume: Path, target: Path, name: str) -> int:
    """Write the index of a volume anew; how many lines it has."""
    lines = []
    for start, end, data in members(volume):
        fields = fields_of(data or b"")
        if fields.get("warc-type") in ("response", "revisit") and data is not None:
            block = data.partition(b"\r\n\r\n")[2]
            head = block.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
            named = {key.strip().lower(): value.strip() for key, _, value in (line.partition(":") for line in head[1:])}
            status = head[0].split(" ")[1:2]
            lines.append(
                cdxj_line(
                    fields["warc-target-uri"],
                    datetime.fromisoformat(fields["warc-date"]).timestamp(),
                    int(status[0]) if status and status[0].isdigit() else 0,
                    named.get("content-type", ""),
                    fields.get("warc-payload-digest", ""),
                    start,
                    end - start,
                    name,
                    revisit=fields["warc-type"] == "revisit",
                ).encode()
            )
    target.write_bytes(b"".join(sorted(lines)))
    return len(lines)


def schema_of(root: Path, table: str) -> pa.Schema:
    """The columns of a table, those of stages included: as the first part that can be read has them, if there is one
    at all.
    """
    for path in sorted((root / table).glob("part-*")):
        try:
            if path.suffix == ".parquet":
                return pq.read_schema(path)
            with pa.OSFile(str(path), "rb") as file, ipc.open_stream(file) as reader:
                return reader.schema
        except _MENDABLE:
            continue
    return _SCHEMAS.get(table, pa.schema([pa.field("id", pa.int64(), nullable=False)]))


def save_rows(
    path: Path,
    target: Path,
    schema: pa.Schema,
    *,
    length: int | None = None,
    keep: Callable[[pa.RecordBatch], pa.Array] | None = None,
) -> Saved:
    """Write the rows of a part, or of a journal up to a length, that can be read and are to be kept, to a new part."""
    kept, read, known = 0, 0, -1
    batches: Iterator[pa.RecordBatch]
    if path.suffix == ".parquet":
        known, batches = _part(path)
    else:
        batches = _journal(path, length)
    with pq.ParquetWriter(target, schema, **writing_options(schema)) as writer:
        for batch in batches:
            read += batch.num_rows
            rows = batch if keep is None else batch.filter(keep(batch))
            kept += rows.num_rows
            if rows.num_rows:
                writer.write_batch(rows.cast(schema) if rows.schema != schema else rows)
    sync_file(target)
    if path.suffix != ".parquet":
        known = read  # how many there should be nobody knows
    return Saved(kept, known - kept if known >= 0 else -1)


def rows_of(path: Path, length: int | None = None) -> Iterator[pa.RecordBatch]:
    """The rows of a part, or of a journal up to a length, that can be read."""
    return _part(path)[1] if path.suffix == ".parquet" else _journal(path, length)


def _part(path: Path) -> tuple[int, Iterator[pa.RecordBatch]]:
    """How many rows a part should have, and those that can be read."""
    try:
        file = pq.ParquetFile(path, page_checksum_verification=True)
        rows = file.metadata.num_rows
    except _MENDABLE:
        return -1, iter(())

    def batches() -> Iterator[pa.RecordBatch]:
        for group in range(file.num_row_groups):
            try:
                table = file.read_row_group(group)
            except _MENDABLE:
                continue
            yield from table.to_batches()

    return rows, batches()


def _journal(path: Path, length: int | None) -> Iterator[pa.RecordBatch]:
    data = path.read_bytes()
    try:
        reader = ipc.open_stream(pa.py_buffer(data if length is None else data[:length]))
    except _MENDABLE:
        return
    yield from read_batches(reader)
