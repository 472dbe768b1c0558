"""Feeds of all forms. In: bytes, and where they came from. Out: a `Feed`.

XML is looked at as text with tags in it: an item is what stands between its tag and its end, or the next item, or the
end of what was sent. CDATA is escaped first and comments are taken out, so that no tag in them counts.

>>> feed = read_feed(b"<rss><channel><item><link>/a?b=1&c=2</link><title>A &amp; B</title>", "http://a.example/feed")
>>> feed.form, feed.entries
('rss', (Entry(url='http://a.example/a?b=1&c=2', published=None, title='A & B'),))
>>> read_feed(b"<!doctype html><title>Not found</title>", "http://a.example/feed").form
'none'
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from html import escape, unescape
from typing import Any, NamedTuple
from urllib.parse import urljoin

from weft.feeds.dates import told
from weft.feeds.entry import Entry, Feed, Form

MOST = 1_000  # entries
LONGEST = 5_000_000  # bytes; what is behind them is not looked at
_LONG_TITLE = 500

_DECLARED = re.compile(rb"""^\s*<\?xml[^>]{0,200}?encoding\s*=\s*["']([\w.:-]{1,40})["']""")
_HIDDEN = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)", re.DOTALL)
_ROOT = re.compile(r"<(?:[\w.-]+:)?(rss|rdf|feed|urlset|html)(?=[\s>/])", re.IGNORECASE)
_ITEM = re.compile(r"<(?:[\w.-]+:)?(item|entry|url)(?=[\s>/])[^<>]*>", re.IGNORECASE)
_TAG = re.compile(r"<([\w.:-]+)([^<>]*)>([^<]*)")
_ATTRIBUTE = re.compile(r"""(?<![\w:-])([\w:-]{1,30})\s{0,9}=\s{0,9}(?:"([^"]*)"|'([^']*)')""")
_BLANKS = re.compile(r"\s+")
_FORMS: dict[str, Form] = {"rss": "rss", "rdf": "rss", "feed": "atom", "urlset": "news"}
_DATES: dict[Form, tuple[str, ...]] = {
    "rss": ("pubdate", "dc:date", "published", "dcterms:created", "updated"),
    "atom": ("published", "issued", "created", "updated", "modified"),
    "news": ("news:publication_date", "publication_date"),
}
_TITLES: dict[Form, tuple[str, ...]] = {"news": ("news:title",)}


def read_feed(body: bytes, url: str, charset: str = "") -> Feed:
    """Read a feed that came from a URL; `charset` is what HTTP said, if anything."""
    body = body[:LONGEST]
    start = body.lstrip(b"\xef\xbb\xbf \t\r\n")
    if start.startswith(b"{"):
        return _json(start.decode("utf-8", "replace"), url)
    text = _HIDDEN.sub(lambda found: escape(found[1] or "", quote=False), _decoded(body, charset))
    root = _ROOT.search(text)
    form = _FORMS.get(root[1].lower(), "none") if root else "none"
    if form == "none":
        return Feed("none", (), "")
    items = list(_ITEM.finditer(text))
    head = text[: items[0].start()] if items else text
    entries = _unique(_entry(_Item.of(block), form, url) for block in _blocks(text, items))
    if form == "news" and not entries:
        return Feed("none", (), "")  # a sitemap of anything else
    return Feed(form, entries, _Item.of(head).linked("hub", url))


def _decoded(body: bytes, charset: str) -> str:
    """By the byte order mark, HTTP, or what the file itself declares; UTF-8 where none of them is known."""
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return body.decode("utf-16", "replace")
    declared = _DECLARED.match(body)
    for name in (charset, declared[1].decode() if declared else ""):
        try:
            if name and not body.startswith(codecs.BOM_UTF8):
                return body.decode(name, "replace")
        except (LookupError, UnicodeError, ValueError):
            continue
    return body.decode("utf-8-sig", "replace")


def _blocks(text: str, items: list[re.Match[str]]) -> Iterator[str]:
    """The inside of each item, up to its end or to the next one."""
    for at, item in enumerate(items[:MOST]):
        end = items[at + 1].start() if at + 1 < len(items) else len(text)
        close = text.find(f"</{item[0][1 : item.end(1) - item.start()]}", item.end(), end)
        yield text[item.end() : close if close >= 0 else end]


class _Item(NamedTuple):
    """The tags of an item."""

    texts: dict[str, str]  # by name in small letters: the first that is not empty
    links: list[tuple[str, dict[str, str]]]  # text and attributes

    @classmethod
    def of(cls, block: str) -> _Item:
        texts: dict[str, str] = {}
        links = []
        for name, attributes, text in _TAG.findall(block):
            key, clean = name.lower(), text.strip()
            if key in ("link", "atom:link", "guid"):
                said = {each.lower(): unescape(a or b) for each, a, b in _ATTRIBUTE.findall(attributes)}
                links.append((unescape(clean), {**said, "": key}))
            elif clean and key not in texts:
                texts[key] = clean
        return cls(texts, links)

    def first(self, *names: str) -> str:
        """The first of these that is there."""
        return unescape(next((self.texts[name] for name in names if name in self.texts), ""))

    def linked(self, rel: str, base: str) -> str:
        """The address of a link of a kind."""
        found = (said.get("href", "") for _, said in self.links if said.get("rel", "alternate") == rel)
        return _absolute(next((each for each in found if each), ""), base)

    def address(self, base: str) -> str:
        """Where the page is: a link's text or its target; else a guid that is an address, or a sitemap's loc."""
        for text, said in self.links:
            if said[""] == "link" and text:
                return _absolute(text, base)
        if target := self.linked("alternate", base):
            return target
        for text, said in self.links:
            if said[""] == "guid" and said.get("ispermalink", "true") != "false" and "://" in text:
                return _absolute(text, base)
        return _absolute(self.first("loc") or _address_only(self.first("id")), base)


def _entry(item: _Item, form: Form, base: str) -> Entry:
    published = told(item.first(*_DATES[form]))
    title = _title(item.first(*_TITLES.get(form, ()), "title", "dc:title", "media:title"))
    address = item.address(base)
    return Entry("" if form == "news" and published is None else address, published, title)


def _json(text: str, base: str) -> Feed:
    """A JSON Feed, or as much of it as came."""
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = {"version": "jsonfeed.org" if "jsonfeed.org" in text[:1000] else "", "items": list(_salvaged(text))}
    if not isinstance(whole, dict) or "jsonfeed.org" not in str(whole.get("version", "")):
        return Feed("none", (), "")
    hub = next((str(each.get("url", "")) for each in _some(whole.get("hubs"))), "")
    return Feed("json", _unique(_json_entry(item, base) for item in _some(whole.get("items"))), _absolute(hub, base))


def _json_entry(item: dict[str, Any], base: str) -> Entry:
    address = item.get("url") or item.get("external_url") or _address_only(str(item.get("id", "")))
    published = told(str(item.get("date_published") or item.get("date_modified") or ""))
    return Entry(_absolute(str(address), base), published, _title(str(item.get("title") or "")))


def _some(items: object) -> Iterator[dict[str, Any]]:
    yield from (item for item in (items[:MOST] if isinstance(items, list) else ()) if isinstance(item, dict))


def _salvaged(text: str) -> Iterator[Any]:
    """The items of a JSON feed that breaks off, one by one, as far as they are whole."""
    decoder = json.JSONDecoder()
    at = text.find("[", text.find('"items"')) + 1 if '"items"' in text else 0
    while 0 < at < len(text):
        while at < len(text) and text[at] in " \t\r\n,":
            at += 1
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        yield value


def _address_only(text: str) -> str:
    """An id that is an address."""
    return text if text.startswith(("http://", "https://")) else ""


def _absolute(text: str, base: str) -> str:
    """The whole address, or nothing where it is none of the web."""
    try:
        found = urljoin(base, _BLANKS.sub("", text)) if text else ""
    except ValueError:
        return ""
    return found if found.startswith(("http://", "https://")) else ""


def _title(text: str) -> str:
    return _BLANKS.sub(" ", unescape(text)).strip()[:_LONG_TITLE]


def _unique(entries: Iterator[Entry]) -> tuple[Entry, ...]:
    """Each page once, as it comes first; what has no address is no page."""
    found: dict[str, Entry] = {}
    for entry in entries:
        if entry.url:
            found.setdefault(entry.url, entry)
    return tuple(found.values())
