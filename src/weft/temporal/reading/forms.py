"""What a log is. In: its first bytes. Out: its form, and for a CSV file where its columns are.

Parquet is told by its first bytes. A text whose first line names the columns that are asked for is CSV, whatever lines
follow; else it has the form that most of its first lines have, or is taken for CSV where none has any.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from weft.errors import UsageError
from weft.graph.lines import chunks
from weft.temporal.reading.options import Form, Reading

_PARQUET = b"PAR1"
_LOOKED_AT = 200  # lines
_HEAD = 1 << 16
BOM = b"\xef\xbb\xbf"
_DELIMITERS = ",\t;|"
_squid = re.compile(rb"\s*\d{9,10}(?:\.\d+)?\s+-?\d+\s+\S+\s+[A-Z_]+\S*/\d{3}\s+-?\d+\s+\S+\s+\S+").match
_combined = re.compile(rb'[^\[]*\[\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d [+-]\d{4}\] "').match
_begins_with_host = re.compile(rb"(?:\S+ ){3}\S+ *\[").match
_asks_for_url = re.compile(rb'[^"]*"[A-Z]+ https?://').match


class Layout(NamedTuple):
    """How the lines of a CSV file are to be cut."""

    delimiter: int
    width: int
    columns: NDArray[np.int64]  # by USER, AGENT, TS, URL, VIEWS of `cutting`; -1: none


def form_of(path: Path, reading: Reading) -> Form:
    """The form of a log, told or found out."""
    if is_parquet(path):
        return "parquet"
    if reading.form == "parquet":
        raise UsageError("this is no Parquet file", where=str(path), todo="leave the form away, and it is found out")
    lines = _lines(path)
    if not lines:
        raise UsageError("the file is empty", where=str(path), todo="leave it out")
    form = reading.form if reading.form != "auto" else _most_likely(lines, reading)
    if form == "combined":
        _check_host(lines, path, reading)
    if form == "jsonl":
        _check_keys(lines, path, reading)
    return form


def _most_likely(lines: list[bytes], reading: Reading) -> Form:
    names = _names(lines[0].removeprefix(BOM).decode(errors="replace"))[1]
    if set(reading.columns()) <= set(names):
        return "csv"
    found: dict[Form, int] = {
        "squid": sum(_squid(line) is not None for line in lines),
        "combined": sum(_combined(line) is not None for line in lines),
        "jsonl": sum(line.lstrip().startswith(b"{") for line in lines),
    }
    form = max(found, key=lambda name: found[name])
    return form if found[form] else "csv"


def _check_host(lines: list[bytes], path: Path, reading: Reading) -> None:
    if not reading.host and not _name_hosts(lines) and not any(_asks_for_url(line) for line in lines):
        raise UsageError(
            "the log does not name the host of its pages",
            where=str(path),
            todo="give it with --host, or log it as the first field",
        )


def names_hosts(path: Path) -> bool:
    """Does a Combined log name the virtual host in front of each line?"""
    return _name_hosts(_lines(path))


def _name_hosts(lines: list[bytes]) -> bool:
    # A name with a space in it makes a line look like one with a host: what most lines look like counts.
    return 2 * sum(_begins_with_host(line) is not None for line in lines) > len(lines)


def _check_keys(lines: list[bytes], path: Path, reading: Reading) -> None:
    """Columns that no line has are wrong names, not broken lines."""
    keys: dict[str, None] = {}
    for line in lines:
        try:
            keys.update(dict.fromkeys(msgspec.json.decode(line, type=dict[str, object])))
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
    check_columns(tuple(keys), path, reading)


def check_columns(there: tuple[str, ...], path: Path, reading: Reading, line: str = "") -> None:
    """Say which columns are missing, and which there are."""
    missing = [name for name in reading.columns() if name not in there]
    if missing:
        listed = ", ".join(there[:30]) or "none"
        raise UsageError(
            f"there is no column called {' or '.join(map(repr, missing))}",
            where=f"{path}{line}",
            todo=f"name the columns that are what you mean; there are: {listed}",
        )


def layout_of(path: Path, reading: Reading) -> Layout:
    """Where the columns of a CSV file are, by its first line."""
    line = _head(path).removeprefix(BOM).lstrip(b"\r\n").partition(b"\n")[0].rstrip(b"\r")
    try:
        header = line.decode()
    except UnicodeDecodeError:
        header = "\0"
    if "\0" in header or any(not letter.isprintable() and letter != "\t" for letter in header):
        raise UsageError(
            "the file is no log: its first line is not text", where=f"{path}, line 1", todo="is it the right file?"
        )
    delimiter, names = _names(header)
    check_columns(names, path, reading, ", line 1")
    wanted = (*reading.who(), "", "")[:2]
    columns = [names.index(name) if name else -1 for name in (*wanted, reading.ts, reading.url, reading.views)]
    return Layout(ord(delimiter), len(names), np.array(columns, np.int64))


def _names(header: str) -> tuple[str, tuple[str, ...]]:
    """The delimiter of a CSV file and the names of its columns."""
    delimiter = max(_DELIMITERS, key=header.count)
    return delimiter, tuple(name.strip() for name in next(csv.reader([header], delimiter=delimiter)))


def _lines(path: Path) -> list[bytes]:
    """The first lines with something in them."""
    return [line for line in _head(path).splitlines()[:_LOOKED_AT] if line.strip()]


def _head(path: Path) -> bytes:
    """The first lines of a file, unpacked."""
    return next(chunks(path, _HEAD), b"")


def is_parquet(path: Path) -> bool:
    """Does a log begin as Parquet files do?"""
    try:
        with path.open("rb") as file:
            return file.read(len(_PARQUET)) == _PARQUET
    except OSError as error:
        raise UsageError(f"cannot read the log: {error.strerror or error}", where=str(path)) from error
