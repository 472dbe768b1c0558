"""Columns and tables that stages fill. In: what a stage says of a page. Out: values and rows that fit, or an error, at
once and for this page alone; then more columns of `pages`, and tables of their own, written like all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import pyarrow as pa

from weft.model import Column, Filled, Fills
from weft.store.columns import Journal
from weft.store.rows import id_array

PREFIX = "stage-"  # of the folders of such tables


class Checked(NamedTuple):
    """What fits."""

    stage: str
    values: dict[str, Any]
    batch: pa.RecordBatch | None


class Extra:
    """What stages add to the columns of one crawl."""

    def __init__(self, stages: Sequence[Fills] = ()) -> None:
        self.columns = tuple(column for stage in stages for column in stage.columns)
        self.fields = [_field(column) for column in self.columns]
        self._types = {field.name: field.type for field in self.fields}
        self.tables = {stage.name: _schema(stage.table) for stage in stages if stage.table}

    def __repr__(self) -> str:
        return f"Extra({len(self.columns)} columns, {len(self.tables)} tables)"

    def check(self, stage: Fills, page: int, found: Filled) -> Checked:
        """Does what a stage says fit its columns and its table? What does not raises."""
        own = {column.name for column in stage.columns}
        unknown = sorted(map(str, found.values.keys() - own))
        if unknown:
            raise ValueError(f"the stage {stage.name} has no column {', '.join(unknown)}")
        for name, value in found.values.items():
            pa.scalar(value, type=self._types[name])
        if not found.rows:
            return Checked(stage.name, found.values, None)
        if not stage.table:
            raise ValueError(f"the stage {stage.name} has no table")
        schema = self.tables[stage.name]
        columns = list(zip(*found.rows, strict=True))
        if len(columns) != len(stage.table):
            raise ValueError(f"a row of the stage {stage.name} has {len(stage.table)} values, not {len(columns)}")
        ids = id_array([page] * len(found.rows))
        filled = [pa.array(column, type=kind) for column, kind in zip(columns, schema.types[1:], strict=True)]
        return Checked(stage.name, found.values, pa.RecordBatch.from_arrays([ids, *filled], schema=schema))

    def row(self, values: dict[str, Any] | None) -> tuple[Any, ...]:
        """The values in the order of the columns."""
        return tuple((values or {}).get(column.name) for column in self.columns)


def _field(column: Column) -> pa.Field:
    return pa.field(column.name, pa.type_for_alias(column.type), metadata={"doc": column.doc})


def fields_of(columns: Sequence[Column]) -> list[pa.Field]:
    """Columns as Arrow has them."""
    return [_field(column) for column in columns]


def _schema(columns: Sequence[Column]) -> pa.Schema:
    own = pa.field("id", pa.int64(), nullable=False, metadata={"doc": "id of the page"})
    return pa.schema([own, *map(_field, columns)])


class TableJournal:
    """A stage's table, whose rows come page by page."""

    def __init__(self, journal: Journal, *, most: int = 20_000) -> None:
        self._journal = journal
        self._most = most
        self._waiting: list[pa.RecordBatch] = []
        self._rows = 0

    def append(self, batch: pa.RecordBatch) -> None:
        """Take the rows of a page."""
        self._waiting.append(batch)
        self._rows += batch.num_rows
        if self._rows >= self._most:
            self.flush()

    def flush(self) -> None:
        """Write the rows that wait."""
        if self._waiting:
            table = pa.Table.from_batches(self._waiting).combine_chunks()
            self._waiting, self._rows = [], 0
            for batch in table.to_batches():
                self._journal.write(batch)
