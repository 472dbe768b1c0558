"""From growing files to final ones. In: files that end in `.open`. Out: Parquet, sorted CDXJ and volumes under their
own names.

Everything is written beside and renamed, so that a final name always stands for a whole file, and a crash in the
middle is repaired by doing the same again.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import ipc

from weft.disk import disk_fault, rename, sync_file, sync_folder, writing
from weft.store.cdxj import sort_cdxj
from weft.store.columns import writing_options
from weft.store.contents import Contents
from weft.store.files import OPEN, Mark, damaged, intact_at, owner_of, sealed_as
from weft.store.places import folder_of, name_of, places_of
from weft.store.sealed import folders, note
from weft.store.stored import stored_names
from weft.store.volumes import Original
from weft.store.warc import digest_bytes

_ROW_GROUP = 65_536
_KNOWN_BY = ["id", "url", "kind", "digest", "fetched_at", "duplicate_of", "bytes", "truncated"]


def seal(path: Path, *, number: int = 0, checksum: int | None = None, root: Path | None = None) -> None:
    """Give a growing file its final form and name, and list it.

    `number` is that of the commit that has all of it, `checksum` that of its content, where it is known; `root` is the
    crawl's directory, where that is not the one above the file's.
    """
    final = path.with_name(path.name.removesuffix(OPEN))
    sealed = sealed_as(final)
    root = root or path.parent.parent

    def about_to_be_named(content: Path) -> None:
        known = checksum if content == path else None
        note(root, name_of(root, sealed), content, number=number, checksum=known)

    with writing(path):
        if final.suffix == ".arrow":
            _to_parquet(path, sealed, about_to_be_named)
        elif final.suffix == ".cdxj":
            sort_cdxj(path, final, about_to_be_named)
        else:
            about_to_be_named(path)
            rename(path, final)
        sync_folder(path.parent)  # the journal is gone for good


def _to_parquet(journal: Path, sealed: Path, about_to_be_named: Callable[[Path], None]) -> None:
    """Write a journal as Parquet, a batch at a time, and put it in the journal's place."""
    import pyarrow.parquet as pq

    beside = sealed.with_suffix(".parquet.new")
    with (
        ipc.open_stream(pa.OSFile(str(journal), "rb")) as reader,
        pq.ParquetWriter(beside, reader.schema, **writing_options(reader.schema)) as writer,
    ):
        waiting: list[pa.RecordBatch] = []
        for batch in _every_batch(reader, journal):
            waiting.append(batch)
            if sum(part.num_rows for part in waiting) >= _ROW_GROUP:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting = []
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting))
    sync_file(beside)
    about_to_be_named(beside)
    rename(beside, sealed)
    journal.unlink()


def give_back_memory() -> None:
    """Have the system take back what sealing needed: tens of megabytes, until the next time in minutes or hours."""
    pa.default_memory_pool().release_unused()


def _every_batch(reader: Any, journal: Path) -> Iterator[pa.RecordBatch]:
    """The batches of a journal up to its end, which is a committed one."""
    while True:
        try:
            yield reader.read_next_batch()
        except StopIteration:
            return
        except (pa.ArrowInvalid, OSError) as error:
            raise damaged(f"its rows cannot be read: {error}", journal) from error


def cut_back(root: Path, marks: dict[str, Mark], worker: int = 0) -> Iterator[tuple[Path, str]]:
    """Cut every open file of a worker back to what the last commit promises; what no commit names goes. Each that is
    left, and the name by which the commit knows it; an index before its volume.
    """
    for folder in folders(root):
        places = [place for place in folder_of(root, folder) if place.exists()]
        mine = [path for place in places for path in place.iterdir() if owner_of(path) == worker]
        for path in mine:
            if path.suffix == ".new":
                path.unlink()
        left = list(_cut([path for path in mine if path.suffix == OPEN], folder, root, marks))
        for path in sorted(left, key=lambda path: (".warc" in path.name, path.name)):
            yield path, f"{folder}/{final_path(path).name}"


def seal_leftovers(root: Path, marks: dict[str, Mark], worker: int = 0, *, number: int = 0) -> None:
    """Cut back what a worker left open, and seal it at once: for who knows that the worker's log ends with this commit,
    whose `number` is given, and is not written any more.
    """
    for path, _ in cut_back(root, marks, worker):
        seal(path, number=number, root=root)


def _cut(opened: list[Path], folder: str, root: Path, marks: dict[str, Mark]) -> Iterator[Path]:
    """The open files of which something is left, cut back. One that was sealed, and not yet removed when the worker
    died, is none of them; of one that was being moved from a full disk to another, one is.
    """
    copies: dict[str, list[Path]] = {}
    for path in opened:
        copies.setdefault(path.name.removesuffix(OPEN), []).append(path)
    for name, paths in copies.items():
        known = f"{folder}/{name}"
        mark = marks.get(known)
        sealed = [sealed_as(place) for place in places_of(root, known)]
        kept = None
        if mark is not None and not any(path.exists() for path in sealed) and known not in stored_names(root):
            kept = next((path for path in paths if len(paths) == 1 or intact_at(final_path(path), mark)), paths[0])
        for path in paths:
            with writing(path):
                if path != kept:
                    _remove(path)
                    continue
                assert mark is not None
                size = path.stat().st_size
                if size < mark.length:
                    raise damaged(f"the file has {size} bytes, and {mark.length} were committed long ago", path)
                os.truncate(path, mark.length)
        if kept is not None:
            yield kept


def _remove(path: Path) -> None:
    """Remove what is not needed; a disk that is read-only by now keeps it, and nobody looks at it."""
    try:
        path.unlink()
    except OSError as error:
        if disk_fault(error) is None:
            raise


def final_path(path: Path) -> Path:
    """What an open file is called without that."""
    return path.with_name(path.name.removesuffix(OPEN))


def known_contents(folder: Path, contents: Contents, worker: int = 0) -> None:
    """Have a worker's table of contents know what its sealed parts have: whole contents, each under the URL where it
    was stored first. Parts that the table knows are not read again.
    """
    parts = {part_number(path): path for path in (folder / "pages").glob(f"part-{worker}-*.parquet")}
    new = sorted(number for number in parts if number > contents.part)
    if not new:
        return
    import pyarrow.parquet as pq

    for number in new:
        entries: list[tuple[bytes, Original]] = []
        try:
            for batch in pq.ParquetFile(parts[number], page_checksum_verification=True).iter_batches(columns=_KNOWN_BY):
                entries += _originals(batch)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise damaged(f"the part cannot be read: {error}", parts[number]) from error
        contents.learn(entries, number)


def left_contents(journal: Path) -> Iterator[tuple[bytes, Original]]:
    """The same of a part of `pages` that an earlier run left open."""
    with ipc.open_stream(pa.OSFile(str(journal), "rb")) as reader:
        for batch in _every_batch(reader, journal):
            yield from _originals(batch.select(_KNOWN_BY))


def _originals(batch: pa.RecordBatch) -> Iterator[tuple[bytes, Original]]:
    """The contents that rows have, each with where it was stored first."""
    import pyarrow.compute as pc

    first = pc.and_(batch["digest"].is_valid(), pc.equal(batch["duplicate_of"], 0))
    whole = pc.and_(batch["truncated"].is_null(), pc.greater(batch["bytes"], 0))
    rows = batch.filter(pc.and_(pc.and_(first, whole), pc.not_equal(batch["kind"], "robots")))
    ids = rows["id"].to_numpy().view(np.uint64).tolist()
    walls = (rows["fetched_at"].cast(pa.int64()).to_numpy() / 1e6).tolist()
    found = map(Original, ids, rows["url"].to_pylist(), walls)
    return zip(map(digest_bytes, rows["digest"].to_pylist()), found, strict=True)


def make_contents_anew(folder: Path, secret: bytes) -> None:
    """Have the tables of all workers know what their parts have, and nothing else: records may be gone."""
    tables = folder / "contents"
    with writing(tables):
        shutil.rmtree(tables, ignore_errors=True)
    owners = (owner_of(path) for path in (folder / "pages").glob("part-*.parquet"))
    for worker in sorted({owner for owner in owners if owner is not None}):
        contents = Contents(tables, worker, secret)
        known_contents(folder, contents, worker)
        contents.close()


def part_number(path: Path) -> int:
    """The number of a part, sealed or open.

    >>> part_number(Path("part-3-00012.arrow.open"))
    12
    """
    return int(path.name.partition(".")[0].rpartition("-")[2])
