"""From growing files to final ones. In: files that end in `.open`. Out: Parquet, sorted CDXJ and volumes under their
own names.

Everything is written beside and renamed, so that a final name always stands for a whole file, and a crash in the
middle is repaired by doing the same again.
"""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
from pyarrow import ipc

from weft.errors import WeftError
from weft.store.cdxj import sort_cdxj
from weft.store.columns import read_batches, writing_options
from weft.store.digests import Digests
from weft.store.files import OPEN, Mark, owner_of, sealed_as, sync_folder, writing

_ROW_GROUP = 65_536
_FOLDERS = ("pages", "links", "urls", "volumes")


def seal(path: Path) -> None:
    """Give a growing file its final form and name."""
    final = path.with_name(path.name.removesuffix(OPEN))
    with writing(path):
        if final.suffix == ".arrow":
            _to_parquet(path, sealed_as(final))
        elif final.suffix == ".cdxj":
            sort_cdxj(path, final)
        else:
            path.rename(final)
        sync_folder(path.parent)


def _to_parquet(journal: Path, sealed: Path) -> None:
    """Write a journal as Parquet, a batch at a time, and put it in the journal's place."""
    import pyarrow.parquet as pq

    beside = sealed.with_suffix(".parquet.new")
    with (
        ipc.open_stream(pa.OSFile(str(journal), "rb")) as reader,
        pq.ParquetWriter(beside, reader.schema, **writing_options(reader.schema)) as writer,
    ):
        waiting: list[pa.RecordBatch] = []
        for batch in read_batches(reader):
            waiting.append(batch)
            if sum(part.num_rows for part in waiting) >= _ROW_GROUP:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting = []
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting))
    with beside.open("rb") as file:
        os.fsync(file.fileno())
    beside.rename(sealed)
    journal.unlink()


def seal_leftovers(folder: Path, marks: dict[str, Mark], worker: int = 0) -> None:
    """Cut every open file of a worker back to what the last commit promises, and seal it; what no commit names goes."""
    for name in _FOLDERS:
        mine = (
            [path for path in (folder / name).iterdir() if owner_of(path) == worker] if (folder / name).exists() else []
        )
        for path in mine:
            if path.suffix == ".new":
                path.unlink()
        left = [path for path in mine if path.suffix == OPEN and _cut(path, marks)]
        for path in sorted(left, key=lambda path: (".warc" in path.name, path.name)):  # an index before its volume
            seal(path)


def _cut(path: Path, marks: dict[str, Mark]) -> bool:
    """Is anything left of an open file? One that was sealed, and not yet removed when the worker died, is not."""
    final = path.with_name(path.name.removesuffix(OPEN))
    mark = marks.get(f"{path.parent.name}/{final.name}")
    with writing(path):
        if mark is None or sealed_as(final).exists():
            path.unlink()
            return False
        if path.stat().st_size < mark.length:
            raise WeftError(
                f"the file has {path.stat().st_size} bytes, and {mark.length} were committed long ago",
                where=str(path),
                todo="restore it from a copy; the disk has lost more than the last commits",
            )
        os.truncate(path, mark.length)
    return True


def known_contents(folder: Path, digests: Digests, worker: int = 0) -> None:
    """Learn again which contents are stored: whole ones, each under the URL where it was stored first."""
    paths = sorted((folder / "pages").glob(f"part-{worker}-*.parquet"))
    if not paths:
        return
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    columns = ["id", "digest", "fetched_at", "duplicate_of", "bytes", "truncated"]
    for path in paths:
        for batch in pq.ParquetFile(path).iter_batches(columns=columns):
            first = pc.and_(batch["digest"].is_valid(), pc.equal(batch["duplicate_of"], 0))
            whole = pc.and_(batch["truncated"].is_null(), pc.greater(batch["bytes"], 0))
            rows = batch.filter(pc.and_(first, whole))
            walls = rows["fetched_at"].cast(pa.int64()).to_numpy() / 1e6
            digests.learn(rows["digest"].to_pylist(), rows["id"].to_numpy(), walls)
