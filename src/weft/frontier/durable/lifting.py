"""The logs and checkpoints of a worker, from one version of their format to the next. In: the path of its log, and how
what a commit says changes. Out: the same files, each of the next version.

Every file is written anew beside itself and takes its own place when it is whole, so a crash anywhere leaves files of
both versions, and whoever comes next lifts the rest. Behind a bad record nothing is ever read: it is kept as it is, for
those who judge what is damaged.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import msgspec
from isal import isal_zlib

from weft.disk import rename, sync_file, write_new
from weft.frontier.durable.chain import MANIFEST, manifest_as_written, packed_payload
from weft.frontier.durable.records import HEAD, LENGTHS, MAGIC, LogHead, head_of_any, packed_head, whole
from weft.store.files import other_format

Change = Callable[[dict[str, Any]], None]  # what a commit says, by its keys; changed in place

_COPIED = 1 << 20  # bytes in one go


def lift(log: Path, version: int, change: Change) -> None:
    """Bring the files of a worker from this version to the next."""
    folder, stem = log.parent, log.stem
    for path in sorted([*folder.glob(f"{stem}-*.log"), *folder.glob(f"{stem}.log*")]):
        if path.name != f"{log.name}.next":
            _lift_log(path, version, change)
    for path in sorted(folder.glob(f"{stem}-*.checkpoint/{MANIFEST}")):
        _lift_manifest(path, version, change)


def _lift_log(path: Path, version: int, change: Change) -> None:
    with path.open("rb") as file:
        found = head_of_any(file.fileno())
        if found is None or found[2] == version + 1:  # just begun, or lifted before
            return
        if found[2] != version:
            raise other_format("this", found[2], version, path)
        _put(path, lambda new: _write_log(new, file, found[0], found[1], version, change))


def _write_log(new: IO[bytes], file: IO[bytes], head: LogHead, at: int, version: int, change: Change) -> None:
    new.write(packed_head(head, version + 1))
    for record in whole(file.fileno(), at):
        payload = _changed(record.payload, change)
        new.write(HEAD.pack(MAGIC, isal_zlib.crc32(payload), len(payload)) + payload)
        at = record.end
    file.seek(at)
    for piece in iter(lambda: file.read(_COPIED), b""):
        new.write(piece)


def _changed(payload: bytes, change: Change) -> bytes:
    """A record in which the part that is not pages says what it says in the next version."""
    length, pages, texts = LENGTHS.unpack_from(payload)
    begin = LENGTHS.size
    said = msgspec.msgpack.decode(memoryview(payload)[begin : begin + length])
    change(said)
    part = msgspec.msgpack.encode(said)
    return LENGTHS.pack(len(part), pages, texts) + part + payload[begin + length :]


def _lift_manifest(path: Path, version: int, change: Change) -> None:
    found, payload = manifest_as_written(path)
    if found == version + 1:
        return
    if found != version:
        raise other_format("this", found, version, path)
    said = msgspec.msgpack.decode(payload)
    if "last" in said:
        change(said["last"])
    _put(path, lambda new: new.write(packed_payload(msgspec.msgpack.encode(said), version + 1)))


def _put(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file anew, for the eyes of those who could read it before. Another name than what a hand-over leaves
    beside a log, which counts.
    """
    new = path.with_name(f"{path.name}.next")
    new.unlink(missing_ok=True)
    write_new(new, write)
    new.chmod(path.stat().st_mode)
    sync_file(new)
    rename(new, path)
