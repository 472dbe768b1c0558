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
from weft.parse.tokens import scan


class LargePage(Exception):  # noqa: N818  it is no error
    """A page has so much in it that reading it would hold up all others."""


Tag = tuple[str, dict[str, str] | None]
"""An element's name and its attributes; of those written twice the first counts. *text* is what it holds. Most tags are
an <a> that has an href and nothing else that matters: of these there is the href, and None.
"""

_ROOM = 3 * 1024  # for the attributes of most pages
_NO_ROOM = np.empty(0, np.int64)
_TEXT, _HREF = map(ATTRIBUTES.index, ("text", "href"))
_SMALL = 65_536  # bytes of a page that is read whatever is in it: at most 0.7 µs for each, as measured
_MANY = 2_500  # attributes and pieces of text, at most 8 µs for each
_LONG = 25_000  # signs that are looked at one by one, at most 0.7 µs for each
_READ_THROUGH = np.array(
    [name in ("text", "style", "content") or name.endswith("srcset") for name in [*ATTRIBUTES, "href"]]
)
_NUMBER = "#(?:[xX]([0-9a-fA-F]+)|([0-9]+));?"
_REFERENCE = re.compile(f"&(?:{_NUMBER}|([A-Za-z][A-Za-z0-9]*;?))")
# In attributes a name counts without its semicolon only where neither "=" nor a letter follows: they are in many links.
_IN_ATTRIBUTE = re.compile(f"&(?:{_NUMBER}|([A-Za-z][A-Za-z0-9]*+(?:;|(?!=))))")
_LONGEST = max(map(len, html5))
_MEANT = {code: bytes([code]).decode("cp1252", "ignore") or chr(code) for code in range(0x80, 0xA0)}


def read_tags(page: bytes, *, parts: bool = False, texts: bool = False, briefly: bool = False) -> list[Tag]:
    """The tags of a page that hold links to pages, or say how to read them; with `parts` also those that hold what a
    browser needs to show it, with `texts` also what <a> holds. Where that is to be done `briefly`, a page that would
    take long raises `LargePage`.

    >>> read_tags(b'<p><A class=b HREF="/?a=1&amp;b=2"><a rel=next href=x>')
    [('/?a=1&b=2', None), ('a', {'rel': 'next', 'href': 'x'})]
    >>> read_tags(b"<a href=x>More  <b>of it</b> &amp; all</a>", texts=True)
    [('a', {'href': 'x', 'text': 'More of it & all'})]
    """
    signs = np.frombuffer(page, np.uint8)
    rows = np.empty(_ROOM, np.int64)
    pieces = np.empty(_ROOM, np.int64) if texts else _NO_ROOM
    while (filled := scan(signs, rows, pieces, parts)) < 0:
        rows = np.empty(4 * rows.size, np.int64)
        pieces = np.empty(4 * pieces.size, np.int64)
    if briefly and len(page) > _SMALL:
        _weigh(rows[:filled].reshape(-1, 3), pieces[1 : pieces[0]].reshape(-1, 3) if texts else _NO_ROOM.reshape(-1, 3))
    plain = page.decode("latin-1")  # for values in ASCII; a copy of all costs less than of each
    tags: list[Tag] = []
    attributes: dict[str, str] = {}
    last = -1
    found = iter(rows[:filled].tolist())
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
        _add_texts(page, tags, rows[:filled], pieces[1 : pieces[0]])
    return tags


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
    """Give the tags of links what they hold, blanks between words made one."""
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
    """A text with its line breaks made one kind and its references replaced, as the HTML standard says.

    >>> resolved("?a=1&copy=2&copy;&#65;&notit;"), resolved("&notit;", attribute=False)
    ('?a=1&copy=2©A&notit;', '¬it;')
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    if "&" not in text:
        return text
    return _IN_ATTRIBUTE.sub(_whole, text) if attribute else _REFERENCE.sub(_longest, text)


def _whole(found: re.Match[str]) -> str:
    """What a reference stands for whose name must be one as a whole."""
    return _number(found) if found[3] is None else html5.get(found[3], found[0])


def _longest(found: re.Match[str]) -> str:
    """What a reference stands for whose name may go on as text: some need no semicolon."""
    name = found[3]
    if name is None:
        return _number(found)
    for length in range(min(len(name), _LONGEST), 1, -1):
        if (meant := html5.get(name[:length])) is not None:
            return meant + name[length:]
    return found[0]


def _number(found: re.Match[str]) -> str:
    digits = (found[1] or found[2]).lstrip("0")
    code = int(digits, 10 if found[1] is None else 16) if 0 < len(digits) < 8 else 0
    if code in _MEANT:  # whoever writes these means Windows' characters
        return _MEANT[code]
    return chr(code) if 0 < code < 0xD800 or 0xDFFF < code < 0x110000 else "\ufffd"
