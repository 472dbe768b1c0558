"""Parquet logs. In: a Parquet file. Out: SQL for its rows, and their fates.

A file whose footer promises that nothing is missing and that no time lies in the future is read where it is. Any other
one, and one whose times are texts or numbers, is gone through row by row and written anew into the scratch folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from weft.errors import UsageError
from weft.temporal.reading.fates import Fate, Tally
from weft.temporal.reading.forms import check_columns
from weft.temporal.reading.options import Reading
from weft.temporal.reading.rows import new_part, scan, sifted, table_of
from weft.temporal.reading.times import BAD, EARLIEST, of_numbers, of_texts

_BATCH = 1 << 17


def take_table(log: Path, reading: Reading, latest: int, scratch: Path) -> tuple[str, Tally]:
    """The SQL that gives the rows of a Parquet file, and what became of them."""
    try:
        with pq.ParquetFile(log) as file:
            check_columns(tuple(file.schema_arrow.names), log, reading)
            if _is_clean(file, reading, latest):
                tally = Tally()
                tally.counts[Fate.USED] = file.metadata.num_rows
                return _select(log, reading), tally
            return _rewritten(file, log, reading, latest, scratch)
    except (pa.ArrowException, OSError) as error:
        raise UsageError(f"the Parquet file cannot be read: {error}", where=str(log), todo="is it whole?") from error


def _select(log: Path, reading: Reading) -> str:
    """The SQL for a file that is read where it is."""
    who = " || ' ' || ".join(f"{_name(column)}::VARCHAR" for column in reading.who())
    counted = f"{_name(reading.views)}::BIGINT AS views" if reading.views else f"{who} AS user"
    time = f"epoch_us({_name(reading.ts)})"
    return f"SELECT {counted}, {time} AS us, {_name(reading.url)}::VARCHAR AS url FROM {scan(log)}"  # noqa: S608


def _name(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _is_clean(file: Any, reading: Reading, latest: int) -> bool:
    """Does the footer promise that every row can be used?"""
    types = file.schema_arrow
    if not pa.types.is_timestamp(types.field(reading.ts).type):
        return False
    texts = (*reading.who(), reading.url)
    if not all(_is_plain(types.field(name).type) for name in texts):
        return False
    place = {file.metadata.schema.column(number).path: number for number in range(file.metadata.num_columns)}
    for group in range(file.metadata.num_row_groups):
        columns = file.metadata.row_group(group)
        for name in reading.columns():
            known = columns.column(place[name]).statistics if name in place else None
            if known is None or not known.has_null_count or known.null_count or not known.has_min_max:
                return False
            if name == reading.ts:
                least, most = (_us(value, types.field(name).type) for value in (known.min, known.max))
                if least < EARLIEST or most > latest:
                    return False
            elif known.min in ("", b"") or (name == reading.views and known.min < 0):
                return False
    return True


def _is_plain(arrow_type: Any) -> bool:
    return bool(
        pa.types.is_string(arrow_type) or pa.types.is_large_string(arrow_type) or pa.types.is_integer(arrow_type)
    )


def _us(value: Any, arrow_type: Any) -> int:
    return int(pa.scalar(value, arrow_type).cast(pa.timestamp("us", arrow_type.tz), safe=False).value)


def _rewritten(file: Any, log: Path, reading: Reading, latest: int, scratch: Path) -> tuple[str, Tally]:
    """All rows that can be used, in a file of their own."""
    tally = Tally()
    out, opened = new_part(scratch, reading)
    before = 0
    with opened as writer:
        for batch in file.iter_batches(_BATCH, columns=list(dict.fromkeys(reading.columns()))):
            columns, fates = _judged(batch, reading)
            table = table_of(columns, reading).filter(pa.array(fates == Fate.USED))
            table = sifted(table, fates, latest, access_log=False)
            writer.write_table(table)
            tally.note(log.name, fates, before, "row")
            before += len(fates)
    return f"SELECT * FROM {scan(out)}", tally  # noqa: S608


def _judged(batch: Any, reading: Reading) -> tuple[dict[str, Any], NDArray[np.int8]]:
    """Columns of all rows of a batch, and the fate of each."""
    fates = np.zeros(batch.num_rows, np.int8)
    columns: dict[str, Any] = {"us": _times(batch[reading.ts]), "url": _texts(batch[reading.url])}
    if reading.views:
        columns["views"] = pc.fill_null(batch[reading.views].cast(pa.int64()), -1)
        fates[columns["views"].to_numpy() < 0] = Fate.COUNT
    else:
        who = [_texts(batch[name]) for name in reading.who()]
        columns["user"] = who[0] if len(who) == 1 else pc.binary_join_element_wise(*who, " ")
        fates[_is_empty(who[0])] = Fate.USER
    fates[_is_empty(columns["url"])] = Fate.PAGE
    fates[columns["us"] == BAD] = Fate.TIME
    return columns, fates


def _texts(column: Any) -> Any:
    return pc.fill_null(column.cast(pa.string()), "")


def _is_empty(column: Any) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = pc.equal(column, "").to_numpy(zero_copy_only=False)
    return found


def _times(column: Any) -> NDArray[np.int64]:
    """Times of whatever type, `BAD` where there is none."""
    arrow_type = column.type
    if pa.types.is_timestamp(arrow_type) or pa.types.is_date(arrow_type):
        exact = column.cast(pa.timestamp("us", getattr(arrow_type, "tz", None)), safe=False)
        us: NDArray[np.int64] = pc.fill_null(exact.cast(pa.int64()), BAD).to_numpy()
        return np.where(us >= EARLIEST, us, BAD)
    if pa.types.is_integer(arrow_type):
        return of_numbers(pc.fill_null(column.cast(pa.int64()), BAD).to_numpy())
    if pa.types.is_floating(arrow_type):
        return of_numbers(pc.fill_null(column.cast(pa.float64()), BAD).to_numpy())
    return of_texts(_texts(column).to_pylist())
