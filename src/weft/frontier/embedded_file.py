"""The file of the embedded global frontier: one SQLite database. In: a path. Out: transactions, one at a time for all
processes, and values by name.

What goes wrong with it, a full disk above all, becomes a `WeftError` here.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from weft.errors import WeftError
from weft.frontier.contract import Link, Message, Parcel

_FORMAT = 2
_PATIENCE = 60.0  # seconds that a transaction waits for others

_TABLES = """
create table about(name text primary key, value) without rowid;
create table groups(
    name text primary key, holder int, seed int not null, found integer not null,
    waiting int not null default 0, parcel blob) without rowid;
create index to_crawl on groups(seed desc, found) where holder is null and waiting > 0;
create index to_crawl_by_size on groups(seed desc, waiting desc) where holder is null and waiting > 0;
create table sites(name text primary key, list int not null, worker int not null) without rowid;
create table waiting(id integer primary key autoincrement, grp text not null, links blob not null);
create index waiting_by_group on waiting(grp);
create table inbox(id integer primary key autoincrement, worker int not null, message blob not null);
create index inbox_by_worker on inbox(worker, id);
create table workers(
    number integer primary key, incarnation int not null default 0, pid int, applied int not null default 0,
    taken int not null default 0, idle int not null default 0, aside int not null default 0,
    pages int not null default 0, bytes int not null default 0, pending int not null default 0, allowance int,
    seconds real not null default 0, starved int not null default 0,
    pages_rate real not null default 0, bytes_rate real not null default 0, hungry int not null default 1,
    seen_at real, active int not null default 1, statistics blob);
create table addresses(  -- `wanted` is the number of the worker who gets it next, plus one
    address text primary key, holder int, not_before real not null default 0, wanted int not null default 0
    ) without rowid;
create index lent on addresses(holder) where wanted > 0;
create table scope(id integer primary key, url text not null unique);
create table rules(id integer primary key, rule text not null, gone int not null default 0);
"""

# What is in the columns of blobs.
encoded = msgspec.msgpack.Encoder().encode
links_in = msgspec.msgpack.Decoder(list[Link]).decode
message_in = msgspec.msgpack.Decoder(Message).decode
parcel_in = msgspec.msgpack.Decoder(Parcel).decode


class EmbeddedFile:
    """The file as one process has it open."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            raise WeftError("the global frontier is missing", where=str(path), todo="begin the crawl anew")
        with _sqlite(path):
            self.base = sqlite3.connect(path, isolation_level=None, timeout=_PATIENCE, check_same_thread=False)
            self.base.execute("pragma journal_mode = wal")
            self.base.execute("pragma synchronous = full")
            form = self.get("format")
        if form != _FORMAT:
            raise WeftError(
                f"the global frontier was written by another version of weft (format {form}, this one reads {_FORMAT})",
                where=str(path),
                todo="go on with the version that began the crawl",
            )

    def __repr__(self) -> str:
        return f"EmbeddedFile({self.path})"

    def close(self) -> None:
        """Give the file back."""
        self.base.close()

    def get(self, name: str) -> Any:
        """The value of a name, or None."""
        row = self.base.execute("select value from about where name = ?", (name,)).fetchone()
        return None if row is None else row[0]

    def set(self, name: str, value: Any) -> None:
        """Give a name a value."""
        self.base.execute("insert or replace into about values(?, ?)", (name, value))

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Do several things as one step, alone."""
        with _sqlite(self.path):
            self.base.execute("begin immediate")
            try:
                yield self.base
            except BaseException:
                self.base.execute("rollback")
                raise
            self.base.execute("commit")


@contextmanager
def new_file(path: Path) -> Iterator[sqlite3.Connection]:
    """Make the file: it is there when what is put into it is complete."""
    beside = path.with_name(path.name + ".new")
    beside.unlink(missing_ok=True)
    with _sqlite(path):
        base = sqlite3.connect(beside, isolation_level=None)
        base.executescript(_TABLES)
        base.execute("begin")
        base.execute("insert into about values('format', ?)", (_FORMAT,))
        yield base
        base.execute("commit")
        base.close()
    beside.rename(path)


@contextmanager
def _sqlite(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        raise WeftError(
            f"the global frontier cannot be used: {error}",
            where=str(path),
            todo="is the disk full, or the directory read-only? Mend it and run the same command again",
        ) from error
