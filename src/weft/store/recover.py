"""What an earlier run left open. In: the lengths of the last commit. Out: sealed files, and nothing that was not
committed.

Whatever lies behind a committed length, and every open file that the last commit does not name, was never promised:
it is cut off.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

from weft.store.columns import seal_part
from weft.store.digests import Digests
from weft.store.volumes import writing

TABLES = ("pages", "links", "urls")


def seal_leftovers(folder: Path, lengths: dict[str, int]) -> None:
    """Cut every open file back to its committed length and give it its final name."""
    for table in TABLES:
        for beside in (folder / table).glob("*.parquet.new"):
            beside.unlink()
        for path in sorted((folder / table).glob("*.arrow.open")):
            with writing(path):
                if _cut(path, lengths.get(f"{table}/{path.name}", 0)):
                    seal_part(path)
    for path in sorted((folder / "volumes").glob("*.warc.gz.open")):
        with writing(path):
            if _cut(path, lengths.get(f"volumes/{path.name.removesuffix('.open')}", 0)):
                path.rename(path.with_suffix(""))


def _cut(path: Path, length: int) -> bool:
    """Is anything left of the file?"""
    if length == 0:
        path.unlink()
        return False
    os.truncate(path, min(length, path.stat().st_size))
    return True


def known_contents(folder: Path, digests: Digests) -> None:
    """Learn again which contents are stored."""
    for path in sorted((folder / "pages").glob("*.parquet")):
        for url_id, digest, wall in _stored(path):
            digests.add_text(digest, url_id, wall)


def _stored(path: Path) -> Iterator[tuple[int, str, float]]:
    columns = ["id", "digest", "fetched_at", "duplicate_of", "bytes", "truncated"]
    table = pq.ParquetFile(path)
    for batch in table.iter_batches(columns=columns):
        rows = batch.to_pydict()
        for url_id, digest, when, duplicate, size, cut in zip(*(rows[name] for name in columns), strict=True):
            if digest is not None and duplicate is None and size and cut is None:
                yield url_id, digest, when.timestamp()
