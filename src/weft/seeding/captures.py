"""Seeds from the index of an archive, CDX or CDXJ, of whoever made it. In: index files, plain or packed. Out: the home
page of every host that was captured well often enough.

A CDXJ line is a key, a time and a JSON object. A CDX line has fields, which a line ``CDX N b a m s …`` names; without
one, time, URL and status are where they are in all usual forms (9, 10 and 11 fields, and what CDX servers answer).
Captures are counted in bounded memory, by DuckDB.

>>> parse_line(b'org,example)/ 20240229123456 {"url": "http://example.org/", "status": "200"}', DEFAULT)
Capture(url='http://example.org/', time='20240229123456', status='200')
>>> parse_line(b"org,example)/ 20240229123456 http://example.org/ text/html 200 ABC - - 9 0 a.warc.gz", DEFAULT)
Capture(url='http://example.org/', time='20240229123456', status='200')
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal, NamedTuple

import duckdb
import msgspec
import pyarrow as pa

from weft.errors import UsageError, WeftError
from weft.graph.lines import chunks
from weft.seeding.order import by_name
from weft.settings import setting
from weft.urls import normal_form, site_of

_MEMORY = "256MB"
_AT_ONCE = 200_000  # hosts that are counted before they go to the database
_MOST_SHOWN = 20
_CHUNK = 1 << 22
_LETTERS = {"b": "time", "a": "url", "s": "status"}


class Places(NamedTuple):
    """Which fields of a CDX line are looked at."""

    time: int
    url: int
    status: int


DEFAULT = Places(1, 2, 4)  # N b a m s …


class Capture(NamedTuple):
    """A line of an index."""

    url: str
    time: str  # fourteen digits, or fewer
    status: str


class _Fields(msgspec.Struct):
    """What is looked at of the object in a CDXJ line."""

    url: str
    status: str | int = ""


_decode = msgspec.json.Decoder(_Fields).decode


def _day_complaint(text: str) -> str:
    try:
        date.fromisoformat(text or "2000-01-01")
    except ValueError:
        return "give a day such as 2026-03-02"
    return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting:
    """Settings: which hosts of an archive are seeds."""

    least_captures: int = setting(1, "captures with status 200 that a host must have", at_least=1)
    since: str = setting("", "only captures from this day on, such as 2026-03-02", check=_day_complaint)
    order: Literal["name", "most"] = setting(
        "name", "name: by name, from the right; most: those with most captures first"
    )


class HostSeed(msgspec.Struct, frozen=True, kw_only=True):
    """A host that is a seed."""

    url: str
    captures: int
    last: str  # time of the last of them


class Counted(msgspec.Struct, frozen=True, kw_only=True):
    """What an index gives."""

    files: list[str]
    lines: int
    captures: int  # that count
    others: int  # of another status, or before the day
    unreadable: int
    unreadable_shown: list[str]  # the first of these, with their place
    hosts: int  # with captures that count
    seeds: list[HostSeed]


def from_cdx(files: Sequence[Path], counting: Counting) -> Counted:
    """The seeds that index files give."""
    reading = _Reading(counting.since.replace("-", ""))
    try:
        with (
            tempfile.TemporaryDirectory(prefix="weft-seeds-") as room,
            duckdb.connect(f"{room}/hosts.duckdb", config=_config(room)) as base,
        ):
            base.execute("create table hosts (site varchar, captures bigint, last varchar)")
            for some in reading.counts(files):
                base.register("batch", some)
                base.execute("insert into hosts select * from batch")
            found = base.sql("select site, sum(captures), max(last) from hosts group by site").fetchall()
    except duckdb.Error as error:
        raise WeftError(f"captures cannot be counted: {error}", todo="is the disk full (TMPDIR)?") from error
    seeds = [
        HostSeed(url=f"{last[14:]}://{site}/", captures=int(many), last=last[:14])
        for site, many, last in found
        if many >= counting.least_captures
    ]
    seeds.sort(key=lambda each: (-each.captures if counting.order == "most" else 0, by_name(each.url)))
    return Counted(
        files=[str(path) for path in files],
        lines=reading.lines,
        captures=reading.captures,
        others=reading.others,
        unreadable=reading.unreadable,
        unreadable_shown=reading.shown,
        hosts=len(found),
        seeds=seeds,
    )


def _config(room: str) -> dict[str, Any]:
    return {"memory_limit": _MEMORY, "threads": 2, "temp_directory": f"{room}/spilled"}


class _Reading:
    """Reads index files; what it counts is there when they are read."""

    def __init__(self, since: str) -> None:
        self._since = since
        self.lines = self.captures = self.others = self.unreadable = 0
        self.shown: list[str] = []

    def counts(self, files: Iterable[Path]) -> Iterator[pa.Table]:
        """Hosts with their captures, as they come; a host may come again."""
        found: dict[str, tuple[int, str]] = {}
        for path in files:
            for site, last in self._sites(path):
                many, latest = found.get(site, (0, ""))
                found[site] = many + 1, max(latest, last)
                if len(found) >= _AT_ONCE:
                    yield _table(found)
                    found = {}
        yield _table(found)

    def _sites(self, path: Path) -> Iterator[tuple[str, str]]:
        """The site of each capture that counts, with its time and scheme."""
        places = DEFAULT
        number = 0
        for chunk in chunks(path, _CHUNK):
            for line in chunk.splitlines():
                number += 1
                if line[:5].lstrip().startswith(b"CDX "):
                    places = _places(line, f"{path}, line {number}")
                    continue
                if not line.strip() or line.startswith((b"!", b"#")):  # what says something of the index itself
                    continue
                self.lines += 1
                capture = parse_line(line, places)
                url = None if capture is None else normal_form(capture.url)
                if capture is None or type(url) is not str:
                    self._note(f"{path}, line {number}: {line[:80].decode('utf-8', 'replace')!r}")
                elif capture.status != "200" or capture.time < self._since:
                    self.others += 1
                else:
                    self.captures += 1
                    yield site_of(url), f"{capture.time:0<14}{url.partition(':')[0]}"

    def _note(self, line: str) -> None:
        self.unreadable += 1
        if len(self.shown) < _MOST_SHOWN:
            self.shown.append(line)


def _table(found: dict[str, tuple[int, str]]) -> pa.Table:
    captures, last = zip(*found.values(), strict=True) if found else ((), ())
    return pa.table(
        {
            "site": pa.array(list(found), pa.string()),
            "captures": pa.array(captures, pa.int64()),
            "last": pa.array(last, pa.string()),
        }
    )


def _places(head: bytes, where: str) -> Places:
    """Which fields are looked at, by the line that names them."""
    letters = head.decode("ascii", "replace").split()[1:]
    found = {name: letters.index(letter) for letter, name in _LETTERS.items() if letter in letters}
    if len(found) < len(_LETTERS):
        raise UsageError(
            "the index has no time, URL or status", where=where, todo="give one with the fields a, b and s"
        )
    return Places(**found)


def parse_line(line: bytes, places: Places) -> Capture | None:
    """What a line says; None where it cannot be read."""
    try:
        _key, time, rest = line.split(b" ", 2)
        if rest.startswith(b"{"):
            fields = _decode(rest)
            return Capture(fields.url, _time(time), str(fields.status))
        words = line.decode("utf-8", "replace").split()
        return Capture(words[places.url], _time(words[places.time].encode()), words[places.status])
    except (ValueError, IndexError, msgspec.MsgspecError):
        return None


def _time(digits: bytes) -> str:
    if not 4 <= len(digits) <= 17 or not digits.isdigit():
        raise ValueError("no time")
    return digits.decode()[:14]
