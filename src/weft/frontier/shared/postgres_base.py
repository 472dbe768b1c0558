"""The database of the global frontier: one connection to it, and its tables. In: an address. Out: transactions, begun
anew where two are in each other's way.

What goes wrong becomes a `WeftError` here; that the database does not answer becomes `FrontierAwayError`.

All SQL is in files: the statements in `postgres.sql`, each with its purpose, the tables in `migrations/`, numbered.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple, TypeVar

import psycopg
from psycopg import errors, sql
from psycopg.pq import PipelineStatus

from weft.errors import WeftError
from weft.frontier.shared.address import Address
from weft.frontier.shared.contract import FrontierAwayError

_OLDEST = 150000  # version of the server
_FEW = 50  # rows
SILENT = 60.0  # seconds that a process may say nothing in the middle of a transaction
_TRIES = 20  # of a transaction that others were in the way of
_IN_THE_WAY = (errors.DeadlockDetected, errors.SerializationFailure, errors.UniqueViolation)
_NOT_THERE = (errors.UndefinedTable, errors.InvalidSchemaName, errors.UndefinedColumn)
logging.getLogger("psycopg").addHandler(logging.NullHandler())  # it tells nobody: what goes wrong is raised
T = TypeVar("T")
Base = psycopg.Connection[tuple[Any, ...]]


@cache
def statements() -> dict[str, bytes]:
    """The statements, by name."""
    text = files(__package__).joinpath("postgres.sql").read_text(encoding="utf-8")
    parts = re.split(r"^-- name: (\w+)\n", text, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], (part.strip().rstrip(";").encode() for part in parts[1::2]), strict=True))


@cache
def migrations() -> dict[int, tuple[str, str]]:
    """By number: the name of each step from nothing to the tables as they are now, and what it does."""
    found = {}
    for file in files(__package__).joinpath("migrations").iterdir():
        number, _, name = file.name.removesuffix(".sql").partition("_")
        if file.name.endswith(".sql"):
            found[int(number)] = (name, file.read_text(encoding="utf-8"))
    return dict(sorted(found.items()))


def do(base: Base, name: str, /, **values: Any) -> None:
    """Have a statement done. In a pipeline nobody waits for it; what went wrong is raised when somebody waits for the
    next.
    """
    base.execute(statements()[name], values)


def asked(base: Base, name: str, /, **values: Any) -> psycopg.Cursor[tuple[Any, ...]]:
    """Ask, and fetch what was found later: in a pipeline several questions go one way together."""
    return base.execute(statements()[name], values)


def rows(base: Base, name: str, /, **values: Any) -> list[Any]:
    """What a statement finds."""
    return base.execute(statements()[name], values).fetchall()


def row(base: Base, name: str, /, **values: Any) -> Any:
    """The one row that a statement finds."""
    found = base.execute(statements()[name], values).fetchone()
    assert found is not None, name
    return found


def put(base: Base, name: str, kinds: tuple[str, ...], lines: list[Any]) -> None:
    """Put rows into a table: by COPY where they are many; in a pipeline, where that cannot be, as columns."""
    if len(lines) > _FEW and base.pgconn.pipeline_status == PipelineStatus.OFF:
        copy(base, f"copy_{name}", kinds, lines)
    elif lines:
        columns = dict(zip(("a", "b", "c", "d"), map(list, zip(*lines, strict=True)), strict=False))
        do(base, f"put_{name}", **columns)


def copy(base: Base, name: str, kinds: tuple[str, ...], lines: Iterable[Any]) -> None:
    """Put rows into a table by COPY; they are asked for one by one."""
    with base.cursor() as cursor, cursor.copy(statements()[name]) as into:
        into.set_types(kinds)
        for line in lines:
            into.write_row(line)


class PostgresBase:
    """The database as one process has it open: one connection, made when it is needed and again when it was lost."""

    def __init__(self, address: Address, patience: float, *, read_only: bool = False) -> None:
        self.address = address
        self._read_only = read_only
        self._patience = patience
        self._open: Base | None = None
        self.check: Callable[[Base], None] = tables_fit  # of every new connection

    def __repr__(self) -> str:
        return f"PostgresBase({self.address.shown})"  # an address may have a password in it

    def close(self) -> None:
        """Give the connection back."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def in_one_step(self, work: Callable[[Base], T], *, piped: bool = False) -> T:
        """Do several things as one step; if others were in the way, anew. Piped, nothing is waited for but what is
        asked for.
        """
        try:
            for attempt in range(_TRIES):
                base = self._connected()
                try:
                    with base.pipeline() if piped else nullcontext(), base.transaction():
                        return work(base)
                except _IN_THE_WAY:
                    if attempt + 1 == _TRIES:
                        raise
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            ended = self._end_frozen() if isinstance(error, errors.LockNotAvailable) else 0
            self.close()
            raise self._away(error, ended) from error
        except psycopg.Error as error:
            raise self._unusable(error) from error
        raise AssertionError("the last attempt is raised or returned")

    def _end_frozen(self) -> int:
        """Somebody holds what we wait for: it may be a process that does not run any more, and never gives it back.
        How many sessions were ended.
        """
        with suppress(psycopg.Error):  # what we waited for is told in any case
            if self._open is not None:
                return len(rows(self._open, "end_frozen", silent=SILENT))
        return 0

    def _connected(self) -> Base:
        if self._open is None or self._open.closed:
            self._open = psycopg.connect(
                self.address.uri,
                autocommit=True,
                connect_timeout=max(2, round(self._patience)),
                application_name="weft",
                keepalives_idle=10,
                keepalives_interval=3,
                keepalives_count=3,
                tcp_user_timeout=20_000,
            )
            try:
                self._begin(self._open)
            except BaseException:
                self.close()
                raise
        return self._open

    def _begin(self, base: Base) -> None:
        """What every connection begins with."""
        if base.info.server_version < _OLDEST:
            raise WeftError(
                f"this PostgreSQL is older than 15: {base.info.server_version // 10000}",
                where=self.address.shown,
                todo="use 15 or later",
            )
        row(
            base,
            "session",
            schema=self.address.schema,
            patience=f"{self._patience:.3f}s",
            read_only="on" if self._read_only else "off",
        )
        self.check(base)

    def _away(self, error: psycopg.Error, ended: int = 0) -> FrontierAwayError:
        said = " ".join(str(error).split())
        if isinstance(error, errors.LockNotAvailable):
            said = f"others have held it for {self._patience:.0f} s"
        if ended:
            said += f"; sessions that were silent in a transaction for {SILENT:.0f} s, and are ended: {ended}"
        return FrontierAwayError(
            f"the global frontier does not answer: {said}",
            where=self.address.shown,
            todo="see to the database, to its address and to the password (PGPASSWORD or ~/.pgpass); nothing is lost",
        )

    def _unusable(self, error: psycopg.Error) -> WeftError:
        said, where = " ".join(str(error).split()), self.address.shown
        if isinstance(error, _NOT_THERE):
            return WeftError("there is no global frontier here", where=where, todo=f"weft cluster init '{where}'")
        if isinstance(error, errors.InsufficientPrivilege):
            return WeftError(
                f"the database does not let us: {said}", where=where, todo="grant what docs/scale.md lists to the role"
            )
        return WeftError(
            f"the global frontier cannot be used: {said}",
            where=where,
            todo="mend the database and run the same command again",
        )


# Tables.


class Made(NamedTuple):
    """What was done to a database."""

    schema: bool  # it was made
    steps: list[str]  # migrations that were applied


def make_tables(base: PostgresBase) -> Made:
    """Bring the tables to what this version has, from nothing or from an earlier one, as one step."""

    def work(connection: Base) -> Made:
        do(connection, "lock_tables", schema=base.address.schema)
        new = not row(connection, "schema_exists", schema=base.address.schema)[0]
        if new:
            connection.execute(sql.SQL("create schema {}").format(sql.Identifier(base.address.schema)))
        elif (
            not row(connection, "noted_migrations", schema=base.address.schema)[0]
            and row(connection, "foreign_tables", schema=base.address.schema)[0]
        ):
            raise WeftError(
                "this schema has tables in it that are not weft's",
                where=base.address.shown,
                todo="name another one: postgresql://…?schema=name",
            )
        do(connection, "note_migrations")
        done = {number for (number,) in rows(connection, "migrations_done")}
        steps = []
        for number, (name, text) in migrations().items():
            if number not in done:
                connection.execute(text.encode())
                do(connection, "note_migration", number=number, name=name)
                steps.append(f"{number:04} {name}")
        return Made(new, steps)

    fits, base.check = base.check, lambda _connection: None
    try:
        return base.in_one_step(work)
    finally:
        base.check = fits


def tables_are_there(base: PostgresBase) -> bool:
    """Were the tables made, by this version or another?"""
    fits, base.check = base.check, lambda _connection: None
    try:
        return bool(base.in_one_step(lambda held: row(held, "noted_migrations", schema=base.address.schema)[0]))
    finally:
        base.check = fits
        base.close()  # the next connection is looked at


def tables_fit(base: Base, where: str = "") -> None:
    """Are the tables those of this version?"""
    done = max((number for (number,) in rows(base, "migrations_done")), default=0)
    ours = max(migrations())
    if done != ours:
        raise WeftError(
            f"the global frontier was made by {'an earlier' if done < ours else 'a later'} version of weft (tables "
            f"{done:04}, this one has {ours:04})",
            where=where,
            todo=f"weft cluster upgrade '{where or 'ADDRESS'}' has the crawl go on with this one"
            if done < ours
            else "go on with that version",
        )
