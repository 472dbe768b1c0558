"""What an earlier run left open. In: the lengths of the last commit. Out: sealed files, and nothing that was not
committed.

Whatever lies behind a committed length, and every open file that the last commit does not name, was never promised:
it is cut off.
"""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
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
                    _seal(path)
    for path in sorted((folder / "volumes").glob("*.warc.gz.open")):
        with writing(path):
            if _cut(path, lengths.get(f"volumes/{path.name.removesuffix('.open')}", 0)):
                path.rename(path.with_suffix(""))


def _seal(path: Path) -> None:
    try:
        seal_part(path)
    except pa.ArrowInvalid:  # it is shorter than was promised, so short that not even a row can be read
        path.unlink()


def _cut(path: Path, length: int) -> bool:
    """Is anything left of the file?"""
    if length == 0:
        path.unlink()
        return False
    os.truncate(path, min(length, path.stat().st_size))
    return True


def known_contents(folder: Path, digests: Digests) -> None:
    """Learn again which contents are stored: whole ones, each under the URL where it was stored first."""
    columns = ["id", "digest", "fetched_at", "duplicate_of", "bytes", "truncated"]
    for path in sorted((folder / "pages").glob("*.parquet")):
        for batch in pq.ParquetFile(path).iter_batches(columns=columns):
            first = pc.and_(batch["digest"].is_valid(), batch["duplicate_of"].is_null())
            whole = pc.and_(batch["truncated"].is_null(), pc.greater(batch["bytes"], 0))
            rows = batch.filter(pc.and_(first, whole))
            walls = rows["fetched_at"].cast(pa.int64()).to_numpy() / 1e6
            digests.learn(rows["digest"].to_pylist(), rows["id"].to_numpy(), walls)
