"""Checkpoints. In: the checkpoint before, and logs that were closed since then. Out: the next checkpoint, as files.

A checkpoint is made from files alone, in a process of its own: the crawl that goes on meanwhile is not touched. It has
one byte for each page that says where it stands, its score where the ordering scores, and what is known of sites and of
pages that wait. What never changes (keys, sites, origins and texts of pages, robots.txt files, links for an ordering
that needs them) is copied once from the logs to segments, which later checkpoints name and do not rewrite. Of segments
with robots.txt files that is rewritten of which more than half is out of date.

Everything is on disk before the checkpoint has its name. A crash before that leaves files that no manifest names.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import numpy as np
from isal import isal_zlib
from numpy.typing import NDArray

from weft.disk import rename, sync_folder, writing
from weft.errors import WeftError
from weft.frontier.durable.chain import MANIFEST, NOTHING, TOLD, Manifest, Segment, Sum, packed_manifest, sibling
from weft.frontier.durable.log import Commit, Extent, FrontierLog, Replayed, packed_chunk
from weft.frontier.durable.past import PENDING, Past, RobotsFile, Scores, still_needed
from weft.frontier.durable.putting_away import PuttingAway, finished, floor
from weft.frontier.durable.shelf import BACK, KIND, MAIL, Shelf, joined, pieces_of, run_of, to_join
from weft.frontier.shared.contract import Batch
from weft.processes import die_with_parent

_CHUNK = 1 << 17  # pages of a record of a segment, at most
_CHUNK_BYTES = 1 << 26  # and bytes of their texts
_AT_ONCE = 1 << 24  # bytes that are written in one go
_RECENT = 600.0  # seconds of a crawl that say how fast it is
_SHELVED = 40  # bytes that a page takes on the shelf, about
_NICE = 5  # how much the crawl itself comes first


def fold(path: Path, *, applied: int = 0) -> int | None:
    """Make a checkpoint of the closed logs of a frontier; its number, or None where there is nothing to be done.

    Of what a commit told the global frontier only that is kept which has a higher number than `applied`.
    """
    log = FrontierLog(path, read_only=True)
    try:
        return _Folding(path, log, applied).fold()
    finally:
        log.close()


class _Folding:
    """The making of one checkpoint."""

    def __init__(self, path: Path, log: FrontierLog, applied: int) -> None:
        self._path = path
        self._log = log
        self._applied = applied
        self._number = log.number
        self._base = log.base
        self._mode = path.stat().st_mode & 0o777
        self._before = Manifest() if log.base is None else log.base.manifest
        self._segments = list(self._before.segments)
        self._first = self._before.first

    def fold(self) -> int | None:
        if self._before.number == self._number or not self._log.settled():
            return None
        past, scores = Past(self._log), Scores(self._base)
        batches = [each for each in self._before.batches if _number_of(each) > self._applied]
        edges: list[bytes] = []
        self._write_segment("pages", self._pages(past, scores, batches, edges), pages=past)
        self._write_segment("edges", edges)
        if past.shelved:
            self._shelve(past, scores.all())
        robots = past.robots()
        self._move_robots(robots)
        self._write_tables(past, scores, batches, past.robots_table(robots).tobytes())
        return self._number

    def _pages(self, past: Past, scores: Scores, batches: list[bytes], edges: list[bytes]) -> Iterator[bytes]:
        """Take the closed logs in; what they say of pages that never changes, as records of a segment."""
        chunk = _Chunk()
        for replayed in self._log.closed_records():
            commit = replayed.commit
            past.take(replayed)
            scores.take(commit)
            if commit.batch and commit.number > self._applied:
                batches.append(commit.batch)
            if commit.edges:
                edges.append(commit.edges)
            if chunk.full(replayed):
                yield chunk.packed()
                chunk = _Chunk()
            chunk.add(replayed)
        if chunk.pages:
            yield chunk.packed()

    def _shelve(self, past: Past, scores: NDArray[np.float64]) -> None:
        """Put groups away, with the mail for those that are; what is in segments of groups on the shelf alone goes."""
        back = pieces_of([(key, upto, BACK, b"") for key, upto in past.returned])
        mail = pieces_of([(key, self._number, MAIL, data) for key, data in past.mail])
        whole = PuttingAway(past, self._log, scores, self._number).pieces(self._path.parent)
        runs = [segment for segment in self._segments if segment.kind == KIND]
        leaving = set().union(*(group.sites for group in past.leaving))
        size = len(mail.data) + len(past.returned) + int(self._bytes_of(past, leaving))
        old = to_join(runs, size) if self._base is not None else []
        shelf = [] if self._base is None else Shelf(self._base, old).runs()
        new = [iter([each] if len(each.table) else []) for each in (back, mail)]
        kept = joined([*shelf, new[0], whole, new[1]], all_there=len(old) == len(runs))
        self._segments = [each for each in self._segments if each not in old]
        self._write_segment(KIND, run_of(kept))
        finished(past)
        past.drop_gone()
        self._drop_segments(floor(past))

    @staticmethod
    def _bytes_of(past: Past, sites: set[int]) -> int:
        """About how many bytes pages take that are put away."""
        if not sites:
            return 0
        table = np.zeros(len(past.names), np.bool_)
        table[list(sites)] = True
        found = past.sites(leaving=True)
        return _SHELVED * int(np.count_nonzero(table[found[found >= 0]]))

    def _drop_segments(self, first: int) -> None:
        """Leave out segments of pages that are all before a number."""
        at = self._before.first
        for segment in [each for each in self._segments if each.kind == "pages"]:
            if at + segment.pages > first:
                break
            at += segment.pages
            self._segments.remove(segment)
        self._first = at

    def _move_robots(self, robots: dict[int, dict[str, RobotsFile]]) -> None:
        """Copy robots.txt files that are in logs, or in segments of which more than half is out of date."""
        live: dict[str, int] = {}
        for files in robots.values():
            for file in files.values():
                live[file.extent.file] = live.get(file.extent.file, 0) + file.extent.length
        spent = {
            f"{segment.number}.robots"
            for segment in self._segments
            if segment.kind == "robots" and 2 * live.get(f"{segment.number}.robots", 0) < segment.length
        }
        self._segments = [each for each in self._segments if f"{each.number}.{each.kind}" not in spent]
        self._write_segment("robots", self._moved(robots, spent))

    def _moved(self, robots: dict[int, dict[str, RobotsFile]], spent: set[str]) -> Iterator[bytes]:
        at = 0
        for files in robots.values():
            for scheme, file in files.items():
                if file.extent.file.endswith(".log") or file.extent.file in spent:
                    data = self._log.read(file.extent)
                    files[scheme] = file._replace(extent=Extent(f"{self._number}.robots", at, len(data)))
                    at += len(data)
                    yield data

    def _write_tables(self, past: Past, scores: Scores, batches: list[bytes], robots: bytes) -> None:
        folder = sibling(self._path, self._number, "checkpoint")
        new = folder.with_name(f"{folder.name}.new")
        given = past.first + len(past.raw_states())
        states = past.raw_states()[self._first - past.first :]
        pages = past.page_table()
        redirects = still_needed(past.redirects(), past.page_states() == PENDING, past.first)
        pages.redirects = redirects[(redirects >= self._first).all(axis=1)].tobytes()
        tables: dict[str, Iterable[bytes | memoryview]] = {
            "state": [states.data],
            "sites": [msgspec.msgpack.encode(past.site_table())],
            "pages": [msgspec.msgpack.encode(pages)],
            "robots": [robots],
        }
        scored = scores.all()[self._first - past.first :]
        if len(scored):
            tables["scores"] = [scored.data.cast("B")]
        if past.shelved:
            tables["shelf"] = [past.shelved.rows().tobytes()]
        with writing(new):
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir(0o700 if self._mode == 0o600 else 0o755)
            files = {name: self._write(new / name, data) for name, data in tables.items()}
            last = past.last or Commit()
            manifest = Manifest(
                number=self._number,
                life=self._log.life,
                pages=given,
                first=self._first,
                files=files,
                segments=self._segments,
                agents=past.agents,
                reasons=past.reasons,
                last=_how_it_stands(last, past),
                walls=[each for each in past.walls if each[0] >= last.wall - _RECENT],
                batches=batches,
            )
            self._write(new / MANIFEST, [packed_manifest(manifest)])
            sync_folder(new)
            shutil.rmtree(folder, ignore_errors=True)
            rename(new, folder)

    def _write_segment(self, kind: str, data: Iterable[bytes], *, pages: Past | None = None) -> None:
        """Write a segment of this checkpoint, if there is something to be written."""
        path = sibling(self._path, self._number, kind)
        before = self._before.pages - self._before.first
        with writing(path):
            its = self._write(path, data)
            if its.length == 0:
                path.unlink()
                return
            changed = path.stat().st_mtime_ns
        count = 0 if pages is None else len(pages.raw_states()) - before
        self._segments.append(Segment(self._number, kind, its.length, its.checksum, changed, count))

    def _write(self, path: Path, data: Iterable[bytes | memoryview]) -> Sum:
        """Write a file, and have it on disk."""
        length = checksum = 0
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, self._mode)
        try:
            for piece in data:
                view = memoryview(piece)
                checksum = isal_zlib.crc32(view, checksum)
                length += len(view)
                for at in range(0, len(view), _AT_ONCE):
                    _write_all(file, view[at : at + _AT_ONCE])
            os.fsync(file)
        finally:
            os.close(file)
        return Sum(length, checksum)


class _Chunk:
    """Pages of some records, as one record of a segment."""

    def __init__(self) -> None:
        self.pages = 0
        self._bytes = 0
        self._columns: tuple[list[bytes], list[bytes], list[bytes], list[bytes]] = ([], [], [], [])

    def full(self, replayed: Replayed) -> bool:
        """Has it no room for a record?"""
        pages = self.pages + len(replayed.rows)
        return self.pages > 0 and (pages > _CHUNK or self._bytes + len(replayed.texts) > _CHUNK_BYTES)

    def add(self, replayed: Replayed) -> None:
        """The next record."""
        rows = replayed.rows.copy()
        rows["end"] += self._bytes
        parts = (replayed.keys.tobytes(), replayed.sites.tobytes(), rows.tobytes(), bytes(replayed.texts))
        for column, part in zip(self._columns, parts, strict=True):
            column.append(part)
        self.pages += len(rows)
        self._bytes += len(replayed.texts)

    def packed(self) -> bytes:
        """As it stands in a segment."""
        return packed_chunk(*(b"".join(column) for column in self._columns))


def _write_all(file: int, view: memoryview) -> None:
    written = 0
    while written < len(view):
        written += os.write(file, view[written:])


def _number_of(batch: bytes) -> int:
    return msgspec.msgpack.decode(batch, type=Batch).number


def _how_it_stands(commit: Commit, past: Past) -> Commit:
    """A commit without what changed in it, and with what holds since earlier ones."""
    return Commit(
        application=past.application,
        untold=past.untold,
        marks=commit.marks,
        counts=commit.counts,
        number=commit.number,
        taken=commit.taken,
        version=commit.version,
        wall=commit.wall,
        clean=commit.clean,
    )


def main(arguments: list[str]) -> int:
    """Run as a process of its own, which ends with the one that started it."""
    path, applied, parent = Path(arguments[0]), int(arguments[1]), int(arguments[2])
    die_with_parent(parent)
    os.nice(_NICE)
    try:
        made = fold(path, applied=applied)
    except WeftError as error:
        sys.stdout.write(f"{error}\n")
        return TOLD
    return NOTHING if made is None else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
