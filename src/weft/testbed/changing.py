"""A web that changes, as its servers show it. In: a world, a page or a site, the web's time. Out: what is there then.

A page that is not born yet, or dead, is missing, gone, or redirected to the front that listed it. A real edit adds text
to a page, in place of the text of the third edit before it; a cosmetic one moves a clock, a counter or an ad. Fronts
list the newest pages and name the site's feed. Most sites answer conditional requests (RFC 9110, 13) by what is true;
others have no validators, have new ones at every request, or keep the old ones when a page is edited.

Invariant: what is on a page follows from the page and its version alone: the same version has the same bytes.
"""

from __future__ import annotations

from email.utils import formatdate, parsedate_to_datetime
from typing import NamedTuple

import numpy as np

from weft.graph.changing.world import AWAY, DAY, GONE, NONE, RESTLESS, STALE, World
from weft.testbed.answers import Answer, Asked, plain_answer
from weft.testbed.dice import Dice
from weft.testbed.feeds import NEWS, Feeds, Item
from weft.testbed.pages import Pages
from weft.testbed.paths import Paths

UPDATES = 3
"""Edits whose text is on a page: the latest ones."""

_PIECES = (1, 2, 4)
"""Pieces of text that an edit adds, by chance."""
_NEWS_S, _MOST_NEWS = 2 * DAY, 1_000
"""A sitemap of news has the last two days, and at most so many pages (as its schema asks for)."""
_FEED = b'<link rel="alternate" type="%b" title="News" href="%b">\n</head>'


class Validators(NamedTuple):
    """What a site says of a page's version."""

    etag: bytes
    modified: float
    """In the world's time, on a whole second."""

    def weak(self) -> Validators:
        """The same for a page that is sent in more than one encoding."""
        return self._replace(etag=b"W/" + self.etag)

    def headers(self, epoch: float) -> bytes:
        """As header lines."""
        date = formatdate(epoch + self.modified, usegmt=True).encode()
        return b"ETag: %b\r\nLast-Modified: %b\r\n" % (self.etag, date)


class Changing:
    """What servers of a changing web need beside the web."""

    def __init__(self, world: World, pages: Pages, paths: Paths, bases: list[bytes], seed: int) -> None:
        self.world = world
        self._pages = pages
        self._paths = paths
        self._dice = Dice(seed, "edits")
        sites = np.arange(world.graph.sites, dtype=np.int32)
        self._site = np.repeat(sites, np.diff(world.graph.first_page)).data
        self._feeds = Feeds(world, bases, seed)

    # Pages

    def refusal(self, page: int, at: float) -> Answer | None:
        """What is answered for a page that is not there; None if it is."""
        world = self.world
        if world.birth[page] > at:
            return plain_answer(404, "unborn")
        if world.death[page] > at:
            return None
        ending = world.ending[page]
        if ending == AWAY:
            front = self._paths.path(int(world.front[page]))
            return plain_answer(301, "moved-away", b"Location: %b\r\n" % front)
        return plain_answer(410 if ending == GONE else 404, "dead")

    def dressed(self, page: int, body: bytes, at: float) -> bytes:
        """A page's bytes at a time. In: those that it was born with."""
        world, site = self.world, self._site[page]
        edits = int(world.own_edits(np.array([page]), np.array([at]))[0])
        news = b"".join(self._update(page, edit) for edit in range(edits, max(edits - UPDATES, 0), -1))
        if world.front[page] == page:
            news = self._listing(page, at) + news
            feed = self._feeds.path(site)
            if feed:
                body = body.replace(b"</head>", _FEED % (self._feeds.media_type(site), feed), 1)
        if news:
            body = body.replace(b"</h1>\n", b"</h1>\n" + news, 1)
        cosmetic = self._cosmetic(page, at)
        if cosmetic:
            before, end, after = body.rpartition(b"</main>")
            body = before + cosmetic + end + after
        return body

    def _update(self, page: int, edit: int) -> bytes:
        """The text of one edit."""
        draw = self._dice.one((page << 20) + edit)
        count = _PIECES[draw % len(_PIECES)]
        pieces = b"".join(self._pages.piece(page, (draw >> 8 * (place + 1)) & 0xFFFF) for place in range(count))
        return b'<section class="update"><h2>Update %d</h2>\n%b</section>\n' % (edit, pieces)

    def _listing(self, hub: int, at: float) -> bytes:
        paths = (self._paths.path(int(page)) for page in self.world.newest(hub, at))
        rows = b"".join(b'<li><a href="%b">%b</a></li>\n' % (_escaped(path), _name(path)) for path in paths)
        return b'<ul class="newest">\n%b</ul>\n' % rows

    def _cosmetic(self, page: int, at: float) -> bytes:
        """A clock, a counter or an ad, as it is at a time; empty where a page has none."""
        world = self.world
        every = float(world.cosmetic_s[page])
        if every == np.inf:
            return b""
        count = self._count(page, at)
        sort = self._site[page] % 3
        if sort == 0:
            second = int(world.birth[page] + count * every) % 86_400
            return b'<p class="clock">%02d:%02d:%02d</p>\n' % (second // 3600, second // 60 % 60, second % 60)
        if sort == 1:
            return b'<p class="counter">%d visitors</p>\n' % (10_000 + page % 997 + count)
        return b'<div class="ad" data-campaign="c%d-%d"></div>\n' % (page, count)

    def _count(self, page: int, at: float) -> int:
        """Cosmetic edits of a page so far, in its life."""
        world = self.world
        return int(max(min(at, world.death[page]) - world.birth[page], 0.0) // world.cosmetic_s[page])

    # Conditional requests

    def validators(self, page: int, at: float) -> Validators | None:
        """What a page's site says of its version; None: nothing."""
        world = self.world
        worth = world.publishing.validators[self._site[page]]
        birth = float(world.birth[page])
        if worth == NONE:
            return None
        if worth == RESTLESS:
            return Validators(b'"%x-%x"' % (page, int(at * 1000)), np.floor(at))
        if worth == STALE:
            return Validators(b'"%x"' % page, birth)
        real = int(world.version_of(page, at).real)
        count = self._count(page, at)
        changed = birth + count * float(world.cosmetic_s[page]) if count else birth
        return Validators(b'"%x-%x-%x"' % (page, real, count), max(float(world.modified(page, at)), changed))

    def unchanged(self, found: Validators, asked: Asked) -> Answer | None:
        """What is answered if the client has this version already; None if it has not, or did not say."""
        if not _matches(found, asked, self.world.epoch):
            return None
        return Answer(304, "not-modified", found.headers(self.world.epoch), b"")

    # What sites announce

    def news_sitemap(self, site: int) -> str:
        """Where a site's sitemap of its latest news is, which is as late as its feed; empty if it has none."""
        return NEWS.decode() if self._feeds.path(site) and self.world.publishing.news[site] else ""

    def announcement(self, site: int, path: bytes, asked: Asked) -> Answer | None:
        """A site's feed, or its sitemap of news; None if the path is neither."""
        feed = path == self._feeds.path(site) != b""
        if not feed and path != self.news_sitemap(site).encode():
            return None
        world, at = self.world, asked.at
        written = at - float(world.publishing.feed_lag_s[site])
        home = int(world.graph.first_page[site])
        listed = world.listed_by(home, written)
        last = float(world.birth[listed[-1]]) if len(listed) else float(world.birth[home])
        found = Validators(b'"feed-%x-%x"' % (site, len(listed)), last)
        known = self.unchanged(found, asked) if feed else None
        if known is not None:
            return known
        lie = float(world.publishing.feed_lie_s[site])
        items = [
            Item(self._paths.path(int(page)), min(float(world.birth[page]) + lie, at))
            for page in world.newest(home, written, world.changes.fed if feed else _MOST_NEWS)
            if feed or world.birth[page] > written - _NEWS_S
        ]
        return self._feeds.answer(site, items, found.headers(world.epoch)) if feed else self._feeds.news(site, items)

    def in_sitemap(self, site: int, at: float) -> list[tuple[int, str]]:
        """The pages that a site's sitemap lists at a time, each with what it says of its last change."""
        world = self.world
        publishing = world.publishing
        written = at - float(publishing.sitemap_lag_s[site])
        pages = np.arange(*world.graph.first_page[site : site + 2])
        pages = pages[world.alive(pages, written)]
        said = np.minimum(world.modified(pages, written) + publishing.sitemap_lie_s[site], at) + world.epoch
        days = np.datetime_as_string(said.astype("datetime64[s]"), unit="s")
        return list(zip(pages.tolist(), (f"{day}Z" for day in days.tolist()), strict=True))


def _matches(found: Validators, asked: Asked, epoch: float) -> bool:
    """Whether a request is about this very version (RFC 9110, 13.1.2 and 13.1.3)."""
    if asked.if_none_match:
        tags = {tag.strip().removeprefix(b"W/") for tag in asked.if_none_match.split(b",")}
        return b"*" in tags or found.etag.removeprefix(b"W/") in tags
    if not asked.if_modified_since:
        return False
    try:
        since = parsedate_to_datetime(asked.if_modified_since.decode("latin-1")).timestamp()
    except ValueError:
        return False
    return epoch + found.modified <= since


def _escaped(path: bytes) -> bytes:
    return path.replace(b"&", b"&amp;")


def _name(path: bytes) -> bytes:
    """What a page is called in a list: the last part of its path."""
    return _escaped(path.rstrip(b"/").rpartition(b"/")[2].removesuffix(b".html"))
