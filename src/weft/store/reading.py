"""A crawl's directory read back, also while the crawl runs. In: an id. Out: its rows, its records, who links to it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import ipc

from weft.errors import UsageError, WeftError
from weft.store.columns import read_batches
from weft.store.files import OPEN, sealed_as


class Record(NamedTuple):
    """A record of a volume."""

    warc: dict[str, str]  # its WARC header
    head: bytes  # the HTTP header in it
    body: bytes  # the content, as it came


class CrawlFiles:
    """What a crawl has written so far."""

    def __init__(self, out: Path) -> None:
        if not (out / "crawl.toml").exists():
            raise UsageError("there is no crawl here", where=str(out), todo="give the directory of a crawl (its --out)")
        self.out = out

    def rows(self, url_id: int) -> list[dict[str, Any]]:
        """Every fetch of a URL, the oldest first."""
        found = [row for batch in self.batches("pages") for row in _where(batch, "id", url_id).to_pylist()]
        return sorted(found, key=lambda row: row["fetched_at"])

    def linked_from(self, url_id: int, most: int = 5) -> list[tuple[int, int]]:
        """Pages that link to a URL: their ids, and the kinds of the links."""
        found: list[tuple[int, int]] = []
        for batch in self.batches("links"):
            rows = _where(batch, "target", url_id).to_pydict()
            found += zip(rows["source"], rows["kind"], strict=True)
            if len(found) >= most:
                break
        return found[:most]

    def url(self, url_id: int) -> str | None:
        """The URL of an id."""
        for batch in self.batches("urls"):
            rows = _where(batch, "id", url_id)
            if rows.num_rows:
                return str(rows.column("url")[0].as_py())
        return None

    def record(self, row: dict[str, Any]) -> Record:
        """The record that a row of `pages` names."""
        sealed = self.out / "volumes" / row["volume"]
        try:
            with _opened(sealed) as file:
                file.seek(row["offset"])
                data = zlib.decompress(file.read(row["length"]), wbits=31)
        except (OSError, zlib.error) as error:
            where = f"{sealed}, offset {row['offset']}"
            raise WeftError(f"cannot read the record: {error}", where=where, todo="is the volume whole?") from error
        warc, _, block = data.partition(b"\r\n\r\n")
        fields = (line.partition(": ") for line in warc.decode().split("\r\n")[1:])
        head, gap, body = block[:-4].partition(b"\r\n\r\n")
        return Record({name: value for name, _, value in fields}, head + gap, body)

    def batches(self, table: str, columns: Sequence[str] | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of a table, or some columns of them, as far as the table has them; also while the crawl runs."""
        # Open parts are listed first: one that is sealed meanwhile is then found among the sealed ones.
        growing = sorted((self.out / table).glob("*.arrow.open"))
        sealed = sorted((self.out / table).glob("*.parquet"))
        for path in sealed:
            yield from _sealed(path, columns)
        for path in growing:
            final = sealed_as(path.with_name(path.name.removesuffix(OPEN)))
            if final in sealed:
                continue
            try:
                with ipc.open_stream(pa.OSFile(str(path), "rb")) as reader:
                    for batch in read_batches(reader):
                        yield batch if columns is None else batch.select(_known(columns, batch.schema))
            except FileNotFoundError:  # it was sealed in this moment
                yield from _sealed(final, columns)
            except (OSError, pa.ArrowInvalid):
                continue  # it holds nothing yet


def _sealed(path: Path, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    try:
        file = pq.ParquetFile(path)
        yield from file.iter_batches(columns=None if columns is None else _known(columns, file.schema_arrow))
    except (OSError, pa.ArrowInvalid) as error:
        raise WeftError(f"cannot read the columns: {error}", where=str(path), todo="is the file whole?") from error


def _known(columns: Sequence[str], schema: pa.Schema) -> list[str]:
    return [name for name in columns if name in schema.names]


def _opened(sealed: Path) -> BinaryIO:
    """A volume, sealed or still open; it may be sealed while we look."""
    try:
        return sealed.with_name(f"{sealed.name}.open").open("rb")
    except FileNotFoundError:
        return sealed.open("rb")


def _where(batch: pa.RecordBatch, column: str, value: int) -> pa.RecordBatch:
    return batch.filter(pc.equal(batch.column(column), pa.scalar(value, type=pa.uint64())))
