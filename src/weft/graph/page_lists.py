"""The pages of a graph from a text file, or made up. In: a file, or ids. Out: ids, URLs, numbers and sites.

A URL is the text that stands in the file. Its site is host and port of its normal form; who has none can be left out.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled
from weft.errors import UsageError
from weft.graph.assembly import Worth
from weft.graph.lines import at_line, read_all, shown_line
from weft.graph.names import Bytes, Names, Places, Texts
from weft.urls import Unusable, normal_form, site_of

MOST_PAGES = 2**31 - 2
_TAB, _LINE_END, _RETURN, _ZERO, _NINE = 9, 10, 13, 48, 57
_DIGITS = 18  # of the longest id: it fits into 64 bits
_LABEL, _NAME = 63, 253  # characters of the longest label, and of the longest host name


class Listed(NamedTuple):
    """What the pages file says, or would say."""

    ids: NDArray[np.int64]
    urls: Texts
    numbered: bool
    """The file gives the ids."""


def read_pages(path: Path) -> Listed:
    """The pages of a file."""
    text = np.frombuffer(read_all(path), dtype=np.uint8)
    count = int(np.count_nonzero(text == _LINE_END))
    if count == 0:
        raise UsageError("the graph is empty: there are no pages", where=str(path), todo="give at least one URL")
    if count > MOST_PAGES:
        raise UsageError(
            f"{count:,} pages are too many", where=str(path), todo=f"at most {MOST_PAGES:,} can be numbered"
        )
    first_line = text[: int(np.argmax(text == _LINE_END))]
    numbered = bool((first_line == _TAB).any())
    ids = np.arange(count, dtype=np.int64)
    start, end = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    bad = _cut_pages(text, numbered, ids, start, end)
    if bad >= 0:
        expected = "`id<TAB>url`" if numbered else "one URL a line"
        raise UsageError(
            f"this line is no page: {shown_line(text, bad)}", where=at_line(path, bad), todo=f"write {expected}"
        )
    return Listed(ids, Texts(text, start, end), numbered)


@compiled
def _cut_pages(text: Bytes, numbered: bool, ids: Places, start: Places, end: Places) -> int:
    """Find the URLs, and the ids if there are any; return the first line that has none, or -1."""
    place = 0
    for line in range(len(ids)):
        if numbered:
            begin = place
            value = 0
            while _ZERO <= text[place] <= _NINE:
                value = value * 10 + text[place] - _ZERO
                place += 1
            if place == begin or place - begin > _DIGITS or text[place] != _TAB:
                return line
            ids[line] = value
            place += 1
        start[line] = place
        while text[place] != _LINE_END:
            if text[place] == _TAB:
                return line
            place += 1
        end[line] = place - 1 if place > start[line] and text[place - 1] == _RETURN else place
        if end[line] == start[line]:
            return line
        place += 1
    return -1


def made_up_pages(ids: NDArray[np.int64], per_site: int) -> Listed:
    """Pages with these ids, in the order of which so many at a time are a site.

    >>> listed = made_up_pages(np.array([3, 5, 9]), 2)
    >>> [listed.urls.text(page).decode() for page in range(3)]
    ['http://site0.test/3', 'http://site0.test/5', 'http://site1.test/9']
    """
    texts = [b"http://site%d.test/%d" % (number // per_site, each) for number, each in enumerate(ids.tolist())]
    return Listed(ids, Texts.of(texts), numbered=True)


class Numbers:
    """From ids and URLs to the pages' numbers in the file."""

    def __init__(self, listed: Listed, path: Path) -> None:
        self.pages = len(listed.ids)
        self._urls = Names(listed.urls)
        self._numbered = listed.numbered
        self._table: NDArray[np.int32] | None = None
        self._ids: NDArray[np.int64] | None = None
        self._order: NDArray[np.int64] | None = None
        if not listed.numbered:
            if self._urls.count < self.pages:
                line = int(np.argmax(self._urls.codes != np.arange(self.pages)))
                raise UsageError(f"a URL is here twice: {listed.urls.text(line).decode()}", where=at_line(path, line))
            return
        order = np.argsort(listed.ids, kind="stable")
        ids = listed.ids[order]
        if (twice := np.flatnonzero(ids[1:] == ids[:-1])).size:
            line = int(order[twice + 1].min())
            raise UsageError(f"the id {listed.ids[line]} is here twice", where=at_line(path, line))
        if ids[-1] < 8 * self.pages + 1024:  # a table is ten times faster than to search
            self._table = np.full(int(ids[-1]) + 1, -1, dtype=np.int32)
            self._table[ids] = order
        else:
            self._ids, self._order = ids, order

    def of_ids(self, ids: NDArray[np.int64]) -> NDArray[np.int32]:
        """The pages with these ids, -1 where there is none."""
        if not self._numbered:
            return np.where(ids < self.pages, ids, -1).astype(np.int32)
        if self._table is not None:
            found = self._table[np.minimum(ids, len(self._table) - 1)]
            found[ids >= len(self._table)] = -1
            return found
        assert self._ids is not None
        assert self._order is not None
        place = np.minimum(np.searchsorted(self._ids, ids), self.pages - 1)
        return np.where(self._ids[place] == ids, self._order[place], -1).astype(np.int32)

    def of_urls(self, urls: Texts) -> NDArray[np.int32]:
        """The pages with these URLs (the first, where there are several), -1 where there is none."""
        found = self._urls.find(urls)
        return np.where(found >= 0, self._urls.first[found], -1).astype(np.int32)


class Sites(NamedTuple):
    """The pages that have a site, numbered anew, and what was wrong with the others."""

    site: NDArray[np.int32]
    worth: Worth
    """By what home pages are chosen."""
    kept: NDArray[np.int32]
    """The number in the file of each page."""
    number: NDArray[np.int32]
    """The other way round; -1 for a page that was left out."""
    bad: list[str]


def sites_of(listed: Listed, path: Path, *, strict: bool) -> Sites:
    """The site of each page; where that is to be `strict`, each must have one."""
    urls = listed.urls
    pages = len(listed.ids)
    start, end = np.empty(pages, dtype=np.int64), np.empty(pages, dtype=np.int64)
    path_length, odd = np.empty(pages, dtype=np.int32), np.zeros(pages, dtype=np.bool_)
    _cut_sites(urls, start, end, path_length, odd)
    more: list[bytes] = []
    bad: list[str] = []
    usable = np.ones(pages, dtype=np.bool_)
    behind = len(urls.whole)
    for page in np.flatnonzero(odd).tolist():
        url = _normal(urls.text(page))
        if isinstance(url, _Refused):
            if strict:
                raise UsageError(url.what, where=at_line(path, page), todo=url.why)
            usable[page] = False
            bad.append(f"line {page + 1}, {url.what}")
            continue
        site = site_of(url).encode()
        target = url[url.index("/", 8) :]
        start[page], end[page] = behind, behind + len(site)
        path_length[page] = len(target.partition("?")[0])
        behind += len(site)
        more.append(site)
    if not usable.any():
        raise UsageError(
            f"no page has a URL that can be used: {bad[0]}", where=str(path), todo="write http://host/path"
        )
    text = np.concatenate([urls.whole, np.frombuffer(b"".join(more), dtype=np.uint8)]) if more else urls.whole
    kept = np.flatnonzero(usable).astype(np.int32)
    number = np.where(usable, np.cumsum(usable) - 1, -1).astype(np.int32)
    url_length = (urls.end - urls.start).astype(np.int32)
    site_codes = Names(Texts(text, start[kept], end[kept])).codes
    return Sites(site_codes, Worth(path_length[kept], url_length[kept], listed.ids[kept]), kept, number, bad)


class _Refused(NamedTuple):
    what: str
    why: str


def _normal(text: bytes) -> str | _Refused:
    try:
        url = normal_form(text.decode())
    except UnicodeDecodeError:
        return _Refused(f"this URL is not UTF-8: {text[:100]!r}", "write it in UTF-8, or leave the page out")
    if isinstance(url, Unusable):
        return _Refused(f"this is no URL that has a site: {text[:200].decode(errors='replace')}", url.sentence)
    return url


@compiled
def _cut_sites(urls: Texts, start: Places, end: Places, path_length: NDArray[np.int32], odd: NDArray[np.bool_]) -> None:
    """Find host and port of plain URLs; mark those that a parser must look at."""
    text = urls.whole
    for page in range(len(urls.start)):
        stop = urls.end[page]
        start[page] = _host(text, urls.start[page], stop)
        end[page] = _host_end(text, start[page], stop)
        odd[page] = start[page] < 0 or end[page] < 0
        if odd[page]:
            continue
        path_length[page] = stop - end[page]
        for place in range(stop - 1, end[page], -1):
            if text[place] in (35, 63):  # where a fragment or a query begins
                path_length[page] = place - end[page]
            if text[place] <= 32 or text[place] >= 127:
                odd[page] = True


@compiled
def _host(text: Bytes, place: int, stop: int) -> int:
    """Where the host begins, behind http:// or https:// in small letters; else -1."""
    if stop - place < 9 or text[place] != 104 or text[place + 1] != 116 or text[place + 2] != 116:
        return -1
    if text[place + 3] != 112:
        return -1
    place += 5 if text[place + 4] == 115 else 4
    if text[place] != 58 or text[place + 1] != 47 or text[place + 2] != 47:
        return -1
    return place + 3


@compiled
def _host_end(text: Bytes, place: int, stop: int) -> int:
    """Where a plain host with a plain port ends and a path begins; else -1."""
    if place < 0:
        return -1
    secure = text[place - 4] == 115
    # Small letters, digits, hyphens and dots; a name whose last label begins with a digit may be an address.
    begin = label = place
    while place < stop and (97 <= text[place] <= 122 or (45 <= text[place] <= 57 and text[place] != 47)):
        if text[place] == 46:
            if not label < place <= label + _LABEL:
                return -1
            label = place + 1
        place += 1
    if place == stop or not 97 <= text[label] <= 122 or place > label + _LABEL or place > begin + _NAME:
        return -1
    if text[place] == 58:
        port = 0
        digits = place + 1
        place += 1
        while place < min(stop, digits + 5) and _ZERO <= text[place] <= _NINE:
            port = port * 10 + text[place] - _ZERO
            place += 1
        if text[digits] == _ZERO or not 0 < port <= 65535 or port == (443 if secure else 80):
            return -1
    return place if place < stop and text[place] == 47 else -1
