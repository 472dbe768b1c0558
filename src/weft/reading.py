"""A crawl read back from Python, also while it runs. In: its directory. Out: pages, links, URLs, contents and texts, as
rows, as Arrow and as relations of DuckDB.

It stands on what commands read by: the views of `weft query`, the records of `weft show`. What is not committed yet,
and what is superseded, is not seen. Nothing is written, no file is kept open, and memory is bounded: rows come in
batches, and what DuckDB cannot keep in memory goes to a folder for temporary files, which is removed with the crawl
that was opened.
"""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from weft.errors import UsageError, WeftError
from weft.fetch.headers import parse_head
from weft.frontier.durable.committed import committed_marks
from weft.parse.decode import charset_of, decode_content
from weft.store.files import Mark
from weft.store.reading import CrawlFiles, Record
from weft.store.sealed import folders
from weft.urls import normal_form

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

_AT_ONCE = 10_000  # rows of a batch
_TEXTS = 200  # texts of a batch
_MEMORY = "1GB"
_LARGEST = 1 << 28  # bytes of a content, decoded
_TABLE = "stage_text"  # texts that were made afterwards
_TEXT_COLUMNS = ("id", "url", "title", "language", "text")
_HTML = "detected_type in ('text/html', 'application/xhtml+xml') and status between 200 and 299"

# A duplicate's content is where it was stored first.
_CONTENTS = """
select wanted.*, first.volume as body_volume, first."offset" as body_offset, first.length as body_length
from (select * from pages where volume is not null and ({where})) as wanted left join (
    select digest, arg_min(volume, fetched_at) as volume, arg_min("offset", fetched_at) as "offset",
        arg_min(length, fetched_at) as length
    from pages where duplicate_of = 0 and volume is not null
        and digest in (select digest from pages where duplicate_of <> 0) group by digest
) as first on wanted.digest = first.digest and wanted.duplicate_of <> 0
"""


def open(crawl: str | Path, *, memory: str = _MEMORY) -> Crawl:  # noqa: A001  it is called weft.open
    """Open a crawl for reading, while it runs or afterwards.

    - `crawl`: its directory.
    - `memory`: how much DuckDB may take for a question; what does not fit goes to temporary files.

    What is there is seen as of the moment when it is asked for, up to the last commit. For example:

        crawl = weft.open("crawls/first")
        for page in crawl.pages("url", "title", where="status = 200 and kind <> 'robots'"):
            print(page["url"], page["title"])

        table = crawl.links("source", "target").table()      # Arrow; .table().to_pandas() for pandas
        print(crawl.sql("select site, count(*) from pages group by site order by 2 desc limit 10"))

        for content in crawl.contents(where="status = 200"):
            print(content.url, content.headers.get("server"), len(content.body))

        for page in crawl.texts():
            print(page["url"], page["text"][:80])
    """
    return Crawl(Path(crawl), memory=memory)


class Crawl:
    """A crawl that is read; `weft.open` gives one. It keeps no file open and need not be closed."""

    def __init__(self, path: Path, *, memory: str = _MEMORY) -> None:
        self.path = path
        self.files = CrawlFiles(path, self._committed)
        self._memory = memory
        self._folder = Path(tempfile.mkdtemp(prefix="weft-open-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def __repr__(self) -> str:
        return f"weft.open({str(self.path)!r})"

    def _committed(self) -> Mapping[str, Mark]:
        """How far the open files of all workers are committed, at this moment."""
        logs = self.path.glob("workers/*/frontier.log")
        return {name: mark for log in logs for name, mark in committed_marks(log).items()}

    @property
    def tables(self) -> list[str]:
        """The tables that there are, by the names that SQL has for them: pages, links, urls, and those of stages."""
        own = [name for name in folders(self.path) if name.startswith("stage-")]
        return ["pages", "links", "urls", *(name.replace("-", "_") for name in own)]

    # Rows.

    def pages(self, *columns: str, where: str = "") -> Rows:
        """Fetches, a row each: robots.txt files, parts of pages and tries that failed included.

        `columns` are those that are wanted (all, if none is named); `where` is a condition in the SQL of DuckDB. The
        reference of columns says what they mean. `where="final and status = 200 and kind not in ('robots', 'map')"`
        leaves the pages that came.
        """
        return self.table("pages", *columns, where=where)

    def links(self, *columns: str, where: str = "") -> Rows:
        """Links, a row each, by the ids of their ends."""
        return self.table("links", *columns, where=where)

    def urls(self, *columns: str, where: str = "") -> Rows:
        """URLs that are known, fetched or not: the text of every id, each once."""
        return self.table("urls", *columns, where=where)

    def table(self, name: str, *columns: str, where: str = "") -> Rows:
        """The rows of one of the `tables`, such as that of a stage."""
        if name not in self.tables:
            raise UsageError(
                f"there is no table {name}", where=str(self.path), todo=f"there are {', '.join(self.tables)}"
            )
        chosen = ", ".join('"' + column.replace('"', '""') + '"' for column in columns) or "*"
        condition = f" where {where}" if where.strip() else ""
        return Rows(self, f"select {chosen} from {name}{condition}")  # noqa: S608

    def query(self, sql: str) -> Rows:
        """The rows that a SELECT gives, over the `tables`, as `weft query` takes it."""
        return Rows(self, sql)

    def sql(self, sql: str) -> duckdb.DuckDBPyRelation:
        """The same as a relation of DuckDB, which can be asked further. It sees the crawl as it is now."""
        from weft.store.asking import asked, select

        with asked():
            return select(self.connection(), sql)

    def connection(self) -> duckdb.DuckDBPyConnection:
        """A database of DuckDB in memory, with a view of each of the `tables` as they are now. It can read nothing
        else, and what is made in it is gone with it.
        """
        from weft.store.asking import asked, opened

        with asked():
            return opened(self.files, self._folder, self._memory)

    def columns(self, table: str) -> list[str]:
        """The names of the columns that one of the `tables` has in this crawl."""
        return [name for name, *_ in self.connection().execute(f"describe {table}").fetchall()]

    def written_texts(self) -> Written | None:
        """Where texts are, if the stage `text` or `weft text` wrote any: as columns of pages, or as a table."""
        if _TABLE in self.tables:
            own = self.columns(_TABLE)
            why = _first(own, "text_reason", "reason")
            made = f"given.text as made_text, {f'given.{why}' if why else 'null'} as made_reason"
            joined = f"(select pages.*, {made} from pages left join {_TABLE} as given on given.id = pages.id)"  # noqa: S608
            if "text" in own:
                return Written(joined, "made_text", "made_reason")
        named = self.columns("pages")
        return Written("pages", "text", _first(named, "text_reason")) if "text" in named else None

    # Contents.

    def content(self, url: str) -> Content:
        """What was last stored of a URL."""
        normal = normal_form(url)
        if type(normal) is not str:
            raise UsageError(f"this is no URL of the web: {url}", todo="give it as it stands in the table of pages")
        rows = [row for row in self.files.fetches(normal) if row["volume"] is not None]
        if not rows:
            raise WeftError(f"{normal} is not in the archive", where=str(self.path), todo=f"weft explain {self.path}")
        return Content(rows[-1], self.files.content(rows[-1]))

    def contents(self, where: str = "") -> Iterator[Content]:
        """What was fetched, with headers, from the volumes, in whichever directory or object store they are.

        `where` chooses pages by their columns, as in `pages`. Of a duplicate the content is read from where it was
        stored first; where that is no page of this crawl, it is empty, and `missing` says so.
        """
        for row in Rows(self, _CONTENTS.format(where=where.strip() or "true")):
            place = [row.pop(name) for name in ("body_volume", "body_offset", "body_length")]
            record = self.files.record(row)
            if row["duplicate_of"] and place[0] is not None:
                first = dict(zip(("volume", "offset", "length"), place, strict=True))
                record = record._replace(body=self.files.record(first).body)
            yield Content(row, record, missing=bool(row["duplicate_of"]) and place[0] is None)

    def texts(self, where: str = "", *, main: bool = True) -> Texts:
        """The words of pages: rows of id, url, title, language and text.

        Texts that the stage `text` wrote, or `weft text`, are taken as they are. Where there are none, those of the
        HTML pages are made now, of their main content or, with `main` off, of all of it. `where` chooses pages by
        their columns, as in `pages`.
        """
        return Texts(self, where, main=main)


class Written(NamedTuple):
    """Where texts were written."""

    table: str  # in SQL: what has a row a fetch, with the columns of pages and of texts
    text: str
    reason: str  # the column that says why there is none; "" where nothing does


def _first(names: list[str], *wanted: str) -> str:
    return next((name for name in wanted if name in names), "")


class Rows:
    """Rows that are asked for when they are read, each time anew: as dictionaries, or as Arrow."""

    def __init__(self, crawl: Crawl, sql: str) -> None:
        self._crawl = crawl
        self._sql = sql

    def __repr__(self) -> str:
        return f"{self._crawl!r}.query({self._sql!r})"

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self.batches():
            yield from batch.to_pylist()

    def batches(self, rows: int = _AT_ONCE) -> Iterator[pa.RecordBatch]:
        """Record batches of Arrow, of so many rows at most."""
        from weft.store.asking import asked

        with asked():
            yield from self.relation().to_arrow_reader(rows)

    def reader(self, rows: int = _AT_ONCE) -> pa.RecordBatchReader:
        """The same as a reader, which knows its schema; Polars, pandas and others take it."""
        from weft.store.asking import asked

        with asked():
            return self.relation().to_arrow_reader(rows)

    def table(self) -> pa.Table:
        """All rows at once, as a table of Arrow: they must fit into memory."""
        from weft.store.asking import asked

        with asked():
            return self.reader().read_all()

    def relation(self) -> duckdb.DuckDBPyRelation:
        """The rows as a relation of DuckDB."""
        return self._crawl.sql(self._sql)

    def count(self) -> int:
        """How many they are."""
        from weft.store.asking import asked

        with asked():
            return int(self.relation().aggregate("count(*)").fetchall()[0][0])


class Content:
    """What was fetched of a URL, and what is known of it."""

    def __init__(self, row: dict[str, Any], record: Record, *, missing: bool = False) -> None:
        self.row = row
        self.missing = missing
        self._record = record

    def __repr__(self) -> str:
        return f"Content({self.url}, status={self.status}, bytes={len(self.raw)})"

    @property
    def url(self) -> str:
        """The URL asked for, in normal form."""
        return str(self.row["url"])

    @property
    def status(self) -> int:
        """The status of the answer."""
        return int(self.row["status"] or 0)

    @property
    def warc(self) -> dict[str, str]:
        """The header of its WARC record."""
        return self._record.warc

    @property
    def head(self) -> bytes:
        """The HTTP header as it is stored."""
        return self._record.head

    @property
    def raw(self) -> bytes:
        """The content as it came, coded as it was."""
        return self._record.body

    @cached_property
    def headers(self) -> dict[str, str]:
        """The fields of the header, by their names in small letters."""
        return parse_head(self.head.splitlines(keepends=True))[2]

    @cached_property
    def body(self) -> bytes:
        """The content, decoded; as it came where that cannot be done."""
        body, reason = decode_content(self.raw, self.headers.get("content-encoding", ""), _LARGEST)
        return body if reason is None else self.raw

    @cached_property
    def text(self) -> str:
        """The content as text, by its charset; mark-up included. What is no text becomes none by this."""
        charset = self.row.get("charset") or charset_of(self.body, "")
        return self.body.decode(charset, errors="replace")


class Texts:
    """The words of pages: rows of id, url, title, language and text, made when they are read."""

    def __init__(self, crawl: Crawl, where: str, *, main: bool) -> None:
        self._crawl = crawl
        self._where = where.strip() or "true"
        self._main = main

    def __repr__(self) -> str:
        return f"{self._crawl!r}.texts({self._where!r}, main={self._main})"

    @property
    def written(self) -> bool:
        """Were they written, by the stage `text` or by `weft text`, or are they made now?"""
        return self._crawl.written_texts() is not None

    def __iter__(self) -> Iterator[dict[str, Any]]:
        rows = self._rows()
        yield from self._made() if rows is None else rows

    def batches(self, rows: int = _TEXTS) -> Iterator[pa.RecordBatch]:
        """Record batches of Arrow, of so many texts at most."""
        written = self._rows()
        if written is not None:
            yield from written.batches(rows)
            return
        import pyarrow as pa

        schema = text_schema()
        waiting: list[dict[str, Any]] = []
        for row in self._made():
            waiting.append(row)
            if len(waiting) >= rows:
                yield pa.RecordBatch.from_pylist(waiting, schema=schema)
                waiting = []
        if waiting:
            yield pa.RecordBatch.from_pylist(waiting, schema=schema)

    def reader(self, rows: int = _TEXTS) -> pa.RecordBatchReader:
        """The same as a reader, which knows its schema."""
        import pyarrow as pa

        written = self._rows()
        if written is not None:
            return written.reader(rows)
        return pa.RecordBatchReader.from_batches(text_schema(), self.batches(rows))

    def table(self) -> pa.Table:
        """All of them at once, as a table of Arrow: they must fit into memory."""
        return self.reader().read_all()

    def _rows(self) -> Rows | None:
        """The texts that were written, each with its page; None where there are none."""
        written = self._crawl.written_texts()
        if written is None:
            return None
        return self._crawl.query(
            f"select id, url, title, language, {written.text} as text from {written.table} "  # noqa: S608
            f"where final and {written.text} is not null and id in (select id from pages where {self._where})"
        )

    def _made(self) -> Iterable[dict[str, Any]]:
        """The texts of HTML pages, one after the other."""
        from weft.text.html import main_text, whole_text

        words = main_text if self._main else whole_text
        for content in self._crawl.contents(f"final and {_HTML} and ({self._where})"):
            row = {name: content.row[name] for name in _TEXT_COLUMNS if name != "text"}
            yield row | {"text": words(content.text)}


def text_schema() -> pa.Schema:
    """What a row of texts consists of."""
    import pyarrow as pa

    texts = [pa.field(name, pa.string()) for name in _TEXT_COLUMNS if name != "id"]
    return pa.schema([pa.field("id", pa.int64()), *texts])
