"""A crawl's directory read back, also while the crawl runs. In: a URL, or an id. Out: its rows, its records, who links
to it.

Rows that are not committed yet are seen, too, a second early; whoever must not see them says how far each open part is
committed.

Ids are made for joins. Two URLs can have the same, and somebody can have made them so: where a person asks for a URL,
its text is compared, and what has no more than an id is answered with every URL that has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import ipc

from weft.errors import UsageError, WeftError, no_crawl
from weft.store.columns import IDS, read_batches
from weft.store.files import OPEN, Mark, owner_of, sealed_as
from weft.store.members import Volumes
from weft.store.superseded import column_for, counting, superseded
from weft.urls import fingerprint, signed


class Record(NamedTuple):
    """A record of a volume."""

    warc: dict[str, str]  # its WARC header
    head: bytes  # the HTTP header in it
    body: bytes  # the content, as it came


class Linked(NamedTuple):
    """A link to a URL."""

    source: int  # the id of the page that it is on
    kind: str
    nofollow: bool  # it was not followed, because it asks not to be


_Read = Callable[[Path, Sequence[str] | None], Iterator[pa.RecordBatch]]
Committed = Callable[[], Mapping[str, Mark]]
"""How far open files are committed, by the names that commits know them by; asked whenever something is read."""
_TOLD = ("id", "commit", "final")


class CrawlFiles:
    """The files of a crawl, for who reads them, also while it runs. It writes nothing and keeps no file open."""

    def __init__(self, out: Path, committed: Committed | None = None) -> None:
        if not (out / "crawl.toml").exists():
            raise no_crawl(str(out))
        self.out = out
        self._committed = committed
        self.volumes = Volumes(out)
        self.counts_until = superseded(out)  # by worker, of some: the last commit whose rows count
        self._gone: dict[int, pa.Array] = {}

    def fetches(self, url: str) -> list[dict[str, Any]]:
        """Every fetch of a URL, the oldest first."""
        return [row for row in self.rows(fingerprint(url)) if row["url"] == url]

    def rows(self, url_id: int) -> list[dict[str, Any]]:
        """Every fetch of what has an id, the oldest first."""
        found = [row for batch in self.batches("pages") for row in _where(batch, "id", url_id).to_pylist()]
        return sorted(found, key=lambda row: row["fetched_at"])

    def linked_from(self, url_id: int, most: int = 5) -> list[Linked]:
        """Some of the links to what has an id, those that were followed first."""
        found: list[Linked] = []
        followed = 0
        for batch in self.batches("links", (*Linked._fields, "target")):
            rows = _where(batch, "target", url_id).to_pydict()
            found += map(Linked, rows["source"], rows["kind"], rows["nofollow"])
            followed += rows["nofollow"].count(False)
            if followed >= most:
                break
        return sorted(found, key=lambda link: link.nofollow)[:most]

    def urls(self, url_id: int, table: str = "urls") -> list[str]:
        """The URLs that have an id, mostly one: of those that were found, or that were fetched (in `pages`)."""
        batches = self.batches(table, ("id", "url"))
        return list(dict.fromkeys(url for batch in batches for url in _where(batch, "id", url_id)["url"].to_pylist()))

    def record(self, row: dict[str, Any]) -> Record:
        """The record that a row of `pages` names."""
        data = self.volumes.member(row["volume"], row["offset"], row["length"])
        warc, _, block = data.partition(b"\r\n\r\n")
        fields = (line.partition(": ") for line in warc.decode().split("\r\n")[1:])
        head, gap, body = block[:-4].partition(b"\r\n\r\n")
        return Record({name: value for name, _, value in fields}, head + gap, body)

    def content(self, row: dict[str, Any]) -> Record:
        """The record that a row of `pages` names, with its content: a duplicate's is where it was stored first, be that
        in an earlier crawl.
        """
        record = self.record(row)
        if not row["duplicate_of"]:
            return record
        source = row.get("duplicate_in")
        files = CrawlFiles(Path(source)) if source and (Path(source) / "crawl.toml").exists() else self
        if source and files is self:
            referred = f"{record.warc.get('WARC-Refers-To-Target-URI')} of {record.warc.get('WARC-Refers-To-Date')}"
            raise WeftError(
                f"its content is not in this crawl: it is that of {referred}",
                where=source,
                todo="replay both collections together, such as in pywb",
            )
        for found in files.rows(row["duplicate_of"]):
            if found["digest"] == row["digest"] and not found["duplicate_of"] and found["volume"] is not None:
                return record._replace(body=files.record(found).body)
        raise WeftError(
            f"the content of {row['url']} was stored under another URL, which is not among the pages there",
            where=str(files.out),
            todo="weft show --headers shows what there is",
        )

    def batches(self, table: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of a table, or some columns of them, as far as the table has them; also while the crawl runs."""
        sealed, growing = self.parts(table)
        for path in sealed:
            yield from self._counted(table, path, columns, _sealed)
        for path in growing:
            yield from self._counted(table, path, columns, self.growing)

    def growing(self, path: Path, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of a part that still grew when it was listed, as far as they are there for whoever reads."""
        if self._committed is None:
            yield from growing_rows(path, columns)
            return
        mark = self._committed().get(f"{path.parent.name}/{path.name.removesuffix(OPEN)}")
        if mark is not None:
            yield from growing_rows(path, columns, mark.length)
        elif _final(path).exists():  # it was sealed meanwhile
            yield from _sealed(_final(path), columns)

    def _counted(self, table: str, path: Path, columns: Sequence[str] | None, read: _Read) -> Iterator[pa.RecordBatch]:
        """The rows of a part that count."""
        worker, column = owner_of(path), column_for(table)
        until = None if worker is None else self.counts_until.get(worker)
        if worker is None or until is None or not column:
            yield from read(path, columns)
            return
        only = counting(table, until, lambda: self.gone(worker))
        for batch in read(path, None if columns is None or column in columns else [*columns, column]):
            rows = only(batch)
            yield rows if columns is None else rows.select(_known(columns, rows.schema))

    def gone(self, worker: int) -> pa.Array:
        """The ids of pages that a worker fetched, and whose rows do not count."""
        if worker not in self._gone:
            until, counts, others = self.counts_until[worker], set[int](), set[int]()
            for path in (path for some in self.parts("pages") for path in some if owner_of(path) == worker):
                read = _sealed if path.suffix == ".parquet" else self.growing
                for batch in read(path, ("id", "commit", "final")):
                    for page, commit, final in zip(*(batch[name].to_pylist() for name in _TOLD), strict=True):
                        if commit > until:
                            others.add(page)
                        elif final:
                            counts.add(page)
            self._gone[worker] = pa.array(sorted(others - counts), pa.int64())
        return self._gone[worker]

    def parts(self, table: str) -> tuple[list[Path], list[Path]]:
        """The parts of a table: those that are sealed, and those that still grow."""
        # Open parts are listed first: one that is sealed meanwhile is then found among the sealed ones.
        growing = sorted((self.out / table).glob("*.arrow.open"))
        sealed = sorted((self.out / table).glob("*.parquet"))
        return sealed, [path for path in growing if _final(path) not in sealed]


def _final(growing: Path) -> Path:
    return sealed_as(growing.with_name(growing.name.removesuffix(OPEN)))


def growing_rows(
    path: Path, columns: Sequence[str] | None = None, length: int | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of a part that still grew when it was listed; those in its first bytes, if a length is given."""
    try:
        file = pa.OSFile(str(path), "rb")
        with ipc.open_stream(file if length is None else file.read_buffer(length)) as reader:
            _check(path, reader.schema)
            for batch in read_batches(reader):
                yield batch if columns is None else batch.select(_known(columns, batch.schema))
    except FileNotFoundError:  # it was sealed in this moment
        yield from _sealed(_final(path), columns)
    except (OSError, pa.ArrowInvalid):
        return  # it holds nothing yet


def _check(path: Path, schema: pa.Schema) -> None:
    """Ids were unsigned once."""
    if any(pa.types.is_uint64(field.type) for field in schema):
        raise UsageError(
            "these columns were written by an earlier version, in which ids had no sign",
            where=str(path),
            todo="read them with the version that wrote them",
        )


def _sealed(path: Path, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    try:
        file = pq.ParquetFile(path)
        _check(path, file.schema_arrow)
        yield from file.iter_batches(columns=None if columns is None else _known(columns, file.schema_arrow))
    except (OSError, pa.ArrowInvalid) as error:
        raise WeftError(f"cannot read the columns: {error}", where=str(path), todo="is the file whole?") from error


def _known(columns: Sequence[str], schema: pa.Schema) -> list[str]:
    return [name for name in columns if name in schema.names]


def ids_as_text(row: dict[str, Any]) -> dict[str, Any]:
    """A row for JSON: many of its readers keep no more than 53 bits of a number."""
    return {name: str(value) if name in IDS else value for name, value in row.items()}


def _where(batch: pa.RecordBatch, column: str, value: int) -> pa.RecordBatch:
    return batch.filter(pc.equal(batch.column(column), pa.scalar(signed(value), type=pa.int64())))
