"""Read by every Python that a test starts as the next weft: one with every format raised by one, in a way that needs
its step. Who reads a file of today's format without it forgets which pages are done.
"""

from __future__ import annotations

from typing import Any

import msgspec

import weft.directory
import weft.frontier.durable.chain
import weft.frontier.durable.log
import weft.upgrading
from weft.frontier.durable import parcels, records
from weft.frontier.durable.parcels import Content
from weft.frontier.durable.records import LENGTHS, Commit
from weft.frontier.shared import nodes, postgres, postgres_base, postgres_making, sqlite_file

FORMAT, VERSION = weft.directory.FORMAT, records.VERSION
_RENAMED = {"settled": "done", "number": "commit"}  # in the next version, of what a commit says
_migrations = postgres_base.migrations


def _renamed(said: dict[str, Any]) -> None:
    for old, new in _RENAMED.items():
        if old in said:
            said[new] = said.pop(old)


def _encoded(commit: Commit) -> bytes:
    said = msgspec.to_builtins(commit, builtin_types=(bytes,))
    _renamed(said)
    return msgspec.msgpack.encode(said)


def _commit_of(payload: bytes) -> Commit:
    part, _pages, _texts = LENGTHS.unpack_from(payload)
    said = msgspec.msgpack.decode(memoryview(payload)[LENGTHS.size : LENGTHS.size + part])
    assert not _RENAMED.keys() & said.keys(), "this was not lifted"
    for old, new in _RENAMED.items():
        if new in said:
            said[old] = said.pop(new)
    return msgspec.convert(said, Commit)


def _lifted_parcel(content: dict[str, Any]) -> None:
    content["texts"] = content.pop("urls", b"")


def _encoded_parcel(content: Content | dict[str, Any]) -> bytes:
    if isinstance(content, dict):
        return msgspec.msgpack.encode(content)
    said: dict[str, Any] = msgspec.to_builtins(content, builtin_types=(bytes,))
    _lifted_parcel(said)
    return msgspec.msgpack.encode(said)


def _parcel_of(said: bytes) -> Content:
    content = msgspec.msgpack.decode(said)
    content["urls"] = content.pop("texts")
    return msgspec.convert(content, Content)


def _with_one_more() -> dict[int, tuple[str, str]]:
    found = _migrations()
    return found | {max(found) + 1: ("raised", "alter table crawl add column raised int not null default 1;")}


weft.upgrading.STEPS[FORMAT] = weft.upgrading.Step(
    logs=(VERSION, _renamed),
    frontier=(sqlite_file.FORMAT, "alter table crawl add column raised int not null default 1"),
)
parcels.LIFTS[parcels.FORMAT] = _lifted_parcel
records.packed_head.__defaults__ = (VERSION + 1,)
_TABLES = sqlite_file._TABLES.replace("by_size int", "raised int not null default 1, by_size int")

for _module, _name, _value in (
    (weft.directory, "FORMAT", FORMAT + 1),
    (weft.upgrading, "FORMAT", FORMAT + 1),
    (records, "VERSION", VERSION + 1),
    (weft.frontier.durable.chain, "VERSION", VERSION + 1),
    (records, "encoded", _encoded),
    (weft.frontier.durable.log, "encoded", _encoded),
    (records, "commit_of", _commit_of),
    (weft.frontier.durable.log, "commit_of", _commit_of),
    (parcels, "FORMAT", parcels.FORMAT + 1),
    (parcels, "_encode", _encoded_parcel),
    (parcels, "_decode", _parcel_of),
    (sqlite_file, "FORMAT", sqlite_file.FORMAT + 1),
    (sqlite_file, "_TABLES", _TABLES),
    (postgres_base, "migrations", _with_one_more),
    (nodes, "CONTRACT", nodes.CONTRACT + 1),
    (postgres, "CONTRACT", nodes.CONTRACT + 1),
    (postgres_making, "CONTRACT", nodes.CONTRACT + 1),
):
    setattr(_module, _name, _value)
