"""Was the crawl polite? In: a crawl's directory. Out: the closest it came to each rule, and every time it broke one.

The proof is drawn from the columns of `pages/` alone: when each connection was opened and closed, to which site and
address, how long the site was to rest after it, and when robots.txt was fetched. Five things are looked at:

1. a site has one connection at a time, and rests for its wait after each;
2. a registered domain and an address have at most so many connections at once;
3. between two openings there lies a gap of w/4, by the smallest wait w that the settings give the former's site: the
   gap is fixed before a visit, when its own download, crawl-delay or Retry-After is not yet known. Where a site has no
   wait there is no gap to keep with it;
4. before the first page of a visit there was a robots.txt of the same origin, its redirects followed to the end;
5. and it was not older than `robots_age` when the connection was opened.

Times are those of the wall clock, which may be slewed while the crawl reckons by the monotonic one: a wait may be
short by a millisecond and 500 parts in a million. Limits are those of the settings as they are now.

Rows are read in chunks, and only visits are kept: some 140 bytes each at the peak. What is a loop in Python runs over
sites and addresses, not over rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from weft.config import Settings
from weft.engine.robots import MOST_HOPS
from weft.frontier.politeness import wait_after
from weft.model import Reason
from weft.store.reading import CrawlFiles
from weft.urls import fingerprints, registered_domain

MOST_KEPT = 10_000  # violations of one rule that are kept one by one; all are counted

_TOLERANCE = 0.001  # seconds by which a wait may seem short
_SLEW = 0.0005  # and its share of the wait: no clock is slewed faster
_ROBOTS_TOLERANCE = 60.0  # seconds
_CHUNK = 200_000  # rows read at once
_BLOCK = 1_000_000  # visits compared at once
_NEVER = np.iinfo(np.int64).max
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

# The columns looked at, with the types they are wanted in. Crawls of earlier releases have no worker and no wait.
_COLUMNS = pa.schema(
    [
        ("id", pa.uint64()),
        ("url", pa.string()),
        ("site", pa.string()),
        ("ip", pa.string()),
        ("kind", pa.string()),
        ("worker", pa.int32()),
        ("visit", pa.int64()),
        ("reason", pa.string()),
        ("truncated", pa.string()),
        ("redirect", pa.string()),
        ("connected_at", pa.int64()),
        ("fetched_at", pa.int64()),
        ("closed_at", pa.int64()),
        ("took", pa.float32()),
        ("wait", pa.float32()),
    ]
)

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
Truths = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """How close the crawl came to a rule, or by how much it broke it."""

    rule: str  # site-wait, site-connections, domain-gap … robots-age, robots-missing
    who: str  # the site, domain, address or origin
    figure: float | None  # seconds or connections; None where there was no robots.txt
    limit: float
    when: datetime  # the opening of the connection
    since: datetime | None = None  # the end of the visit before, the opening before, or when robots.txt was had


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """What the columns of a crawl prove."""

    rows: int = 0
    visits: int = 0
    sites: int = 0
    domains: int = 0
    addresses: int = 0
    smallest_gap: dict[str, Finding] = field(default_factory=dict)  # by site, domain, address
    most_connections: dict[str, Finding] = field(default_factory=dict)  # by site, domain, address
    oldest_robots: Finding | None = None
    broken: dict[str, int] = field(default_factory=dict)  # by rule: how often
    violations: list[Finding] = field(default_factory=list)  # the oldest first, at most MOST_KEPT of a rule

    @property
    def ok(self) -> bool:
        """Was no rule broken?"""
        return not self.broken


def audit_crawl(out: Path) -> Audit:
    """Audit a crawl, also while it runs."""
    files = CrawlFiles(out)
    settings = Settings().with_file(files.out / "crawl.toml")
    sites, addresses = _Names(), _Names()
    rows, visits, robots = _read(files, sites, addresses)
    if visits is None:
        return Audit(rows=rows)
    rules = _site_rules(list(sites.codes), visits, settings)
    domains = _Names()
    domain_of = domains.take([registered_domain(site) for site in sites.codes])
    findings = _Findings()
    _check_sites(findings, list(sites.codes), visits, rules, robots, settings)
    for kind, codes, names, limit in (
        ("domain", domain_of[visits.site], domains, settings.politeness.per_domain),
        ("address", visits.address, addresses, settings.politeness.per_address),
    ):
        _check_throttles(findings, kind, list(names.codes), codes, visits, rules.gap[visits.site], limit)
    return Audit(
        rows=rows,
        visits=len(visits.start),
        sites=len(sites.codes),
        domains=len(domains.codes),
        addresses=len(addresses.codes),
        smallest_gap={kind: found for kind, (found, _) in findings.smallest.items()},
        most_connections=findings.most,
        oldest_robots=findings.oldest,
        broken=dict(findings.broken),
        violations=sorted(findings.violations, key=lambda found: found.when),
    )


# Reading.


class _Visits(NamedTuple):
    """Visits, a column each; a row of the crawl is read as a visit of one fetch. Times are in microseconds."""

    start: Ints
    visit: Ints
    site: Codes
    worker: Codes
    address: Codes  # -1 where it is not known: a proxy reached it
    https: Truths
    end: Ints
    first_page: Ints  # the request for its first page, _NEVER where it had none
    took: NDArray[np.float32]  # its last download, NaN where its end is not written down
    wait: NDArray[np.float32]  # what the site was to rest for, NaN where that is not written down


# How the fetches of a visit become one; the columns not named here are the same in all of them.
_MERGED: dict[str, Any] = {"end": np.maximum, "first_page": np.minimum, "took": np.fmax, "wait": np.fmax}


class _Robots(NamedTuple):
    """The fetches of robots.txt, and of what it redirects to, from which something could be learned."""

    origin: Ints  # number of the origin whose own file it is, -1 where it is reached by a redirect
    url: NDArray[np.uint64]
    target: NDArray[np.uint64]  # URL that it redirects to, 0 for none
    at: Ints
    had: Ints  # when it had come


class _Names:
    """Numbers for texts."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}

    def take(self, texts: list[str]) -> Codes:
        codes = self.codes
        return np.fromiter((codes.setdefault(text, len(codes)) for text in texts), np.int32, len(texts))

    def encode(self, column: pa.Array) -> Codes:
        """The numbers of a column, -1 for null."""
        encoded = column.dictionary_encode()
        numbers = np.append(self.take(encoded.dictionary.to_pylist()), np.int32(-1))
        found: Codes = numbers[encoded.indices.fill_null(-1).to_numpy()]
        return found


def _read(files: CrawlFiles, sites: _Names, addresses: _Names) -> tuple[int, _Visits | None, _Robots]:
    """The number of rows, the visits and the robots.txt files of a crawl."""
    rows = 0
    visits: list[_Visits] = []
    robots: list[_Robots] = []
    for table in _tables(files):
        rows += table.num_rows
        connected = table.filter(pc.is_valid(table.column("connected_at"))).combine_chunks()
        del table
        if connected.num_rows == 0:
            continue
        column = {name: connected.column(name).chunk(0) for name in connected.column_names}
        site = sites.encode(column["site"])
        https = _numpy(pc.starts_with(column["url"], "https:"))
        is_robots = pc.equal(column["kind"], "robots").fill_null(fill_value=False)
        visits.append(_merge([_visits(column, site, addresses.encode(column["ip"]), https, _numpy(is_robots))]))
        robots.append(_robots(connected.append_column("origin", pa.array(_origin(site, https))).filter(is_robots)))
    if not visits:
        none = np.empty(0, np.int64)
        return rows, None, _Robots(none, none.astype(np.uint64), none.astype(np.uint64), none, none)
    pa.default_memory_pool().release_unused()  # Arrow keeps what it has freed
    return rows, _merge(visits), _Robots(*(np.concatenate(column) for column in zip(*robots, strict=True)))


def _tables(files: CrawlFiles) -> Iterator[pa.Table]:
    """The rows in chunks, each with all the columns looked at."""
    waiting: list[pa.RecordBatch] = []
    for batch in files.batches("pages", _COLUMNS.names):
        known = {name: batch.column(name) for name in batch.schema.names}
        arrays = [
            known[field.name].cast(field.type) if field.name in known else pa.nulls(batch.num_rows, field.type)
            for field in _COLUMNS
        ]
        waiting.append(pa.RecordBatch.from_arrays(arrays, schema=_COLUMNS))
        if sum(part.num_rows for part in waiting) >= _CHUNK:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def _numpy(array: Any) -> NDArray[Any]:
    found: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return found


def _origin(site: Codes, https: Truths) -> Ints:
    return site.astype(np.int64) * 2 + https


def _visits(column: dict[str, pa.Array], site: Codes, address: Codes, https: Truths, is_robots: Truths) -> _Visits:
    fetched = _numpy(column["fetched_at"])
    took = _numpy(column["took"].fill_null(0.0))
    closed = _numpy(pc.is_valid(column["closed_at"]))
    start = _numpy(column["connected_at"])
    # A visit whose end is not written down, because its process was killed, was there until the last byte that came.
    end = np.where(closed, _numpy(column["closed_at"].fill_null(0)), _after(fetched, took))
    # The wait goes by the last page: what a robots.txt took does not count.
    download = np.where(is_robots, np.float32(0.0), took)
    return _Visits(
        start=start,
        visit=_numpy(column["visit"].fill_null(0)),
        site=site,
        worker=_numpy(column["worker"].fill_null(0)),
        address=address,
        https=https,
        end=np.maximum(end, start),
        first_page=np.where(is_robots, _NEVER, fetched),
        took=np.where(closed, download, np.float32(np.nan)),
        wait=_numpy(column["wait"].fill_null(np.nan)),
    )


def _robots(table: pa.Table) -> _Robots:
    """The rows of kind robots that say something: as in `engine.robots`, an answer in the 400s does, too."""
    reason = table.column("reason")
    learned = pc.or_(
        pc.or_(pc.is_null(reason), pc.equal(reason, Reason.STATUS_4XX.value).fill_null(fill_value=False)),
        pc.equal(table.column("truncated"), "length").fill_null(fill_value=False),
    )
    table = table.filter(learned)
    origin = _numpy(table.column("origin"))
    scheme = pa.array(np.where(origin % 2 == 1, "https://", "http://"), pa.string())
    own = pc.binary_join_element_wise(scheme, table.column("site"), "/robots.txt", "")
    fetched = _numpy(table.column("fetched_at"))
    target = np.zeros(len(origin), np.uint64)
    redirects = table.column("redirect")
    target[_numpy(pc.is_valid(redirects))] = np.array(fingerprints(redirects.drop_null().to_pylist()), np.uint64)
    return _Robots(
        origin=np.where(_numpy(pc.equal(own, table.column("url"))), origin, -1),
        url=_numpy(table.column("id")),
        target=target,
        at=fetched,
        had=_after(fetched, _numpy(table.column("took").fill_null(0.0))),
    )


def _after(time: Ints, seconds: NDArray[np.float32]) -> Ints:
    found: Ints = time + (seconds.astype(np.float64) * 1e6).astype(np.int64)
    return found


def _merge(parts: list[_Visits]) -> _Visits:
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
    for name, column in zip(_Visits._fields, columns, strict=True):
        ordered = _whole(column)[order]
        column.clear()
        merged.append(_MERGED[name].reduceat(ordered, firsts) if name in _MERGED else ordered[firsts])
    return _Visits(*merged)


def _whole(pieces: list[NDArray[Any]]) -> NDArray[Any]:
    """Put the pieces of a column together, there where they are."""
    pieces[:] = [np.concatenate(pieces)] if len(pieces) > 1 else pieces
    return pieces[0]


# The rules.


class _SiteRules(NamedTuple):
    """What holds by site, and by visit."""

    obeys: Truths  # by site
    gap: NDArray[np.float64]  # by site: a quarter of the smallest wait the settings give
    wait: NDArray[np.float64]  # by visit: what the site was to rest for after it


def _site_rules(names: list[str], visits: _Visits, settings: Settings) -> _SiteRules:
    politeness = settings.politeness
    own = [settings.overrides.of(name) for name in names] if settings.overrides.sites else []
    fixed = [site.wait for site in own] or [None] * len(names)
    least = {
        # How many pages a site had at a time is not known here: a site may have been small, or not.
        wait: min(wait_after(politeness, 0.0, None, wait, pages) for pages in (0, politeness.small_site))
        for wait in set(fixed)
    }
    smallest = np.array([least[wait] for wait in fixed])
    adapts = np.array([wait is None for wait in fixed]) & (politeness.wait is None and politeness.wait_small is None)
    # The wait as it was written down; where it was not, the one after such a download; and of a visit whose process
    # may have been killed, which has forgotten its download, the smallest.
    after = np.minimum(np.maximum(politeness.wait_least, politeness.wait_factor * visits.took), politeness.wait_most)
    wait = np.where(adapts[visits.site] & ~np.isnan(visits.took), after, smallest[visits.site])
    wait = np.where(np.isnan(visits.wait), wait, visits.wait)
    robots = [site.robots or settings.selection.robots for site in own] or [settings.selection.robots] * len(names)
    return _SiteRules(np.array([rule == "obey" for rule in robots]), smallest / 4, wait)


class _Findings:
    """What was found so far."""

    def __init__(self) -> None:
        self.smallest: dict[str, tuple[Finding, int]] = {}
        self.most: dict[str, Finding] = {}
        self.oldest: Finding | None = None
        self.broken: Counter[str] = Counter()
        self.violations: list[Finding] = []

    def add(self, rule: str, count: int, finding: Callable[[int], Finding]) -> None:
        """Take violations in, of which so many are found by their number."""
        if count:
            kept = min(count, MOST_KEPT - min(MOST_KEPT, self.broken[rule]))
            self.violations += [finding(number) for number in range(kept)]
            self.broken[rule] += count


def _check_sites(
    findings: _Findings, names: list[str], visits: _Visits, rules: _SiteRules, robots: _Robots, settings: Settings
) -> None:
    """One connection at a time, a rest after each, and robots.txt."""
    library = _Library(robots)
    for block in _blocks(visits.site, visits.start):
        site, start, end, wait = visits.site[block], visits.start[block], visits.end[block], rules.wait[block]
        _connections(findings, "site", names, site, start, end, limit=1)
        former = np.flatnonzero(site[1:] == site[:-1])
        _gaps(findings, "site", names, site[former], end[former], start[former + 1], wait[former])
        asked = block[rules.obeys[site] & (visits.first_page[block] != _NEVER)]
        _robots_ages(findings, names, library, _Visits(*(column[asked] for column in visits)), settings)


def _check_throttles(
    findings: _Findings,
    kind: str,
    names: list[str],
    group: Codes,
    visits: _Visits,
    gap: NDArray[np.float64],
    limit: int,
) -> None:
    """So many connections at once, and a gap between openings, for a domain or an address."""
    # A wait that was shorter than the settings now say was right in its time.
    with np.errstate(invalid="ignore"):
        gap = np.fmin(gap, visits.wait / 4)
    for block in _blocks(group, visits.start):
        codes, start = group[block], visits.start[block]
        _connections(findings, kind, names, codes, start, visits.end[block], limit=limit)
        # A visit without a gap may begin, look its name up for long, and be overtaken: it is nobody's neighbour.
        kept = gap[block] > 0
        codes, start, gaps = codes[kept], start[kept], gap[block][kept]
        former = np.flatnonzero(codes[1:] == codes[:-1])
        _gaps(findings, kind, names, codes[former], start[former], start[former + 1], gaps[former])


def _blocks(group: Codes, start: Ints) -> Iterator[Ints]:
    """The numbers of visits by group and time, so many at once that whole groups stay together."""
    order = np.lexsort((start, group))
    ordered = group[order]
    begin = int(np.searchsorted(ordered, 0))  # those before belong to no group
    while begin < len(order):
        end = min(begin + _BLOCK, len(order))
        end = int(np.searchsorted(ordered, ordered[end - 1], "right"))
        yield order[begin:end]
        begin = end


def _gaps(
    findings: _Findings,
    kind: str,
    names: list[str],
    group: Codes,
    since: Ints,
    start: Ints,
    limit: NDArray[np.float64],
) -> None:
    """Compare the time from one instant to an opening with what it should be, for many pairs in groups."""
    if len(group) == 0:
        return
    rule = "site-wait" if kind == "site" else f"{kind}-gap"
    gap = start - since

    def finding(pair: int) -> Finding:
        return Finding(
            rule=rule,
            who=names[group[pair]],
            figure=int(gap[pair]) / 1e6,
            limit=_plain(limit[pair]),
            when=_when(start[pair]),
            since=_when(since[pair]),
        )

    least = int(np.argmin(gap))
    if kind not in findings.smallest or gap[least] < findings.smallest[kind][1]:
        findings.smallest[kind] = finding(least), int(gap[least])
    broken = np.flatnonzero(gap < (limit * (1 - _SLEW) - _TOLERANCE) * 1e6)
    findings.add(rule, len(broken), lambda number: finding(broken[number]))


def _connections(
    findings: _Findings, kind: str, names: list[str], group: Codes, start: Ints, end: Ints, *, limit: int
) -> None:
    """Count the connections at once, in visits that are in order of group and time."""
    rule = f"{kind}-connections"
    level = _levels(group, start, end)

    def finding(visit: int) -> Finding:
        return Finding(
            rule=rule, who=names[group[visit]], figure=int(level[visit]), limit=limit, when=_when(start[visit])
        )

    worst = int(np.argmax(level))
    known = findings.most.get(kind)
    if known is None or known.figure is None or level[worst] > known.figure:
        findings.most[kind] = finding(worst)
    broken = np.flatnonzero(level > limit)
    findings.add(rule, len(broken), lambda number: finding(broken[number]))


def _levels(group: Codes, start: Ints, end: Ints) -> Ints:
    """For each visit, in order of group and time, how many of its group are open when it has been opened."""
    level = np.ones(len(group), np.int64)
    crossing = np.flatnonzero((group[1:] == group[:-1]) & (start[1:] < end[:-1]))
    if len(crossing) == 0:
        return level
    # Most groups never have two at once; only the others are looked at opening by opening.
    members = np.flatnonzero(np.isin(group, np.unique(group[crossing])))
    count = len(members)
    groups = np.tile(group[members], 2)
    times = np.concatenate((start[members] * 2 + 1, end[members] * 2))  # what ends in the moment of an opening is gone
    order = np.lexsort((times, groups))
    # Every group ends with none open, so that one sum serves all.
    at_once = np.cumsum(np.where(order < count, 1, -1))
    opening = order < count
    level[members[order[opening]]] = np.maximum(at_once[opening], 1)
    return level


# Robots.


class _Library:
    """The robots.txt files of a crawl, to be asked which one held for an origin at a time."""

    def __init__(self, robots: _Robots) -> None:
        self._robots = robots
        own = np.flatnonzero(robots.origin >= 0)
        self._by_origin = own[np.lexsort((robots.at[own], robots.origin[own]))]
        self._by_url = np.lexsort((robots.at, robots.url))

    def had(self, origin: Ints, asked_at: Ints) -> Ints:
        """When the newest robots.txt of each origin before a request for a page had come, or -1.

        Where it redirects, the site waits until the last file is there: that is the newest one between the redirect
        and the first page that was asked for on its strength.
        """
        robots, row = self._robots, np.full(len(origin), -1, np.int64)
        found = _newest(robots.origin[self._by_origin], robots.at[self._by_origin], origin, asked_at)
        row[found >= 0] = self._by_origin[found[found >= 0]]
        used, which = np.unique(row[row >= 0], return_inverse=True)
        until = np.full(len(used), _NEVER)
        np.minimum.at(until, which, asked_at[row >= 0])
        had = np.full(len(origin), -1, np.int64)
        had[row >= 0] = self._followed(used, until)[which]
        return had

    def _followed(self, rows: Ints, until: Ints) -> Ints:
        robots, last, lost = self._robots, rows.copy(), np.zeros(len(rows), np.bool_)
        for _ in range(MOST_HOPS):
            leads = np.flatnonzero((robots.target[last] != 0) & ~lost)
            if len(leads) == 0:
                break
            found = _newest(robots.url[self._by_url], robots.at[self._by_url], robots.target[last[leads]], until[leads])
            following = self._by_url[found]
            lost[leads] = (found < 0) | (robots.at[following] < robots.at[rows[leads]])
            last[leads] = following
        return np.where(lost, -1, robots.had[last])


def _newest(keys: NDArray[Any], times: Ints, key: NDArray[Any], time: Ints) -> Ints:
    """For each key and time the place of the newest entry not after it, or -1; entries are in order of key and time.

    >>> _newest(np.array([1, 1, 3]), np.array([10, 20, 5]), np.array([1, 1, 2, 3, 1]), np.array([15, 99, 9, 9, 5]))
    array([ 0,  1, -1,  2, -1])
    """
    first = np.searchsorted(keys, key, "left")
    low, high = first.copy(), np.searchsorted(keys, key, "right")
    while len(searching := np.flatnonzero(low < high)):
        middle = (low[searching] + high[searching]) // 2
        before = times[middle] <= time[searching]
        low[searching] = np.where(before, middle + 1, low[searching])
        high[searching] = np.where(before, high[searching], middle)
    return np.where(low > first, low - 1, -1)


def _robots_ages(findings: _Findings, names: list[str], library: _Library, visits: _Visits, settings: Settings) -> None:
    """Had a robots.txt come before the first page of each visit, and not too long before its connection was opened?"""
    if len(visits.start) == 0:
        return
    limit = settings.politeness.robots_age
    had = library.had(_origin(visits.site, visits.https), visits.first_page)
    age = np.where(had < 0, -1, np.maximum(visits.start - had, 0))

    def finding(rule: str, visit: int) -> Finding:
        missing = had[visit] < 0
        return Finding(
            rule=rule,
            who=f"{'https' if visits.https[visit] else 'http'}://{names[visits.site[visit]]}",
            figure=None if missing else int(age[visit]) / 1e6,
            limit=limit,
            when=_when(visits.start[visit]),
            since=None if missing else _when(had[visit]),
        )

    oldest = int(np.argmax(age))
    known = -1.0 if findings.oldest is None or findings.oldest.figure is None else findings.oldest.figure
    if age[oldest] >= 0 and age[oldest] / 1e6 > known:
        findings.oldest = finding("robots-age", oldest)
    missing = np.flatnonzero(had < 0)
    findings.add("robots-missing", len(missing), lambda number: finding("robots-missing", missing[number]))
    stale = np.flatnonzero(age > (limit + _ROBOTS_TOLERANCE) * 1e6)
    findings.add("robots-age", len(stale), lambda number: finding("robots-age", stale[number]))


def _when(microseconds: Any) -> datetime:
    return _EPOCH + timedelta(microseconds=int(microseconds))


def _plain(seconds: Any) -> float:
    """Seconds without what 32 bits have added to them."""
    return round(float(seconds), 6)
