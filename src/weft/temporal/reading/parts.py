"""Logs of all forms as rows on the disk. In: a log file. Out: SQL for its rows, and the fates of its lines.

Text logs are cut and written as Parquet into a scratch folder, a piece at a time, so that memory does not depend on
their size. Parquet files are read where they are, if they can be (`tables`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.errors import UsageError
from weft.graph.lines import chunks, packed
from weft.temporal.reading.cutting import cut_combined, cut_csv, cut_squid, room_for
from weft.temporal.reading.fates import Tally
from weft.temporal.reading.forms import BOM, form_of, layout_of, names_hosts
from weft.temporal.reading.jsonlines import JsonLines
from weft.temporal.reading.options import Form, Reading
from weft.temporal.reading.rows import columns_of, new_part, scan, sifted, table_of
from weft.temporal.reading.tables import take_table

CHUNK = 1 << 23
_SCHEME = len("https://")
_UNPACKED = 6  # how many times longer packed text becomes: a guess, for the progress bar only
_no_utf8 = re.compile("[\udc80-\udcff]")  # what `surrogateescape` makes of such a byte

Cut = Callable[[bytes], tuple[dict[str, Any], NDArray[np.int8]]]
Advance = Callable[[float], None]


def take(log: Path, reading: Reading, latest: int, scratch: Path, advance: Advance) -> tuple[str, Tally]:
    """The SQL that gives the rows of one log, and what became of its lines; no row is later than `latest`."""
    form = form_of(log, reading)
    if form == "parquet":
        sql, tally = take_table(log, reading, latest, scratch)
    else:
        sql, tally = _take_text(log, form, reading, latest, scratch, advance)
    if not tally.understood:
        why = tally.examples[0] if tally.examples else "there are no rows in it"
        raise UsageError(f"there is nothing usable in this log; {why}", where=str(log), todo=f"is it {form}?")
    return sql, tally


def _take_text(
    log: Path, form: Form, reading: Reading, latest: int, scratch: Path, advance: Advance
) -> tuple[str, Tally]:
    cut = _cutter(log, form, reading)
    size = log.stat().st_size * (_UNPACKED if packed(log) else 1)
    tally = Tally()
    lines = done = 0
    out, opened = new_part(scratch, reading)
    with opened as writer:
        for chunk in _bodies(log, form):
            columns, fates = cut(_as_utf8(chunk))
            table = table_of(columns, reading)
            table = sifted(table, fates, latest, access_log=form in {"squid", "combined"})
            writer.write_table(table)
            tally.note(log.name, fates, lines)
            lines += len(fates)
            done += len(chunk)
            advance(min(done / size, 1.0))
    return f"SELECT * FROM {scan(out)}", tally  # noqa: S608


def _cutter(log: Path, form: Form, reading: Reading) -> Cut:
    """What cuts the lines of a log."""
    if form == "jsonl":
        return JsonLines(reading).cut
    base = np.frombuffer(_base(reading.host), np.uint8)
    layout = layout_of(log, reading) if form == "csv" else None
    virtual = form == "combined" and names_hosts(log)

    def cut(chunk: bytes) -> tuple[dict[str, Any], NDArray[np.int8]]:
        text = np.frombuffer(chunk, np.uint8)
        rows = room_for(text, _SCHEME + len(base))
        if layout is not None:
            done = cut_csv(text, *layout, rows)
        elif form == "combined":
            done = cut_combined(text, virtual, base, rows)
        else:
            done = cut_squid(text, rows)
        return columns_of(rows, done), rows.fate

    return cut


def _base(host: str) -> bytes:
    """What stands before the targets of a host.

    >>> _base("example.org"), _base("https://example.org/")
    (b'http://example.org', b'https://example.org')
    """
    whole = host if "://" in host or not host else f"http://{host}"
    return whole.rstrip("/").encode()


def _bodies(log: Path, form: Form) -> Iterator[bytes]:
    """The log in pieces of whole lines; the header of a CSV file becomes an empty line: all lines keep their number."""
    header = form == "csv"
    for number, chunk in enumerate(chunks(log, CHUNK)):
        body = chunk.removeprefix(BOM) if number == 0 else chunk
        if header and body.strip(b"\r\n"):
            blank = len(body) - len(body.lstrip(b"\r\n"))
            body = body[:blank] + body[body.index(b"\n", blank) :]
            header = False
        yield body


def _as_utf8(chunk: bytes) -> bytes:
    """The same; bytes that are no UTF-8 become percent triplets, as they do in the normal form of a URL."""
    try:
        chunk.decode()
    except UnicodeDecodeError:
        return _no_utf8.sub(lambda odd: f"%{ord(odd[0]) - 0xDC00:02X}", chunk.decode(errors="surrogateescape")).encode()
    return chunk
