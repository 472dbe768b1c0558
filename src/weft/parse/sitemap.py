"""Sitemaps and feeds. In: bytes of XML, JSON or text. Out: the URLs in them, and the further sitemaps of an index.

Read as a stream and forgivingly: wrong or missing namespaces, a BOM, XML that breaks off (what came before counts),
ampersands that nobody escaped, plain text with one URL a line, RSS, Atom and JSON feeds. A URL is given as it was
written, or resolved where an xml:base says against what. expat refuses entity bombs by itself; what is nested without
end, or has elements without end, is read until that is seen. Memory is bounded by the limits below.
"""

from __future__ import annotations

import re
import xml.parsers.expat
from itertools import islice
from typing import NamedTuple

import msgspec

from weft.parse.decode import charset_of
from weft.urls import Unusable, normal_form

MOST_URLS = 50_000  # the protocol's own limit for one file
_MOST_ELEMENTS = 2_000_000  # forty for each of them; so many take 3 s
_DEEPEST = 256  # elements inside each other
_MOST_BLANKS = 64  # before an address on its line
_LONGEST = 65_536  # characters of an address, with the whitespace around it

_BLANK = b"\xef\xbb\xbf \t\r\n"
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_ALTERNATE = frozenset(("alternate", "http://www.iana.org/assignments/relation/alternate"))  # RFC 4287, 4.2.7.2
_OURS = frozenset(("loc", "link", "url", "sitemap", "guid", "item"))  # the elements that are looked at
_NO_PAGES = frozenset(("image", "video", "textinput"))  # what is in them belongs to a page, and is none itself
_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"  # where a line of text ends
_ADDRESS = re.compile(f"https?://[^{_BREAKS}]*+")
_STRAY_AMPERSAND = re.compile("&(?!(?:amp|lt|gt|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});)")


class Sitemap(NamedTuple):
    """What a sitemap or feed lists."""

    pages: list[str]
    maps: list[str]
    left_out: int = 0  # URLs beyond the limit
    whole: bool = True  # it was read to its end, as far as it is well-formed


def parse_sitemap(body: bytes, charset: str = "utf-8", *, most: int = MOST_URLS) -> Sitemap:
    r"""Read a sitemap, a sitemap index, a feed or a text file of URLs; no more than `most` of each kind are kept.

    >>> parse_sitemap(b"http://a/1\nhttp://a/2 \n").pages
    ['http://a/1', 'http://a/2']
    """
    start = body[:256].lstrip(_BLANK)
    if start.startswith(b"<") or b"\x00<" in start or b"<\x00" in start:
        return _read_xml(body.lstrip(_BLANK), most)
    if start.startswith(b"{"):
        return _first(_read_json(body), most)
    text = body.decode(charset, "replace")
    found = (line for line in _ADDRESS.finditer(text) if _begins_line(text, line.start()))
    kept = [line[0].rstrip() for line in islice(found, most)]
    return Sitemap(kept, [], sum(1 for _ in islice(found, _MOST_ELEMENTS)))


def _begins_line(text: str, at: int) -> bool:
    """Does a line begin here, but for blanks?"""
    before = text[max(0, at - _MOST_BLANKS) : at].rstrip(" \t\ufeff")
    return before == "" or before[-1] in _BREAKS


def _first(pages: list[str], most: int) -> Sitemap:
    return Sitemap(pages[:most], [], max(0, len(pages) - most))


def _read_xml(body: bytes, most: int) -> Sitemap:
    """Read XML as it is; where that breaks off, once more with what is commonly wrong with it mended."""
    strict = _Reader(most)
    if strict.read(body) or not strict.whole:
        return strict.result()
    text = _NOT_XML.sub("", body.decode(charset_of(body, ""), "replace"))
    mended = _Reader(most, "utf-8")
    mended.read(_STRAY_AMPERSAND.sub("&amp;", text).encode("utf-8", "replace"))
    return max(strict.result(), mended.result(), key=lambda listed: len(listed.pages) + len(listed.maps))


class _Enough(Exception):  # noqa: N818  it is no error
    """No more is to be read."""


class _Reader:
    """An expat handler that keeps the text of <loc> and <link>, wherever they stand, and of <url> and <sitemap> where
    the <loc> was forgotten. An item of a feed that has no link may have its address in its <guid>, or be about it.
    """

    def __init__(self, most: int, charset: str | None = None) -> None:
        self._pages: list[str] = []
        self._maps: list[str] = []
        self._most = most
        self._left_out = 0
        self._elements = 0
        self.whole = True  # no limit ended it
        self._charset = charset  # None: as the document declares it
        self._path: list[str] = []
        self._bases: list[tuple[int, str]] = []  # against what URLs are resolved, from this depth of the path on
        self._text: list[str] | None = None
        self._length = 0  # of the text
        self._listed = 0  # pages before this item
        self._instead = ""  # the item's address, should it have no link

    def result(self) -> Sitemap:
        """What was found."""
        return Sitemap(self._pages, self._maps, self._left_out, self.whole)

    def read(self, body: bytes) -> bool:
        """Read a document as far as it can be read; was that to its end?"""
        parser = xml.parsers.expat.ParserCreate(self._charset)
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        try:
            parser.Parse(body, True)
        except _Enough:
            self.whole = False
            self._end_item()
            return False
        except (xml.parsers.expat.ExpatError, ValueError, LookupError):  # the last two: a charset that expat lacks
            self._end_item()
            return False
        return True

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        local = name.rpartition(":")[2].lower()
        self._path.append(local)
        self._text = None
        self._elements += 1
        if self._elements > _MOST_ELEMENTS or len(self._path) > _DEEPEST:
            raise _Enough
        if attributes and "xml:base" in attributes:
            base = normal_form(attributes["xml:base"], self._bases[-1][1] if self._bases else None)
            if not isinstance(base, Unusable):
                self._bases.append((len(self._path), base))
        if local not in _OURS:
            return
        if local in ("loc", "link"):
            written = attributes.get("href", "").strip()
            if not written:
                self._text, self._length = [], 0
            elif attributes.get("rel", "alternate").strip().lower() in _ALTERNATE:
                self._keep(written)
        elif local == "item":
            self._listed = len(self._pages) + self._left_out
            self._instead = attributes.get("rdf:about", "").strip()
        elif local != "guid" or _permanent(attributes):
            self._text, self._length = [], 0

    def _characters(self, text: str) -> None:
        if self._text is not None and self._length < _LONGEST:
            self._length += len(text)
            self._text.append(text)

    def _end(self, _name: str) -> None:
        local = self._path[-1]
        if self._text is not None:
            written = "".join(self._text).strip()
            self._text = None
            if local == "guid":
                self._instead = written
            else:
                self._keep(written)
        elif local == "item":
            self._end_item()
        if self._bases and self._bases[-1][0] == len(self._path):
            self._bases.pop()
        self._path.pop()

    def _end_item(self) -> None:
        instead, self._instead = self._instead, ""
        if len(self._pages) + self._left_out == self._listed and instead.lower().startswith(("http://", "https://")):
            self._keep(instead)

    def _keep(self, written: str) -> None:
        around = self._path[-2:]  # the element itself, and the one above; none where XML breaks off behind its root
        kept = self._maps if "sitemap" in around else self._pages
        # A picture or film that belongs to a page is listed with a <loc> of its own.
        if not written or (len(around) > 1 and around[0] in _NO_PAGES):
            return
        if len(kept) >= self._most:
            self._left_out += 1
            return
        if self._bases and not isinstance(url := normal_form(written, self._bases[-1][1]), Unusable):
            written = url
        kept.append(written)


def _permanent(attributes: dict[str, str]) -> bool:
    """Is a <guid> with these attributes the address of its item? It is, unless it says that it is not (RSS 2.0)."""
    said = (value for name, value in attributes.items() if name.lower() == "ispermalink")
    return next(said, "true").strip().lower() != "false"


class _Item(msgspec.Struct, gc=False):
    url: str = ""


class _Feed(msgspec.Struct):
    items: list[_Item] = []


def _read_json(body: bytes) -> list[str]:
    """The pages of a JSON feed; of anything else none."""
    try:
        feed = msgspec.json.decode(body.lstrip(_BLANK), type=_Feed)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return []
    return [item.url for item in feed.items if item.url]
