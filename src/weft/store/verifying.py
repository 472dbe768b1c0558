"""Every byte of a sealed file looked at, by the checksums that it carries itself. In: a file. Out: what is wrong with
it, and which of its records are whole.

A record of a volume is a gzip member, which has a CRC; the record in it has a digest of its block. The pages of a
Parquet file have CRCs. An index has none: its lines must be sorted, and each must be one.
"""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec
from isal import isal_zlib

from weft.store.warc import base32

_BROKEN: type[Exception] = isal_zlib.error  # type: ignore[assignment]  # its stub says it is an instance
_GZIP = b"\x1f\x8b\x08"
_CHUNK = 1 << 16
_BEGIN = b"WARC/1."


class Member(NamedTuple):
    """A stretch of a volume: a record, or what is none."""

    start: int
    end: int
    record: bytes | None  # None: it cannot be read, or is not what its digest says


def members(path: Path) -> Iterator[Member]:
    """A volume from its beginning to its end."""
    size = path.stat().st_size
    if size == 0:
        return
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
        at = bad = 0
        while at < size:
            found = _member_at(data, at)
            if found is None:
                at = data.find(_GZIP, at + 1)
                at = size if at < 0 else at
                continue
            if bad < at:
                yield Member(bad, at, None)
            yield found
            at = bad = found.end
        if bad < size:
            yield Member(bad, size, None)


def _member_at(data: mmap.mmap, at: int) -> Member | None:
    """The record that begins here, if one does."""
    if data[at : at + len(_GZIP)] != _GZIP:
        return None
    packed = isal_zlib.decompressobj(31)
    parts, place = [], at
    try:
        while not packed.eof and place < len(data):
            chunk = data[place : place + _CHUNK]
            parts.append(packed.decompress(chunk))
            place += len(chunk)
    except _BROKEN:
        return None
    if not packed.eof:
        return None
    record = b"".join(parts)
    return Member(at, place - len(packed.unused_data), record) if _is_right(record) else None


def _is_right(record: bytes) -> bool:
    """Is a record what its digest says?"""
    head, _, rest = record.partition(b"\r\n\r\n")
    if not head.startswith(_BEGIN):
        return False
    fields = fields_of(record)
    length = fields.get("content-length", "")
    if not length.isdigit() or len(rest) != int(length) + 4:
        return False
    said = fields.get("warc-block-digest")
    return said is None or said == base32(hashlib.sha1(rest[:-4], usedforsecurity=False).digest())


def fields_of(record: bytes) -> dict[str, str]:
    """The fields of a record's header; names in small letters."""
    lines = record.partition(b"\r\n\r\n")[0].decode("utf-8", "replace").split("\r\n")[1:]
    return {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}


def unreadable(path: Path) -> str:
    """Why a sealed file is not whole, or nothing."""
    if path.suffix == ".parquet":
        return _unreadable_part(path)
    if path.suffix == ".gz":
        bad = [member for member in members(path) if member.record is None]
        return f"{len(bad)} stretches cannot be read, the first at {bad[0].start}" if bad else ""
    lines = path.read_bytes().splitlines(keepends=True)
    return "" if all(map(_is_line, lines)) and all(a <= b for a, b in pairwise(lines)) else "its lines are garbled"


def _unreadable_part(path: Path) -> str:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        for _ in pq.ParquetFile(path, page_checksum_verification=True).iter_batches():
            pass
    except (pa.ArrowException, OSError, ValueError) as error:
        return f"it cannot be read: {error}"
    return ""


def _is_line(line: bytes) -> bool:
    """Is this a line of an index?"""
    try:
        msgspec.json.decode(line.split(b" ", 2)[2])
    except (IndexError, msgspec.MsgspecError):
        return False
    return line.endswith(b"\n")
