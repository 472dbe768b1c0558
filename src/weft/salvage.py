"""The outputs of a damaged crawl: what can be saved of each file, and what is then left. In: the names of files. Out:
whole ones in a folder beside, what is lost, and which pages still have a row and a record.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from isal import isal_zlib

from weft.disk import beside, rename, writing
from weft.frontier.durable.records import Commit
from weft.store.files import OPEN, Mark, final_name, owner_of
from weft.store.places import folder_of, located, name_of, places_of
from weft.store.salvaging import (
    empty_volume,
    index_volume,
    lost_stretches,
    rows_of,
    save_rows,
    save_volume,
    schema_of,
)
from weft.store.sealed import folders
from weft.store.stored import stored_names

_COLUMNS = ["id", "url", "kind", "final", "volume", "offset"]


class Salvage:
    """What is saved of one crawl's outputs."""

    def __init__(
        self, out: Path, room: Path, records: dict[int, list[Commit]], ends: dict[int, Commit], *, wall: float
    ) -> None:
        self._out = out
        self._room = room
        self._records = records  # by worker: everything that can be read of its log
        self._ends = ends  # by worker: the record with which its log counts
        self._wall = wall
        self._lost: dict[str, list[tuple[int, int]] | None] = {}  # by volume: where it cannot be read; None: all of it
        self._bad: set[str] = set()  # final names of damaged files
        self._stored = stored_names(out)
        self._strict = False  # the columns are all that is left
        self._linking: set[int] = set()  # pages that have links
        self._cut_off: set[int] = set()  # those with links to URLs that are not known
        self.said: list[str] = []
        self.done: set[str] = set()  # URLs of pages that have a final row, and its record
        self._ids: set[int] = set()  # of all pages that have a row
        self._taken: dict[str, list[Path]] = {}  # by final name: what goes aside for it
        self.replaced: set[str] = set()  # final names of files that are made anew

    def __repr__(self) -> str:
        return f"Salvage({len(self._taken)} files)"

    def save(self, names: set[str], *, all_open: bool) -> None:
        """Write what can be saved of these files, and of all that are open if they count no more without a log."""
        known = folders(self._out)
        tables = [folder for folder in known if folder != "volumes"]
        for folder in ("volumes", *tables):
            (self._room / folder).mkdir(parents=True)
        places = ((folder, place) for folder in known for place in folder_of(self._out, folder))
        opened = {f"{folder}/{path.name}" for folder, place in places for path in place.glob(f"*{OPEN}")}
        self._bad = {final_name(name) for name in names}
        self._strict = all_open
        wanted = self._bad | {final_name(name) for name in opened if all_open}
        for name in sorted(wanted):
            if name.startswith("volumes/") and name.endswith(".gz"):
                self._volume(name)
        for name in sorted(name for name in wanted if name.endswith(".cdxj")):
            self._index(name)
        if all_open:
            self._look_at_links()
        for folder in tables:
            for name, path in self._parts(folder):
                self._part(name, path, wanted=name in wanted)
        for name in sorted(wanted - set(self._taken)):  # parts that are gone: a log may name them all the same
            self.said.append(f"{name}: all of it is lost")
            self._taken[name] = self._files(name)
            schema = schema_of(self._out, Path(name).parent.name)
            pq.write_table(schema.empty_table(), self._room / name)

    def _parts(self, folder: str) -> Iterator[tuple[str, Path]]:
        """The parts of a table, sealed or open, each with its final name."""
        for path in sorted((self._out / folder).glob("part-*")):
            name = final_name(f"{folder}/{path.name}")
            if path.suffix == ".parquet" or (path.suffix == OPEN and not (self._out / name).exists()):
                yield name, path

    def _look_at_links(self) -> None:
        """Without a frontier the columns alone say what is to be fetched: which pages have links, and which of these
        lead to URLs that are not known any more?
        """
        urls: set[int] = set()
        for name, path in self._parts("urls"):
            for batch in rows_of(path, self._length(name, path)):
                urls.update(batch["id"].to_pylist())
        known = pa.array(list(urls), pa.int64())
        for name, path in self._parts("links"):
            for batch in rows_of(path, self._length(name, path)):
                self._linking.update(pc.unique(batch["source"]).to_pylist())
                stray = batch.filter(pc.invert(pc.is_in(batch["target"], known)))
                self._cut_off.update(pc.unique(stray["source"]).to_pylist())

    def replace(self, aside: Path) -> None:
        """Put what was saved in place, and what was there aside."""
        for name, olds in self._taken.items():
            place = olds[0].parent if olds else located(self._out, name).parent
            for old in olds:
                target = aside / name_of(self._out, old)
                with writing(target):
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.move(old, target)
            new = self._room / name
            if new.exists():
                final = place / new.name
                with writing(final):
                    place.mkdir(exist_ok=True)
                    if place.stat().st_dev != new.stat().st_dev:  # another disk
                        with beside(final) as copy:
                            shutil.copyfile(new, copy)
                    else:
                        rename(new, final)
                self.replaced.add(name)

    def _files(self, name: str) -> list[Path]:
        """A file under any of its names."""
        found = []
        for path in places_of(self._out, name):
            journal = path.with_suffix(".arrow") if path.suffix == ".parquet" else path
            found += [each for each in (path, journal.with_name(journal.name + OPEN)) if each.exists()]
        # Sealed before open; of two that were being moved, the one that has more.
        return sorted(found, key=lambda path: (path.suffix == OPEN, -path.stat().st_size))

    def _source(self, name: str) -> Path | None:
        found = self._files(name)
        return found[0] if found else None

    def _length(self, name: str, source: Path) -> int | None:
        """How much of an open file counts; None: all that can be read.

        Where the frontier is made anew, what was written behind the last commit counts as well: rows are looked at one
        by one. A journal has no checksums of its own, so of a damaged one that counts which a log can vouch for.
        """
        if source.suffix != OPEN or (self._strict and name not in self._bad):
            return None
        path = self._out / name
        known = name if path.suffix != ".parquet" else str(Path(name).with_suffix(".arrow"))
        marks = self._marks(known)
        if not self._strict:
            end = self._ends.get(owner_of(path) or 0, Commit()).marks.get(known)
            marks = [] if end is None else [mark for mark in marks if mark.length <= end.length]
        if not marks:
            return None if self._strict else 0
        data = memoryview(source.read_bytes())
        length = 0
        for mark in marks:
            if isal_zlib.crc32(data[mark.since : mark.length], mark.before) != mark.checksum:
                break
            length = mark.length
        return length

    def _volume(self, name: str) -> None:
        source, volume = self._source(name), Path(name).name
        if source is None:
            self._lost[volume] = None
            self._taken[name] = []
            empty_volume(self._room / name, self._wall)
            self.said.append(f"{name}: all of it is lost")
        else:
            length = self._committed(name) if source.suffix == OPEN and not self._strict else None
            saved = save_volume(source, self._room / name, length=length, wall=self._wall)
            bad = lost_stretches(source)
            end = (self._room / name).stat().st_size
            self._lost[volume] = [*bad, (end, 1 << 62)]
            self.said.append(f"{name}: {saved.kept:,} records stay, {saved.lost:,} stretches cannot be read")
            self._taken[name] = self._files(name)
        self._index(str(Path(name).with_suffix("").with_suffix(".cdxj")))

    def _committed(self, name: str) -> int | None:
        """The length that the last record gives an open file; None: no log says."""
        mark = self._ends.get(owner_of(Path(name)) or 0, Commit()).marks.get(name)
        return None if mark is None else mark.length

    def _marks(self, name: str) -> list[Mark]:
        records = self._records.get(owner_of(Path(name)) or 0, [])
        return [commit.marks[name] for commit in records if name in commit.marks]

    def _index(self, name: str) -> None:
        volume = str(Path(name).with_suffix(".warc.gz"))
        source = self._room / volume if (self._room / volume).exists() else self._source(volume)
        if name in self._taken:
            return
        self._taken[name] = self._files(name)
        if source is not None:
            lines = index_volume(source, self._room / name, Path(volume).name)
            self.said.append(f"{name}: made anew, {lines:,} lines")

    def _part(self, name: str, path: Path, *, wanted: bool) -> None:
        """Save a part, or see whether it must be: rows of pages need their records, links the rows of their pages."""
        folder = path.parent.name
        length = self._length(name, path)
        if length == 0 and not wanted:  # no commit names it
            return
        keep = {"pages": self._has_record, "links": self._has_source}.get(folder)
        target = self._room / name
        schema = schema_of(self._out, folder)
        saved = save_rows(path, target, schema, length=length, keep=keep if self._lossy(folder) else None)
        if folder == "pages":
            self._learn(target)
        if wanted or saved.lost:
            lost = "nobody knows how many are lost" if saved.lost < 0 else f"{saved.lost:,} are lost"
            if path.suffix == OPEN and name in self._bad:
                lost += ", and what cannot be counted behind them"
            self.said.append(f"{name}: {saved.kept:,} rows stay, {lost}")
            self._taken[name] = self._files(name)
        else:
            target.unlink()

    def _lossy(self, folder: str) -> bool:
        """May rows have to go because of what else is lost?"""
        return folder == "links" or (folder == "pages" and (self._strict or bool(self._lost)))

    def _learn(self, part: Path) -> None:
        table = pq.read_table(part, columns=_COLUMNS)
        self._ids.update(table["id"].to_pylist())
        rows = table.filter(pc.and_(table["final"], pc.not_equal(table["kind"], "robots")))
        self.done.update(rows["url"].to_pylist())

    def _has_record(self, batch: Any) -> Any:
        """Which rows name no record, or one that is there; and, if need be, have all of their links?"""
        pairs = zip(batch["volume"].to_pylist(), batch["offset"].to_pylist(), strict=True)
        there = [volume is None or not self._is_lost(volume, offset) for volume, offset in pairs]
        if self._strict:
            numbers = zip(batch["id"].to_pylist(), batch["links"].to_pylist(), strict=True)
            whole = [not links or (page in self._linking and page not in self._cut_off) for page, links in numbers]
            there = [a and b for a, b in zip(there, whole, strict=True)]
        return pa.array(there, pa.bool_())

    def _is_lost(self, volume: str, offset: int) -> bool:
        if volume not in self._lost:
            name = f"volumes/{volume}"
            there = self._source(name) is not None or name in self._stored
            self._lost[volume] = [] if there else None
        bad = self._lost[volume]
        return bad is None or any(start <= offset < end for start, end in bad)

    def _has_source(self, batch: Any) -> Any:
        return pc.is_in(batch["source"], pa.array(list(self._ids), pa.int64()))
