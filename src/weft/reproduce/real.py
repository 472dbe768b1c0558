"""Real graphs in the formats in which they are passed around. In: a directory of data sets. Out: `RealGraph`s.

Five graphs are known, each with its reader: two query graphs (california, cars), two crawls of universities (hollins,
ics), and a sample of the .uk crawl of 2007 that came without URLs. Its sites are guessed: pages are numbered in the
order of their URLs, so a site is a stretch of numbers, and it is cut wherever no short link crosses. A crawl begins
with each site's page of the shortest path, then of the shortest URL, then of the lowest number. Pages that it does not
reach are counted and left out.

>>> guess_sites(np.array([0, 1, 3, 4]), np.array([1, 0, 4, 0]), 5, longest=2).tolist()
[0, 0, 1, 2, 2]
"""

from __future__ import annotations

import gzip
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weft.errors import UsageError
from weft.graph import Graph
from weft.graph.assembly import LinkRows, Worth, assemble
from weft.urls import Unusable, normal_form, site_of

LONGEST = 3000
"""A longer link says nothing about sites: so far apart are pages of one site seldom."""

Pairs = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class RealGraph:
    """A graph from the world, and what had to be decided to use it."""

    name: str
    graph: Graph
    about: str
    unreached: int
    """Pages that no seed reaches; they are not in the graph."""
    unusable: int
    """Pages whose URL has no site; they are not in the graph."""
    guessed: bool
    """The sites are a guess."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Where a graph lies and how it is read."""

    name: str
    file: str
    about: str
    read: Callable[[Path, str, str], RealGraph]


def find(data: Path) -> dict[str, Path]:
    """The known graphs that are in a directory."""
    return {kind.name: data / kind.file for kind in KINDS if (data / kind.file).exists()}


def read(data: Path, name: str) -> RealGraph:
    """One of the known graphs."""
    kind = next((kind for kind in KINDS if kind.name == name), None)
    if kind is None:
        known = ", ".join(kind.name for kind in KINDS)
        raise UsageError(f"there is no real graph called '{name}'", todo=f"choose one of: {known}")
    return kind.read(data / kind.file, kind.name, kind.about)


# The readers.


def _read_california(path: Path, name: str, about: str) -> RealGraph:
    """`n ID URL` and `e SOURCE TARGET`."""
    urls: dict[int, str] = {}
    links: Pairs = []
    for number, line in _lines(path):
        match line.split():
            case ["n", page, url]:
                urls[_integer(page, path, number)] = url
            case ["e", source, target]:
                links.append((_integer(source, path, number), _integer(target, path, number)))
            case _:
                raise _bad(path, number, line, "`n ID URL` or `e SOURCE TARGET`")
    return _from_urls(name, about, urls, links, path)


def _read_hollins(path: Path, name: str, about: str) -> RealGraph:
    """A line of counts, then `ID URL` for each page, then `SOURCE TARGET` for each link."""
    lines = _lines(path)
    number, head = next(lines, (0, ""))
    counts = head.split()
    if len(counts) < 2:
        raise _bad(path, number, head, "the number of pages and of links")
    pages = _integer(counts[0], path, number)
    urls: dict[int, str] = {}
    links: Pairs = []
    for number, line in lines:
        words = line.split(maxsplit=1)
        if len(words) != 2:
            raise _bad(path, number, line, "`ID URL` or `SOURCE TARGET`")
        if len(urls) < pages:
            urls[_integer(words[0], path, number)] = words[1].strip()
        else:
            links.append((_integer(words[0], path, number), _integer(words[1].strip(), path, number)))
    return _from_urls(name, about, urls, links, path)


def _read_ics(path: Path, name: str, about: str) -> RealGraph:
    """`id`, `url` and more, separated by tabs, below a header; the links are in `edges.tsv.gz` beside it."""
    urls: dict[int, str] = {}
    for number, line in itertools.islice(_lines(path), 1, None):
        fields = line.split("\t")
        if len(fields) < 2:
            raise _bad(path, number, line, "`id<TAB>url`")
        urls[_integer(fields[0], path, number)] = fields[1]
    edges = path.with_name("edges.tsv.gz")
    return _from_urls(name, about, urls, list(_pairs(edges)), edges)


def _pairs(path: Path) -> Iterator[tuple[int, int]]:
    for number, line in _lines(path):
        fields = line.split("\t")
        if len(fields) != 2:
            raise _bad(path, number, line, "`source<TAB>target`")
        yield _integer(fields[0], path, number), _integer(fields[1], path, number)


def _read_cars(path: Path, name: str, about: str) -> RealGraph:
    """A count, then blocks of lines: `ID (…) [set]`, URL, title, degrees, and an empty one; links are in `adj_list.gz`:
    `ID: TARGET TARGET … -1`.
    """
    urls: dict[int, str] = {}
    page = -1
    for number, line in itertools.islice(_lines(path), 1, None):
        if page >= 0:
            urls[page] = line.strip()
            page = -1
        elif line.rstrip().endswith("]") and line.partition(" ")[0].isdigit() and " (" in line:
            # A title could look like that, too; but then the pages would not be numbered one after the other.
            found = _integer(line.partition(" ")[0], path, number)
            page = found if found == len(urls) else -1
    lists = path.with_name("adj_list.gz")
    links: Pairs = []
    for number, line in _lines(lists):
        source, colon, targets = line.partition(":")
        if not colon or not targets.split() or targets.split()[-1] != "-1":
            raise _bad(lists, number, line, "`ID: TARGET … -1`")
        links += [(_integer(source, lists, number), _integer(target, lists, number)) for target in targets.split()[:-1]]
    return _from_urls(name, about, urls, links, lists)


def _read_uk(path: Path, name: str, about: str) -> RealGraph:
    """Line i has the pages that page i links to; there are no URLs."""
    out: list[int] = []
    targets: list[NDArray[np.int64]] = []
    for number, line in _lines(path):
        try:
            row = np.array(line.split(), dtype=np.int64)
        except ValueError as error:
            raise _bad(path, number, line[:80], "numbers of pages") from error
        out.append(len(row))
        targets.append(row)
    pages = len(out)
    target = np.concatenate(targets) if targets else np.empty(0, dtype=np.int64)
    source = np.repeat(np.arange(pages), out)
    if len(target) and not 0 <= int(target.min()) <= int(target.max()) < pages:
        at = int(np.argmax((target < 0) | (target >= pages)))
        raise UsageError(
            f"a link names page {target[at]}, and there are {pages}",
            where=f"{path}, line {source[at] + 1}",
            todo="take the link out, or add lines for all pages",
        )
    return _made(name, about, guess_sites(source, target, pages), Worth.of_order(pages), (source, target), guessed=True)


KINDS = (
    Kind(
        "california",
        "graph-california/gr0.California.gz",
        "pages about California, 2002 (query graph)",
        _read_california,
    ),
    Kind("hollins", "graph-hollins/hollins.dat.gz", "crawl of Hollins University, 2004", _read_hollins),
    Kind("ics", "graph-ics-analyst/nodes.tsv.gz", "crawl of three hosts of ics.uci.edu, about 2020", _read_ics),
    Kind("cars", "graph-topic-cars/nodes.gz", "pages about classic cars, about 2003 (query graph)", _read_cars),
    Kind(
        "uk-2007", "graph-uk2007-100k/successors.txt.gz", "sample of the .uk crawl of May 2007, sites guessed", _read_uk
    ),
)


# What they have in common.


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a packed text, numbered from 1."""
    try:
        # Titles of that time are in any charset; ids and URLs are not touched by it.
        with gzip.open(path, "rt", encoding="utf-8", errors="replace", newline="\n") as file:
            for number, line in enumerate(file, 1):
                yield number, line.rstrip("\r\n")
    except (OSError, EOFError) as error:
        raise UsageError(f"cannot read the graph: {error}", where=str(path), todo="get it again") from error


def _integer(text: str, path: Path, number: int) -> int:
    if not text.isascii() or not text.isdigit():
        raise UsageError(f"'{text[:80]}' is no number of a page", where=f"{path}, line {number}", todo="mend the line")
    return int(text)


def _bad(path: Path, number: int, line: str, expected: str) -> UsageError:
    return UsageError(
        f"this line is not as expected: {line[:80]}", where=f"{path}, line {number}", todo=f"write {expected}"
    )


def _from_urls(name: str, about: str, urls: dict[int, str], links: Pairs, path: Path) -> RealGraph:
    """Find the sites of URLs; pages without one are left out with their links."""
    sites: dict[str, int] = {}
    numbers: dict[int, int] = {}
    codes: list[int] = []
    lengths: list[tuple[int, int]] = []
    for page, text in urls.items():
        url = normal_form(text)
        if isinstance(url, Unusable):
            continue
        numbers[page] = len(codes)
        codes.append(sites.setdefault(site_of(url), len(sites)))
        lengths.append((len(url[url.index("/", 8) :].partition("?")[0]), len(url)))
    for source, target in links:
        if source not in urls or target not in urls:
            raise UsageError(
                f"the link from {source} to {target} names a page that is not listed",
                where=str(path),
                todo="add the page, or take the link out",
            )
    kept = [(numbers[source], numbers[target]) for source, target in links if source in numbers and target in numbers]
    pairs = np.array(kept, dtype=np.int64).reshape(-1, 2)
    sizes = np.array(lengths, dtype=np.int32).reshape(-1, 2)
    worth = Worth(sizes[:, 0].copy(), sizes[:, 1].copy(), np.fromiter(numbers, dtype=np.int64))
    site = np.array(codes, dtype=np.int32)
    return _made(name, about, site, worth, (pairs[:, 0], pairs[:, 1]), unusable=len(urls) - len(codes))


def _made(
    name: str,
    about: str,
    site: NDArray[np.int32],
    worth: Worth,
    links: tuple[NDArray[np.int64], NDArray[np.int64]],
    *,
    unusable: int = 0,
    guessed: bool = False,
) -> RealGraph:
    rows = LinkRows(len(site))
    rows.add(*links)
    made = assemble(site, rows, seeds=None, worth=worth)
    return RealGraph(name, made.graph, about, made.unreached, unusable, guessed)


def guess_sites(
    source: NDArray[np.int64], target: NDArray[np.int64], pages: int, *, longest: int = LONGEST
) -> NDArray[np.int32]:
    """Cut the pages wherever no link crosses that is at most so long; the number of its stretch for each page."""
    low, high = np.minimum(source, target), np.maximum(source, target)
    near = (high - low <= longest) & (high > low)
    crossing = np.zeros(pages + 1, dtype=np.int64)
    np.add.at(crossing, low[near] + 1, 1)
    np.add.at(crossing, high[near] + 1, -1)
    open_links = np.cumsum(crossing)[:pages]  # by page: links that cross from the page before it to it
    cut = open_links == 0
    return np.asarray(np.cumsum(cut) - 1, dtype=np.int32)
