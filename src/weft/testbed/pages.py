"""Page bodies. In: a page. Out: its HTML, the same bytes whenever and wherever it is asked for.

A page is its site's frame, a row of ready pieces of text and its links in order between them: first a few
in a menu, the others spread over the page. Addresses are written as authors write them: mostly from the
root, some relative to the directory, some absolute; links to other sites are absolute.

Invariant: two pages have different bytes unless one is meant to be a duplicate; with `PLAIN` the addresses
on a page are the graph's links in order, and nothing else on it can be fetched.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from weft.testbed.compose import compose, room
from weft.testbed.links import Scene, most_codes
from weft.testbed.text import PIECES, Pool, make_pool
from weft.testbed.topics import TopicWords
from weft.testbed.traits import CHARSET, DUPLICATE, META_ROBOTS, X_ROBOTS, Traits

IN_MENU = 5
"""Links in the menu at the top."""

CHARSETS = (
    *(("iso-8859-1", "header"), ("windows-1252", "meta"), ("windows-1251", "meta"), ("shift_jis", "header")),
    *(("iso-8859-1", "nowhere"), ("windows-1251", "header"), ("shift_jis", "meta"), ("utf-8", "nowhere")),
)
"""Charsets of unusual pages, and where they say so."""

DIRECTIVES = ("noindex", "nofollow", "noindex, nofollow", "none", "noarchive")
"""What robots meta tags and X-Robots-Tag say."""

_FRAME = b"""<!DOCTYPE html>
<html lang="%b">
<head>
%b<title>%b %d</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="%b">
%b<style>body{margin:0;font:16px/1.5 sans-serif}.row{display:flex}.card{padding:8px;border:1px solid}</style>
<script>var page=%d;document.documentElement.className="js";</script>
</head>
<body class="t%d">
<header class="top"><div class="logo"><b>%b</b></div><div class="search"><span>%b</span></div></header>
<nav class="menu">
"""
_MAIN = b"""</nav>
<main class="content"><h1>%b %d</h1>
%b"""
_FOOT = b"""</main>
<footer class="foot"><div class="col"><p>%b</p></div><div class="col"><small>%08x-%d</small></div></footer>
</body>
</html>
"""
_UTF_8 = b'<meta charset="utf-8">\n'
_USUAL_BYTES, _USUAL_LINKS = 1 << 18, 100  # pages within these always fit into the buffers
_FRAME_BYTES = 1_000
"""About what the frame takes."""

Requisites = Callable[[int, int], tuple[bytes, bytes]]
"""Site and page → what goes into its head, and what before its text."""


class Pages:
    """Renders the pages of a web."""

    def __init__(
        self,
        scene: Scene,
        traits: Traits,
        requisites: Requisites | None,
        seed: int,
        topics: TopicWords | None = None,
    ) -> None:
        self._scene = scene
        self._requisites = requisites
        self._seed = seed
        self._topics = topics
        self._first = scene.first_page.data
        self._site = scene.site.data
        self._special = traits.special.data
        self._start = traits.start.data
        self._size = traits.size.data
        self._offsets = scene.offsets.data
        self._pool = make_pool(seed)
        self._pools = {"utf-8": self._pool}
        longest_path = int(np.diff(scene.path_offsets).max(initial=0))
        # An ampersand becomes five bytes; "/old" stands before a path, "gone-123.html" after a directory.
        self._longest_address = 5 * longest_path + int(np.diff(scene.base_offsets).max(initial=0)) + 32
        self._get_buffers(int(_USUAL_LINKS / (1 - scene.failing)) + 3, _USUAL_BYTES, self._pool)

    @property
    def titles(self) -> list[bytes]:
        """Short texts in UTF-8, for whoever writes pages beside these."""
        return self._pool.titles

    def piece(self, page: int, draw: int) -> bytes:
        """A piece of text in a page's charset, for whoever adds to it."""
        charset, _ = self.charset(page)
        pool = self._pools.get(charset) or self._add_pool(charset)
        number = draw % PIECES
        return pool.text[pool.offsets[number] : pool.offsets[number + 1]].tobytes()

    def original(self, page: int) -> int:
        """The page whose bytes are served for this one: itself, unless it is a duplicate."""
        return page - 1 if self._special[page] & DUPLICATE else page

    def charset(self, page: int) -> tuple[str, str]:
        """The charset of a page's bytes and where it is declared: in the header, in meta, or nowhere."""
        page = self.original(page)
        if self._special[page] & CHARSET:
            return CHARSETS[(self._start[page] >> 12) % len(CHARSETS)]
        return "utf-8", "header"

    def meta_robots(self, page: int) -> str:
        """What the page's robots meta tag says; empty if it has none."""
        page = self.original(page)
        draw = self._start[page] >> 16
        return DIRECTIVES[draw % len(DIRECTIVES)] if self._special[page] & META_ROBOTS else ""

    def x_robots(self, page: int) -> str:
        """What the page's X-Robots-Tag says; empty if it has none."""
        draw = self._start[page] >> 20
        return DIRECTIVES[draw % len(DIRECTIVES)] if self._special[page] & X_ROBOTS else ""

    def body(self, page: int) -> bytes:
        """The HTML of a page."""
        special = self._special[page]
        if special & DUPLICATE:
            page -= 1
            special = self._special[page]
        site = self._site[page]
        start = self._start[page]
        pool, declaration = self._pool, _UTF_8
        if special & CHARSET:
            charset, declared = self.charset(page)
            pool, declaration = self._pools.get(charset) or self._add_pool(charset), _declaration(charset, declared)
        head, inner = self._requisites(site, page) if self._requisites else (b"", b"")
        if special & META_ROBOTS:
            head += b'<meta name="robots" content="%b">\n' % self.meta_robots(page).encode()
        size = self._size[page] - _FRAME_BYTES
        links = self._offsets[page + 1] - self._offsets[page]
        if size > _USUAL_BYTES or links > _USUAL_LINKS or pool is not self._pool:
            self._make_room(page, size, pool)
        menu_end, end = compose(self._scene, page, size, IN_MENU, pool.text, pool.offsets, self._buffer, self._hrefs)
        number = page - self._first[site]
        titles = pool.titles
        title = titles[start & 255]
        frame = _FRAME % (
            pool.language,
            declaration,
            title,
            number,
            titles[start >> 8 & 255],
            head,
            page,
            site & 15,
            titles[site & 255],
            titles[site >> 8 & 255],
        )
        foot = _FOOT % (titles[start >> 16 & 255], start, page)
        main = _MAIN % (title, number, inner)
        body = b"".join((frame, self._view[:menu_end], main, self._view[menu_end:end], foot))
        return body if self._topics is None else self._topics.dressed(self._scene, page, body)

    def _make_room(self, page: int, size: int, pool: Pool) -> None:
        """Get larger buffers if an unusual page might not fit. Compiled code does not look where it writes."""
        links = most_codes(self._scene, page)
        addresses, everything = room(links, size, self._longest_address, pool)
        if addresses > len(self._hrefs) or everything > len(self._buffer):
            self._get_buffers(max(2 * links, _USUAL_LINKS), max(2 * size, _USUAL_BYTES), pool)

    def _get_buffers(self, links: int, size: int, pool: Pool) -> None:
        addresses, everything = room(links, size, self._longest_address, pool)
        self._hrefs = np.empty(addresses, dtype=np.uint8)
        self._buffer = np.empty(everything, dtype=np.uint8)
        self._view = self._buffer.data

    def _add_pool(self, charset: str) -> Pool:
        pool = self._pools[charset] = make_pool(self._seed, charset)
        return pool


def _declaration(charset: str, declared: str) -> bytes:
    if declared == "nowhere":
        return b""
    if charset == "utf-8":
        return _UTF_8
    if declared == "header":
        return b""
    return b'<meta http-equiv="Content-Type" content="text/html; charset=%b">\n' % charset.encode()
