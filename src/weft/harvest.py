"""A graph from what a crawl has fetched. In: a crawl's directory. Out: a `Stored` graph with its URLs.

Pages are those that were fetched for good with status 200, parts of pages, robots.txt and sitemaps left out, in the
order in which they were fetched. Links are in their order on the page; one to an address that redirects counts as one
to where that leads in the end, and those to pages that were not fetched are counted and left out. Links that ask not
to be followed are no links here. Seeds are the pages that were given as such, or what they redirect to, in the order in
which the crawl was told them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from weft.errors import UsageError
from weft.graph.assembly import LinkRows, Worth, assemble
from weft.graph.files import Stored, Urls
from weft.graph.names import Names, Texts
from weft.model import FIRST_REQUISITE, NO_PAGES, Kind
from weft.sim.result import Simulated
from weft.sim.times import PageTimes
from weft.store.reading import CrawlFiles
from weft.urls import fingerprints, site_of

MOST_HOPS = 20  # of a chain of redirects

Ids = NDArray[np.int64]

_NO_PAGES = pa.array(NO_PAGES)
_PARTS = pa.array([kind.name.lower() for kind in Kind if kind >= FIRST_REQUISITE])
_COLUMNS = ("id", "url", "kind", "status", "final", "fetched_at", "redirect")


def build(crawl: Path, files: CrawlFiles | None = None) -> Stored:
    """The graph of a crawl, also while it runs; of its `files` as somebody sees them, if given."""
    files = files or CrawlFiles(crawl)
    fetched = _read_pages(files)
    if not fetched.urls:
        raise UsageError("the graph is empty: no page was fetched", where=str(crawl), todo="let the crawl go on first")
    numbers = _Numbers(fetched)
    seeds = numbers.of(_in_order_of_discovery(files, fetched.seeds))
    rows, beyond = _read_links(files, numbers)
    site = Names(Texts.of([site_of(url).encode() for url in fetched.urls])).codes
    if not (seeds >= 0).any():
        raise UsageError("no seed was fetched", where=str(crawl), todo="let the crawl go on first")
    made = assemble(site, rows, seeds=seeds[seeds >= 0].astype(np.int32), worth=Worth.of_order(len(fetched.urls)))
    warnings = []
    if made.unreached:
        total = len(fetched.urls)
        warnings.append(f"{made.unreached:,} of {total:,} pages cannot be reached from any seed and were left out")
    dropped = {"unreached": made.unreached, "self_links": made.self_links, "repeated_links": made.repeats}
    return Stored(
        graph=made.graph,
        urls=Urls.of([fetched.urls[page] for page in made.pages.tolist()]),
        about={
            "source": "crawl",
            "crawl": str(crawl),
            "dropped": {**dropped, "links_to_pages_not_fetched": beyond},
            "warnings": warnings,
        },
    )


def times_of(crawl: Path, stored: Stored) -> PageTimes:
    """What every page of a graph took in a crawl, for a simulation in the same weather.

    A site's speed is that of its fastest page; what a page took longer than its bytes at that speed is its latency. A
    page that the crawl did not fetch has the median latency and size, a site without pages the median speed.
    """
    pages, sites = stored.graph.pages, stored.graph.sites
    prints = _prints(crawl, stored)
    order = np.argsort(prints)
    took, size = np.full(pages, np.nan), np.full(pages, np.nan)
    for batch in CrawlFiles(crawl).batches("pages", ("id", "took", "bytes", "final", "status")):
        kept = batch.filter(pc.and_kleene(batch.column("final"), pc.equal(batch.column("status"), 200)))
        place, found = _places(prints[order], _ids(kept.column("id")))
        took[order[place[found]]] = kept.column("took").to_numpy(zero_copy_only=False)[found]
        size[order[place[found]]] = kept.column("bytes").to_numpy(zero_copy_only=False)[found]
    if np.isnan(took).all():
        raise UsageError("no page of the graph was fetched in this crawl", where=str(crawl))
    size = np.maximum(1.0, np.where(np.isnan(size), np.nanmedian(size), size))
    rate = size / np.maximum(took, 1e-6)
    speed = np.fmax.reduceat(rate, stored.graph.first_page[:-1])
    speed = np.where(np.isnan(speed), np.nanmedian(speed), speed)
    latency = took - size / np.repeat(speed, np.diff(stored.graph.first_page))
    latency = np.where(np.isnan(latency), np.nanmedian(latency), np.maximum(0.0, latency))
    assert len(speed) == sites
    return PageTimes(latency.astype(np.float32), size.astype(np.float32), speed.astype(np.float32))


def visits_of(crawl: Path, stored: Stored) -> Simulated:
    """A crawl as if it had been simulated: the pages of a graph in the order in which it had them, and when."""
    prints = _prints(crawl, stored)
    order = np.argsort(prints)
    pages: list[NDArray[np.int64]] = []
    began: list[NDArray[np.float64]] = []
    took: list[NDArray[np.float64]] = []
    for batch in CrawlFiles(crawl).batches("pages", ("id", "took", "fetched_at", "final", "status")):
        kept = batch.filter(pc.and_kleene(batch.column("final"), pc.equal(batch.column("status"), 200)))
        place, found = _places(prints[order], _ids(kept.column("id")))
        pages.append(order[place[found]])
        micros = pc.cast(kept.column("fetched_at"), pa.int64()).to_numpy(zero_copy_only=False)
        began.append(micros[found] / 1e6)
        took.append(kept.column("took").to_numpy(zero_copy_only=False)[found])
    page, start = np.concatenate([*pages, np.empty(0, np.int64)]), np.concatenate([*began, np.empty(0)])
    if not len(page):
        raise UsageError("no page of the graph was fetched in this crawl", where=str(crawl))
    end = start + np.concatenate(took)
    by_end = np.argsort(end, kind="stable")
    by_end = by_end[np.sort(np.unique(page[by_end], return_index=True)[1])]  # a page that was fetched again counts once
    zero = float(start.min())
    visited = page[by_end].astype(np.int32)
    return Simulated(
        ordering=f"crawl-{crawl.name}",
        order=visited,
        finished=end[by_end] - zero,
        started=start[by_end] - zero,
        site=stored.graph.site_of(visited).astype(np.int32),
        seconds=float(end.max()) - zero,
        cpu=0.0,
        parameters={"crawl": str(crawl)},
    )


def _prints(crawl: Path, stored: Stored) -> Ids:
    """The fingerprints of the pages of a graph."""
    if stored.urls is None:
        raise UsageError("the graph has no URLs to find its pages in a crawl by", where=str(crawl))
    return _prints_of([stored.urls[page] for page in range(stored.graph.pages)])


class _Fetched(NamedTuple):
    """What the pages of a crawl say."""

    ids: Ids
    urls: list[str]
    moved: Ids
    """Ids that redirect …"""
    target: Ids
    """… and where to."""
    seeds: Ids


class _Numbers:
    """From ids to numbers of pages, by way of redirects."""

    def __init__(self, fetched: _Fetched) -> None:
        self.pages = len(fetched.ids)
        self.order = np.argsort(fetched.ids)
        self.ids = fetched.ids[self.order]
        moves = np.argsort(fetched.moved, kind="stable")
        self._moved, self._target = fetched.moved[moves], fetched.target[moves]

    def of(self, ids: Ids) -> NDArray[np.int64]:
        """The number of the page that each id is or leads to, -1 where it was not fetched."""
        ids = ids.copy()
        for _ in range(MOST_HOPS):
            place, found = _places(self._moved, ids)
            # An address that was fetched as a page is one, whatever it did at another time.
            found &= ~_places(self.ids, ids)[1]
            if not found.any():
                break
            ids[found] = self._target[place[found]]
        place, found = _places(self.ids, ids)
        return np.where(found, self.order[place], -1)


def _places(known: Ids, asked: Ids) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Where in a sorted array each id stands, and whether it is there at all."""
    if not len(known):
        return np.zeros(len(asked), dtype=np.int64), np.zeros(len(asked), dtype=np.bool_)
    place = np.minimum(np.searchsorted(known, asked), len(known) - 1)
    return place, known[place] == asked


def _read_pages(files: CrawlFiles) -> _Fetched:
    batches = [pa.Table.from_batches([batch]) for batch in files.batches("pages", _COLUMNS)]
    if not batches:
        none = np.empty(0, dtype=np.int64)
        return _Fetched(none, [], none, none, none)
    table = pa.concat_tables(batches).sort_by("fetched_at")
    table = table.filter(pc.and_kleene(table["final"], pc.invert(pc.is_in(table["kind"], value_set=_NO_PAGES))))
    moved = table.filter(pc.is_valid(table["redirect"]))
    pages = table.filter(pc.equal(table["status"], 200))
    ids = _ids(pages["id"])
    first = np.sort(np.unique(ids, return_index=True)[1])  # a page that was fetched again stays where it was
    return _Fetched(
        ids=ids[first],
        urls=pages["url"].take(pa.array(first)).to_pylist(),
        moved=_ids(moved["id"]),
        target=_prints_of(moved["redirect"].to_pylist()),
        seeds=_ids(table.filter(pc.equal(table["kind"], "seed"))["id"]),
    )


def _ids(column: Any) -> Ids:
    return np.asarray(column.to_numpy(), dtype=np.int64)


def _prints_of(urls: list[str]) -> Ids:
    """The fingerprints of URLs, as they stand in columns."""
    return np.array(fingerprints(urls), dtype=np.uint64).view(np.int64)


def _in_order_of_discovery(files: CrawlFiles, seeds: Ids) -> Ids:
    """The seeds in the order in which the crawl noted their URLs down."""
    known = [_ids(batch.column("id")) for batch in files.batches("urls", ("id",))]
    if not known:
        return seeds
    noted = np.concatenate(known)
    ordered = noted[np.isin(noted, seeds)]
    return np.concatenate([ordered, seeds[~np.isin(seeds, ordered)]])


def _read_links(files: CrawlFiles, numbers: _Numbers) -> tuple[LinkRows, int]:
    """The links between pages, and how many of theirs led elsewhere; links to parts of pages are no links, and those
    that ask not to be followed were not.
    """
    rows = LinkRows(numbers.pages)
    beyond = 0
    for batch in files.batches("links", ("source", "target", "kind", "nofollow")):
        part = pc.is_in(batch.column("kind").cast(pa.string()), value_set=_PARTS)
        followed = batch.filter(pc.invert(pc.or_(part, batch.column("nofollow"))))
        place, known = _places(numbers.ids, _ids(followed.column("source")))
        target = numbers.of(_ids(followed.column("target"))[known])
        source = numbers.order[place[known]]
        beyond += int((target < 0).sum())
        rows.add(source[target >= 0], target[target >= 0])
    return rows, beyond
