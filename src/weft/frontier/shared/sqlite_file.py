"""The file of the global frontier on one machine: one SQLite database. In: a path. Out: transactions, one at a time
for all processes.

What goes wrong with it, a full disk above all, becomes a `WeftError` here; that another process holds it for long
becomes `FrontierAwayError`.
"""

from __future__ import annotations

import sqlite3
import struct
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec
from isal import isal_zlib

from weft.disk import beside
from weft.errors import WeftError
from weft.frontier.shared.contract import FrontierAwayError, Message, Notice, Parcel
from weft.store.files import damaged, other_format

FILE = "frontier.db"  # in the directory of a crawl
FORMAT = 4  # of it, its `user_version`; earlier ones are brought to it by `weft.upgrading`
PATIENCE = 60.0  # seconds that a transaction waits for others
_WRITING = 120  # the byte of the -shm file that a process locks which writes, as SQLite has it
_GUARD = struct.Struct("<BI")
_GUARDED = 0xC1  # no value of msgpack begins with this
_SMALL = 64_000_000  # bytes: a file that is looked at closely whenever a run begins

_TABLES = """
create table crawl(  -- one row
    by_size int not null, phase int not null default 0,
    second_pass int not null default 0, paused int not null default 0,
    over text not null default '', stop text not null default '',
    speed text not null default '', given_speed text not null default '',
    max_pages int, max_bytes int, max_time real,
    workers int not null default 0, wanted int not null default 0, watched int not null default 0,
    shared_among int, offered_by text, rules_at int not null default 0, restarted int not null default 0);
create table restarts(id integer primary key, worker int not null, at real not null, how text not null,
    cause text not null);
create table groups(
    name text primary key, holder int, seed int not null, found integer not null,
    waiting int not null default 0, parcel blob) without rowid;
create index to_crawl on groups(seed desc, found) where holder is null and waiting > 0;
create index to_crawl_by_size on groups(seed desc, waiting desc) where holder is null and waiting > 0;
create table sites(name text primary key, list int not null, worker int not null) without rowid;
create table waiting(id integer primary key autoincrement, grp text not null, notices blob not null);
create index waiting_by_group on waiting(grp);
create table inbox(
    worker int not null, number int not null, message blob not null, primary key (worker, number)) without rowid;
create table workers(
    number integer primary key, incarnation int not null default 0, applied int not null default 0,
    sent int not null default 0, taken int not null default 0, version int not null default 0,
    idle int not null default 0, resting int not null default 0, aside int not null default 0,
    pages int not null default 0, bytes int not null default 0, pending int not null default 0, allowance int,
    seconds real not null default 0, starved int not null default 0,
    pages_rate real not null default 0, bytes_rate real not null default 0, hungry int not null default 1,
    heard_at real, in_run int not null default 1, handed_over int not null default 0, statistics blob);
create table addresses(  -- `wanted` is the number of the worker who gets it next, plus one
    address text primary key, holder int, not_before real not null default 0, wanted int not null default 0
    ) without rowid;
create index lent on addresses(holder) where wanted > 0;
create table scope(id integer primary key, url text not null unique);
create table rules(  -- of the blacklist; from when and until when one holds, null: not known, and to this day
    id integer primary key, rule text not null, since real, until real);
create unique index holding on rules(rule) where until is null;
"""

_encode = msgspec.msgpack.Encoder().encode
_notices = msgspec.msgpack.Decoder(list[Notice]).decode
_message = msgspec.msgpack.Decoder(Message).decode
_parcel = msgspec.msgpack.Decoder(Parcel).decode


# What is in the columns of blobs: SQLite has checksums for its log, and none for its pages.


def guarded(data: bytes) -> bytes:
    """With its checksum.

    >>> unguarded(guarded(b"x")), unguarded(b"")
    (b'x', b'')
    """
    return _GUARD.pack(_GUARDED, isal_zlib.crc32(data)) + data


def unguarded(data: bytes) -> bytes:
    """Without its checksum, which must be right."""
    if data[:1] != b"\xc1":
        return data
    _, checksum = _GUARD.unpack_from(data)
    data = data[_GUARD.size :]
    if isal_zlib.crc32(data) != checksum:
        raise damaged("what it holds is not what was written", "frontier.db")
    return data


def encoded(value: Any) -> bytes:
    """A value as it stands in a column."""
    return guarded(_encode(value))


def notices_in(data: bytes) -> list[Notice]:
    """Notices out of a column."""
    return _notices(unguarded(data))


def message_in(data: bytes) -> Message:
    """A message out of a column."""
    return _message(unguarded(data))


def parcel_in(data: bytes) -> Parcel:
    """A parcel out of a column."""
    return _parcel(unguarded(data))


class SqliteFile:
    """The file as one process has it open."""

    def __init__(self, path: Path, patience: float = PATIENCE, *, read_only: bool = False) -> None:
        self.path = path
        self._patience = patience
        if not path.exists():
            raise damaged("the global frontier is missing", path)
        if path.stat().st_size == 0:  # SQLite would take it for a new one, and remove the log of transactions beside it
            raise damaged("the global frontier is empty", path)
        with self._sqlite():
            # Who only reads leaves SQLite's own log as it is when it ends, be it whole or not.
            place = f"{path.absolute().as_uri()}?mode={'ro' if read_only else 'rw'}"
            self.base = sqlite3.connect(
                place, isolation_level=None, timeout=patience, check_same_thread=False, uri=True
            )
            if not read_only:
                self.base.execute("pragma journal_mode = wal")
                self.base.execute("pragma synchronous = full")
            (form,) = self.base.execute("pragma user_version").fetchone()
        if form != FORMAT:
            raise other_format("the global frontier", form, FORMAT, path)

    def __repr__(self) -> str:
        return f"SqliteFile({self.path})"

    def close(self) -> None:
        """Give the file back."""
        self.base.close()

    def rows(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """What a statement finds, outside of any transaction or within ours."""
        with self._sqlite():
            return self.base.execute(statement, values).fetchall()

    def row(self, statement: str, values: Sequence[Any] = ()) -> Any:
        """The first row that a statement finds, or None."""
        with self._sqlite():
            return self.base.execute(statement, values).fetchone()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Do several things as one step, alone."""
        with self._sqlite():
            self.base.execute("begin immediate")
            try:
                yield self.base
            except BaseException:
                self.base.execute("rollback")
                raise
            self.base.execute("commit")

    def unsound(self) -> list[str]:
        """What is wrong with the file, as far as it shows."""
        how = "integrity_check" if self.path.stat().st_size <= _SMALL else "quick_check"
        try:
            found = [said for (said,) in self.base.execute(f"pragma {how}(3)").fetchall() if said != "ok"]
            if not found:
                found = self._strays()
                for table, column in _BLOBS:
                    for (data,) in self.base.execute(f"select {column} from {table}"):  # noqa: S608
                        if data is not None:
                            unguarded(data)
        except sqlite3.Error as error:
            return [str(error)]
        except (WeftError, TypeError) as error:
            return [str(error)]
        return found

    def remains(self) -> Iterator[Message]:
        """Everything that is on its way, as far as it can be read."""
        for table, column in _BLOBS[:-1]:
            try:
                for (data,) in self.base.execute(f"select {column} from {table}"):  # noqa: S608
                    if isinstance(data, bytes):
                        try:
                            yield _as_message(column, data)
                        except (WeftError, msgspec.MsgspecError, struct.error):
                            continue
            except sqlite3.Error:
                continue

    def _strays(self) -> list[str]:
        """Rows that belong to no other."""
        (count,) = self.base.execute(
            "select count(*) from waiting where grp not in (select name from groups)"
        ).fetchone()
        (empty,) = self.base.execute(
            "select count(*) from groups where holder is null and waiting > 0 and parcel is null "
            "and name not in (select grp from waiting)"
        ).fetchone()
        return [f"{count + empty} groups and the links that wait for them do not agree"] if count or empty else []

    def locked_by(self) -> int | None:
        """The process that keeps all others from writing, or None."""
        try:
            index = self.path.with_name(f"{self.path.name}-shm").stat().st_ino
            lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
        except OSError:
            return None
        for line in lines:
            fields = line.split()
            if fields[1:2] == ["POSIX"] and fields[3] == "WRITE" and int(fields[5].rpartition(":")[2]) == index:
                first, last = fields[6], fields[7]
                if int(first) <= _WRITING and (last == "EOF" or int(last) >= _WRITING):
                    return int(fields[4])
        return None

    @contextmanager
    def _sqlite(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            if _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise self._locked() from error
            raise _unusable(self.path, error) from error

    def _locked(self) -> FrontierAwayError:
        """Somebody else has it."""
        pid = self.locked_by()
        who = "another process" if pid is None else f"process {pid} ({command_of(pid)})"
        return FrontierAwayError(
            f"the global frontier has been locked by {who} for {self._patience:.0f} s",
            where=str(self.path),
            todo="end that process, or let it come to its end, and run the same command again; nothing is lost",
        )


def command_of(pid: int) -> str:
    """What a process is, for a person."""
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return "gone by now"
    return line.replace(b"\0", b" ").decode(errors="replace").strip()[:100] or "?"


def _as_message(column: str, data: bytes) -> Message:
    if column == "message":
        return message_in(data)
    return Message(parcels=[parcel_in(data)]) if column == "parcel" else Message(notices=notices_in(data))


_BLOBS = (("groups", "parcel"), ("waiting", "notices"), ("inbox", "message"), ("workers", "statistics"))


def files_of(place: Path) -> list[Path]:
    """The files of the global frontier of a crawl that are there; the first one is enough to tell that it exists."""
    return [path for path in (place / f"{FILE}{end}" for end in ("", "-wal", "-shm")) if path.exists()]


@contextmanager
def new_file(path: Path) -> Iterator[sqlite3.Connection]:
    """Make the file: it is there when what is put into it is complete."""
    with beside(path) as new:
        try:
            base = sqlite3.connect(new, isolation_level=None)
            base.executescript(_TABLES)
            base.execute("begin")
            base.execute(f"pragma user_version = {FORMAT}")
            yield base
            base.execute("commit")
            base.close()
        except sqlite3.Error as error:
            raise _unusable(path, error) from error


def migrate(path: Path, form: int, statements: str) -> None:
    """Bring a file of this format to the next, as one step; one that has it already stays as it is."""
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        try:
            (found,) = base.execute("pragma user_version").fetchone()
            if found == form + 1:
                return
            if found != form:
                raise other_format("the global frontier", found, form, path)
            base.executescript(f"begin immediate; {statements}; pragma user_version = {form + 1}; commit;")
        except sqlite3.Error as error:
            raise _unusable(path, error) from error


def _code(error: sqlite3.Error) -> int:
    """What SQLite calls it; it gives more precise codes in the upper bits."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _unusable(path: Path, error: sqlite3.Error) -> WeftError:
    if _code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return damaged(f"the global frontier cannot be used: {error}", path)
    return WeftError(
        f"the global frontier cannot be used: {error}",
        where=str(path),
        todo="is the disk full, or the directory read-only? Mend it and run the same command again",
    )
