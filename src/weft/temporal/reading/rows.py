"""Rows as all logs have them, and the last look at each. In: columns of any log. Out: a table to write, and fates.

Rows have the columns `user`, `us` (microseconds since 1970) and `url`; where days are counted already, `views` stands
for the user.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from weft.temporal.reading.cutting import Rows
from weft.temporal.reading.fates import Fate
from weft.temporal.reading.options import Reading
from weft.temporal.reading.pages import EMBEDDED


def schema(reading: Reading) -> Any:
    """The columns of rows."""
    who = ("views", pa.int64()) if reading.views else ("user", pa.string())
    return pa.schema([who, ("us", pa.int64()), ("url", pa.string())])


def table_of(columns: dict[str, Any], reading: Reading) -> Any:
    """A table of rows."""
    shape = schema(reading)
    return pa.table([pa.array(columns[name], shape.field(name).type) for name in shape.names], schema=shape)


def columns_of(rows: Rows, done: int) -> dict[str, Any]:
    """The columns of rows that were cut."""
    return {
        "user": _texts(rows.user, rows.user_end[:done]),
        "us": rows.us[:done],
        "url": _texts(rows.url, rows.url_end[:done]),
        "views": rows.views[:done],
    }


def _texts(text: NDArray[np.uint8], ends: NDArray[np.int64]) -> Any:
    """Texts that stand behind each other as an Arrow column."""
    offsets = np.zeros(len(ends) + 1, np.int32)
    offsets[1:] = ends
    return pa.StringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(text[: offsets[-1]]))


def sifted(table: Any, fates: NDArray[np.int8], latest: int, *, access_log: bool) -> Any:
    """The rows that are left when those of the future and parts of pages are gone; `fates` says so from now on.

    Only access logs list parts of pages; who has a table of views has chosen what a page is.
    """
    lines = np.flatnonzero(fates == Fate.USED)
    assert len(lines) == table.num_rows
    future = table["us"].to_numpy() > latest
    fates[lines[future]] = Fate.FUTURE
    embedded = np.zeros(len(lines), np.bool_)
    if access_log:
        embedded = pc.match_substring_regex(table["url"], EMBEDDED).to_numpy() & ~future
        fates[lines[embedded]] = Fate.EMBEDDED
    dropped = future | embedded
    return table.filter(pa.array(~dropped)) if dropped.any() else table


def new_part(scratch: Path, reading: Reading) -> tuple[Path, Any]:
    """A file for the rows of the next log, and what writes them."""
    path = scratch / f"rows-{sum(1 for _ in scratch.glob('rows-*'))}.parquet"
    # Dictionaries would make it no smaller, since most texts are there a few times only, and cost as much as the rest.
    return path, pq.ParquetWriter(path, schema(reading), compression="lz4", use_dictionary=False)


def scan(path: Path) -> str:
    """The SQL that reads one Parquet file, whatever its name.

    >>> scan(Path("logs[1]/it's.parquet"))
    "read_parquet('logs[[]1]/it''s.parquet', binary_as_string=true)"
    """
    literal = Path("".join(f"[{letter}]" if letter in "[*?" else letter for letter in str(path)))
    return f"read_parquet({file_text(literal)}, binary_as_string=true)"


def file_text(path: Path) -> str:
    """The name of a file as SQL writes a text."""
    return "'" + str(path).replace("'", "''") + "'"
