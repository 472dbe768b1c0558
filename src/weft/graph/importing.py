"""Graphs from text files. In: a pages file, a links file, perhaps a seeds file. Out: a `Stored` graph.

Pages: one URL a line, its number (from 0) being its id, or `id<TAB>url`. Links: `source<TAB>target`, by ids or by URLs.
Seeds: ids or URLs, one a line; without them every site's page with the shortest path, then the shortest URL, then the
lowest id. All may be packed by gzip or zstd. A URL is the text that stands there, and links must spell it the same way;
only its site is taken from its normal form.

Files are read and cut by compiled code, links in chunks, so that 40 million links take twelve bytes each at the peak.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled
from weft.errors import UsageError
from weft.graph.assembly import Assembled, LinkRows, Worth, assemble
from weft.graph.files import Stored, Urls
from weft.graph.lines import chunks, packed, read_all
from weft.graph.names import Bytes, Names, Places, Texts
from weft.urls import Unusable, normal_form, site_of

MOST_PAGES = 2**31 - 2
_TAB, _LINE_END, _RETURN, _ZERO, _NINE = 9, 10, 13, 48, 57
_DIGITS = 18  # of the longest id: it fits into 64 bits
_LABEL, _NAME = 63, 253  # characters of the longest label, and of the longest host name
_UNPACKED = 3  # packed text becomes at least so many times longer
_BYTES_A_LINK = 12
_BYTES_A_PAGE = 120  # beside the text of its URL


def import_graph(pages: Path, links: Path, seeds: Path | None = None, *, memory: int | None = None) -> Stored:
    """Read a graph; it may need so many bytes of memory (what the machine has free, when nothing is said)."""
    most = free_memory() if memory is None else memory
    _check_memory(_least_need(pages, links), most, links)
    listed = _read_pages(pages)
    need = len(listed.urls.whole) + _BYTES_A_PAGE * len(listed.ids)
    _check_memory(need, most, pages)
    numbers = _Numbers(listed, pages)
    chosen = None if seeds is None else _read_seeds(seeds, numbers)
    site, worth = _sites(listed, pages)
    rows = _read_links(links, numbers, most - need)
    del numbers
    made = assemble(site, rows, seeds=chosen, worth=worth)
    return Stored(
        graph=made.graph,
        ids=listed.ids[made.pages],
        urls=_gathered(listed.urls, made.pages),
        about=_about(made, pages, links, seeds),
    )


def _about(made: Assembled, pages: Path, links: Path, seeds: Path | None) -> dict[str, object]:
    warnings = []
    if made.unreached:
        total = made.unreached + made.graph.pages
        warnings.append(f"{made.unreached:,} of {total:,} pages cannot be reached from any seed and were left out")
    return {
        "source": "import",
        "files": {"pages": str(pages), "links": str(links), "seeds": None if seeds is None else str(seeds)},
        "dropped": {"unreached": made.unreached, "self_links": made.self_links, "repeated_links": made.repeats},
        "warnings": warnings,
    }


# Memory.


def free_memory() -> int:
    """Bytes that the machine can give us now; where it does not say, more than any graph needs."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration, ValueError):
        return 2**62


def _least_need(pages: Path, links: Path) -> int:
    """Bytes the import surely needs, by the sizes of the files: a link is at most some 20 bytes of text."""
    text = [(_UNPACKED if packed(path) else 1) * path.stat().st_size for path in (pages, links)]
    return text[0] + text[1] * _BYTES_A_LINK // 20


def _check_memory(need: int, most: int, path: Path) -> None:
    if need > most:
        raise UsageError(
            f"the graph is larger than memory: it takes at least {need / 1e9:.1f} GB, and {most / 1e9:.1f} GB are free",
            where=str(path),
            todo="use a machine with more memory, or a part of the graph",
        )


# Pages.


class _Listed(NamedTuple):
    """What the pages file says."""

    ids: NDArray[np.int64]
    urls: Texts
    numbered: bool
    """The file gives the ids."""


def _read_pages(path: Path) -> _Listed:
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
        raise UsageError(f"this line is no page: {_line(text, bad)}", where=_at(path, bad), todo=f"write {expected}")
    return _Listed(ids, Texts(text, start, end), numbered)


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


class _Numbers:
    """From ids and URLs to the pages' numbers in the file."""

    def __init__(self, listed: _Listed, path: Path) -> None:
        self.pages = len(listed.ids)
        self._urls = Names(listed.urls)
        self._numbered = listed.numbered
        self._table: NDArray[np.int32] | None = None
        self._ids: NDArray[np.int64] | None = None
        self._order: NDArray[np.int64] | None = None
        if not listed.numbered:
            if self._urls.count < self.pages:
                line = int(np.argmax(self._urls.codes != np.arange(self.pages)))
                raise UsageError(f"a URL is here twice: {listed.urls.text(line).decode()}", where=_at(path, line))
            return
        order = np.argsort(listed.ids, kind="stable")
        ids = listed.ids[order]
        if (twice := np.flatnonzero(ids[1:] == ids[:-1])).size:
            line = int(order[twice + 1].min())
            raise UsageError(f"the id {listed.ids[line]} is here twice", where=_at(path, line))
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


# Sites.


def _sites(listed: _Listed, path: Path) -> tuple[NDArray[np.int32], Worth]:
    """The site of each page, and by what home pages are chosen."""
    urls = listed.urls
    pages = len(listed.ids)
    start, end = np.empty(pages, dtype=np.int64), np.empty(pages, dtype=np.int64)
    path_length, odd = np.empty(pages, dtype=np.int32), np.zeros(pages, dtype=np.bool_)
    _cut_sites(urls, start, end, path_length, odd)
    more: list[bytes] = []
    behind = len(urls.whole)
    for page in np.flatnonzero(odd).tolist():
        url = _normal(urls.text(page), _at(path, page))
        site = site_of(url).encode()
        target = url[url.index("/", 8) :]
        start[page], end[page] = behind, behind + len(site)
        path_length[page] = len(target.partition("?")[0])
        behind += len(site)
        more.append(site)
    text = np.concatenate([urls.whole, np.frombuffer(b"".join(more), dtype=np.uint8)]) if more else urls.whole
    url_length = (urls.end - urls.start).astype(np.int32)
    return Names(Texts(text, start, end)).codes, Worth(path_length, url_length, listed.ids)


def _normal(text: bytes, where: str) -> str:
    try:
        url = normal_form(text.decode())
    except UnicodeDecodeError as error:
        raise UsageError(f"this URL is not UTF-8: {text[:100]!r}", where=where) from error
    if isinstance(url, Unusable):
        raise UsageError(f"this is no URL that has a site: {text[:200].decode()}", where=where, todo=url.sentence)
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


# Links and seeds.


def _read_links(path: Path, numbers: _Numbers, most: int) -> LinkRows:
    """The links by pages' numbers in the file; they may need so many bytes."""
    rows = LinkRows(numbers.pages)
    by_url: bool | None = None
    for chunk in chunks(path):
        text = np.frombuffer(chunk, dtype=np.uint8)
        count = int(np.count_nonzero(text == _LINE_END))
        if by_url is None:
            by_url = not _ZERO <= text[0] <= _NINE
        if by_url:
            start, end = np.empty(2 * count, dtype=np.int64), np.empty(2 * count, dtype=np.int64)
            bad = _cut_pairs(text, start, end)
            _check_line(path, text, bad, rows.links, "`source<TAB>target`, both URLs as in the pages file")
            found = numbers.of_urls(Texts(text, start, end))
        else:
            ids = np.empty(2 * count, dtype=np.int64)
            bad = _parse_pairs(text, ids)
            _check_line(path, text, bad, rows.links, "`source<TAB>target`, both ids")
            found = numbers.of_ids(ids)
        if found.min() < 0:
            line = int(np.argmax(found < 0)) // 2
            raise UsageError(
                f"a link names a page that is not in the pages file: {_line(text, line)}",
                where=_at(path, rows.links + line),
                todo="add the page, or take the link out",
            )
        rows.add(found[0::2], found[1::2])
        _check_memory(rows.links * _BYTES_A_LINK, most, path)
    return rows


def _check_line(path: Path, text: Bytes, bad: int, before: int, expected: str) -> None:
    if bad >= 0:
        raise UsageError(
            f"this line is no link: {_line(text, bad)}", where=_at(path, before + bad), todo=f"write {expected}"
        )


@compiled
def _parse_pairs(text: Bytes, ids: Places) -> int:
    """Read two ids a line; return the first line that has not just that, or -1."""
    place = 0
    for number in range(len(ids)):
        begin = place
        value = 0
        while _ZERO <= text[place] <= _NINE:
            value = value * 10 + text[place] - _ZERO
            place += 1
        if place == begin or place - begin > _DIGITS:
            return number // 2
        ids[number] = value
        if number % 2 and text[place] == _RETURN:
            place += 1
        if text[place] != (_LINE_END if number % 2 else _TAB):
            return number // 2
        place += 1
    return -1


@compiled
def _cut_pairs(text: Bytes, start: Places, end: Places) -> int:
    """Find two texts a line; return the first line that has not just that, or -1."""
    place = 0
    for number in range(len(start)):
        start[number] = place
        while text[place] not in (_TAB, _LINE_END):
            place += 1
        last = number % 2
        if text[place] != (_LINE_END if last else _TAB):
            return number // 2
        end[number] = place - 1 if last and place > start[number] and text[place - 1] == _RETURN else place
        if end[number] == start[number]:
            return number // 2
        place += 1
    return -1


def _read_seeds(path: Path, numbers: _Numbers) -> NDArray[np.int32]:
    """The seeds in the order of the file; empty lines and those that begin with # say nothing."""
    lines = [line.strip() for line in read_all(path).split(b"\n")]
    places = [number for number, line in enumerate(lines) if line and not line.startswith(b"#")]
    if not places:
        raise UsageError("there are no seeds here", where=str(path), todo="give at least one, or leave the file out")
    texts = [lines[place] for place in places]
    by_id = np.array([text.isdigit() and len(text) <= _DIGITS for text in texts])
    found = numbers.of_urls(Texts.of(texts))
    ids = np.array([int(text) if flag else 0 for text, flag in zip(texts, by_id, strict=True)], dtype=np.int64)
    found[by_id] = numbers.of_ids(ids[by_id])
    if found.min() < 0:
        unknown = int(np.argmax(found < 0))
        raise UsageError(
            f"a seed is not in the pages file: {texts[unknown][:200].decode(errors='replace')}",
            where=_at(path, places[unknown]),
            todo="add the page, or take the seed out",
        )
    return found


def _at(path: Path, line: int) -> str:
    return f"{path}, line {line + 1}"


def _line(text: Bytes, number: int) -> str:
    """A line for a message, its tabs and other oddities shown."""
    ends = np.flatnonzero(text == _LINE_END)
    begin = int(ends[number - 1]) + 1 if number else 0
    return ascii(text[begin : min(int(ends[number]), begin + 200)].tobytes().decode(errors="replace"))
