"""The tags of a page. In: HTML in UTF-8. Out: its tags that can hold a link, each with the attributes that matter.

They are those that a browser finds, but for those that its tree drops (a link in the wrong place among frames) or
repeats (one in a paragraph that was never closed).
"""

from __future__ import annotations

import re
from html.entities import html5

import numpy as np
from numpy.typing import NDArray

from weft.parse.names import ATTRIBUTES, ELEMENTS, LONE_HREF
from weft.parse.tokens import part_spans, scan


class LargePage(Exception):  # noqa: N818  it is no error
    """A page has so much in it that reading it would hold up all others."""


Tag = tuple[str, dict[str, str] | None]
"""An element's name and its attributes; of those written twice the first counts. *text* is its text content. Most tags
are an <a> that has an href and nothing else that matters: of these there is the href, and None.
"""

PlacedTag = tuple[str, dict[str, str], int]
"""An element's name and its attributes, and how many plain links come before it."""

_ROOM = 3 * 1024  # for the attributes of most pages
_NO_ROOM = np.empty(0, np.int64)
_TEXT, _HREF = map(ATTRIBUTES.index, ("text", "href"))
_SMALL = 65_536  # bytes of a page that is read whatever is in it: at most 0.7 µs for each, as measured
_MANY = 2_500  # attributes and pieces of text, at most 8 µs for each
_LONG = 25_000  # characters that are looked at one by one, at most 0.7 µs for each
_READ_THROUGH = np.array(
    [name in ("text", "style", "content") or name.endswith("srcset") for name in [*ATTRIBUTES, "href"]]
)
_NUMERIC = "#(?:[xX]([0-9a-fA-F]+)|([0-9]+));?"
_REFERENCE = re.compile(f"&(?:{_NUMERIC}|([A-Za-z][A-Za-z0-9]*;?))")
# In attributes a name counts without its semicolon only where neither "=" nor an ASCII alphanumeric follows ("for
# historical reasons", 13.2.5.73): they are in many links.
_IN_ATTRIBUTE = re.compile(f"&(?:{_NUMERIC}|([A-Za-z][A-Za-z0-9]*+(?:;|(?!=))))")
_LONGEST_NAME = max(map(len, html5))
_WINDOWS_1252 = {code: bytes([code]).decode("cp1252", "ignore") or chr(code) for code in range(0x80, 0xA0)}


def read_tags(page: bytes, *, parts: bool = False, texts: bool = False, briefly: bool = False) -> list[Tag]:
    """The tags of a page that hold links to pages, or say how to read them; with `parts` also those that hold what a
    browser needs to show it, with `texts` also the text content of <a>. Where that is to be done `briefly`, a page that
    would take long raises `LargePage`.

    >>> read_tags(b'<p><A class=b HREF="/?a=1&amp;b=2"><a rel=next href=x>')
    [('/?a=1&b=2', None), ('a', {'rel': 'next', 'href': 'x'})]
    >>> read_tags(b"<a href=x>More  <b>of it</b> &amp; all</a>", texts=True)
    [('a', {'href': 'x', 'text': 'More of it & all'})]
    """
    rows, pieces = _scanned(page, np.frombuffer(page, np.uint8), parts=parts, texts=texts, briefly=briefly)
    plain = page.decode("latin-1")  # for values in ASCII; a copy of all costs less than of each
    tags: list[Tag] = []
    attributes: dict[str, str] = {}
    last = -1
    found = iter(rows.tolist())
    for what, begin, end in zip(found, found, found, strict=True):
        number = what & 255
        if end >= 0:
            value = plain[begin:end]
        else:
            value = resolved(page[begin:~end].decode("utf-8", "replace"), attribute=number != _TEXT)
        if number == LONE_HREF:
            if not texts:
                tags.append((value, None))
                continue
            number = _HREF
        name = ATTRIBUTES[number]
        if what >> 16 == last:
            attributes[name] = value
        else:
            last = what >> 16
            attributes = {name: value}
            tags.append((ELEMENTS[what >> 8 & 255], attributes))
    if texts:
        _add_texts(page, tags, rows, pieces)
    return tags


def read_links(
    page: bytes, data: NDArray[np.uint8], *, briefly: bool = False
) -> tuple[list[PlacedTag], NDArray[np.int64]]:
    """The same tags of a page, which is given as an array too; without parts and texts, and without most links. Of an
    <a> that has an href and nothing else that matters, written as it is meant, there is where that begins and ends on
    the page, and no more; with each other tag, how many of these come before it.

    >>> page = b'<a class=b href="/c"><a rel=next href=x><a href=d>'
    >>> tags, spans = read_links(page, np.frombuffer(page, np.uint8))
    >>> tags, spans.tolist()
    ([('a', {'rel': 'next', 'href': 'x'}, 1)], [17, 19, 48, 49])
    """
    rows, _ = _scanned(page, data, parts=False, texts=False, briefly=briefly)
    spans, others = np.empty(rows.size, np.int64), np.empty(2 * rows.size, np.int64)
    counts = part_spans(rows, spans, others)
    plain, rest = counts >> 32, counts & 0xFFFFFFFF
    tags: list[PlacedTag] = []
    attributes: dict[str, str] = {}
    last = -1
    found = iter(others[: 4 * rest].tolist())
    for what, begin, end, before in zip(found, found, found, found, strict=True):
        number = what & 255
        if end >= 0:
            value = page[begin:end].decode("latin-1")
        else:
            value = resolved(page[begin:~end].decode("utf-8", "replace"), attribute=number != _TEXT)
        name = "href" if number == LONE_HREF else ATTRIBUTES[number]
        if what >> 16 == last:
            attributes[name] = value
        else:
            last = what >> 16
            attributes = {name: value}
            tags.append((ELEMENTS[what >> 8 & 255], attributes, before))
    return tags, spans[: 2 * plain]


def _scanned(
    page: bytes, data: NDArray[np.uint8], *, parts: bool, texts: bool, briefly: bool
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """What `scan` finds on a page: attributes, and pieces of text."""
    rows = np.empty(_ROOM, np.int64)
    pieces = np.empty(_ROOM, np.int64) if texts else _NO_ROOM
    while (filled := scan(data, rows, pieces, parts)) < 0:
        rows = np.empty(4 * rows.size, np.int64)
        pieces = np.empty(4 * pieces.size, np.int64)
    rows, pieces = rows[:filled], pieces[1 : pieces[0]] if texts else _NO_ROOM
    if briefly and len(page) > _SMALL:
        _weigh(rows.reshape(-1, 3), pieces.reshape(-1, 3))
    return rows, pieces


def _weigh(rows: NDArray[np.int64], pieces: NDArray[np.int64]) -> None:
    """Raise `LargePage` where what was found takes long to be read."""
    if len(rows) + len(pieces) > _MANY:
        raise LargePage
    for found in (rows, pieces):
        ends = found[:, 2]
        slow = (ends < 0) | _READ_THROUGH[found[:, 0] & 255]
        if int((np.where(ends < 0, ~ends, ends) - found[:, 1])[slow].sum()) > _LONG:
            raise LargePage


def _add_texts(page: bytes, tags: list[Tag], rows: NDArray[np.int64], pieces: NDArray[np.int64]) -> None:
    """Give the tags of links their text content, with whitespace collapsed."""
    begins = rows[::3] >> 16  # of the tags of the attributes, each as often as it has any
    tag_at = dict(zip(dict.fromkeys(begins.tolist()), tags, strict=True))
    held: dict[int, list[str]] = {}
    found = iter(pieces.tolist())
    for what, begin, end in zip(found, found, found, strict=True):
        text = page[begin : end if end >= 0 else ~end].decode("utf-8", "replace")
        held.setdefault(what >> 16, []).append(text if end >= 0 else resolved(text, attribute=False))
    for begin, texts in held.items():
        tag_at[begin][1]["text"] = " ".join("".join(texts).split())


def resolved(text: str, *, attribute: bool = True) -> str:
    """A text with its newlines normalized and its character references replaced (13.2.3.5, 13.2.5.72), NULL too.

    >>> resolved("?a=1&copy=2&copy;&#65;&notit;"), resolved("&notit;", attribute=False)
    ('?a=1&copy=2©A&notit;', '¬it;')
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    if "&" not in text:
        return text
    return _IN_ATTRIBUTE.sub(_named_in_attribute, text) if attribute else _REFERENCE.sub(_named_in_text, text)


def _named_in_attribute(found: re.Match[str]) -> str:
    """Named character reference state (13.2.5.73) in an attribute: the name must be one as a whole."""
    return _numeric(found) if found[3] is None else html5.get(found[3], found[0])


def _named_in_text(found: re.Match[str]) -> str:
    """Named character reference state (13.2.5.73) in text: the longest name that is one; some need no semicolon."""
    name = found[3]
    if name is None:
        return _numeric(found)
    for length in range(min(len(name), _LONGEST_NAME), 1, -1):
        if (meant := html5.get(name[:length])) is not None:
            return meant + name[length:]
    return found[0]


def _numeric(found: re.Match[str]) -> str:
    """Numeric character reference end state (13.2.5.80)."""
    digits = (found[1] or found[2]).lstrip("0")
    code = int(digits, 10 if found[1] is None else 16) if 0 < len(digits) < 8 else 0
    if code in _WINDOWS_1252:  # the table of the state: control characters stand for those of windows-1252
        return _WINDOWS_1252[code]
    return chr(code) if 0 < code < 0xD800 or 0xDFFF < code < 0x110000 else "\ufffd"
