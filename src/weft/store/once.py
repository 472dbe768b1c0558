"""Each URL once. In: the sealed parts of `urls/`. Out: the same parts, without the rows whose id and text stand in an
earlier one. Two URLs with one id, which somebody may have made so, both stay.

A URL is noted by every worker that finds it, and by one worker again when it has forgotten that it did: to know all of
them at every moment would cost more memory than the frontier itself. So repeats are dropped when a worker ends; the
last one to end leaves none. A part is written beside and renamed, so that readers see the old rows or the new ones,
and a crash in the middle is repaired by doing the same again.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from weft.disk import rename, sync_file, writing
from weft.store.columns import writing_options
from weft.store.files import damaged
from weft.store.sealed import note

# Ids are sorted a share at a time: a row takes 11 bytes of memory, where the frontier has 25 for a URL.
_LEAST, _MOST_SHARES = 250_000, 32


def drop_repeats(folder: Path, pulse: Callable[[], None] = lambda: None) -> None:
    """Leave each URL once in the sealed parts of a folder. Where another process is about it, it does so for us.

    `pulse` is called from time to time: 8.4 million rows took 5.6 s of the processor.
    """
    while folder.exists():
        with _alone(folder) as may:
            if not may:
                return
            parts = _parts(folder)
            _drop(folder, parts, pulse)
        if _parts(folder) == parts:  # else who sealed them found us about it
            return


@contextmanager
def _alone(folder: Path) -> Iterator[bool]:
    """Keep others out, or find that they were first."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        yield False
    else:
        yield True
    finally:
        os.close(handle)


def _parts(folder: Path) -> list[Path]:
    """The sealed parts, roughly in the order in which they were written: by number, then by worker."""
    return sorted(folder.glob("part-*.parquet"), key=lambda path: (path.stem.rpartition("-")[2], path.name))


def _drop(folder: Path, parts: list[Path], pulse: Callable[[], None]) -> None:
    try:
        _drop_from(folder, parts, pulse)
    except pa.ArrowException as error:
        raise damaged(f"a part cannot be read: {error}", folder) from error


def _drop_from(folder: Path, parts: list[Path], pulse: Callable[[], None]) -> None:
    for left in folder.glob(".*.once"):
        left.unlink()
    ends = np.cumsum([0, *(pq.read_metadata(path).num_rows for path in parts)])
    ids = np.empty(ends[-1], np.uint64)
    for path, begin, end in zip(parts, ends, ends[1:], strict=False):
        ids[begin:end] = _marks(path)
        pulse()
    repeated = _repeated(ids, pulse)
    for path, begin, end in zip(parts, ends, ends[1:], strict=False):
        if repeated[begin:end].any():
            _rewrite(path, ~repeated[begin:end])
            pulse()


def _marks(path: Path) -> NDArray[np.uint64]:
    """What tells the rows of a part apart: the id, and Python's own hash of the text, which nobody can foresee."""
    parts = [np.empty(0, np.int64)]
    for batch in pq.ParquetFile(path).iter_batches(columns=["id", "url"]):
        texts = np.fromiter(map(hash, batch["url"].to_pylist()), np.int64, batch.num_rows)
        parts.append(batch["id"].to_numpy() ^ texts)
    return np.concatenate(parts).view(np.uint64)


def _repeated(ids: NDArray[np.uint64], pulse: Callable[[], None]) -> NDArray[np.bool_]:
    """Which ids stand before in the same array; a share of them at a time."""
    repeated = np.zeros(len(ids), np.bool_)
    shares = min(_MOST_SHARES, len(ids) // _LEAST + 1)
    for share in range(shares):
        places = np.flatnonzero(ids % np.uint64(shares) == share)
        mine = ids[places]
        order = np.argsort(mine, kind="stable")
        mine = mine[order]
        repeated[places[order[1:][mine[1:] == mine[:-1]]]] = True
        pulse()
    return repeated


def _rewrite(path: Path, kept: NDArray[np.bool_]) -> None:
    """Write a part anew with some of its rows; one that has none left stays, so that its number is not given again."""
    beside = path.with_name(f".{path.name}.once")  # hidden: whoever reads the folder as a whole passes over it
    with writing(beside):
        file = pq.ParquetFile(path)
        with pq.ParquetWriter(beside, file.schema_arrow, **writing_options(file.schema_arrow)) as writer:
            at = 0
            for batch in file.iter_batches():
                rows = batch.filter(pa.array(kept[at : at + batch.num_rows]))
                at += batch.num_rows
                if rows.num_rows:
                    writer.write_batch(rows)
        sync_file(beside)
        note(path.parent.parent, f"{path.parent.name}/{path.name}", beside, number=0)
        rename(beside, path)
