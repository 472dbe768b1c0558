"""Columns: what is known of each fetch, each link and each URL, for other programs to query at once. In: rows. Out:
Parquet.

Rows go to a journal first, an Arrow stream that ends in `.open`: it can be cut at any committed length and still
opens. When a part is full, or the crawl stops, it becomes a Parquet file (`sealing.py`). Ids are signed 64-bit numbers,
0 for none and never null: that is what every reader of Parquet keeps exactly.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc

from weft.model import Kind
from weft.store.files import Growing, last_number
from weft.store.rows import PAGE_IDS, PAGES, PageRow, batch_of

__all__ = ["IDS", "LINKS", "PAGES", "URLS"]

IDS = PAGE_IDS | {"source", "target"}
"""The columns that hold ids, in all tables."""

_END = b"\xff\xff\xff\xff\0\0\0\0"  # of a stream

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
    """The growing part of one table, whose rows come in columns."""

    def __init__(self, folder: Path, schema: pa.Schema, *, worker: int = 0) -> None:
        self._folder = folder
        self._schema = schema
        self._worker = worker
        self._number = 0
        self._file: Growing | None = None

    def __repr__(self) -> str:
        return f"Journal({self._folder.name}, {self._file})"

    @property
    def schema(self) -> pa.Schema:
        """Of its table."""
        return self._schema

    @property
    def growing(self) -> tuple[Growing, ...]:
        """The open part, if there is one."""
        return () if self._file is None else (self._file,)

    def write(self, batch: pa.RecordBatch) -> None:
        """Write rows."""
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


class PageJournal:
    """The table of pages, whose rows come one by one."""

    def __init__(self, journal: Journal, *, batch: int = 2000) -> None:
        self._journal = journal
        self._batch = batch
        self._rows: list[PageRow] = []

    def append(self, row: PageRow) -> None:
        """Take the row of a fetch."""
        self._rows.append(row)
        if len(self._rows) >= self._batch:
            self.flush()

    def flush(self) -> None:
        """Write the rows that wait."""
        if self._rows:
            rows, self._rows = self._rows, []
            self._journal.write(batch_of(rows, self._journal.schema))


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
    """The table of URLs, whose rows come one by one and by the million. URLs may be long, so a batch is bounded by
    their letters: writing four megabytes at once has stood in the way of everything else for 90 ms.
    """

    def __init__(self, journal: Journal, *, batch: int = 1 << 20) -> None:
        self._journal = journal
        self._batch = batch  # letters
        self._letters = 0
        self._ids = array("Q")
        self._urls: list[str] = []

    def append(self, url_id: int, url: str) -> None:
        """Take a URL that was seen for the first time."""
        self._ids.append(url_id)
        self._urls.append(url)
        self._letters += len(url)
        if self._letters >= self._batch:
            self.flush()

    def flush(self) -> None:
        """Write the URLs that wait."""
        if self._urls:
            columns = [pa.array(np.array(self._ids).view(np.int64)), pa.array(self._urls, type=pa.string())]
            self._ids, self._urls, self._letters = array("Q"), [], 0
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
