"""Sites that are copies of one another (P3 4.3). In: the contents of sites. Out: pairs of a replica and its original,
by five heuristics, and the list that the next crawl applies.

`same-home`: both have the same home page. `same-home-and-1-doc`: and one more content in common. `dups60`, `dups80`,
`dups100`: so many per cent of the contents of each are those of the other, and at least two. A content is one by its
digest; a home page is what is at `/`.

Each replica has one original, with which it was compared itself: sites are taken one after the other, those with most
contents first, and each becomes the replica of one that is there already, or an original. Where two have as many
contents, P3 4.3.1 decides: of a registered domain the name with `www.`, of longer names that without; then the shorter
name.

For `dupsP` not all are compared with all. Contents are ordered by how rare they are; two sites that have P per cent in
common have one in common among the rarest 100 - P per cent (and one) of each. Only originals are looked up, so that a
thousand copies cost no more than a thousand steps. In memory are 12 bytes a page, and an index of the originals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import ceil
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from weft.disk import replace_file
from weft.duplicates.clusters import counted_pages
from weft.errors import UsageError
from weft.frontier.duphosts import registrable_itself
from weft.store.content_table import halves_of
from weft.store.reading import CrawlFiles
from weft.store.warc import digest_bytes
from weft.urls import host_of, target_of

LEAST = 2  # equal contents that dupsP wants
_MOST_LOOKED_AT = 1_000  # originals that have one content: of more, the first


class SiteContents(NamedTuple):
    """A site and what it serves."""

    name: str
    home: int | None  # its home page, as a content
    contents: NDArray[np.int64]  # each once


class Pair(NamedTuple):
    """A site that is a copy, and which it is a copy of."""

    replica: str
    original: str
    equal: int  # contents that both have
    contents: int  # of the replica


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The duplicate hosts of a crawl, by each heuristic."""

    sites: int  # that have contents
    contents: int
    replicas: dict[str, list[Pair]]


Heuristic = Callable[[list[SiteContents], dict[int, int]], Iterator[Pair]]


def find_duphosts(crawl: Path) -> Found:
    """The duplicate hosts of a crawl."""
    sites = read_sites(CrawlFiles(crawl))
    if not sites:
        raise UsageError("no page was fetched", where=str(crawl), todo="let the crawl go on first")
    return judge(sites)


def judge(sites: list[SiteContents]) -> Found:
    """What each heuristic says of some sites."""
    ordered = sorted(sites, key=lambda site: (-len(site.contents), *preference(site.name)))
    values, counts = np.unique(np.concatenate([site.contents for site in ordered]), return_counts=True)
    many = dict(zip(values.tolist(), counts.tolist(), strict=True))
    replicas = {name: list(heuristic(ordered, many)) for name, heuristic in HEURISTICS.items()}
    return Found(sites=len(sites), contents=len(values), replicas=replicas)


def preference(name: str) -> tuple[bool, int, str]:
    """What comes first is rather an original.

    >>> min(["example.org", "www.example.org"], key=preference)
    'www.example.org'
    >>> min(["shop.example.org", "www.shop.example.org"], key=preference)
    'shop.example.org'
    """
    bare = host_of(name).removeprefix("www.")
    usual = name.startswith("www.") == registrable_itself(bare)
    return not usual, len(name), name


def read_sites(files: CrawlFiles) -> list[SiteContents]:
    """The sites of a crawl, with what each serves."""
    numbers: dict[str, int] = {}
    homes: dict[int, int] = {}
    parts: list[NDArray[np.int64]] = []
    for batch in counted_pages(files, ("url", "site")):
        digests = halves_of([digest_bytes(text) for text in batch["digest"].to_pylist()])[:, 0]
        names, urls = batch["site"].to_pylist(), batch["url"].to_pylist()
        codes = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
        rows = zip(codes.tolist(), urls, digests.tolist(), strict=True)
        homes |= {code: digest for code, url, digest in rows if target_of(url) == "/"}
        parts.append(np.stack((codes, digests), axis=1))
    if not parts:
        return []
    found = np.concatenate(parts)
    parts.clear()
    found = found[np.lexsort((found[:, 1], found[:, 0]))]
    found = found[np.append(True, np.any(found[1:] != found[:-1], axis=1))[: len(found)]]  # each content once
    bounds = np.searchsorted(found[:, 0], np.arange(len(numbers) + 1))
    return [
        SiteContents(name, homes.get(code), found[bounds[code] : bounds[code + 1], 1])
        for name, code in numbers.items()
        if bounds[code] < bounds[code + 1]
    ]


def _same_home(sites: list[SiteContents], _many: dict[int, int]) -> Iterator[Pair]:
    originals: dict[int, SiteContents] = {}
    for site in sites:
        if site.home is not None:
            original = originals.setdefault(site.home, site)
            if original is not site:
                yield _pair(site, original)


def _same_home_and_1_doc(sites: list[SiteContents], many: dict[int, int]) -> Iterator[Pair]:
    originals: dict[tuple[int, int], SiteContents] = {}
    for site in sites:
        if site.home is None or many[site.home] < 2:
            continue
        others = [(site.home, each) for each in site.contents.tolist() if each != site.home and many[each] > 1]
        original = next((originals[each] for each in others if each in originals), None)
        if original is not None:
            yield _pair(site, original)
        else:
            originals.update(dict.fromkeys(others, site))


def dups(share: float) -> Heuristic:
    """The heuristic that wants this share of equal contents."""

    def heuristic(sites: list[SiteContents], many: dict[int, int]) -> Iterator[Pair]:
        originals: dict[int, list[SiteContents]] = {}
        for site in sites:
            if len(site.contents) < LEAST:
                continue
            rare = sorted(site.contents.tolist(), key=lambda each: (many[each], each))
            looked_at = [each for each in rare[: len(rare) - _enough(len(rare), share) + 1] if many[each] > 1]
            original = _closest(site, looked_at, originals, share)
            if original is not None:
                yield _pair(site, original)
                continue
            for each in looked_at:
                known = originals.setdefault(each, [])
                if len(known) < _MOST_LOOKED_AT:
                    known.append(site)

    return heuristic


def _enough(contents: int, share: float) -> int:
    """How many of so many contents must be equal."""
    return max(LEAST, ceil(share * contents - 1e-9))


def _closest(
    site: SiteContents, looked_at: list[int], originals: dict[int, list[SiteContents]], share: float
) -> SiteContents | None:
    """The original that has most in common with a site, if that is enough."""
    best, most = None, 0
    for original in {id(each): each for content in looked_at for each in originals.get(content, ())}.values():
        enough = _enough(max(len(site.contents), len(original.contents)), share)
        if enough > min(len(site.contents), len(original.contents)):
            continue
        equal = _equal(site, original)
        if equal >= enough and equal > most:
            best, most = original, equal
    return best


def _equal(one: SiteContents, other: SiteContents) -> int:
    return len(np.intersect1d(one.contents, other.contents, assume_unique=True))


def _pair(site: SiteContents, original: SiteContents) -> Pair:
    return Pair(site.name, original.name, _equal(site, original), len(site.contents))


HEURISTICS: dict[str, Heuristic] = {
    "same-home": _same_home,
    "same-home-and-1-doc": _same_home_and_1_doc,
    "dups60": dups(0.6),
    "dups80": dups(0.8),
    "dups100": dups(1.0),
}


def write_list(path: Path, found: Found, heuristic: str, crawl: Path) -> int:
    """Write what one heuristic found, for `--duphosts`; how many replicas that are."""
    pairs = sorted(found.replicas[heuristic])
    head = (
        f"# Duplicate hosts of {crawl} by {heuristic}: a replica and its original a line, for weft crawl --duphosts.\n"
    )
    lines = (f"{pair.replica}\t{pair.original}\t# {pair.equal} of {pair.contents} contents\n" for pair in pairs)
    replace_file(path, (head + "".join(lines)).encode())
    return len(pairs)
