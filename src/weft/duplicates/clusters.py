"""Pages of a crawl that are the same, or almost so. In: the columns of a crawl. Out: clusters of them, largest first.

Pages are those that were fetched for good with status 200 and are not empty; of a page that was fetched several times,
the last fetch counts. Parts of pages, robots.txt and sitemaps are none. Two are exact duplicates where their contents
have the same digest, and near-duplicates where the SimHashes of their texts (the column `simhash`) differ in few
bits. A cluster is what hangs together so: two of its pages may differ in more.

The columns are read twice: first what clusters are made of, some numbers for each page, then the URLs of those that are
shown. So memory is bounded by the number of pages, not by their URLs: some 170 bytes a page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from weft.duplicates.alike import Alike, alike, unite
from weft.errors import UsageError
from weft.model import NO_PAGES
from weft.store.content_table import halves_of
from weft.store.reading import CrawlFiles
from weft.store.warc import digest_bytes

Ids = NDArray[np.int64]

_NO_PAGES = pa.array(NO_PAGES)
_JUDGED = ("kind", "status", "final", "digest", "bytes")


class Cluster(msgspec.Struct, frozen=True, kw_only=True):
    """Pages that are the same, or almost so."""

    pages: int
    contents: int  # that differ in at least a byte
    furthest: int  # bits in which the SimHash of a page differs from that of the first one, at most
    sites: dict[str, int]  # pages by site, those with most first
    urls: list[str]  # some of them, the one that was fetched first at the head


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The duplicates of a crawl."""

    crawl: str
    within: int  # bits
    pages: int  # that were looked at
    simhashes: int  # pages that have one
    exact: int  # pages whose very content another page before them has
    near: int  # pages that are no exact duplicates, and are like another one before them
    clusters: int  # in all
    cut: int  # SimHashes that were not compared with all that agree in some bits: too many do
    largest: list[Cluster]

    @property
    def share(self) -> float:
        """Of the pages: those that another one stands for."""
        return (self.exact + self.near) / self.pages if self.pages else 0.0


class _Pages(NamedTuple):
    """What is looked at of pages, a row each, by id."""

    ids: Ids
    digest: Ids  # eight bytes of it, …
    further: Ids  # … and eight more, which are as good as all twenty
    moment: Ids
    simhash: NDArray[np.uint64]
    printed: NDArray[np.bool_]  # has a SimHash


def find_duplicates(crawl: Path, *, within: int = 5, most: int = 20, urls: int = 5) -> Found:
    """The duplicates of a crawl, also while it runs; `most` clusters and so many URLs of each are shown."""
    files = CrawlFiles(crawl)
    pages = _read(files)
    if not len(pages.ids):
        raise UsageError("no page was fetched", where=str(crawl), todo="let the crawl go on first")
    content = _contents(pages)
    label, found = _labels(pages, content, within)
    clusters, place, sizes = np.unique(label, return_inverse=True, return_counts=True)
    cluster_of = np.zeros(int(content.max()) + 1, np.int64)
    cluster_of[content] = place
    contents = np.bincount(cluster_of, minlength=len(clusters))
    first = _first_of_each(place, pages.moment)
    furthest = _furthest(pages, place, first, len(clusters))
    chosen = np.lexsort((pages.moment[first], -sizes))[:most]
    chosen = chosen[sizes[chosen] > 1]
    sites, texts = _describe(files, pages.ids, place, chosen, first, urls)
    return Found(
        crawl=str(crawl),
        within=within,
        pages=len(pages.ids),
        simhashes=int(pages.printed.sum()),
        exact=int((sizes - contents).sum()),
        near=int((contents - 1).sum()),
        clusters=int((sizes > 1).sum()),
        cut=found.cut,
        largest=[
            Cluster(
                pages=int(sizes[each]),
                contents=int(contents[each]),
                furthest=int(furthest[each]),
                sites=dict(sites[number].most_common()),
                urls=texts[number],
            )
            for number, each in enumerate(chosen.tolist())
        ],
    )


def counted_pages(files: CrawlFiles, columns: tuple[str, ...]) -> Iterator[pa.RecordBatch]:
    """Rows of pages that count as such, with some columns; where a crawl has no such column, without it."""
    for batch in files.batches("pages", tuple(dict.fromkeys((*columns, *_JUDGED)))):
        good = pc.and_(pc.and_(batch["final"], pc.equal(batch["status"], 200)), batch["digest"].is_valid())
        wanted = pc.and_(good, pc.invert(pc.is_in(batch["kind"], _NO_PAGES)))
        yield batch.filter(pc.and_kleene(wanted, pc.greater(batch["bytes"], 0)))


def _read(files: CrawlFiles) -> _Pages:
    """What is looked at of every page, the last fetch of each."""
    parts: list[_Pages] = []
    for batch in counted_pages(files, ("id", "fetched_at", "simhash")):
        digests = halves_of([digest_bytes(text) for text in batch["digest"].to_pylist()])
        simhash, printed = np.zeros(len(batch), np.int64), np.zeros(len(batch), np.bool_)
        if "simhash" in batch.schema.names:
            printed = batch["simhash"].is_valid().to_numpy(zero_copy_only=False)
            simhash = batch["simhash"].fill_null(0).to_numpy()
        moment = batch["fetched_at"].cast(pa.int64()).to_numpy()
        ids = batch["id"].to_numpy()
        parts.append(_Pages(ids, digests[:, 0], digests[:, 1], moment, simhash.view(np.uint64), printed))
    if not parts:
        empty = np.empty(0, np.int64)
        return _Pages(empty, empty, empty, empty, empty.view(np.uint64), empty.astype(np.bool_))
    whole = _Pages(*map(np.concatenate, zip(*parts, strict=True)))
    parts.clear()
    order = np.lexsort((whole.moment, whole.ids))
    last = np.append(whole.ids[order][1:] != whole.ids[order][:-1], True)
    return _Pages(*(column[order[last]] for column in whole))


def _contents(pages: _Pages) -> Ids:
    """The number of the content of each page."""
    order = np.lexsort((pages.further, pages.digest))
    one, other = pages.digest[order], pages.further[order]
    new = np.append(False, (one[1:] != one[:-1]) | (other[1:] != other[:-1]))
    content = np.empty(len(order), np.int64)
    content[order] = np.cumsum(new)
    return content


def _labels(pages: _Pages, content: Ids, within: int) -> tuple[Ids, Alike]:
    """By which pages of one cluster are known."""
    values, value = np.unique(pages.simhash[pages.printed], return_inverse=True)
    found = alike(values, within)
    of_content = np.full(int(content.max()) + 1, -1, np.int64)
    of_content[content[pages.printed]] = value
    unite(found.sets, value, of_content[content[pages.printed]])  # a content that was read in two ways, perhaps
    known = of_content[content]
    roots = alike_roots(found.sets)
    return np.where(known >= 0, roots[known] if len(roots) else 0, len(values) + content), found


def alike_roots(sets: Ids) -> Ids:
    """For each member of a set the first one, however many steps it is away."""
    while True:
        further = sets[sets]
        if np.array_equal(further, sets):
            return sets
        sets = further


def _first_of_each(place: Ids, moment: Ids) -> Ids:
    """The page of each cluster that was fetched first."""
    order = np.lexsort((moment, place))
    begins = np.append(True, place[order][1:] != place[order][:-1])
    firsts: Ids = order[begins]
    return firsts


def _furthest(pages: _Pages, place: Ids, first: Ids, clusters: int) -> Ids:
    """For each cluster, in how many bits a page differs from the first one."""
    both = pages.printed & pages.printed[first][place]
    bits = np.bitwise_count(pages.simhash ^ pages.simhash[first][place]).astype(np.int64)
    found = np.zeros(clusters, np.int64)
    np.maximum.at(found, place[both], bits[both])
    return found


def _describe(
    files: CrawlFiles, ids: Ids, place: Ids, chosen: Ids, first: Ids, urls: int
) -> tuple[list[Counter[str]], list[list[str]]]:
    """The sites of some clusters, and some of their URLs."""
    sites: list[Counter[str]] = [Counter() for _ in chosen]
    texts: list[list[str]] = [[] for _ in chosen]
    number = np.full(int(place.max()) + 1, -1, np.int64)
    number[chosen] = np.arange(len(chosen))
    heads = set(ids[first[chosen]].tolist())
    told = np.zeros(len(ids), np.bool_)
    for batch in counted_pages(files, ("id", "url", "site")):
        some = batch["id"].to_numpy()
        row = np.minimum(np.searchsorted(ids, some), len(ids) - 1)
        of = np.where(ids[row] == some, number[place[row]], -1)
        for at in np.flatnonzero(of >= 0).tolist():
            if not told[row[at]]:
                told[row[at]] = True
                cluster, url = int(of[at]), batch["url"][at].as_py()
                sites[cluster][batch["site"][at].as_py()] += 1
                if int(some[at]) in heads:
                    texts[cluster].insert(0, url)
                elif len(texts[cluster]) < 2 * urls:
                    texts[cluster].append(url)
    return sites, [text[:urls] for text in texts]
