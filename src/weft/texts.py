"""Texts of a crawl, made afterwards. In: a crawl's directory, also while it runs. Out: a table of texts in parts, WARC
files of conversion records where they are wanted, and what came of each format (P3 table 6).

It is the stage `text` once more, in the same process with limits; each content has its text once, a duplicate has none
of its own. A part is a file of conversion records and then one of columns: what has columns is done, and whoever comes
again goes on behind it. So a run that was ended is taken up, and one beside a crawl that goes on finds what is new.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from weft.clock import Clock
from weft.disk import beside, replace_file, writing
from weft.errors import UsageError, WeftError
from weft.fetch.headers import parse_head
from weft.model import Filled, Kind, Page, PageNumber, Parsed, Turn, UrlId
from weft.parse.apart import Apart, Failed
from weft.parse.options import Reading
from weft.parse.page import Parser
from weft.parse.stage import ReadPage, Run
from weft.stages.language import LANGUAGE, Languages
from weft.stages.text import TEXT, Texts
from weft.store.extra import fields_of
from weft.store.reading import CrawlFiles
from weft.store.warc import RecordIds, converted, member, record, sha1, warc_date
from weft.version import __version__

FOLDER = "texts"  # in the crawl's directory, if nothing else is said
_ASKED = ("id", "url", "fetched_at", "kind", "detected_type", "charset", "language", "title", "links", "bytes")
_PLACE = ("digest", "duplicate_of", "volume", "offset", "length")
_OWN = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False, metadata={"doc": "id of the page"}),
        pa.field("url", pa.string(), nullable=False, metadata={"doc": "its URL"}),
        pa.field("fetched_at", pa.timestamp("us", tz="UTC"), metadata={"doc": "when it was fetched"}),
        pa.field("detected_type", pa.string(), metadata={"doc": "media type as found by looking"}),
        pa.field("language", pa.string(), metadata={"doc": "language as the page declares it"}),
        pa.field("bytes", pa.int64(), metadata={"doc": "size of the content as it came"}),
        pa.field("digest", pa.string(), metadata={"doc": "SHA-1 of the content, as in the WARC"}),
        pa.field("volume", pa.string(), nullable=False, metadata={"doc": "WARC file that its record is in"}),
        pa.field("offset", pa.int64(), nullable=False, metadata={"doc": "where the record begins"}),
    ]
)
_MADE_BY = b"weft.texts"  # in the metadata of each part: the settings
_ROWS, _BYTES = 2_000, 64_000_000  # of a part, at most
_AT_ONCE = 4  # contents on their way: one is read while the next is fetched from its volume
_ROBOTS = Kind.ROBOTS.name.lower()


class OfFormat(msgspec.Struct):
    """What came of the contents of one format, or of a media type that is none of ours."""

    contents: int = 0
    extracted: int = 0  # that have a text, whole or not
    reasons: dict[str, int] = {}  # why others have none, or theirs is not whole
    bytes: int = 0
    seconds: float = 0.0


class Report(msgspec.Struct):
    """What came of all of them."""

    crawl: str
    out: str
    new: int  # contents of this run
    contents: int
    duplicates: int  # rows whose content stands elsewhere
    formats: dict[str, OfFormat]


Tell = Callable[[int], None]


def make_texts(
    crawl: Path,
    out: Path | None,
    settings: Texts,
    languages: Languages,
    clock: Clock,
    tell: Tell = lambda _done: None,
) -> Report:
    """Make the texts of a crawl that are not there yet, and say what came of all."""
    files = CrawlFiles(crawl)
    parts = _Parts(out or crawl / FOLDER, settings, languages, clock)
    counts = asyncio.run(_make_all(files, parts, settings, languages, tell))
    return Report(str(crawl), str(parts.folder), counts.new, *parts.summed(counts.duplicates))


class _Counts:
    """How far a run is."""

    def __init__(self) -> None:
        self.new = 0
        self.duplicates = 0


async def _make_all(files: CrawlFiles, parts: _Parts, settings: Texts, languages: Languages, tell: Tell) -> _Counts:
    counts = _Counts()
    orders = [("weft.stages:BY_NAME.text", msgspec.msgpack.encode(settings))]
    apart = Apart(Reading(), "weft", stages=orders)
    told = LANGUAGE.runner(languages) if languages.detect_language else None
    waiting: deque[tuple[dict[str, Any], str, ReadPage, asyncio.Future[Filled | Failed]]] = deque()

    async def settle() -> None:
        row, refers_to, page, answer = waiting.popleft()
        parts.add(row, refers_to, _values(page, await answer, told))
        counts.new += 1
        tell(counts.new)

    parser = Parser(Reading(), "weft")
    try:
        for row in _contents(files, parts, counts):
            found = files.record(row)
            turn, page, parsed = _as_read(row, found.head, found.body)
            answer: asyncio.Future[Filled | Failed] = asyncio.get_running_loop().create_future()
            apart.run(0, turn, page, parsed, {}, partial(_answered, answer))
            read = ReadPage(turn, page, parsed, parser)
            waiting.append((row, found.warc.get("WARC-Record-ID", ""), read, answer))
            if len(waiting) >= _AT_ONCE:
                await settle()
        while waiting:
            await settle()
        parts.flush()
    finally:
        apart.stop()
    return counts


def _answered(answer: asyncio.Future[Filled | Failed], found: Filled | Failed) -> None:
    if not answer.done():
        answer.set_result(found)


def _values(page: ReadPage, answer: Filled | Failed, told: Run | None) -> dict[str, Any]:
    """What the stages say of a content."""
    if isinstance(answer, Failed):
        if not answer.ended or TEXT.ended is None:
            raise WeftError(f"the text of a page could not be made: {answer.error}", where=page.url)
        return dict(TEXT.ended)
    values = dict(answer.values)
    if told is not None and values:
        found = told(page.with_columns(values))
        values |= found if isinstance(found, dict) else {}
    return values


def _contents(files: CrawlFiles, parts: _Parts, counts: _Counts) -> Iterator[dict[str, Any]]:
    """The rows of contents that are stored and have no text yet."""
    for batch in files.batches("pages", (*_ASKED, *_PLACE)):
        stored = pc.and_(pc.is_valid(batch["volume"]), pc.is_valid(batch["detected_type"]))
        kept = batch.filter(pc.and_(stored, pc.not_equal(batch["kind"].cast(pa.string()), _ROBOTS)))
        first = pc.equal(kept["duplicate_of"], 0)
        counts.duplicates += kept.num_rows - int(pc.sum(first).as_py() or 0)
        kept = parts.new_ones(kept.filter(first))
        yield from kept.to_pylist()


def _as_read(row: dict[str, Any], head: bytes, body: bytes) -> tuple[Turn, Page, Parsed]:
    """A row and its record as the crawl had them."""
    status, raw, headers = parse_head(head.splitlines(keepends=True))
    turn = Turn(PageNumber(0), UrlId(row["id"]), row["url"], 0, 0, UrlId(0), 1)
    wall = row["fetched_at"].timestamp()
    page = Page(row["url"], status, None, b"", raw, headers, body, "", "", "", wall, wall, 0.0, closed=True)
    parsed = Parsed(
        row["detected_type"] or "",
        row["charset"] or "",
        row["language"] or "",
        row["title"] or "",
        row["url"],
        [],
        [],
        follow=True,
        reason=None,
        left_out=row["links"] or 0,  # how many they are is known, and no more is needed
    )
    return turn, page, parsed


class _Done(NamedTuple):
    """What a folder holds already."""

    number: int  # of its last part
    places: dict[str, NDArray[np.int64]]  # by volume: where the records of its contents begin, in order


class _Parts:
    """The parts of a table of texts, and their conversion records."""

    def __init__(self, folder: Path, settings: Texts, languages: Languages, clock: Clock) -> None:
        self.folder = folder
        self._settings = settings
        self._clock = clock
        said = msgspec.to_builtins(settings) | msgspec.to_builtins(languages)
        fields = [*_OWN, *fields_of(TEXT.columns)]
        if languages.detect_language:
            fields += fields_of(LANGUAGE.columns)
        self._schema = pa.schema(fields, metadata={_MADE_BY: msgspec.json.encode(said)})
        with writing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self._done = self._read_done(said)
        self._number = self._done.number
        self._ids = RecordIds(random.Random(f"{folder.absolute()} {clock.wall()}"))
        self._rows: list[dict[str, Any]] = []
        self._members: list[bytes] = []
        self._bytes = 0

    def __repr__(self) -> str:
        return f"_Parts({self.folder}, {self._number} parts)"

    def new_ones(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """The rows whose content has no text yet."""
        if not self._done.places or not rows.num_rows:
            return rows
        volumes = rows["volume"].to_pylist()
        offsets = rows["offset"].to_numpy()
        known = np.zeros(len(offsets), dtype=np.bool_)
        for volume in set(volumes) & self._done.places.keys():
            here = np.array([each == volume for each in volumes])
            places = self._done.places[volume]
            found = np.minimum(np.searchsorted(places, offsets), len(places) - 1)
            known |= here & (places[found] == offsets)
        return rows.filter(pa.array(~known))

    def add(self, row: dict[str, Any], refers_to: str, values: dict[str, Any]) -> None:
        """Take the text of a content."""
        if not values:  # its type is none of those that were asked for
            return
        text = values.get("whole_text") or values.get("text") or ""
        if text and self._settings.text_as != "columns":
            made = converted(self._ids.next(), row["url"], self._clock.wall(), refers_to, text)
            self._members.append(member(made))
        if self._settings.text_as == "warc":
            values = values | {"text": None, "whole_text": None}
        self._rows.append({name: row.get(name) for name in _OWN.names} | values)
        self._bytes += len(text) + len(values.get("text") or "")
        if len(self._rows) >= _ROWS or self._bytes >= _BYTES:
            self.flush()

    def flush(self) -> None:
        """Write what was taken as a part."""
        if not self._rows:
            return
        self._number += 1
        stem = self.folder / f"part-{self._number:05d}"
        if self._settings.text_as != "columns":
            with writing(self.folder):
                name = f"{stem.name}.warc.gz"
                replace_file(stem.with_name(name), self._info(name) + b"".join(self._members))
        table = pa.Table.from_pylist(self._rows, schema=self._schema)
        path = stem.with_name(f"{stem.name}.parquet")
        with writing(path), beside(path) as new:
            pq.write_table(table, new, compression="zstd")
        self._rows, self._members, self._bytes = [], [], 0

    def summed(self, duplicates: int) -> tuple[int, int, dict[str, OfFormat]]:
        """How many contents there are in all parts, how many duplicates were left out, and what came of each format."""
        found: dict[str, OfFormat] = {}
        for path in self._paths():
            names = ["text_format", "detected_type", "text_reason", "text_characters", "text_ms", "bytes"]
            table = pq.read_table(path, columns=names)
            kinds = pc.coalesce(table["text_format"], table["detected_type"])
            reasons = pc.coalesce(table["text_reason"], "")
            read = pc.cast(pc.greater(pc.coalesce(table["text_characters"], 0), 0), pa.int64())
            small = pa.table(
                {"kind": kinds, "reason": reasons, "read": read, "ms": table["text_ms"], "bytes": table["bytes"]}
            )
            grouped = small.group_by(["kind", "reason"]).aggregate(
                [([], "count_all"), ("read", "sum"), ("ms", "sum"), ("bytes", "sum")]
            )
            for row in grouped.to_pylist():
                of = found.setdefault(row["kind"], OfFormat(reasons={}))
                of.contents += row["count_all"]
                of.extracted += row["read_sum"]
                of.seconds += (row["ms_sum"] or 0.0) / 1e3
                of.bytes += row["bytes_sum"] or 0
                if row["reason"]:
                    of.reasons[row["reason"]] = of.reasons.get(row["reason"], 0) + row["count_all"]
        every = sum(of.contents for of in found.values())
        return every, duplicates, dict(sorted(found.items(), key=lambda item: -item[1].contents))

    def _paths(self) -> list[Path]:
        return sorted(self.folder.glob("part-*.parquet"))

    def _read_done(self, said: dict[str, Any]) -> _Done:
        number, places = 0, dict[str, list[NDArray[np.int64]]]()
        for path in self._paths():
            try:
                file = pq.ParquetFile(path)
                before = msgspec.json.decode((file.schema_arrow.metadata or {})[_MADE_BY])
                table = file.read(columns=["volume", "offset"])
            except (OSError, KeyError, pa.ArrowInvalid, msgspec.MsgspecError) as error:
                raise WeftError(
                    f"this is no part of a table of texts, or damaged: {error}",
                    where=str(path),
                    todo="remove it: its texts are made again; or give another --out",
                ) from error
            if before != msgspec.json.decode(msgspec.json.encode(said)):
                raise UsageError(
                    "the texts here were made with other settings",
                    where=str(self.folder),
                    todo="give the same ones, or another --out",
                )
            number = max(number, int(path.stem.rpartition("-")[2]))
            for volume in pc.unique(table["volume"]).to_pylist():
                own = table.filter(pc.equal(table["volume"], volume))["offset"].to_numpy()
                places.setdefault(volume, []).append(own)
        return _Done(number, {volume: np.sort(np.concatenate(some)) for volume, some in places.items()})

    def _info(self, name: str) -> bytes:
        """The first record of a WARC file."""
        fields = f"software: weft/{__version__}\r\nformat: WARC file version 1.1\r\n".encode()
        date = warc_date(self._clock.wall())
        lines = (
            f"WARC-Type: warcinfo\r\nWARC-Record-ID: {self._ids.next()}\r\nWARC-Date: {date}\r\n"
            f"WARC-Filename: {name}\r\nWARC-Block-Digest: {sha1(fields)}\r\nContent-Type: application/warc-fields\r\n"
        )
        return member(record(lines, fields))
