"""`weft export`: a crawl for other programs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from weft.errors import UsageError

if TYPE_CHECKING:
    from weft.reading import Crawl


def _to_a_file(text: str) -> Parameter:
    """An option whose value is the name of a file, or a hyphen."""
    return Parameter(help=text, allow_leading_hyphen=True)


def export(
    crawl: Annotated[Path, Parameter(help="Directory of the crawl.")],
    /,
    *,
    wacz: Annotated[str | None, _to_a_file("Write a WACZ file, to be replayed; -: to standard output.")] = None,
    jsonl: Annotated[str | None, _to_a_file("Write rows, one JSON object a line; -: to standard output.")] = None,
    csv: Annotated[str | None, _to_a_file("Write rows as CSV, names first; -: to standard output.")] = None,
    table: Annotated[
        str, Parameter(help="Which rows: pages, links, urls, texts, or the table of a stage (stage_NAME).")
    ] = "pages",
    columns: Annotated[
        list[str] | None, Parameter(help="Which columns, separated by commas; all if not given.", negative=())
    ] = None,
    where: Annotated[str, Parameter(help="Which rows: a condition in the SQL of DuckDB; of texts, on pages.")] = "",
    title: Annotated[str, Parameter(help="Title of the WACZ file; the name of the crawl if not given.")] = "",
) -> None:
    """Write a crawl for other programs: as WACZ to be replayed, as JSON lines or CSV to be computed with.

    Works beside a running crawl. A WACZ file has the volumes that are sealed by then, which is said; rows are those
    that are committed. Everything is written as it is read, so that the output may be larger than memory, or a pipe.

    For example:

        weft export crawls/first --wacz first.wacz

        weft export crawls/first --jsonl - --columns url,title,language --where "status = 200" | head

        weft export crawls/first --csv texts.csv --table texts
    """
    from weft.reading import open as open_crawl

    given = {name: to for name, to in (("wacz", wacz), ("jsonl", jsonl), ("csv", csv)) if to is not None}
    if len(given) != 1:
        what = "nothing says what to write" if not given else f"--{' and --'.join(given)} are given"
        raise UsageError(what, todo="give one of --wacz, --jsonl and --csv, with the name of a file or -")
    ((form, to),) = given.items()
    if to.startswith("--"):
        raise UsageError(f"--{form} needs the name of a file", todo="or - for standard output")
    if form == "wacz" and to == "-" and sys.stdout.isatty():
        raise UsageError("a WACZ file is nothing for a terminal", todo="send it to a file or a pipe")
    opened = open_crawl(crawl)
    if form == "wacz":
        if columns or where or table != "pages":
            raise UsageError("a WACZ file has all pages and columns", todo="leave --table, --columns and --where out")
        _write_wacz(opened, to, title)
        return
    from weft.exporting.lines import write_csv, write_json

    chosen = [name.strip() for text in columns or () for name in text.split(",") if name.strip()]
    names, rows = _rows(opened, table, chosen, where)
    write = write_json if form == "jsonl" else write_csv
    written = _to(to, lambda file: write(names, rows, file))
    print(f"weft: {written:,} rows of {table} written", file=sys.stderr)


def _write_wacz(crawl: Crawl, to: str, title: str) -> None:
    from weft.exporting.wacz import export_wacz

    done = _to(to, lambda file: export_wacz(crawl, file, title=title))
    said = f"{done.volumes:,} volumes ({done.bytes / 1e6:,.1f} MB), {done.records:,} records, {done.pages:,} pages"
    print(f"weft: {said} written", file=sys.stderr)
    if done.open_volumes:
        lines = f"; {done.dangling:,} records that refer to them are not in the index" if done.dangling else ""
        print(
            f"weft: {done.open_volumes:,} volumes are not sealed and were left out{lines}; when the crawl has ended, "
            "the same command writes all of it",
            file=sys.stderr,
        )


def _rows(crawl: Crawl, table: str, columns: Sequence[str], where: str) -> tuple[list[str], Iterator[list[Any]]]:
    """Names and rows of what is asked for."""
    if table == "texts":
        from weft.reading import text_schema

        names = list(columns) or text_schema().names
        unknown = sorted(set(names) - set(text_schema().names))
        if unknown:
            raise UsageError(f"texts have no column {unknown[0]}", todo=f"there are {', '.join(text_schema().names)}")
        return names, ([row[name] for name in names] for row in crawl.texts(where))
    from weft.store.asking import rows_of

    return rows_of(crawl.table(table, *columns, where=where).reader())


def _to(name: str, write: Callable[[IO[bytes]], Any]) -> Any:
    """Write to a file, which is there when it is whole, or to standard output."""
    if name == "-":
        done = write(sys.stdout.buffer)
        sys.stdout.buffer.flush()
        return done
    from weft.disk import replace_file, writing

    results: list[Any] = []
    with writing(Path(name)):
        replace_file(Path(name), lambda file: results.append(write(file)))
    return results[0]
