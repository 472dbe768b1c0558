"""The fetches of a crawl, as far as its politeness shows in their times. In: a snapshot. Out: its visits and its
robots.txt files, as arrays.

Rows are read in chunks, and only visits are kept: some 170 bytes each at the peak. Texts become numbers as they are
read, so that what follows is arithmetic.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from weft.audit.snapshot import Snapshot
from weft.audit.terms import NEVER
from weft.model import Reason
from weft.urls import fingerprints

_CHUNK = 200_000  # rows read at once
_READ = """
select row, id, url, site, ip, kind, worker, visit, status, reason, truncated, redirect, connected_at, fetched_at,
    closed_at, took, wait, volume, "offset", length, body_volume, body_offset, body_length
from fetches left join originals on originals.digest = fetches.digest and duplicate_of <> 0
where connected_at is not null order by row
"""

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Truths = NDArray[np.bool_]


class Visits(NamedTuple):
    """Visits, a column each; a row of the crawl is read as a visit of one fetch. Times are in microseconds."""

    start: Ints
    visit: Ints
    site: Codes
    worker: Codes
    address: Codes  # -1 where it is not known: a proxy reached it
    https: Truths
    end: Ints
    first_page: Ints  # the request for its first page, NEVER where it had none
    row: Ints  # of its first request
    page_row: Ints  # of its first page, NEVER where it had none
    took: NDArray[np.float32]  # its last download, NaN where its end is not written down
    wait: NDArray[np.float32]  # what the site was to rest for, NaN where that is not written down


# How the fetches of a visit become one; the columns not named here are the same in all of them.
_MERGED: dict[str, Any] = {
    "end": np.maximum,
    "first_page": np.minimum,
    "row": np.minimum,
    "page_row": np.minimum,
    "took": np.fmax,
    "wait": np.fmax,
}


class Robots(NamedTuple):
    """The fetches of robots.txt, and of what it redirects to, from which something could be learned."""

    origin: Ints  # number of the origin whose own file it is, -1 where it is reached by a redirect
    url: Ints
    target: Ints  # URL that it redirects to, 0 for none
    at: Ints
    had: Ints  # when it had come
    records: pa.Table  # of the columns in _RECORD


_RECORD = ("url", "truncated", "volume", "offset", "length", "body_volume", "body_offset", "body_length")


class Names:
    """Numbers for texts."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}

    def take(self, texts: list[str]) -> Codes:
        """The numbers of texts, new or known."""
        codes = self.codes
        return np.fromiter((codes.setdefault(text, len(codes)) for text in texts), np.int32, len(texts))

    def encode(self, column: pa.Array) -> Codes:
        """The numbers of a column, -1 for null."""
        encoded = column.dictionary_encode()
        numbers = np.append(self.take(encoded.dictionary.to_pylist()), np.int32(-1))
        found: Codes = numbers[encoded.indices.fill_null(-1).to_numpy()]
        return found


def read(snapshot: Snapshot, sites: Names, addresses: Names) -> tuple[Visits, Robots] | None:
    """The visits and the robots.txt files of a crawl; None where nothing was ever asked for."""
    visits: list[Visits] = []
    robots: list[Robots] = []
    for batch in snapshot.batches(_READ, _CHUNK):
        column = {name: batch.column(name) for name in batch.schema.names}
        site = sites.encode(column["site"])
        https = _numpy(pc.starts_with(column["url"], "https:"))
        is_robots = pc.equal(column["kind"], "robots").fill_null(fill_value=False)
        visits.append(_merge([_visits(column, site, addresses.encode(column["ip"]), https, _numpy(is_robots))]))
        table = pa.Table.from_batches([batch]).append_column("origin", pa.array(origin_of(site, https)))
        robots.append(_robots(table.filter(is_robots)))
    if not visits:
        return None
    pa.default_memory_pool().release_unused()  # Arrow keeps what it has freed
    columns = [[getattr(part, name) for part in robots] for name in Robots._fields]
    records = pa.concat_tables(columns.pop())
    return _merge(visits), Robots._make([*(np.concatenate(column) for column in columns), records])


def _numpy(array: Any) -> NDArray[Any]:
    found: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return found


def origin_of(site: Codes, https: Truths) -> Ints:
    """Numbers for origins: a site by http, and by https."""
    return site.astype(np.int64) * 2 + https


def _visits(column: dict[str, pa.Array], site: Codes, address: Codes, https: Truths, is_robots: Truths) -> Visits:
    fetched = _numpy(column["fetched_at"])
    took = _numpy(column["took"].fill_null(0.0))
    closed = _numpy(pc.is_valid(column["closed_at"]))
    start = _numpy(column["connected_at"])
    row = _numpy(column["row"])
    # A visit whose end is not written down, because its process was killed, was there until the last byte that came.
    end = np.where(closed, _numpy(column["closed_at"].fill_null(0)), _after(fetched, took))
    # The wait goes by the last page: what a robots.txt took does not count, and the wait beside it may be too long.
    download = np.where(is_robots, np.float32(0.0), took)
    wait = np.where(is_robots, np.float32(np.nan), _numpy(column["wait"].fill_null(np.nan)))
    return Visits(
        start=start,
        visit=_numpy(column["visit"].fill_null(0)),
        site=site,
        worker=_numpy(column["worker"].fill_null(0)),
        address=address,
        https=https,
        end=np.maximum(end, start),
        first_page=np.where(is_robots, NEVER, fetched),
        row=row,
        page_row=np.where(is_robots, NEVER, row),
        took=np.where(closed, download, np.float32(np.nan)),
        wait=wait,
    )


def _robots(table: pa.Table) -> Robots:
    """The rows of kind robots that say something: an answer in the 400s does, too, but for one: asked too often."""
    reason, status = table.column("reason"), table.column("status").fill_null(200)
    learned = pc.or_(
        pc.or_(pc.is_null(reason), pc.equal(reason, Reason.STATUS_4XX.value).fill_null(fill_value=False)),
        pc.equal(table.column("truncated"), "length").fill_null(fill_value=False),
    )
    answered = pc.and_(pc.less(status, 500), pc.not_equal(status, 429))
    table = table.filter(pc.and_(learned, answered)).combine_chunks()
    origin = _numpy(table.column("origin"))
    scheme = pa.array(np.where(origin % 2 == 1, "https://", "http://"), pa.string())
    own = pc.binary_join_element_wise(scheme, table.column("site"), "/robots.txt", "")
    fetched = _numpy(table.column("fetched_at"))
    target = np.zeros(len(origin), np.int64)
    redirects = table.column("redirect")
    prints = fingerprints(redirects.drop_null().to_pylist())
    target[_numpy(pc.is_valid(redirects))] = np.array(prints, np.uint64).view(np.int64)
    return Robots(
        origin=np.where(_numpy(pc.equal(own, table.column("url"))), origin, -1),
        url=_numpy(table.column("id")),
        target=target,
        at=fetched,
        had=_after(fetched, _numpy(table.column("took").fill_null(0.0))),
        records=table.select(_RECORD),
    )


def _after(time: Ints, seconds: NDArray[np.float32]) -> Ints:
    found: Ints = time + (seconds.astype(np.float64) * 1e6).astype(np.int64)
    return found


def _merge(parts: list[Visits]) -> Visits:
    """Make one visit of the fetches on one connection. Empties `parts`, so that not everything is there twice.

    A worker's visits are numbered anew when a crawl goes on, so that only the number and the opening make a visit.
    """
    columns = [list(column) for column in zip(*parts, strict=True)]
    parts.clear()
    start, visit, site, worker = (_whole(column) for column in columns[:4])
    who = site.astype(np.int64) << 32 | worker
    order = np.lexsort((visit, who, start))
    new = np.ones(len(order), np.bool_)
    new[1:] = False
    for key in (start, visit, who):
        ordered = key[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    firsts = np.flatnonzero(new)
    del start, visit, site, worker, who, new
    merged = []
    for name, column in zip(Visits._fields, columns, strict=True):
        ordered = _whole(column)[order]
        column.clear()
        merged.append(_MERGED[name].reduceat(ordered, firsts) if name in _MERGED else ordered[firsts])
    return Visits(*merged)


def _whole(pieces: list[NDArray[Any]]) -> NDArray[Any]:
    """Put the pieces of a column together, there where they are."""
    pieces[:] = [np.concatenate(pieces)] if len(pieces) > 1 else pieces
    return pieces[0]
