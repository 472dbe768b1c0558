"""SQL over the columns of a crawl, also while it runs. In: a SELECT in the SQL of DuckDB. Out: its columns and rows.

The tables are views of the sealed parts, which DuckDB reads itself, and of the open ones, which are read when it is
asked. A question can read these tables and nothing else, neither files nor the network, and change nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa

from weft.errors import UsageError, WeftError
from weft.store.columns import LINKS, PAGES, URLS
from weft.store.files import owner_of
from weft.store.reading import CrawlFiles
from weft.store.sealed import folders
from weft.store.superseded import column_for

_TABLES = {"pages": PAGES, "links": LINKS, "urls": URLS}
_NAMED = "pages, links and urls"
_NO_ROWS = pa.schema([pa.field("id", pa.int64(), nullable=False)])  # of a stage's table that has no open part
_AT_ONCE = 10_000  # rows
_ANSWERED = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)


class Answer(NamedTuple):
    """What came of a question."""

    names: list[str]
    numbers: list[bool]
    """Which of the columns hold numbers."""
    rows: Iterator[list[Any]]
    """The rows, as they come: whole numbers exactly, times as text."""


def ask(files: CrawlFiles, sql: str, folder: Path) -> Answer:
    """Ask the columns of a crawl; what does not fit into memory meanwhile goes to a folder."""
    with asked():
        batches = select(opened(files, folder), sql).to_arrow_reader(_AT_ONCE)
    names, rows = rows_of(batches)
    return Answer(names, [_is_number(field.type) for field in batches.schema], rows)


def select(database: duckdb.DuckDBPyConnection, sql: str) -> duckdb.DuckDBPyRelation:
    """What a SELECT gives; anything else is refused."""
    statements = database.extract_statements(sql)
    if len(statements) != 1 or statements[0].type not in _ANSWERED:
        raise UsageError("this is not one SELECT", todo='such as "select status, count(*) from pages group by all"')
    return database.sql(sql)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def rows_of(batches: pa.RecordBatchReader) -> tuple[list[str], Iterator[list[Any]]]:
    """The names and the rows of what is read: whole numbers exactly, times as text."""
    return batches.schema.names, _rows(batches)


def _rows(batches: pa.RecordBatchReader) -> Iterator[list[Any]]:
    try:
        for batch in batches:
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                yield [_plain(value) for value in row]
    except (duckdb.Error, pa.ArrowException, OSError) as error:
        raise _said(error) from error


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):  # so a sum of whole numbers comes
        return int(value) if value.as_tuple().exponent == 0 else float(value)
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="milliseconds").removesuffix("+00:00")
    return value


@contextmanager
def asked() -> Iterator[None]:
    """What DuckDB has to say is an error of ours."""
    try:
        yield
    except (duckdb.Error, pa.ArrowException) as error:
        raise _said(error) from error


def opened(files: CrawlFiles, folder: Path, memory: str = "") -> duckdb.DuckDBPyConnection:
    """A database with a view of each table, as they are now; it takes so much memory at most, the rest of what it needs
    goes to a folder.
    """
    config: dict[str, Any] = {"temp_directory": str(folder)}
    if memory:
        config["memory_limit"] = memory
    database = duckdb.connect(config=config)
    database.execute("set TimeZone = 'UTC'")
    database.execute("set enable_progress_bar = false")  # it would stand among the rows, on standard output
    views = []
    allowed: list[str] = []
    own = [table for table in folders(files.out) if table.startswith("stage-")]
    for table in (*_TABLES, *own):
        # A part that is sealed from here on is read here, where it grew or where it is then, and not by DuckDB.
        sealed, growing = files.parts(table)
        rows = [batch for path in growing for batch in files.growing(path)]
        schema = rows[0].schema if rows else _TABLES.get(table, _NO_ROWS)
        name = table.replace("-", "_")
        database.register(f"growing_{name}", pa.Table.from_batches(rows, schema))
        parts = f"from growing_{name}"
        for worker, paths in _by_worker(files, table, sealed).items():
            quoted = ["'" + str(path.resolve()).replace("'", "''") + "'" for path in paths]
            allowed += quoted
            some = f"from read_parquet([{', '.join(quoted)}], union_by_name = true)"
            if worker is not None:  # some of its rows are superseded
                column = column_for(table)
                if column == "commit":
                    some = f"{some} where commit <= {files.counts_until[worker]}"
                else:
                    database.register(f"gone_{worker}", pa.table({"id": files.gone(worker)}))
                    some = f"{some} where {column} not in (from gone_{worker})"
            parts = f"{some} union all by name {parts}"
        if name == "urls":  # until the crawl has ended an id may stand there more than once
            parts = f"select id, any_value(url) as url from ({parts}) group by id"  # noqa: S608
        views.append(f"create view {name} as {parts}")
    database.execute(f"set allowed_paths = [{', '.join(allowed)}]")
    database.execute("set enable_external_access = false")
    database.execute("set lock_configuration = true")
    for view in views:
        database.execute(view)
    return database


def _by_worker(files: CrawlFiles, table: str, paths: list[Path]) -> dict[int | None, list[Path]]:
    """Parts by worker, where some of its rows do not count; under None: all others."""
    found: dict[int | None, list[Path]] = {}
    for path in paths:
        worker = owner_of(path)
        partly = worker in files.counts_until and bool(column_for(table))
        found.setdefault(worker if partly else None, []).append(path)
    return found


def _said(error: Exception) -> WeftError:
    """What DuckDB has to say: of the question, or of what happened while it was answered."""
    text = str(error).strip()
    if isinstance(error, duckdb.OutOfMemoryException):
        return WeftError(f"the answer takes more memory than there is: {text}", todo="ask for less at a time")
    if isinstance(error, duckdb.InternalException | duckdb.IOException | OSError):
        return WeftError(f"the columns cannot be read: {text}", todo="are the files whole? ask again")
    if isinstance(error, duckdb.PermissionException):
        return UsageError(f"{text}\nA question may read the tables {_NAMED}, and nothing else.")
    return UsageError(f'{text}\nThe tables are {_NAMED}; "describe pages" tells the columns of one.')
