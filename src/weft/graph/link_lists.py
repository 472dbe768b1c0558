"""The links and seeds of a graph from text files. In: files, and who has which number. Out: rows of links.

A link is two ids with blanks or tabs between them, or two URLs with a tab, on a line of its own; by ids or by URLs in
the whole file. Lines that are empty or begin with # say nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled
from weft.errors import UsageError
from weft.graph.assembly import LinkRows
from weft.graph.lines import at_line, chunks, read_all, shown_line
from weft.graph.names import Bytes, Places, Texts
from weft.graph.page_lists import Numbers

_TAB, _LINE_END, _RETURN, _BLANK, _HASH, _ZERO, _NINE = 9, 10, 13, 32, 35, 48, 57
_DIGITS = 18  # of the longest id: it fits into 64 bits
_BY_ID, _BY_URL = (
    "write two ids, with a tab between them",
    "write two URLs as in the pages file, with a tab between them",
)


class Links(NamedTuple):
    """Links by the numbers of pages, and how many were dropped for want of a page."""

    rows: LinkRows
    dropped: int


def read_links(path: Path, numbers: Numbers, number: NDArray[np.int32], check: Callable[[int], None]) -> Links:
    """The links of a file; `number` says which pages are there by now, and `check` is told how many links."""
    rows = LinkRows(int(number.max()) + 1)
    by_url: bool | None = None
    before = dropped = 0
    whole = bool((number >= 0).all())
    for chunk in chunks(path):
        text = np.frombuffer(chunk, dtype=np.uint8)
        lines = int(np.count_nonzero(text == _LINE_END))
        at = _first_link(text)
        if by_url is None and at < len(text):
            by_url = not _ZERO <= text[at] <= _NINE
        found, of_line = _found(path, text, lines, before, numbers, by_url=bool(by_url))
        if len(found) and found.min() < 0:
            line = int(of_line[int(np.argmax(found < 0)) // 2])
            raise UsageError(
                f"a link names a page that is not in the pages file: {shown_line(text, line)}",
                where=at_line(path, before + line),
                todo="add the page, or take the link out",
            )
        source, target = (found[0::2], found[1::2]) if whole else (number[found[0::2]], number[found[1::2]])
        if not whole:
            there = (source >= 0) & (target >= 0)
            dropped += len(there) - int(there.sum())
            source, target = source[there], target[there]
        rows.add(source, target)
        check(rows.links)
        before += lines
    return Links(rows, dropped)


def _found(
    path: Path, text: Bytes, lines: int, before: int, numbers: Numbers, *, by_url: bool
) -> tuple[NDArray[np.int32], Places]:
    """The pages of a chunk's links, sources and targets in turn, and the line of each link."""
    of_line = np.empty(lines, dtype=np.int64)
    if by_url:
        start, end = np.empty(2 * lines, dtype=np.int64), np.empty(2 * lines, dtype=np.int64)
        count, bad = _cut_pairs(text, of_line, start, end)
        _check_line(path, text, bad, before, _BY_URL)
        return numbers.of_urls(Texts(text, start[: 2 * count], end[: 2 * count])), of_line
    ids = np.empty(2 * lines, dtype=np.int64)
    count, bad = _parse_pairs(text, of_line, ids)
    _check_line(path, text, bad, before, _BY_ID)
    return numbers.of_ids(ids[: 2 * count]), of_line


def read_ids(path: Path) -> NDArray[np.int64]:
    """All ids that a file of links names, from the lowest to the highest."""
    seen = np.empty(0, dtype=np.int64)
    before = 0
    for chunk in chunks(path):
        text = np.frombuffer(chunk, dtype=np.uint8)
        lines = int(np.count_nonzero(text == _LINE_END))
        ids = np.empty(2 * lines, dtype=np.int64)
        count, bad = _parse_pairs(text, np.empty(lines, dtype=np.int64), ids)
        _check_line(path, text, bad, before, f"{_BY_ID}; links between URLs need a pages file")
        seen = np.union1d(seen, ids[: 2 * count])
        before += lines
    if not len(seen):
        raise UsageError("the graph is empty: there are no links", where=str(path), todo=_BY_ID)
    return seen


def _check_line(path: Path, text: Bytes, bad: int, before: int, todo: str) -> None:
    if bad >= 0:
        raise UsageError(f"this line is no link: {shown_line(text, bad)}", where=at_line(path, before + bad), todo=todo)


@compiled
def _says_nothing(text: Bytes, place: int) -> int:
    """Where the next line begins if this one is empty or a comment; else where its text begins."""
    while text[place] in (_BLANK, _TAB, _RETURN):
        place += 1
    if text[place] == _HASH:
        while text[place] != _LINE_END:
            place += 1
    return place + 1 if text[place] == _LINE_END else place


@compiled
def _first_link(text: Bytes) -> int:
    """Where the first line that says something begins."""
    place = 0
    while place < len(text):
        begin = place
        place = _says_nothing(text, begin)
        if text[place - 1] != _LINE_END or place == begin:
            return place
    return place


@compiled
def _parse_pairs(text: Bytes, of_line: Places, ids: Places) -> tuple[int, int]:
    """Read two ids a line: how many pairs, the line of each; and the first line that has not just that, or -1."""
    place = count = 0
    for line in range(len(of_line)):
        begin = place
        place = _says_nothing(text, begin)
        if place > begin and text[place - 1] == _LINE_END:
            continue
        for side in range(2):
            start = place
            value = 0
            while _ZERO <= text[place] <= _NINE:
                value = value * 10 + text[place] - _ZERO
                place += 1
            if place == start or place - start > _DIGITS:
                return count, line
            ids[2 * count + side] = value
            start = place
            while text[place] in (_BLANK, _TAB, _RETURN):
                place += 1
            if (side == 0 and place == start) or (side == 1 and text[place] != _LINE_END):
                return count, line
        of_line[count] = line
        count += 1
        place += 1
    return count, -1


@compiled
def _cut_pairs(text: Bytes, of_line: Places, start: Places, end: Places) -> tuple[int, int]:
    """Find two texts a line: how many pairs, the line of each; and the first line that has not just that, or -1."""
    place = count = 0
    for line in range(len(of_line)):
        begin = place
        place = _says_nothing(text, begin)
        if place > begin and text[place - 1] == _LINE_END:
            continue
        place = begin
        for side in range(2):
            number = 2 * count + side
            start[number] = place
            while text[place] not in (_TAB, _LINE_END):
                place += 1
            if text[place] != (_LINE_END if side else _TAB):
                return count, line
            end[number] = place - 1 if side and place > start[number] and text[place - 1] == _RETURN else place
            if end[number] == start[number]:
                return count, line
            place += 1
        of_line[count] = line
        count += 1
    return count, -1


def read_seeds(path: Path, numbers: Numbers) -> NDArray[np.int32]:
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
            where=at_line(path, places[unknown]),
            todo="add the page, or take the seed out",
        )
    return found
