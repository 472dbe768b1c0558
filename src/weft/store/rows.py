"""The row of a fetch. In: what came of a turn. Out: a value for every column of `pages`.

`PageRow` is the one list of those columns: name, type, whether it may be null, and what it means; the Arrow schema and
the reference page are made from it. To add a column, add a field here and set it in `page_row`. A row that lacks a
value is an error when it is written.
"""

from __future__ import annotations

import dataclasses
from array import array
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from weft.events import Fetched
from weft.model import KIND_NAMES, Kind
from weft.store.volumes import Stored

_WHEN = pa.timestamp("us", tz="UTC")
_REDIRECT = int(Kind.REDIRECT)
_VERSIONS = {b"HTTP/1.1": "1.1", b"HTTP/1.0": "1.0"}
_LONGEST = 200  # characters of a header


def _column(kind: pa.DataType, doc: str, *, null: bool = True) -> Any:
    """A column of this type."""
    return dataclasses.field(metadata={"type": kind, "doc": doc, "null": null, "id": False})


def _id(doc: str) -> Any:
    """A column of ids: 0 for none, never null. Rows have fingerprints without a sign, columns have them with one."""
    return dataclasses.field(metadata={"type": pa.int64(), "doc": doc, "null": False, "id": True})


@dataclasses.dataclass(slots=True, init=False, eq=False)
class PageRow:
    """What is known of one fetch; made by `page_row`, written by `columns.PageJournal`. Times are wall times in
    seconds.

    Values are set one by one, by name: for a row that costs a tenth of what keyword arguments do.
    """

    id: int = _id("64-bit fingerprint of the URL, as a signed number")
    url: str = _column(pa.string(), "the URL asked for, in normal form", null=False)
    site: str = _column(pa.string(), "host, with its port where that is not the default one", null=False)
    ip: str | None = _column(pa.string(), "address it was fetched from")
    kind: str = _column(pa.string(), "how the URL was found: seed, a, redirect, robots, image …")
    depth: int = _column(pa.int32(), "links away from a seed")
    via: int = _id("id of the page where it was found first, 0 for none")
    attempt: int = _column(pa.int16(), "1 for the first try")
    final: bool = _column(pa.bool_(), "false when the page will be tried again")
    worker: int = _column(pa.int32(), "number of the process that fetched it", null=False)
    commit: int = _column(pa.int64(), "number of the commit, of that worker, with which the row was written")
    visit: int = _column(pa.int64(), "number of the connection, of that worker")
    status: int | None = _column(pa.int16(), "HTTP status, null when no answer came")
    reason: str | None = _column(pa.string(), "why it failed, from the list of reasons; null when it did not")
    connected_at: float | None = _column(_WHEN, "when the connection was opened")
    fetched_at: float = _column(_WHEN, "when the request was made")
    closed_at: float | None = _column(_WHEN, "when the connection was closed, on the row of its last page")
    wait: float | None = _column(
        pa.float32(), "seconds that the site rests after the connection, on the row of its last page"
    )
    took: float = _column(pa.float32(), "seconds from the request to the last byte")
    declared_type: str | None = _column(pa.string(), "media type in the header")
    detected_type: str | None = _column(pa.string(), "media type as found by looking")
    charset: str | None = _column(pa.string(), "charset of the text")
    language: str | None = _column(pa.string(), "language as the page declares it")
    title: str | None = _column(pa.string(), "title of the page")
    bytes: int | None = _column(pa.int64(), "size of the content as it came")
    truncated: str | None = _column(pa.string(), "length, time, disconnect or unspecified where content is missing")
    digest: str | None = _column(pa.string(), "SHA-1 of the content, as in the WARC")
    duplicate_of: int = _id("id of the URL under which the same content was stored first, 0 for none")
    duplicate_in: str | None = _column(
        pa.string(), "where that content is, if it is not in this crawl: an earlier one, as `known` names it"
    )
    links: int | None = _column(pa.int32(), "links found on it, null where it was not read")
    etag: str | None = _column(pa.string(), "ETag header")
    last_modified: str | None = _column(pa.string(), "Last-Modified header")
    server: str | None = _column(pa.string(), "Server header, at most 200 characters")
    http_version: str | None = _column(pa.string(), "version of HTTP that the server answered with: 1.0, 1.1 …")
    retry_after: str | None = _column(pa.string(), "Retry-After header as sent, at most 200 characters")
    keep_alive: str | None = _column(pa.string(), "Keep-Alive header as sent, at most 200 characters")
    redirect: str | None = _column(pa.string(), "where it redirects to, in normal form")
    redirects: int = _column(pa.int16(), "redirects in a row that led here, 0 where none did")
    redirected_from: int = _id(
        "id of the URL where that chain of redirects began, so that a join with its row gives both ends of a chain; "
        "0 where no redirect led here, or where the chain came by a site of another worker. `via` is the step before"
    )
    canonical: str | None = _column(
        pa.string(), "the URL in the page's first `<link rel=canonical>`, resolved and in normal form"
    )
    robots: str | None = _column(
        pa.string(),
        "what the page asks of robots, in its meta tags and in X-Robots-Tag, for all or for this one: noindex, "
        "nofollow, noarchive …, separated by commas, at most 200 characters; `none` stands as `nofollow,noindex`",
    )
    tls: str | None = _column(pa.string(), "verdict on the certificate: ok, expired, self-signed …")
    dropped: str | None = _column(
        pa.string(),
        "why its answer has no record: `noarchive` (the page asks for it, under `obey_noarchive`) or `application`; "
        "null where it has one, or could have none",
    )
    volume: str | None = _column(pa.string(), "WARC file, null when nothing was stored")
    offset: int | None = _column(pa.int64(), "where its record begins")
    length: int | None = _column(pa.int64(), "how long its record is, compressed")
    extra: tuple[Any, ...] = dataclasses.field(default=(), repr=False)  # what stages said, where a crawl has any


_FIELDS = tuple(each for each in dataclasses.fields(PageRow) if each.metadata)

PAGES = pa.schema(
    [
        pa.field(each.name, about["type"], nullable=about["null"], metadata={"doc": about["doc"]})
        for each in _FIELDS
        for about in [each.metadata]
    ]
)

PAGE_IDS = frozenset(each.name for each in _FIELDS if each.metadata["id"])
"""The columns of `pages` that hold ids."""


def page_row(  # noqa: PLR0915  a line a column
    fetched: Fetched, stored: Stored | None, worker: int, commit: int = 0
) -> PageRow:
    """The row of a fetch: where the value of each column comes from."""
    outcome = fetched.outcome
    turn, page, parsed, reason = outcome.turn, outcome.page, outcome.parsed, outcome.reason
    headers = page.headers
    row = PageRow()
    row.id = turn.id
    row.url = turn.url
    row.site = fetched.site
    row.ip = page.address or None
    row.kind = KIND_NAMES[turn.kind]
    row.depth = turn.depth
    row.via = turn.via
    row.attempt = turn.attempt
    row.final = outcome.final
    row.worker = worker
    row.commit = commit
    row.visit = fetched.visit
    row.reason = None if reason is None else reason.value
    row.connected_at = page.connected_at or None
    row.fetched_at = page.fetched_at
    row.closed_at = fetched.closed_at
    row.wait = fetched.rest
    row.took = page.took
    row.truncated = outcome.cut or ("unspecified" if outcome.parsed is not None and not outcome.parsed.whole else None)
    row.redirect = outcome.redirect
    row.redirects = turn.steps if turn.kind == _REDIRECT else 0
    row.redirected_from = fetched.redirected_from
    row.robots = fetched.robots or None
    row.tls = page.tls or None
    row.dropped = fetched.dropped or None
    if page.status > 0:
        row.status = page.status
        row.bytes = len(page.body)
        row.http_version = _VERSIONS.get(page.head[:8]) or _version(page.head)
    else:
        row.status = row.bytes = row.http_version = None
    row.declared_type = headers.get("content-type", "").partition(";")[0].strip().lower() or None
    row.etag = headers.get("etag")
    row.last_modified = headers.get("last-modified")
    row.server = headers.get("server", "")[:_LONGEST] or None
    row.retry_after = headers.get("retry-after", "")[:_LONGEST] or None
    row.keep_alive = headers.get("keep-alive", "")[:_LONGEST] or None
    if parsed is not None:
        row.detected_type = parsed.type or None
        row.charset = parsed.charset or None
        row.language = parsed.language or None
        row.title = parsed.title or None
        row.canonical = parsed.canonical or None
        row.links = fetched.links
    else:
        row.detected_type = row.charset = row.language = row.title = row.canonical = row.links = None
    if stored is not None:
        row.digest = stored.digest
        row.duplicate_of = stored.duplicate_of
        row.duplicate_in = stored.duplicate_in or None
        row.volume = stored.volume
        row.offset = stored.offset
        row.length = stored.length
    else:
        row.digest = row.duplicate_in = row.volume = row.offset = row.length = None
        row.duplicate_of = 0
    return row


def _version(head: bytes) -> str | None:
    r"""The version of HTTP in an answer's first line.

    >>> _version(b"HTTP/2 200\r\n"), _version(b"ICY 200 OK\r\n")
    ('2', None)
    """
    first, _, rest = head[:20].partition(b"/")
    return rest.split(b" ", 1)[0].strip().decode("latin-1") or None if first == b"HTTP" else None


def batch_of(rows: list[PageRow], schema: pa.Schema = PAGES) -> pa.RecordBatch:
    """Rows in columns; what is in the schema beside those of every crawl are columns of stages."""
    columns = [make(rows) for make in _makers()]
    for place, field in enumerate(schema, -len(columns)):
        if place >= 0:
            columns.append(pa.array([row.extra[place] for row in rows], type=field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


@cache
def _makers() -> list[Callable[[list[PageRow]], pa.Array]]:
    return [_maker(each) for each in _FIELDS]


def _maker(column: dataclasses.Field[Any]) -> Callable[[list[PageRow]], pa.Array]:
    """What makes a column of rows."""
    kind = column.metadata["type"]
    # Compiled for each name, as an attribute that is named in the code is read in half the time that getattr takes.
    values = eval(f"lambda rows: [row.{column.name} for row in rows]")  # noqa: S307  a name of a field above
    if column.metadata["id"]:
        return lambda rows: id_array(values(rows))
    if kind == _WHEN:
        return lambda rows: _moments(values(rows))
    return lambda rows: pa.array(values(rows), type=kind)


def id_array(fingerprints: Iterable[int]) -> pa.Array:
    """Fingerprints as columns have them."""
    return pa.array(np.array(array("Q", fingerprints)).view(np.int64))


def _moments(walls: list[float | None]) -> pa.Array:
    """Wall times as columns have them: to the microsecond, as WARC has them too."""
    known = pa.array(walls, type=pa.float64())
    times = np.rint(known.to_numpy(zero_copy_only=False) * 1e6)
    if not known.null_count:
        return pa.array(times.astype(np.int64), type=_WHEN)
    unknown = np.isnan(times)
    times[unknown] = 0.0
    return pa.array(times.astype(np.int64), type=_WHEN, mask=unknown)
