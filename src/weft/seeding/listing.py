"""A registry's listing of domain names. In: a file, a name a line or a table with a column of them. Out: the names in
normal form, each once, in the order of `seeding.order`; and what could not be read.

Millions of lines are sorted by DuckDB, within a bound of memory and otherwise on disk.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import xxhash

from weft.disk import replace_file, writing
from weft.errors import UsageError, WeftError
from weft.seeding.given import lines_of
from weft.seeding.order import turned, turned_back
from weft.urls import Unusable, host_of, literal_address, normal_form, site_of

_MEMORY = "256MB"  # that DuckDB may take
_AT_ONCE = 100_000  # names
_MOST_SHOWN = 20  # lines that are no names
_LONGEST_SHOWN = 80  # characters of one
_SEPARATORS = "\t;,|"
_PIECE = 1 << 20


@dataclass(slots=True, kw_only=True)
class Read:
    """What a listing came to."""

    lines: int = 0  # that say something
    names: int = 0  # different ones
    unusable: int = 0  # lines that have no name in them
    shown: list[str] = field(default_factory=list)  # the first of these, with their place


def digest_of(path: Path) -> str:
    """By what a listing is known again."""
    whole = xxhash.xxh3_128()
    try:
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                whole.update(piece)
    except OSError as error:
        raise UsageError(f"cannot read the listing: {error.strerror}", where=str(path), todo="give a file") from error
    return whole.hexdigest()


def name_in(text: str) -> str | None:
    """The domain name that a text is, in normal form; None where it is none.

    >>> name_in(" Example.ORG. "), name_in("bücher.example"), name_in("domain"), name_in("127.0.0.1")
    ('example.org', 'xn--bcher-kva.example', None, None)
    """
    text = text.strip().removesuffix(".")
    if not text or any(sign in text for sign in "/:?#@*\\ %[]"):
        return None
    url = normal_form(f"http://{text}/")
    if isinstance(url, Unusable):
        return None
    host = host_of(site_of(url))
    return host if "." in host and literal_address(host) is None else None


def sort_listing(listing: Path, column: str, out: Path) -> Read:
    """Write the names of a listing to a file, sorted, one a line. What does not fit into memory goes beside it."""
    read = Read()
    with writing(out), tempfile.TemporaryDirectory(dir=out.parent, prefix="sorting-") as room:
        try:
            _sort(listing, column, out, Path(room), read)
        except duckdb.Error as error:
            raise WeftError(f"the names cannot be sorted: {error}", where=room, todo="is the disk full?") from error
    if not read.names:
        first = f"; the first line that is none: {read.shown[0]}" if read.shown else ""
        raise UsageError(
            f"there is no domain name in it{first}", where=str(listing), todo="give one a line, or --column"
        )
    return read


def _sort(listing: Path, column: str, out: Path, room: Path, read: Read) -> None:
    config: dict[str, Any] = {"memory_limit": _MEMORY, "threads": 2, "temp_directory": str(room / "spilled")}
    with duckdb.connect(str(room / "names.duckdb"), config=config) as base:
        base.execute("create table names (name varchar)")
        for some in _batches(listing, column, read):
            base.register("batch", pa.table({"name": pa.array(some, pa.string())}))
            base.execute("insert into names select * from batch")
        found = base.sql("select distinct name from names order by name").to_arrow_reader(_AT_ONCE)
        replace_file(out, lambda file: file.writelines(_as_lines(found, read)))


def _as_lines(found: pa.RecordBatchReader, read: Read) -> Iterator[bytes]:
    for batch in found:
        names = batch.column(0).to_pylist()
        read.names += len(names)
        yield "".join(f"{turned_back(name)}\n" for name in names).encode()


def _batches(listing: Path, column: str, read: Read) -> Iterator[list[str]]:
    """The names as they are sorted, as they come."""
    some: list[str] = []
    for number, text in _texts(listing, column):
        read.lines += 1
        name = name_in(text)
        if name is None:
            read.unusable += 1
            if len(read.shown) < _MOST_SHOWN:
                read.shown.append(f"{listing}, line {number}: {text.strip()[:_LONGEST_SHOWN]!r}")
            continue
        some.append(turned(name))
        if len(some) == _AT_ONCE:
            yield some
            some = []
    yield some


def _texts(listing: Path, column: str) -> Iterator[tuple[int, str]]:
    """What stands where a name should be, with the number of its line; empty lines and those with # say nothing."""
    lines = (
        (number, line) for number, line in enumerate(lines_of(listing), 1) if line.strip() and line.lstrip()[0] != "#"
    )
    first = next(lines, None)
    if first is None:
        raise UsageError("the listing is empty", where=str(listing), todo="give one domain name a line")
    number, head = first
    head = head.lstrip("\ufeff")
    separator = next((sign for sign in _SEPARATORS if sign in head), "")
    if not column:
        if separator:
            shown = ", ".join(map(repr, _fields(head, separator)))
            todo = f"say which has the domain names, by --column and its name or number: {shown}"
            raise UsageError("the listing has several columns", where=f"{listing}, line {number}", todo=todo)
        yield number, head
        yield from lines
        return
    place, has_head = _place_of(column, _fields(head, separator or ","), f"{listing}, line {number}")
    for at, line in [] if has_head else [(number, head)]:
        yield at, _field(line, separator, place)
    for at, line in lines:
        yield at, _field(line, separator, place)


def _fields(line: str, separator: str) -> list[str]:
    return next(csv.reader([line], delimiter=separator), [])


def _field(line: str, separator: str, place: int) -> str:
    fields = _fields(line, separator or ",")
    return fields[place] if place < len(fields) else ""


def _place_of(column: str, head: list[str], where: str) -> tuple[int, bool]:
    """Which column is meant, and whether the first line has their names."""
    names = [name.strip().lower() for name in head]
    if column.strip().lower() in names:
        return names.index(column.strip().lower()), True
    if column.isdecimal() and 1 <= int(column) <= len(head):
        place = int(column) - 1
        return place, name_in(head[place]) is None
    raise UsageError(
        f"there is no column {column!r}",
        where=where,
        todo=f"its columns are {', '.join(map(repr, head))}; or give a number",
    )
