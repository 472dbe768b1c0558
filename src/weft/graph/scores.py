"""Scores in files. In: a Parquet or text file of ids or URLs and scores. Out: a score for each page of a graph.

`weft graph rank --out` writes the Parquet file: `id`, `url` (null where unknown), `score`. A text file has
`id<TAB>score` or `url<TAB>score` on each line, and may be packed by gzip or zstd.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from weft.disk import beside, writing
from weft.errors import UsageError
from weft.graph.files import Stored
from weft.graph.lines import chunks
from weft.graph.names import Names, Texts

Scores = NDArray[np.float64]

SCHEMA = pa.schema([("id", pa.int64()), ("url", pa.string()), ("score", pa.float64())])
_PARQUET = b"PAR1"
_ROWS = 1 << 17


def write_scores(path: Path, stored: Stored, scores: Scores, urls: Iterable[str] | None = None) -> None:
    """Write a page's id, URL and score a row; URLs are the graph's own unless others are given."""
    known = iter(urls) if urls is not None else iter(stored.urls) if stored.urls is not None else None
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside(path) as new, pq.ParquetWriter(new, SCHEMA, compression="zstd") as writer:
            for begin in range(0, len(scores), _ROWS):
                pages = np.arange(begin, min(begin + _ROWS, len(scores)))
                texts = [None] * len(pages) if known is None else [next(known) for _ in pages]
                columns = [stored.id_of(pages), pa.array(texts, pa.string()), scores[pages]]
                writer.write_table(pa.table(columns, schema=SCHEMA))


def read_scores(path: Path, stored: Stored) -> Scores:
    """The score of each page of the graph, NaN where the file has none; pages of other graphs are passed over."""
    try:
        with path.open("rb") as file:
            columnar = file.read(4) == _PARQUET
    except OSError as error:
        raise UsageError(f"cannot read the scores: {error.strerror or error}", where=str(path)) from error
    found = np.full(stored.graph.pages, np.nan)
    pages, scores = _from_parquet(path, stored) if columnar else _from_text(path, stored)
    known = pages >= 0
    if not known.any():
        raise UsageError("no page of the graph is here", where=str(path), todo="are these the scores of another graph?")
    found[pages[known]] = scores[known]
    return found


def _from_parquet(path: Path, stored: Stored) -> tuple[NDArray[np.int64], Scores]:
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise UsageError(f"cannot read the scores: {error}", where=str(path)) from error
    names = table.column_names
    if "score" not in names or not {"id", "url"} & set(names):
        raise UsageError(f"the columns are {', '.join(names)}", where=str(path), todo="wanted are id or url, and score")
    try:
        scores = pc.cast(table.column("score"), pa.float64()).fill_null(float("nan")).to_numpy()
        if "id" in names:
            return _pages_of_ids(pc.cast(table.column("id"), pa.int64()).to_numpy(), stored), scores
        urls = ["" if url is None else url for url in table.column("url").to_pylist()]
        return _pages_of_urls([url.encode() for url in urls], stored, path), scores
    except pa.ArrowInvalid as error:
        raise UsageError(f"the columns are not what they should be: {error}", where=str(path)) from error


def _from_text(path: Path, stored: Stored) -> tuple[NDArray[np.int64], Scores]:
    keys: list[bytes] = []
    scores: list[float] = []
    for chunk in chunks(path):
        for line in chunk.splitlines():
            key, _, score = line.partition(b"\t")
            try:
                scores.append(float(score))
            except ValueError as error:
                raise UsageError(
                    f"this line is no score: {line[:200].decode(errors='replace')!a}",
                    where=f"{path}, line {len(keys) + 1}",
                    todo="write `id<TAB>score` or `url<TAB>score`",
                ) from error
            keys.append(key)
    if not keys:
        raise UsageError("there are no scores here", where=str(path))
    if not keys[0].isdigit():
        return _pages_of_urls(keys, stored, path), np.array(scores)
    try:
        ids = np.array([int(key) for key in keys], dtype=np.int64)
    except (ValueError, OverflowError) as error:
        bad = next(line for line, key in enumerate(keys) if not key.isdigit() or len(key) > 18)
        raise UsageError("this line has no id", where=f"{path}, line {bad + 1}") from error
    return _pages_of_ids(ids, stored), np.array(scores)


def _pages_of_ids(ids: NDArray[np.int64], stored: Stored) -> NDArray[np.int64]:
    pages = stored.graph.pages
    if stored.ids is None:
        return np.where((ids >= 0) & (ids < pages), ids, -1)
    order = np.argsort(stored.ids)
    ordered = stored.ids[order]
    place = np.minimum(np.searchsorted(ordered, ids), pages - 1)
    return np.where(ordered[place] == ids, order[place], -1)


def _pages_of_urls(urls: list[bytes], stored: Stored, path: Path) -> NDArray[np.int64]:
    if stored.urls is None:
        raise UsageError("the graph has no URLs", where=str(path), todo="give scores by id")
    known = stored.urls
    names = Names(Texts(known.text, known.offsets[:-1], known.offsets[1:]))
    found = names.find(Texts.of(urls))
    return np.where(found >= 0, names.first[found], -1)
