"""Graphs from text files. In: a pages file, a links file, perhaps a seeds file. Out: a `Stored` graph.

Pages: one URL a line, its number (from 0) being its id, or `id<TAB>url`. Links: two ids or two URLs a line. Seeds: ids
or URLs, one a line; without them every site's page with the shortest path, then the shortest URL, then the lowest id.
All may be packed by gzip or zstd. A URL is the text that stands there, and links must spell it the same way; only its
site is taken from its normal form. A page whose URL has none is left out, and its links with it.

An edge list is enough (`import_edges`): then the pages are those that it names, and `per_site` of them, in the order of
their ids, are a site.

Files are read and cut by compiled code, links in chunks, so that 40 million links take twelve bytes each at the peak.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled
from weft.errors import UsageError
from weft.graph.assembly import Assembled, assemble
from weft.graph.files import Stored, Urls
from weft.graph.lines import packed
from weft.graph.link_lists import Links, read_ids, read_links, read_seeds
from weft.graph.names import Bytes, Places, Texts
from weft.graph.page_lists import Listed, Numbers, made_up_pages, read_pages, sites_of

PER_SITE = 70  # pages of a made-up site: so many had the sites of the papers' web on average
_UNPACKED = 3  # packed text becomes at least so many times longer
_BYTES_A_LINK = 12
_BYTES_A_PAGE = 120  # beside the text of its URL
_NAMED = 3  # of what was left out


def import_graph(
    pages: Path, links: Path, seeds: Path | None = None, *, strict: bool = False, memory: int | None = None
) -> Stored:
    """Read a graph; it may need so many bytes of memory (what the machine has free, when nothing is said).

    A page whose URL cannot be used is left out with a warning, or refused where that is to be `strict`.
    """
    most = free_memory() if memory is None else memory
    _check_memory(_least_need(pages, links), most, links)
    return _import(read_pages(pages), pages, links, seeds, strict=strict, most=most)


def import_edges(
    links: Path, seeds: Path | None = None, *, per_site: int = PER_SITE, memory: int | None = None
) -> Stored:
    """Read a graph from its links alone, which name pages by ids; so many pages in the order of their ids are a site.

    This is the form of the SNAP collection: two ids a line, with comments that begin with #.
    """
    if per_site < 1:
        raise UsageError(f"a site of {per_site} pages cannot be made", todo="give at least 1 page a site")
    most = free_memory() if memory is None else memory
    _check_memory(_least_need(None, links), most, links)
    return _import(made_up_pages(read_ids(links), per_site), None, links, seeds, strict=True, most=most)


def _import(listed: Listed, pages: Path | None, links: Path, seeds: Path | None, *, strict: bool, most: int) -> Stored:
    path = links if pages is None else pages
    need = len(listed.urls.whole) + _BYTES_A_PAGE * len(listed.ids)
    _check_memory(need, most, path)
    numbers = Numbers(listed, path)
    chosen = None if seeds is None else read_seeds(seeds, numbers)
    found = sites_of(listed, path, strict=strict)
    if chosen is not None and not (chosen := found.number[chosen[found.number[chosen] >= 0]]).size:
        raise UsageError("no seed has a URL that can be used", where=str(seeds), todo="give at least one that has")
    read = read_links(
        links, numbers, found.number, lambda count: _check_memory(count * _BYTES_A_LINK, most - need, links)
    )
    del numbers
    made = assemble(found.site, read.rows, seeds=chosen, worth=found.worth)
    kept = found.kept[made.pages]
    return Stored(
        graph=made.graph,
        ids=listed.ids[kept],
        urls=_gathered(listed.urls, kept),
        about={
            "source": "import",
            "files": {"pages": None if pages is None else str(pages), "links": str(links)}
            | {"seeds": None if seeds is None else str(seeds)},
            "dropped": {"bad_urls": len(found.bad), "links_of_bad_urls": read.dropped}
            | {"unreached": made.unreached, "self_links": made.self_links, "repeated_links": made.repeats},
            "warnings": _warnings(made, found.bad, read),
        },
    )


def _warnings(made: Assembled, bad: list[str], read: Links) -> list[str]:
    warnings = []
    if bad:
        more = f"; and {len(bad) - _NAMED:,} more" if len(bad) > _NAMED else ""
        links = f", with {read.dropped:,} links back and forthm them" if read.dropped else ""
        named = "; ".join(bad[:_NAMED])
        warnings.append(f"{len(bad):,} pages have no URL that can be used and were left out{links}: {named}{more}")
    if made.unreached:
        total = made.unreached + made.graph.pages
        warnings.append(f"{made.unreached:,} of {total:,} pages cannot be reached from any seed and were left out")
    return warnings


# Memory.


def free_memory() -> int:
    """Bytes that the machine can give us now; where it does not say, more than any graph needs."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return 2**62


def _least_need(pages: Path | None, links: Path) -> int:
    """Bytes the import surely needs, by the sizes of the files: a link is at most some 20 bytes of text."""
    text, edges = (
        0 if path is None else (_UNPACKED if packed(path) else 1) * path.stat().st_size for path in (pages, links)
    )
    return text + edges * _BYTES_A_LINK // 20


def _check_memory(need: int, most: int, path: Path) -> None:
    if need > most:
        raise UsageError(
            f"the graph is larger than memory: it takes at least {need / 1e9:.1f} GB, and {most / 1e9:.1f} GB are free",
            where=str(path),
            todo="use a machine with more memory, or a part of the graph",
        )


def _gathered(urls: Texts, pages: NDArray[np.int32]) -> Urls:
    """The URLs of these pages, one behind the other."""
    offsets = np.concatenate([[0], np.cumsum((urls.end - urls.start)[pages])]).astype(np.int64)
    text = np.empty(int(offsets[-1]), dtype=np.uint8)
    _gather(urls, pages, offsets, text)
    return Urls(text, offsets)


@compiled
def _gather(urls: Texts, pages: NDArray[np.int32], offsets: Places, text: Bytes) -> None:
    for number in range(len(pages)):
        begin = urls.start[pages[number]]
        for step in range(offsets[number + 1] - offsets[number]):
            text[offsets[number] + step] = urls.whole[begin + step]
