"""Feeds: RSS, Atom and JSON Feed, and sitemaps of news. In: a site and the pages it announces. Out: the file.

Which form a site uses follows from the seed. Dates are those of the world, wrong ones included.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from email.utils import formatdate
from typing import NamedTuple
from xml.sax.saxutils import escape

import numpy as np

from weft.graph.changing.world import World
from weft.testbed.answers import Answer
from weft.testbed.dice import Dice

NEWS = b"/sitemap-news.xml"

_FORMS = (
    (b"/feed.xml", b"application/rss+xml"),
    (b"/atom.xml", b"application/atom+xml"),
    (b"/feed.json", b"application/feed+json"),
)


class Item(NamedTuple):
    """A page in a feed."""

    path: bytes
    published: float
    """In the world's time, as the feed says."""


class Feeds:
    """The feeds of a web's sites."""

    def __init__(self, world: World, bases: list[bytes], seed: int) -> None:
        self._epoch = world.epoch
        self._has = ~np.isnan(world.publishing.feed_lag_s)
        self._form = Dice(seed, "feed-form")
        self._bases = bases

    def path(self, site: int) -> bytes:
        """Where a site's feed is; empty if it has none."""
        return _FORMS[self._form.one(site) % len(_FORMS)][0] if self._has[site] else b""

    def media_type(self, site: int) -> bytes:
        """Which form it has."""
        return _FORMS[self._form.one(site) % len(_FORMS)][1]

    def news(self, site: int, items: list[Item]) -> Answer:
        """A site's sitemap of news, with these pages."""
        text = _news(*self._entries(site, items))
        return Answer(200, "sitemap", b"Content-Type: application/xml\r\n", text.encode())

    def _entries(self, site: int, items: list[Item]) -> tuple[str, list[tuple[str, float]]]:
        base = self._bases[site].decode()
        return base, [(base + item.path.decode(), self._epoch + item.published) for item in items]

    def answer(self, site: int, items: list[Item], headers: bytes) -> Answer:
        """A site's feed with these pages, the newest first."""
        base, entries = self._entries(site, items)
        write = (_rss, _atom, _json)[self._form.one(site) % len(_FORMS)]
        kind = b"Content-Type: %b; charset=utf-8\r\n" % self.media_type(site)
        return Answer(200, "feed", kind + headers, write(base, entries).encode())


def _rss(base: str, entries: list[tuple[str, float]]) -> str:
    items = "".join(
        f"<item><title>{_title(url)}</title><link>{escape(url)}</link><guid>{escape(url)}</guid>"
        f"<pubDate>{formatdate(at, usegmt=True)}</pubDate></item>\n"
        for url, at in entries
    )
    head = f"<title>{base}</title><link>{base}/</link><description>News</description>"
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0"><channel>{head}\n{items}</channel></rss>\n'


def _atom(base: str, entries: list[tuple[str, float]]) -> str:
    items = "".join(
        f'<entry><title>{_title(url)}</title><id>{escape(url)}</id><link href="{escape(url)}"/>'
        f"<published>{_stamp(at)}</published><updated>{_stamp(at)}</updated></entry>\n"
        for url, at in entries
    )
    updated = _stamp(max((at for _, at in entries), default=0.0))
    head = f"<title>{base}</title><id>{base}/</id><updated>{updated}</updated>"
    name = 'xmlns="http://www.w3.org/2005/Atom"'
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<feed {name}>{head}\n{items}</feed>\n'


def _json(base: str, entries: list[tuple[str, float]]) -> str:
    items = [{"id": url, "url": url, "title": _title(url), "date_published": _stamp(at)} for url, at in entries]
    told = {"version": "https://jsonfeed.org/version/1.1", "title": base, "home_page_url": f"{base}/", "items": items}
    return json.dumps(told, indent=1) + "\n"


def _news(base: str, entries: list[tuple[str, float]]) -> str:
    paper = f"<news:publication><news:name>{base}</news:name><news:language>es</news:language></news:publication>"
    rows = "".join(
        f"<url><loc>{escape(url)}</loc><news:news>{paper}<news:publication_date>{_stamp(at)}</news:publication_date>"
        f"<news:title>{_title(url)}</news:title></news:news></url>\n"
        for url, at in entries
    )
    names = (
        'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
        'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9"'
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {names}>\n{rows}</urlset>\n'


def _title(url: str) -> str:
    return escape(url.rpartition("/")[2] or url)


def _stamp(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
