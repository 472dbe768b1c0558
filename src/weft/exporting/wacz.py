"""A crawl as one WACZ file (Web Archive Collection Zipped, version 1.1.1), which ReplayWeb.page and others replay. In:
a crawl's directory. Out: a zip file, written from its beginning to its end.

Volumes are in `archive/`, stored as they are, so that a reader finds a record by a range request. All their index lines
are in `indexes/index.cdx.gz`, sorted, in blocks of gzip that `indexes/index.idx` has the places of. `pages/pages.jsonl`
lists the pages that are seeds, or that seeds redirect to, `pages/extraPages.jsonl` all others; `datapackage.json` has
the SHA-256 of every file.

Only what is sealed is exported. Of a crawl that runs, or was killed, a record may refer to a content in a volume that
is still open: such revisits have no line in the index, and are counted.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from heapq import merge
from pathlib import Path
from typing import IO, Any

import msgspec

from weft.clock import Clock, SystemClock
from weft.errors import UsageError
from weft.reading import Crawl
from weft.store.places import places_of
from weft.store.warc import warc_date
from weft.version import __version__

VERSION = "1.1.1"
_LINES = 1024  # index lines of a block
_AT_ONCE = 200  # files that are merged at a time

_PAGES = """
select url, title, fetched_at, status, coalesce(detected_type, declared_type) as mime, bytes as size, depth, volume
from pages where final and volume is not null and status between 200 and 299
    and kind not in ('robots', 'check', 'map', 'image', 'style', 'script', 'part')
"""
_DANGLING = """
select volume, "offset" from pages where duplicate_of <> 0 and volume is not null and digest not in (
    select digest from pages where duplicate_of = 0 and volume in (select unnest({volumes}))
        and digest is not null)
"""


class Exported(msgspec.Struct, frozen=True):
    """What was written."""

    volumes: int
    bytes: int  # of volumes
    records: int  # index lines
    pages: int
    open_volumes: int  # that were left out, because they still grow or were left so
    dangling: int  # revisits without a line: what they refer to is in one of those


def export_wacz(crawl: Crawl, out: IO[bytes], *, title: str = "", clock: Clock | None = None) -> Exported:
    """Write a crawl; `out` need not be a file that can be sought in."""
    volumes = crawl.files.volumes.sealed()
    left = _open_volumes(crawl, volumes)
    if not volumes:
        raise UsageError(
            "no volume of this crawl is sealed yet", where=str(crawl.path), todo="wait for its end, or for a full one"
        )
    dangling = _dangling(crawl, volumes) if left else {}
    with zipfile.ZipFile(out, "w", allowZip64=True) as archive, tempfile.TemporaryDirectory(prefix="weft-wacz-") as at:
        package = _Package(archive, (clock or SystemClock()).wall())
        for name, length in volumes.items():
            package.add(f"archive/{name}", crawl.files.volumes.chunks(name), length)
        records, dropped = _write_index(package, crawl, volumes, dangling, Path(at))
        first, others = _Pages("pages", "Seeds"), _Pages("extraPages", "All other pages")
        for chosen, where in ((first, "depth = 0"), (others, "depth is null or depth > 0")):
            package.add(f"pages/{chosen.name}.jsonl", chosen.lines(crawl, where, volumes), packed=True)
        package.close(title or f"Crawl {crawl.path.absolute().name}", first.main)
    return Exported(
        volumes=len(volumes),
        bytes=sum(volumes.values()),
        records=records,
        pages=first.written + others.written,
        open_volumes=len(left),
        dangling=dropped,
    )


class _Package:
    """A zip file, and what is in it."""

    def __init__(self, archive: zipfile.ZipFile, now: float) -> None:
        self._archive = archive
        self._now = now
        self._date = warc_date(now)[:19] + "Z"
        self._resources: list[dict[str, Any]] = []

    def add(self, path: str, content: Iterable[bytes], length: int = 0, *, packed: bool = False) -> None:
        """Write a file, of about so many bytes."""
        about = self._info(path, packed=packed)
        about.file_size = length
        digest, written = hashlib.sha256(), 0
        with self._archive.open(about, "w", force_zip64=length > zipfile.ZIP64_LIMIT // 2) as file:
            for data in content:
                file.write(data)
                digest.update(data)
                written += len(data)
        self._resources.append(
            {
                "name": path.rpartition("/")[2].lower(),
                "path": path,
                "hash": f"sha256:{digest.hexdigest()}",
                "bytes": written,
            }
        )

    def close(self, title: str, main: tuple[str, str] | None) -> None:
        """Write what says what is in it."""
        about: dict[str, Any] = {
            "profile": "data-package",
            "resources": self._resources,
            "title": title,
            "created": self._date,
            "modified": self._date,
            "wacz_version": VERSION,
            "software": f"weft {__version__}",
        }
        if main is not None:
            about |= {"mainPageUrl": main[0], "mainPageDate": main[1]}
        package = json.dumps(about, indent=2, ensure_ascii=False).encode()
        self._archive.writestr(self._info("datapackage.json", packed=True), package)
        seal = {"path": "datapackage.json", "hash": f"sha256:{hashlib.sha256(package).hexdigest()}"}
        self._archive.writestr(self._info("datapackage-digest.json", packed=True), json.dumps(seal, indent=2))

    def _info(self, path: str, *, packed: bool) -> zipfile.ZipInfo:
        when = time.gmtime(self._now)
        about = zipfile.ZipInfo(path, (max(when.tm_year, 1980), *when[1:6]))
        about.compress_type = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
        about.external_attr = 0o644 << 16
        return about


class _Pages:
    """A list of pages."""

    def __init__(self, name: str, title: str) -> None:
        self.name = name
        self._title = title
        self.written = 0
        self.main: tuple[str, str] | None = None

    def lines(self, crawl: Crawl, where: str, volumes: dict[str, int]) -> Iterator[bytes]:
        """A line for what the list is, and one for each page in it."""
        yield _line({"format": "json-pages-1.0", "id": self.name, "title": self._title})
        for row in crawl.query(f"{_PAGES} and ({where})"):
            if row["volume"] not in volumes:
                continue
            self.written += 1
            moment = row["fetched_at"].isoformat(timespec="milliseconds").replace("+00:00", "Z")
            self.main = self.main or (row["url"], moment)
            page = {"id": f"{self.name}-{self.written}", "url": row["url"], "ts": moment, "title": row["title"]}
            page |= {name: row[name] for name in ("mime", "status", "size", "depth")}
            yield _line({name: value for name, value in page.items() if value is not None})


def _line(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _open_volumes(crawl: Crawl, sealed: dict[str, int]) -> set[str]:
    """Volumes that pages are in, and that are not sealed."""
    found = crawl.query("select distinct volume from pages where volume is not null")
    return {row["volume"] for row in found} - sealed.keys()


def _dangling(crawl: Crawl, volumes: dict[str, int]) -> dict[str, set[int]]:
    """By volume: where revisits begin whose content is in no sealed one."""
    names = "[" + ", ".join("'" + name.replace("'", "''") + "'" for name in volumes) + "]"
    found: dict[str, set[int]] = {}
    for row in crawl.query(_DANGLING.format(volumes=names)):
        if row["volume"] in volumes:
            found.setdefault(row["volume"], set()).add(row["offset"])
    return found


# The index.


def _write_index(
    package: _Package, crawl: Crawl, volumes: dict[str, int], dangling: dict[str, set[int]], folder: Path
) -> tuple[int, int]:
    """Write the lines of all volumes, sorted; how many there are, and how many were left out."""
    counted = [0, 0]
    places: list[bytes] = [b'!meta 0 {"format": "cdxj-gzip-1.0", "filename": "index.cdx.gz"}\n']
    indexes = [_index_of(crawl, name) for name in volumes]

    def blocks() -> Iterator[bytes]:
        offset = 0
        for lines in _in_blocks(_resolving(_sorted(indexes, folder), dangling, counted)):
            block = zlib.compress(b"".join(lines), wbits=31)
            place = {"offset": offset, "length": len(block), "digest": f"sha256:{hashlib.sha256(block).hexdigest()}"}
            places.append(lines[0].partition(b" {")[0] + b" " + json.dumps(place).encode() + b"\n")
            offset += len(block)
            yield block

    package.add("indexes/index.cdx.gz", blocks())
    package.add("indexes/index.idx", places, packed=True)
    return counted[0], counted[1]


def _index_of(crawl: Crawl, volume: str) -> Path:
    """The index of a volume, which is here also where the volume is in a store."""
    for path in places_of(crawl.path, f"volumes/{volume.removesuffix('.warc.gz')}.cdxj"):
        if path.exists():
            return path
    raise UsageError(
        "a volume has no index", where=str(crawl.path / "volumes" / volume), todo="see what `weft repair` can do"
    )


def _sorted(indexes: list[Path], folder: Path) -> Iterator[bytes]:
    """The lines of sorted files, sorted, not too many files at a time."""
    while len(indexes) > _AT_ONCE:
        some, indexes = indexes[:_AT_ONCE], indexes[_AT_ONCE:]
        merged = folder / f"{len(list(folder.iterdir()))}.cdxj"
        with merged.open("wb") as file:
            file.writelines(_merged(some))
        indexes.append(merged)
    yield from _merged(indexes)


def _merged(indexes: list[Path]) -> Iterator[bytes]:
    with ExitStack() as stack:
        yield from merge(*(stack.enter_context(path.open("rb")) for path in indexes))


def _resolving(lines: Iterable[bytes], dangling: dict[str, set[int]], counted: list[int]) -> Iterator[bytes]:
    """The lines whose content is there; counted are these, and those that are left out."""
    for line in lines:
        if dangling and b'"warc/revisit"' in line:
            fields = msgspec.json.decode(line[line.index(b"{") :])
            if int(fields["offset"]) in dangling.get(fields["filename"], ()):
                counted[1] += 1
                continue
        counted[0] += 1
        yield line


def _in_blocks(lines: Iterable[bytes]) -> Iterator[list[bytes]]:
    block: list[bytes] = []
    for line in lines:
        block.append(line)
        if len(block) == _LINES:
            yield block
            block = []
    if block:
        yield block
