"""Columns: what is known of each fetch, each link and each URL, for other programs to query at once. In: rows. Out:
Parquet.

Rows go to a journal first, an Arrow stream that ends in `.open`: it can be cut at any committed length and still
opens. When a part is full, or the crawl stops, it becomes a Parquet file (`sealing.py`). Ids are signed 64-bit numbers,
0 for none and never null: that is what every reader of Parquet keeps exactly.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc

from weft.model import Kind
from weft.store.files import Growing, last_number

IDS = frozenset({"id", "via", "duplicate_of", "source", "target"})
"""The columns that hold ids, in all tables."""

_END = b"\xff\xff\xff\xff\0\0\0\0"  # of a stream
_WHEN = pa.timestamp("us", tz="UTC")

PAGES = pa.schema(
    [
        pa.field(
            "id", pa.int64(), nullable=False, metadata={"doc": "64-bit fingerprint of the URL, as a signed number"}
        ),
        pa.field("url", pa.string(), nullable=False, metadata={"doc": "the URL asked for, in normal form"}),
        pa.field(
            "site",
            pa.string(),
            nullable=False,
            metadata={"doc": "host, with its port where that is not the default one"},
        ),
        pa.field("ip", pa.string(), metadata={"doc": "address it was fetched from"}),
        pa.field("kind", pa.string(), metadata={"doc": "how the URL was found: seed, a, redirect, robots, image …"}),
        pa.field("depth", pa.int32(), metadata={"doc": "links away from a seed"}),
        pa.field(
            "via", pa.int64(), nullable=False, metadata={"doc": "id of the page where it was found first, 0 for none"}
        ),
        pa.field("attempt", pa.int16(), metadata={"doc": "1 for the first try"}),
        pa.field("final", pa.bool_(), metadata={"doc": "false when the page will be tried again"}),
        pa.field("worker", pa.int16(), nullable=False, metadata={"doc": "number of the process that fetched it"}),
        pa.field("visit", pa.int64(), metadata={"doc": "number of the connection, of that worker"}),
        pa.field("status", pa.int16(), metadata={"doc": "HTTP status, null when no answer came"}),
        pa.field(
            "reason", pa.string(), metadata={"doc": "why it failed, from the list of reasons; null when it did not"}
        ),
        pa.field("connected_at", _WHEN, metadata={"doc": "when the connection was opened"}),
        pa.field("fetched_at", _WHEN, metadata={"doc": "when the request was made"}),
        pa.field("closed_at", _WHEN, metadata={"doc": "when the connection was closed, on the row of its last page"}),
        pa.field(
            "wait",
            pa.float32(),
            metadata={"doc": "seconds that the site rests after the connection, on the row of its last page"},
        ),
        pa.field("took", pa.float32(), metadata={"doc": "seconds from the request to the last byte"}),
        pa.field("declared_type", pa.string(), metadata={"doc": "media type in the header"}),
        pa.field("detected_type", pa.string(), metadata={"doc": "media type as found by looking"}),
        pa.field("charset", pa.string(), metadata={"doc": "charset of the text"}),
        pa.field("language", pa.string(), metadata={"doc": "language as the page declares it"}),
        pa.field("title", pa.string(), metadata={"doc": "title of the page"}),
        pa.field("bytes", pa.int64(), metadata={"doc": "size of the content as it came"}),
        pa.field(
            "truncated",
            pa.string(),
            metadata={"doc": "length, time, disconnect or unspecified where content is missing"},
        ),
        pa.field("digest", pa.string(), metadata={"doc": "SHA-1 of the content, as in the WARC"}),
        pa.field(
            "duplicate_of",
            pa.int64(),
            nullable=False,
            metadata={"doc": "id of the URL under which the same content was stored first, 0 for none"},
        ),
        pa.field("links", pa.int32(), metadata={"doc": "links found on it, null where it was not read"}),
        pa.field("etag", pa.string(), metadata={"doc": "ETag header"}),
        pa.field("last_modified", pa.string(), metadata={"doc": "Last-Modified header"}),
        pa.field("redirect", pa.string(), metadata={"doc": "where it redirects to, in normal form"}),
        pa.field("tls", pa.string(), metadata={"doc": "verdict on the certificate: ok, expired, self-signed …"}),
        pa.field("volume", pa.string(), metadata={"doc": "WARC file, null when nothing was stored"}),
        pa.field("offset", pa.int64(), metadata={"doc": "where its record begins"}),
        pa.field("length", pa.int64(), metadata={"doc": "how long its record is, compressed"}),
    ]
)

LINKS = pa.schema(
    [
        pa.field("source", pa.int64(), nullable=False, metadata={"doc": "id of the page the link is on"}),
        pa.field("target", pa.int64(), nullable=False, metadata={"doc": "id of the URL it leads to"}),
        pa.field(
            "kind",
            pa.dictionary(pa.int8(), pa.string()),
            nullable=False,
            metadata={"doc": "what kind of link it is: a, area, frame, link, redirect, image …"},
        ),
        pa.field(
            "nofollow",
            pa.bool_(),
            nullable=False,
            metadata={"doc": "true where the link or its page asks that it not be followed, and it was not"},
        ),
        pa.field(
            "text",
            pa.string(),
            metadata={"doc": "what the link says, of a page's own links with `link_text`; null where there is nothing"},
        ),
        pa.field(
            "rel",
            pa.string(),
            metadata={"doc": "the relations that the link names, with `link_text`; null where there are none"},
        ),
    ]
)

URLS = pa.schema(
    [
        pa.field(
            "id", pa.int64(), nullable=False, metadata={"doc": "64-bit fingerprint of the URL, as a signed number"}
        ),
        pa.field(
            "url",
            pa.string(),
            nullable=False,
            metadata={"doc": "the URL in normal form; one that is refused is here too"},
        ),
    ]
)


class _NoPandas:
    """Says that pandas is not installed."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def without_pandas() -> None:
    """Keep Arrow from loading pandas where that is installed: it does so when it is first given a list, for nothing.

    That takes 0.3 s and 40 MB. What is converted to pandas on purpose still is.
    """
    finder: Any = _NoPandas
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)


class Journal:
    """The growing part of one table."""

    def __init__(self, folder: Path, schema: pa.Schema, *, worker: int = 0, batch: int = 2000) -> None:
        self._folder = folder
        self._schema = schema
        self._worker = worker
        self._number = 0
        self._batch = batch
        self._rows: list[Sequence[Any]] = []
        self._file: Growing | None = None

    def __repr__(self) -> str:
        return f"Journal({self._folder.name}, {self._file}, {len(self._rows)} rows waiting)"

    @property
    def growing(self) -> tuple[Growing, ...]:
        """The open part, if there is one."""
        return () if self._file is None else (self._file,)

    def append(self, row: Sequence[Any]) -> None:
        """Take a row, its values in the order of the schema; ids are fingerprints, without a sign."""
        self._rows.append(row)
        if len(self._rows) >= self._batch:
            self.flush()

    def flush(self) -> None:
        """Write the rows that wait."""
        if self._rows:
            rows, self._rows = self._rows, []
            arrays = [
                _ids(values) if field.name in IDS else pa.array(values, type=field.type)
                for values, field in zip(zip(*rows, strict=True), self._schema, strict=True)
            ]
            self.write(pa.RecordBatch.from_arrays(arrays, schema=self._schema))

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows that are in columns already."""
        if self._file is None:
            self._number = max(self._number, last_number(self._folder, self._worker)) + 1
            self._file = Growing(self._folder / f"part-{self._worker}-{self._number:05d}.arrow")
            self._file.write(self._head(batch))
        self._file.write(batch.serialize().to_pybytes())

    def _head(self, batch: pa.RecordBatch) -> bytes:
        """How a stream begins: its schema, and the dictionaries of its columns, which are the same in every batch."""
        sink = pa.BufferOutputStream()
        with ipc.new_stream(sink, self._schema) as writer:
            if any(pa.types.is_dictionary(field.type) for field in self._schema):
                writer.write_batch(batch.slice(0, 0))
        return bytes(sink.getvalue().to_pybytes()[: -len(_END)])

    def roll(self, most: int) -> tuple[Growing, ...]:
        """Close the open part if it has grown to so many bytes; it is to be sealed."""
        if self._file is None or self._file.length < most:
            return ()
        full, self._file = self._file, None
        return (full,)


def _ids(fingerprints: Iterable[int]) -> pa.Array:
    """Fingerprints as columns have them."""
    return pa.array(np.array(array("Q", fingerprints)).view(np.int64))


@cache
def _kinds() -> pa.Array:
    """Their names, made when first needed: Arrow looks for pandas then (see `without_pandas`)."""
    return pa.array([kind.name.lower() for kind in Kind], type=pa.string())


_PLACES = np.zeros(max(Kind) + 1, np.int8)  # by kind: its place among them
_PLACES[[int(kind) for kind in Kind]] = np.arange(len(Kind), dtype=np.int8)


class LinkJournal:
    """The links table, whose rows come as arrays."""

    def __init__(self, journal: Journal, *, batch: int = 50_000) -> None:
        self._journal = journal
        self._batch = batch
        self._clear()

    def _clear(self) -> None:
        # By call: whose links, how many, and whether they are followed …
        self._sources = array("Q")
        self._counts: list[int] = []
        self._unfollowed: list[bool] = []
        # … by link: where to, and of what kind; what they say, of those that say something: its place, text and rel.
        self._targets = array("Q")
        self._kinds = array("B")
        self._says: list[tuple[int, list[tuple[str, str]]]] = []

    def append(
        self,
        source: int,
        targets: list[int],
        kinds: list[int],
        *,
        nofollow: bool = False,
        labels: list[tuple[str, str]] | None = None,
    ) -> None:
        """Take links of one page; `labels` are their texts and relations, where these are kept."""
        if labels:
            self._says.append((len(self._targets), labels))
        self._sources.append(source)
        self._counts.append(len(targets))
        self._unfollowed.append(nofollow)
        self._targets.fromlist(targets)
        self._kinds.fromlist(kinds)
        if len(self._targets) >= self._batch:
            self.flush()

    def flush(self) -> None:
        """Write the links that wait."""
        if self._targets:
            text, rel = self._labels(len(self._targets))
            batch = pa.RecordBatch.from_arrays(
                [
                    pa.array(np.repeat(np.array(self._sources).view(np.int64), self._counts)),
                    pa.array(np.array(self._targets).view(np.int64)),
                    pa.DictionaryArray.from_arrays(pa.array(_PLACES[np.array(self._kinds)]), _kinds()),
                    pa.array(np.repeat(np.array(self._unfollowed), self._counts)),
                    text,
                    rel,
                ],
                schema=LINKS,
            )
            self._clear()
            self._journal.write(batch)

    def _labels(self, links: int) -> tuple[pa.Array, pa.Array]:
        """The columns of what links say, null where they say nothing."""
        if not self._says:
            return pa.nulls(links, pa.string()), pa.nulls(links, pa.string())
        texts: list[str | None] = [None] * links
        rels: list[str | None] = [None] * links
        for first, labels in self._says:
            for place, (text, rel) in enumerate(labels, first):
                texts[place] = text or None
                rels[place] = rel or None
        return pa.array(texts, pa.string()), pa.array(rels, pa.string())


class UrlJournal:
    """The table of URLs, whose rows come one by one and by the million."""

    def __init__(self, journal: Journal, *, batch: int = 20_000) -> None:
        self._journal = journal
        self._batch = batch
        self._ids = array("Q")
        self._urls: list[str] = []

    def append(self, url_id: int, url: str) -> None:
        """Take a URL that was seen for the first time."""
        self._ids.append(url_id)
        self._urls.append(url)
        if len(self._urls) >= self._batch:
            self.flush()

    def flush(self) -> None:
        """Write the URLs that wait."""
        if self._urls:
            columns = [pa.array(np.array(self._ids).view(np.int64)), pa.array(self._urls, type=pa.string())]
            self._ids, self._urls = array("Q"), []
            self._journal.write(pa.RecordBatch.from_arrays(columns, schema=URLS))


def writing_options(schema: pa.Schema) -> dict[str, Any]:
    """How a table is written to Parquet: with checksums. What stands there once needs no dictionary."""
    return {"compression": "zstd", "use_dictionary": schema.names != URLS.names, "write_page_checksum": True}


def read_batches(reader: Any) -> Iterable[pa.RecordBatch]:
    """The batches of a stream that may have no end mark, because it was cut or is being written."""
    while True:
        try:
            yield reader.read_next_batch()
        except (StopIteration, pa.ArrowInvalid, OSError):
            return
