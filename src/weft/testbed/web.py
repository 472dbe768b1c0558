"""A synthetic web, without sockets. In: a graph, options, a seed; then a site and a path. Out: the answer.

Everything about a page (its address, size, text, how it fails, how long it takes) follows from the seed and
the page alone, so that it can be computed again anywhere: by another server process, by a test, by the
auditor.

Invariant: with `PLAIN` options the web is its graph: page p links to `graph.links_of(p)`, in order, and
nothing fails.

>>> from weft.graph import Recipe, generate
>>> web = Web(generate(Recipe(sites=3, pages=40), seed=1), PLAIN, seed=1, port=8080)
>>> web.url(0), web.page(web.url(7))
('http://www.site-0.test:8080/', 7)
>>> web.answer(0, b"/").status, web.answer(0, b"/nothing-here").status
(200, 404)
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import partial
from urllib.parse import urlsplit

import numpy as np

from weft.graph import Graph
from weft.graph.changing import World
from weft.graph.topics import draw_topics
from weft.testbed.answers import HTML, Answer, Asked, Delivery, plain_answer
from weft.testbed.assets import Assets
from weft.testbed.changing import Changing
from weft.testbed.dice import Dice
from weft.testbed.encodings import encoded
from weft.testbed.hazards import Hazards
from weft.testbed.links import GONE, MOVED, Scene, codes_of, gone_number, gone_site
from weft.testbed.names import Names
from weft.testbed.options import PLAIN, Options
from weft.testbed.pages import Pages
from weft.testbed.paths import Paths
from weft.testbed.robots import PRIVATE, Crawling
from weft.testbed.scenarios.playing import Played
from weft.testbed.scenarios.scenario import Place
from weft.testbed.topics import TopicWords
from weft.testbed.traits import (
    CHARSET,
    CHUNKED,
    COMPRESSED,
    DUPLICATE,
    ROBOTS_RULES,
    X_ROBOTS,
    Traits,
    draw_traits,
)

__all__ = ["PLAIN", "Web"]

_ASKED = Asked()


class Web:
    """All sites and pages of a synthetic web, and what is answered for every address."""

    def __init__(
        self,
        web: Graph | World,
        options: Options,
        seed: int,
        *,
        port: int = 80,
        tls_port: int | None = None,
    ) -> None:
        options.check()
        graph = web.graph if isinstance(web, World) else web
        traits = draw_traits(graph, options, seed)
        self.topics = _topics_of(graph, options, seed)
        self._set_up(web, options, seed, traits, Paths(graph, traits, self.topics))
        self._place(port, tls_port)

    def _set_up(self, web: Graph | World, options: Options, seed: int, traits: Traits, paths: Paths) -> None:
        self.world = web if isinstance(web, World) else None
        """Of a web that changes: how. Its graph has all pages that ever are."""
        self.graph = graph = web.graph if isinstance(web, World) else web
        self.options = options
        self.seed = seed
        self.names = Names(graph.sites, options, seed)
        self.traits = traits
        self._paths = paths
        self._special = traits.special.data
        self._latency = traits.latency.data
        self._cookie = traits.cookie.tolist()

    def _place(self, port: int, tls_port: int | None) -> None:
        """Everything that has a port in it: absolute addresses."""
        graph, options, seed = self.graph, self.options, self.seed
        self.port, self.tls_port = port, tls_port
        self._https = [bool(flag) and tls_port is not None for flag in self.traits.https.tolist()]
        self.bases = [self._base(site) for site in range(graph.sites)]
        self.scene = Scene(
            links=graph.links,
            offsets=graph.offsets,
            first_page=graph.first_page,
            site=np.repeat(np.arange(graph.sites, dtype=np.int32), np.diff(graph.first_page)),
            special=self.traits.special,
            path_text=np.frombuffer(self._paths.text, dtype=np.uint8),
            path_offsets=self._paths.offsets,
            base_text=np.frombuffer(b"".join(self.bases), dtype=np.uint8),
            base_offsets=np.cumsum([0, *map(len, self.bases)]),
            failing=options.failing,
            redirects=options.redirects,
            nofollow=options.nofollow,
            key=Dice(seed, "links").key,
        )
        self.assets = Assets(seed, self.bases) if options.requisites else None
        self.hazards = Hazards(self.scene, options, seed)
        self.pages = Pages(self.scene, self.traits, self.assets.markup if self.assets else None, seed, self.topics)
        self.changing = Changing(self.world, self.pages, self._paths, self.bases, seed) if self.world else None
        told = (self.changing.in_sitemap, self.changing.news_sitemap) if self.changing else ()
        self.crawling = Crawling(graph, self.traits, options, seed, self.bases, self.url, *told)
        played = self.names.scenarios.items()
        self.played = {site: Played(scenario, self._place_of(site)) for site, scenario in played}
        """What hazardous sites play, and how it stands on their pages."""

    def _place_of(self, site: int) -> Place:
        """A site as the scenario knows that is played on it."""
        return Place(
            site=site,
            host=self.names.host(site),
            base=self.bases[site].decode(),
            tld=self.options.tld,
            port=self.port,
            tls_port=self.tls_port,
            seed=self.seed,
            retry_after_s=self.options.retry_after_s,
            titles=self.pages.titles,
            pages=self.graph.pages_of(site),
            path=self._paths.path,
            find=partial(self._paths.page, site),
            usual=partial(self._usual_answer, site),
            homes=lambda draw: self.bases[draw % self.graph.sites].decode() + "/",
        )

    def at(self, port: int, tls_port: int | None = None) -> Web:
        """The same web served on other ports: the same but for the ports in its absolute addresses."""
        web = Web.__new__(Web)
        web.topics = self.topics
        web._set_up(self.world or self.graph, self.options, self.seed, self.traits, self._paths)  # noqa: SLF001
        web._place(port, tls_port)  # noqa: SLF001
        return web

    def __repr__(self) -> str:
        return f"Web({self.graph!r}, {self.options.naming}, seed={self.seed}, port={self.port})"

    # Addresses

    def _base(self, site: int) -> bytes:
        host = self.names.host(site)
        if self._https[site]:
            return f"https://{host}{_port(self.tls_port, 443)}".encode()
        return f"http://{host}{_port(self.port, 80)}".encode()

    def authority(self, site: int, *, secure: bool) -> bytes:
        """What a site is called: its host, with the port where it is not the usual one."""
        port = _port(self.tls_port, 443) if secure else _port(self.port, 80)
        return (self.names.host(site) + port).encode()

    def url(self, page: int) -> str:
        """The address of a page."""
        return (self.bases[int(self.scene.site[page])] + self._paths.path(page)).decode()

    def path(self, page: int) -> bytes:
        """The path of a page, with its query."""
        return self._paths.path(page)

    def page(self, url: str) -> int | None:
        """The page with this address; None if there is none."""
        site, path = self.locate(url)
        page = self._paths.page(site, path) if site >= 0 else -1
        return page if page >= 0 else None

    def graph_page(self, site: int, path: bytes) -> int:
        """The page of a site that has this path; -1 if there is none."""
        return self._paths.page(site, path)

    def locate(self, url: str) -> tuple[int, bytes]:
        """The site (-1 if there is none) and the path of an address."""
        parts = urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        site = self.names.site_of((parts.hostname or "").encode())
        if site < 0 or not url.startswith(self.bases[site].decode()):
            return -1, path.encode()
        return site, path.encode()

    def urls(self) -> Iterator[str]:
        """The addresses of all pages, in the order of the graph."""
        return (self.url(page) for page in range(self.graph.pages))

    def seeds(self) -> list[str]:
        """The addresses a crawl starts from."""
        return [self.url(int(page)) for page in self.graph.seeds]

    def link_url(self, code: int) -> str:
        """The address that a link's code stands for (see `weft.testbed.links`)."""
        if code >= GONE:
            site = gone_site(code)
            return (self.bases[site] + self.hazards.path(site, gone_number(code))).decode()
        if code >= MOVED:
            page = code - MOVED
            return (self.bases[int(self.scene.site[page])] + b"/old" + self._paths.path(page)).decode()
        return self.url(code)

    def links(self, page: int) -> list[str]:
        """The addresses on a page, in order, absolute, failing ones included."""
        return [self.link_url(code) for code in codes_of(self.scene, self.pages.original(page))]

    def redirect_status(self, page: int) -> int:
        """With what a page's old address is answered."""
        return 301 if page & 1 else 302

    def disallowed(self, site: int, path: bytes) -> bool:
        """Whether the site's robots.txt forbids this path to everybody."""
        return bool(self.traits.robots[site] == ROBOTS_RULES) and path.startswith(PRIVATE)

    # Answers

    def body(self, page: int, at: float = 0.0) -> bytes:
        """The bytes of a page, before any content encoding; of a web that changes: at a time."""
        body = self.pages.body(page)
        if self.changing is not None:
            body = self.changing.dressed(page, body, at)
        if not self.played:
            return body
        played = self.played.get(int(self.scene.site[page]))
        return body if played is None else played.dressed(body)

    def digest(self, page: int, at: float = 0.0) -> str:
        """SHA-1 of a page's bytes, in hexadecimal."""
        return hashlib.sha1(self.body(page, at), usedforsecurity=False).hexdigest()

    def answer(self, site: int, path: bytes, asked: Asked = _ASKED) -> Answer:
        """What a site answers for a path, under the name that was asked."""
        played = self.played.get(site)
        label = self.names.label(site, asked.host) if played is not None else ""
        if asked.secure != self._https[site] and not label:
            return self._other_scheme(site, path, asked)
        answer = played.answer(label, path, asked) if played is not None else None
        return self._usual_answer(site, path, asked) if answer is None else answer

    def _usual_answer(self, site: int, path: bytes, asked: Asked) -> Answer:
        """What a site answers that plays nothing."""
        page = self._paths.page(site, path)
        if page >= 0:
            answer = self._page_answer(page, asked) if self.changing is None else self._versioned(page, asked)
        else:
            answer = self._other_answer(site, path, asked)
        if self._cookie[site] and not asked.cookie:
            cookie = b"Set-Cookie: session=%x; Path=/; HttpOnly\r\n" % (site * 2654435761 % 2**32)
            answer = answer._replace(headers=answer.headers + cookie)
        return answer

    def _versioned(self, page: int, asked: Asked) -> Answer:
        """A page of a web that changes: it may not be there, and the client may have it."""
        changing = self.changing
        assert changing is not None
        refusal = changing.refusal(page, asked.at)
        if refusal is not None:
            return refusal
        found = changing.validators(page, asked.at)
        if found is None:
            return self._page_answer(page, asked)
        if self._special[page] & COMPRESSED:
            found = found.weak()  # one for all encodings
        known = changing.unchanged(found, asked)
        if known is not None:
            return known
        answer = self._page_answer(page, asked)
        return answer._replace(headers=answer.headers + found.headers(changing.world.epoch))

    def _page_answer(self, page: int, asked: Asked) -> Answer:
        special = self._special[page]
        body = self.body(page, asked.at)
        wait = self._latency[page] if self._latency else 0.0
        if not special:
            return Answer(200, "page", HTML, body, Delivery.WHOLE, wait)
        headers = self._content_type(page) if special & (CHARSET | DUPLICATE) else HTML
        if special & X_ROBOTS:
            headers += b"X-Robots-Tag: %b\r\n" % self.pages.x_robots(page).encode()
        if special & COMPRESSED and asked.encodings:
            lines, body = encoded(body, asked.encodings, page)
            headers += lines
        kind = "duplicate" if special & DUPLICATE else "page"
        return Answer(200, kind, headers, body, Delivery.CHUNKED if special & CHUNKED else Delivery.WHOLE, wait)

    def _content_type(self, page: int) -> bytes:
        charset, declared = self.pages.charset(page)
        if declared != "header":
            return b"Content-Type: text/html\r\n"
        return b"Content-Type: text/html; charset=%b\r\n" % charset.encode()

    def _other_answer(self, site: int, path: bytes, asked: Asked) -> Answer:
        """Everything that is no page of the graph."""
        known = self.crawling.answer(site, path, asked.at)
        if known is None and self.changing is not None:
            known = self.changing.announcement(site, path, asked)
        if known is None and self.assets is not None:
            known = self.assets.answer(site, path)
        if known is not None:
            return known
        number = self.hazards.number(site, path)
        if number >= 0:
            return self.hazards.answer(site, number)
        if path.startswith(b"/orphan-") and self._is_orphan(site, path):
            return Answer(200, "orphan", HTML, self._orphan(site, path))
        if path.startswith(b"/old/") and self.options.redirects:
            page = self._paths.page(site, path[4:])
            if page >= 0:
                return self._redirect(site, page)
        return plain_answer(404, "404")

    def _redirect(self, site: int, page: int) -> Answer:
        """From /old/… to where the page is now; half of them for good, half with an absolute address."""
        target = self._paths.path(page)
        if page & 2:
            target = self.bases[site] + target
        return plain_answer(self.redirect_status(page), "redirect", b"Location: %b\r\n" % target)

    def _other_scheme(self, site: int, path: bytes, asked: Asked) -> Answer:
        """A site under https sends plain requests there; one that is not is not served over TLS."""
        if asked.secure:
            return plain_answer(421, "scheme")
        return plain_answer(301, "scheme", b"Location: %b%b\r\n" % (self.bases[site], path))

    def _is_orphan(self, site: int, path: bytes) -> bool:
        digits = path[len(b"/orphan-") : -len(b".html")]
        known = path.endswith(b".html") and digits.isdigit() and str(int(digits)).encode() == digits
        return known and int(digits) < self.crawling.orphans(site)

    def _orphan(self, site: int, path: bytes) -> bytes:
        name = path[1:-5]
        return (
            b'<!DOCTYPE html>\n<html lang="es"><head><meta charset="utf-8"><title>%b of site %d</title></head>\n'
            b"<body><h1>%b</h1><p>Only the sitemap knows this page of site %d.</p></body></html>\n"
        ) % (name, site, name, site)


def _topics_of(graph: Graph, options: Options, seed: int) -> TopicWords | None:
    if not options.topic_words:
        return None
    count = options.topic_words
    topics = draw_topics(graph.parent, graph.depth, count=count, seed=seed)
    return TopicWords(topics, count, seed)


def _port(port: int | None, usual: int) -> str:
    return "" if port == usual else f":{port}"
