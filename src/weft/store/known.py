"""Contents that earlier crawls have. In: their directories, or indexes of archives (CDXJ). Out: a table of contents, as
workers have, that all workers of a crawl read.

A page whose very content is in it becomes a revisit record that refers to the earlier capture by URL and time; whoever
replays it needs both collections. Only SHA-1 of the payload can be compared: a line with another digest, or with none,
is counted and left out, and so are revisits (their content is elsewhere), what was not asked for by GET, and empty
contents.

A source is read once, when a crawl begins or goes on with it; what was taken in stays known. Memory does not grow with
it: some lines are in memory at a time, and the table is a file, mapped by all workers together: 24 to 48 bytes a
content of its index, of which those parts are in memory that are asked for.
"""

from __future__ import annotations

import calendar
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from weft.disk import replace_file
from weft.graph.lines import chunks
from weft.store.content_table import ContentTable, Keys
from weft.store.volumes import Original
from weft.store.warc import base32, digest_bytes
from weft.urls import fingerprint

NAME = "known"
"""Of the table, where those of workers have their numbers."""
_LIST = f"{NAME}.json"
_AT_ONCE = 20_000  # contents that go to the table together
_EMPTY = "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
_BASE32 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
_HEX = frozenset("0123456789abcdef")
_NO_CONTENT = ("warc/revisit", "warc/request", "warc/metadata")
Entry = tuple[bytes, Original]


class Source(msgspec.Struct, frozen=True):
    """What was taken in of an earlier crawl."""

    name: str
    lines: int  # fetches, or lines of an index
    usable: int
    left_out: dict[str, int]  # the others, by why they are of no use
    by_second: bool = False  # its times have no fractions

    def __str__(self) -> str:
        left = ", ".join(f"{many:,} {why}" for why, many in self.left_out.items())
        said = f"{self.usable:,} of {self.lines:,} captures of {self.name} can be compared by their digests"
        return f"{said}; left out: {left}" if left else said


class Known:
    """The names of sources, for who finds a content in their table."""

    def __init__(self, folder: Path) -> None:
        path = folder / _LIST
        self.sources = msgspec.json.decode(path.read_bytes(), type=list[Source]) if path.exists() else []

    def __repr__(self) -> str:
        return f"Known({', '.join(source.name for source in self.sources)})"

    def original(self, entry: Original) -> Original:
        """An entry of the table, whose id is the number of its source."""
        source = self.sources[entry.id]
        return Original(fingerprint(entry.url), entry.url, entry.wall, source.name, source.by_second)


def take_in(folder: Path, secret: bytes, names: tuple[str, ...], say: Callable[[str], None]) -> None:
    """Have a crawl's folder of contents know those of earlier crawls, as far as it does not yet; no worker runs."""
    known = Known(folder)
    new = [name for name in names if name not in [source.name for source in known.sources]]
    if not new:
        return
    table = ContentTable.of_worker(folder, NAME, Keys.of(secret), most=1 << 30)
    for name in new:
        reading = _Reading()
        path, number = Path(name), len(known.sources)
        by_second = not (path / "crawl.toml").exists()
        some: list[Entry] = []
        for digest, url, wall in _of_index(path, reading) if by_second else _of_crawl(path, reading):
            some.append((digest, Original(number, url, wall)))
            if len(some) >= _AT_ONCE:
                table.add(some)
                some = []
        table.add(some)
        known.sources.append(Source(name, reading.lines, reading.usable, dict(reading.left_out), by_second))
        say(f"known: {known.sources[-1]}")
    table.close()
    # Not before: what is half taken in is taken in again.
    replace_file(folder / _LIST, msgspec.json.encode(known.sources))


class _Reading:
    """What is counted while a source is read."""

    def __init__(self) -> None:
        self.lines = self.usable = 0
        self.left_out: Counter[str] = Counter()


def _of_crawl(path: Path, reading: _Reading) -> Iterator[tuple[bytes, str, float]]:
    """The contents that a crawl of weft stored: digest, URL and time of each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from weft.store.reading import CrawlFiles

    columns = ("url", "kind", "digest", "fetched_at", "duplicate_of", "bytes", "truncated", "volume")
    for batch in CrawlFiles(path).batches("pages", columns):
        rows = batch.filter(batch["volume"].is_valid())
        reading.lines += len(rows)
        whole = pc.and_(rows["truncated"].is_null(), pc.greater(rows["bytes"], 0))
        whole = pc.and_(whole, pc.not_equal(rows["kind"], "robots"))
        first = rows.filter(pc.and_(whole, pc.equal(rows["duplicate_of"], 0)))
        again = pc.sum(pc.not_equal(rows["duplicate_of"], 0)).as_py() or 0
        reading.usable += len(first)
        reading.left_out["revisits"] += again
        reading.left_out["empty, cut or robots.txt"] += len(rows) - len(first) - again
        walls = (first["fetched_at"].cast(pa.int64()).to_numpy() / 1e6).tolist()
        digests = map(digest_bytes, first["digest"].to_pylist())
        yield from zip(digests, first["url"].to_pylist(), walls, strict=True)
    reading.left_out = +reading.left_out


class _Fields(msgspec.Struct):
    """What is looked at of the object in a CDXJ line."""

    url: str
    digest: str = ""
    mime: str = ""
    method: str = "GET"


_decode = msgspec.json.Decoder(_Fields, strict=False).decode


def _of_index(path: Path, reading: _Reading) -> Iterator[tuple[bytes, str, float]]:
    """The same by an index of an archive, whoever made it."""
    for chunk in chunks(path):
        for line in chunk.splitlines():
            if not line.strip() or line.startswith((b"!", b"#")):  # what says something of the index itself
                continue
            reading.lines += 1
            found = parse_line(line)
            if isinstance(found, str):
                reading.left_out[found] += 1
            else:
                reading.usable += 1
                yield found


def parse_line(line: bytes) -> tuple[bytes, str, float] | str:
    """Digest, URL and time of a line of an index, or why it is of no use.

    >>> line = b'org,example)/ 19700101000002 {"url": "http://example.org/", "mime": "text/html", "digest": "%s"}'
    >>> parse_line(line % b"sha1:AAAQEAYEAUDAOCAJBIFQYDIOB4IBCEQT")[1:]
    ('http://example.org/', 2.0)
    >>> parse_line(line % b"sha256:47DEQpj8HBSa"), parse_line(b"CDX N b a m s k r M S V g")
    ('with another digest than SHA-1', 'not CDXJ')
    """
    try:
        _key, digits, rest = line.split(b" ", 2)
        fields = _decode(rest)
        wall = float(calendar.timegm(time.strptime(digits.decode()[:14], "%Y%m%d%H%M%S")))
    except (ValueError, msgspec.MsgspecError):
        return "not CDXJ"
    if fields.mime in _NO_CONTENT:
        return "revisits" if fields.mime == "warc/revisit" else "without a content"
    if fields.method != "GET":
        return "not by GET"
    digest = sha1_of(fields.digest)
    if isinstance(digest, str):
        return digest
    return digest, fields.url, wall


def sha1_of(text: str) -> bytes | str:
    """The bytes of a digest as indexes write it, or why it is of no use.

    >>> sha1_of("3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"), sha1_of("sha1:da39a3"), sha1_of("")
    ('empty', 'with another digest than SHA-1', 'without a digest')
    >>> sha1_of("sha1:" + "0a" * 20) == sha1_of("sha-1:BIFAUCQKBIFAUCQKBIFAUCQKBIFAUCQK") == bytes([10] * 20)
    True
    """
    name, colon, bare = text.rpartition(":")
    if not bare or bare == "-":
        return "without a digest"
    if colon and name.lower() not in ("sha1", "sha-1"):
        return "with another digest than SHA-1"
    if len(bare) == 32 and _BASE32.issuperset(bare):
        return "empty" if bare == _EMPTY else digest_bytes(f"sha1:{bare}")
    if len(bare) == 40 and _HEX.issuperset(bare.lower()):
        found = bytes.fromhex(bare)
        return "empty" if base32(found) == f"sha1:{_EMPTY}" else found
    return "with another digest than SHA-1"
