"""Rows that count no more: what a node fetched after others had its groups. In: for each worker of such a node, the
last of its commits that counts. Out: which rows of which parts are passed over by whoever reads.

The list stands beside the parts, a line a worker: sealed files stay as they are. Rows of `pages` say with which commit
they were written; links, and what stages found, go with their page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from weft.disk import append_lines

if TYPE_CHECKING:
    import pyarrow as pa

SUPERSEDED = "superseded.log"


class Line(msgspec.Struct, frozen=True):
    """Rows of a worker that count no more."""

    worker: int
    after: int  # the last of its commits that counts


_decode = msgspec.json.Decoder(Line).decode


def superseded(out: Path) -> dict[int, int]:
    """By worker: the last of its commits that counts; of others, all do."""
    path = out / SUPERSEDED
    if not path.exists():
        return {}
    found: dict[int, int] = {}
    for text in path.read_bytes().splitlines():
        with suppress(msgspec.MsgspecError):  # a crash cut it off: then it was written again
            line = _decode(text)
            found[line.worker] = line.after
    return found


def supersede(out: Path, lines: Iterable[Line]) -> None:
    """Have rows count no more; those that do not yet."""
    known = superseded(out)
    new = [line for line in lines if line.worker not in known]
    if new:
        append_lines(out / SUPERSEDED, b"".join(msgspec.json.encode(line) + b"\n" for line in new))


def counting(table: str, after: int, gone: Callable[[], pa.Array]) -> Callable[[pa.RecordBatch], pa.RecordBatch]:
    """What leaves the rows of a table that count; `gone` are the pages of this worker that do not."""
    import pyarrow.compute as pc

    if table == "pages":
        return lambda batch: batch.filter(pc.less_equal(batch.column("commit"), after))
    column = "source" if table == "links" else "id"
    return lambda batch: batch.filter(pc.invert(pc.is_in(batch.column(column), gone())))


def column_for(table: str) -> str:
    """The column by which it is told whether a row counts; "" where all do: a URL was found whoever found it."""
    return {"pages": "commit", "links": "source", "urls": ""}.get(table, "id")
