"""robots.txt and sitemaps. In: a site. Out: the files it offers to crawlers.

A site's sitemap is a file, a compressed file, or an index of several; it lists all pages of the site, and
some that no page links to (`/orphan-3.html`). Where a web changes, it lists what was there when it was last written,
and says when that was changed.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable
from xml.sax.saxutils import escape

from weft.graph import Graph
from weft.testbed.answers import TEXT, Answer, plain_answer
from weft.testbed.dice import Dice
from weft.testbed.options import Options
from weft.testbed.traits import ROBOTS_ERROR, ROBOTS_MISSING, ROBOTS_RULES, Traits

PER_PART = 1_000
"""Pages listed in each part of a sitemap index."""

PRIVATE = b"/private/"
"""What sites with rules forbid."""

_NAMES = ("/sitemap.xml", "/sitemap.xml.gz", "/sitemap_index.xml")
_PART = re.compile(rb"/sitemap-([0-9]{1,5})\.xml\Z")
_XML = b"Content-Type: application/xml\r\n"
_GZIP = b"Content-Type: application/gzip\r\n"
_NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'

PageUrl = Callable[[int], str]
"""Page → its absolute URL."""

Listed = Callable[[int, float], list[tuple[int, str]]]
"""Site and the web's time → the pages in its sitemap, each with the date of its last change; empty: it says none."""


class Crawling:
    """What sites tell crawlers."""

    def __init__(
        self,
        graph: Graph,
        traits: Traits,
        options: Options,
        seed: int,
        bases: list[bytes],
        url: PageUrl,
        listed: Listed | None = None,
        news: Callable[[int], str] | None = None,
    ) -> None:
        self._graph = graph
        self._traits = traits
        self._delay = options.crawl_delay_s
        self._form = Dice(seed, "sitemap-form")
        self._bases = bases
        self._url = url
        self._news = news
        self._listed = listed or (lambda site, _: [(page, "") for page in graph.pages_of(site)])

    def orphans(self, site: int) -> int:
        """How many pages of a site only its sitemap knows."""
        return 1 + len(self._graph.pages_of(site)) // 40 if self._traits.sitemap[site] else 0

    def orphan_url(self, site: int, number: int) -> str:
        """The address of a page that only the sitemap knows."""
        return f"{self._bases[site].decode()}/orphan-{number}.html"

    def sitemap(self, site: int) -> str:
        """The path of a site's sitemap; empty if it has none."""
        return _NAMES[self._form.one(site) % len(_NAMES)] if self._traits.sitemap[site] else ""

    def answer(self, site: int, path: bytes, at: float = 0.0) -> Answer | None:
        """robots.txt or a sitemap; None if the path is neither."""
        if path == b"/robots.txt":
            return self._robots(site)
        if not path.startswith(b"/sitemap") or not self._traits.sitemap[site]:
            return None
        name = self.sitemap(site)
        part = _PART.match(path)
        if path == name.encode():
            if name == _NAMES[2]:
                return Answer(200, "sitemap", _XML, self._index(site, at))
            text = self._list(self._rows(site, at))
            if name == _NAMES[1]:
                return Answer(200, "sitemap", _GZIP, gzip.compress(text, mtime=0))
            return Answer(200, "sitemap", _XML, text)
        if part and name == _NAMES[2] and int(part[1]) < self._parts(site, at):
            first = int(part[1]) * PER_PART
            return Answer(200, "sitemap", _XML, self._list(self._rows(site, at)[first : first + PER_PART]))
        return None

    def _robots(self, site: int) -> Answer:
        kind = self._traits.robots[site]
        if kind == ROBOTS_MISSING:
            return plain_answer(404, "robots")
        if kind == ROBOTS_ERROR:
            return plain_answer(503, "robots")
        lines = ["# Who may come in", "User-agent: *"]
        lines.append(f"Disallow: {PRIVATE.decode()}" if kind == ROBOTS_RULES else "Disallow:")
        if self._traits.delay[site]:
            lines.append(f"Crawl-delay: {self._delay:g}")
        lines += ["", "User-agent: BadBot", "Disallow: /"]
        if self._traits.sitemap[site]:
            lines += ["", f"Sitemap: {self._bases[site].decode()}{self.sitemap(site)}"]
            if self._news is not None and self._news(site):
                lines.append(f"Sitemap: {self._bases[site].decode()}{self._news(site)}")
        return Answer(200, "robots", TEXT, ("\n".join(lines) + "\n").encode())

    def _rows(self, site: int, at: float) -> list[tuple[str, str]]:
        """Every address in a sitemap, and what it says of its last change."""
        rows = [(self._url(page), changed) for page, changed in self._listed(site, at)]
        return rows + [(self.orphan_url(site, number), "") for number in range(self.orphans(site))]

    def _parts(self, site: int, at: float) -> int:
        return -(-(len(self._listed(site, at)) + self.orphans(site)) // PER_PART)

    def _list(self, listed: list[tuple[str, str]]) -> bytes:
        rows = "".join(
            f"<url><loc>{escape(url)}</loc>{f'<lastmod>{changed}</lastmod>' if changed else ''}</url>\n"
            for url, changed in listed
        )
        return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {_NAMESPACE}>\n{rows}</urlset>\n'.encode()

    def _index(self, site: int, at: float) -> bytes:
        base = self._bases[site].decode()
        rows = "".join(
            f"<sitemap><loc>{base}/sitemap-{part}.xml</loc></sitemap>\n" for part in range(self._parts(site, at))
        )
        head = f'<?xml version="1.0" encoding="UTF-8"?>\n<sitemapindex {_NAMESPACE}>\n'
        return f"{head}{rows}</sitemapindex>\n".encode()
