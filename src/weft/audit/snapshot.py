"""The fetches of a crawl as they are at one moment, to be read in any order. In: the files of `pages/`. Out: rows,
sorted and joined by DuckDB.

An audit looks at the fetches several times: by visit, by site and time, by the page that led to them. A crawl that
runs goes on meanwhile; so they are copied once, with the columns that are looked at, to a file in the folder for
temporary files (`TMPDIR`), which is removed in the end. Memory is bounded: what does not fit goes to that folder.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from weft.errors import WeftError
from weft.store.reading import CrawlFiles

_MEMORY = "512MB"  # that DuckDB may take
_AT_ONCE = 100_000  # rows

# The columns looked at, with the types they are wanted in; what an earlier release did not write is null.
_COLUMNS = pa.schema(
    [
        ("id", pa.int64()),
        ("url", pa.string()),
        ("site", pa.string()),
        ("ip", pa.string()),
        ("kind", pa.string()),
        ("via", pa.int64()),
        ("final", pa.bool_()),
        ("worker", pa.int32()),
        ("visit", pa.int64()),
        ("status", pa.int32()),
        ("reason", pa.string()),
        ("connected_at", pa.int64()),
        ("fetched_at", pa.int64()),
        ("closed_at", pa.int64()),
        ("took", pa.float32()),
        ("wait", pa.float32()),
        ("truncated", pa.string()),
        ("digest", pa.string()),
        ("duplicate_of", pa.int64()),
        ("redirect", pa.string()),
        ("volume", pa.string()),
        ("offset", pa.int64()),
        ("length", pa.int64()),
        ("retry_after", pa.string()),
        ("keep_alive", pa.string()),
    ]
)
_HEADERS = ("retry_after", "keep_alive")  # "" where there was none, null where that was not written down
_WITH_ROW = _COLUMNS.insert(0, pa.field("row", pa.int64()))  # its place in the order of reading

_ORIGINALS = """
create table originals as
select digest, min_by(volume, row) as body_volume, min_by("offset", row) as body_offset,
    min_by(length, row) as body_length
from fetches where duplicate_of = 0 and volume is not null
    and digest in (select digest from fetches where duplicate_of <> 0) group by digest
"""


class Snapshot:
    """The table `fetches`: the rows of `pages/` at one moment, each with the number `row`; and `originals`: by digest,
    where the content is stored that other records refer to.
    """

    def __init__(self, base: duckdb.DuckDBPyConnection, files: CrawlFiles) -> None:
        self._base = base
        self.rows = 0
        base.register("chunk", _WITH_ROW.empty_table())
        base.execute("create table fetches as select * from chunk")
        for chunk in _chunks(files):
            base.register("chunk", chunk)
            base.execute("insert into fetches select * from chunk")
            self.rows += chunk.num_rows
        base.unregister("chunk")
        base.execute(_ORIGINALS)

    def __repr__(self) -> str:
        return f"Snapshot({self.rows} rows)"

    def value(self, sql: str) -> Any:
        """The one value that an SQL statement gives."""
        with _duckdb():
            row = self._base.execute(sql).fetchone()
        return None if row is None else row[0]

    def batches(self, sql: str, at_once: int = _AT_ONCE) -> Iterator[pa.RecordBatch]:
        """The rows that an SQL statement gives, some at a time. One statement is read at a time."""
        with _duckdb():
            yield from self._base.cursor().sql(sql).to_arrow_reader(at_once)

    def rows_of(self, sql: str) -> Iterator[tuple[Any, ...]]:
        """The same, row by row."""
        for batch in self.batches(sql):
            yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)

    def rows_numbered(self, numbers: list[int], columns: str) -> Iterator[tuple[Any, ...]]:
        """Some rows by their numbers."""
        wanted = pa.table({"wanted": pa.array(sorted(set(numbers)), pa.int64())})
        with _duckdb():
            cursor = self._base.cursor()
            cursor.register("wanted", wanted)
            found = cursor.sql(f"select {columns} from fetches semi join wanted on row = wanted")  # noqa: S608
            for batch in found.to_arrow_reader(_AT_ONCE):
                yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


@contextmanager
def taken(files: CrawlFiles) -> Iterator[Snapshot]:
    """The fetches of a crawl as they are now."""
    with tempfile.TemporaryDirectory(prefix="weft-audit-") as folder, _duckdb():
        config: dict[str, Any] = {"memory_limit": _MEMORY, "threads": 2, "temp_directory": f"{folder}/spilled"}
        base = duckdb.connect(f"{folder}/fetches.duckdb", config=config)
        try:
            yield Snapshot(base, files)
        finally:
            base.close()


def _chunks(files: CrawlFiles) -> Iterator[pa.Table]:
    """The rows of `pages/` with all the columns looked at."""
    row = 0
    waiting: list[pa.RecordBatch] = []
    for batch in files.batches("pages", _COLUMNS.names):
        known = {name: batch.column(name) for name in batch.schema.names}
        arrays = [
            known[field.name].cast(field.type) if field.name in known else pa.nulls(batch.num_rows, field.type)
            for field in _COLUMNS
        ]
        for header in _HEADERS:  # none was sent, or it is not known whether one was
            if header in known:
                place = _COLUMNS.get_field_index(header)
                arrays[place] = arrays[place].fill_null("")
        numbers = pa.array(np.arange(row, row + batch.num_rows))
        row += batch.num_rows
        waiting.append(pa.RecordBatch.from_arrays([numbers, *arrays], schema=_WITH_ROW))
        if sum(part.num_rows for part in waiting) >= _AT_ONCE:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


@contextmanager
def _duckdb() -> Iterator[None]:
    """What DuckDB has to say is an error of ours."""
    try:
        yield
    except duckdb.Error as error:
        said = str(error).strip()
        raise WeftError(f"the fetches cannot be sorted: {said}", todo="is there room in TMPDIR?") from error
