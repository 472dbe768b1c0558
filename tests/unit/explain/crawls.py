"""Random crawls: rules, sites with settings of their own, and a web of links; crawled by a real local frontier on a
virtual clock, without a network.

What the frontier said of every link, and of every page whose turn came, is noted. Columns are kept in memory, as far as
an explanation asks for them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
from hypothesis import strategies as st
from tests.unit.frontier.conftest import parsed

from weft.clock import VirtualClock
from weft.config import Settings
from weft.engine.gate import Identity
from weft.explain import Explainer
from weft.frontier.blacklist import Blacklist
from weft.frontier.durable.inspect import Ledger
from weft.frontier.local.discovery import Links
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.local.parts import Terms
from weft.frontier.local.visit import Visit
from weft.frontier.overrides import Overrides, SiteSettings
from weft.frontier.politeness import Politeness
from weft.frontier.retries import Retries
from weft.frontier.scope import Scope, Selection
from weft.model import FIRST_REQUISITE, Kind, PageNumber, Reason, Turn
from weft.ordering import ordering_named
from weft.store.reading import Linked
from weft.urls import UrlRules, fingerprint

SITES = ("a.example", "www.a.example", "b.a.example", "c.a.example:8080", "a.example:22", "b.example", "d.test")
PATHS = ("", "x", "x/y", "news/1", "x/a.zip", "doc.pdf", "a.php", "q?p=1", "private/1", "print?x=1", "long/" + "z" * 90)
URLS = tuple(f"{scheme}://{site}/{path}" for scheme in ("http", "https") for site in SITES for path in PATHS)
SITEMAPS = tuple(f"http://{site}/sitemap{number}.xml" for site in SITES for number in range(2))
ROBOTS = (
    None,
    b"",
    b"User-agent: *\nDisallow: /private/\nDisallow: /x\nAllow: /x/y\n",
    b"User-agent: weft\nDisallow: /\n",
    b"User-agent: *\nCrawl-delay: 3\nSitemap: /sitemap0.xml\nSitemap: http://d.test/sitemap1.xml\n",
)
KINDS = (Kind.A, Kind.A, Kind.A, Kind.FRAME, Kind.LINK, Kind.IMAGE, Kind.STYLE)

Offered = TypeVar("Offered")
limits = st.integers(0, 4)
sites = st.builds(
    SiteSettings,
    max_depth=st.none() | limits,
    max_pages=st.none() | st.integers(1, 4),
    robots=st.sampled_from([None, "obey", "ignore"]),
    wait=st.none() | st.just(1.0),
)
selections = st.builds(
    Selection,
    scope=st.sampled_from(["site", "domain", "tld", "prefix", "list", "all", "all"]),
    domains=st.sampled_from([(), (), ("test",), ("a.example", "b.example")]),
    include=st.sampled_from([(), (), ("/x|/$",), ("news", r"(?<!b)\.example")]),
    exclude=st.sampled_from([(), (), ("print",), (r"(.)\1\1",)]),
    types=st.sampled_from([(), ("pdf",), ("*/*",)]),
    max_depth=limits,
    max_depth_dynamic=limits,
    max_redirects=st.integers(0, 2),
    max_url=st.sampled_from([40, 2000]),
    max_site_pages=st.sampled_from([2, 5, 1000]),
    max_domain_sites=st.sampled_from([1, 2, 1000]),
    max_hostile=st.integers(1, 2),
    robots=st.sampled_from(["obey", "obey", "ignore"]),
)
blacklists = st.lists(
    st.sampled_from(["*.b.a.example", "b.example", "http://a.example/x*", "http://d.test/", "https://d.test/news/1"]),
    max_size=2,
)


class Plan(NamedTuple):
    """A random crawl."""

    selection: Selection
    overrides: dict[str, SiteSettings]
    seeds: list[str]
    ordering: str
    early: list[str]  # the blacklist from the start
    late: list[str]  # and from some turn on
    robots: tuple[bytes | None, ...]  # of the sites
    draw: int  # of which the web is made
    hostile: bool  # some pages crash or stall the parser
    turns: int  # after so many it stops


plans = st.builds(
    Plan,
    selection=selections,
    overrides=st.dictionaries(st.sampled_from([*SITES, "*.a.example", "*.example"]), sites, max_size=3),
    seeds=st.lists(st.sampled_from(URLS), min_size=1, max_size=3, unique=True),
    ordering=st.sampled_from(["breadth-first", "depth", "larger-sites-first", "opic"]),
    early=blacklists,
    late=blacklists,
    robots=st.tuples(*(st.sampled_from(ROBOTS) for _ in SITES)),
    draw=st.integers(0, 2**32),
    hostile=st.booleans(),
    turns=st.integers(1, 30),
)


class Said(NamedTuple):
    """What the crawler said of a link."""

    source: str  # the page that it is on; "" of a seed
    reason: Reason
    blacklist: tuple[str, ...]  # at that time


class Memory:
    """The columns of a crawl."""

    def __init__(self) -> None:
        self.pages: dict[int, list[dict[str, Any]]] = {}
        self.links: dict[int, list[Linked]] = {}

    def fetches(self, url: str) -> list[dict[str, Any]]:
        """Every fetch of a URL."""
        return self.rows(fingerprint(url))

    def rows(self, url_id: int) -> list[dict[str, Any]]:
        """Every fetch of what has an id."""
        return self.pages.get(url_id, [])

    def linked_from(self, url_id: int) -> list[Linked]:
        """All links to what has an id."""
        return self.links.get(url_id, [])

    def urls(self, url_id: int, table: str = "urls") -> list[str]:
        """The URL of an id."""
        del table
        return [row["url"] for row in self.rows(url_id)[:1]]

    def note(self, turn: Turn, *, redirect: str | None = None) -> None:
        """A page was fetched."""
        row = {
            "url": turn.url, "kind": Kind(turn.kind).name.lower(), "depth": turn.depth, "reason": None, "status": 200,
            "redirect": redirect, "final": True, "duplicate_of": 0, "truncated": None,
        }  # fmt: skip
        self.pages.setdefault(turn.id, []).append(row)

    def link(self, turn: Turn, url: str, kind: Kind, *, nofollow: bool = False) -> None:
        """A page has a link."""
        self.links.setdefault(fingerprint(url), []).append(Linked(turn.id, kind.name.lower(), nofollow))


class Crawl:
    """A crawl by a plan, and what was said in it."""

    def __init__(self, plan: Plan, folder: Path, **politeness: Any) -> None:
        self.plan = plan
        self.clock = VirtualClock(1000.0)
        self.overrides = Overrides(sites=plan.overrides)
        self.path = folder / "frontier.log"
        self.path.unlink(missing_ok=True)
        ordering = ordering_named(plan.ordering)
        self.by_size = ordering.by_size
        self.politeness = Politeness(wait=0.5, connections=10, margin=0.0, per_visit=2, **politeness)
        self.frontier = LocalFrontier(
            Terms(
                ordering=ordering,
                politeness=self.politeness,
                selection=plan.selection,
                retries=Retries(),
                overrides=self.overrides,
                rules=UrlRules(),
                agent="weft",
                secret=bytes(range(16)),
                capacity=1 << 12,
            ),
            path=self.path,
            clock=self.clock,
        )
        self.columns = Memory()
        self.found: dict[str, list[Said]] = {}  # of links that were refused, by URL
        self.refused: dict[str, Reason] = {}  # when their turn had come
        self.order: list[str] = []  # of turns
        self.frontier.discovery.on_refused = lambda entry, reason, _special: self.refused.update({entry.url: reason})
        self._state = plan.draw

    def run(self) -> None:
        """Crawl for a while."""
        frontier, plan = self.frontier, self.plan
        frontier.scope.blacklist = Blacklist(plan.early)
        for seed in plan.seeds:
            self._said(seed, "", frontier.add_seed)
        while len(self.order) < plan.turns and not frontier.schedule.done:
            while len(self.order) < plan.turns and (visit := frontier.visit()) is not None:
                self._visit(visit)
            at = frontier.next_event()
            if at is None:
                break
            self.clock.move_to(max(self.clock.now(), at))
            if len(self.order) > plan.turns // 4:
                frontier.scope.blacklist = Blacklist([*plan.early, *plan.late])

    def explainer(self) -> tuple[Explainer, Ledger]:
        """Commit, and explain by what is on disk."""
        self.frontier.commits.commit(marks={}, clean=True)
        ledger = Ledger(self.path, by_size=self.by_size)
        settings = Settings(
            identity=Identity(contact="me@example.org"),
            selection=self.plan.selection,
            overrides=self.overrides,
            politeness=self.politeness,
        )
        scope = Scope(self.plan.selection, self.overrides)
        scope.blacklist = self.frontier.scope.blacklist
        for seed in self.plan.seeds:
            scope.admit(seed)
        explainer = Explainer(self.columns, settings, scope, [ledger], seeds=self.plan.seeds, now=self.clock.wall())
        return explainer, ledger

    def _visit(self, visit: Visit) -> None:
        frontier, site = self.frontier, visit.site
        frontier.enter(visit, "93.184.216.34")
        while (turn := frontier.turn(visit)) is not None:
            if frontier.robots.due(site, visit.scheme):
                frontier.give_back(visit, turn)
                frontier.robots.learn(site, visit.scheme, self.plan.robots[SITES.index(site.name)])
                continue
            self.order.append(turn.url)
            frontier.settle(visit, turn, None)
            if self.plan.hostile and self._draw(4) == 0:
                frontier.sites.strike(site)
            self._read(visit, turn)
        visit.took = 0.1
        frontier.leave(visit)

    def _read(self, visit: Visit, turn: Turn) -> None:
        """What a page leads to: nothing, a redirect, or some links."""
        draw = self._draw(8)
        if draw == 0:
            target = URLS[self._draw(len(URLS))]
            self.columns.note(turn, redirect=target)
            self.columns.link(turn, target, Kind.REDIRECT)
            kept = turn.kind >= FIRST_REQUISITE or turn.kind == Kind.MAP
            kind = turn.kind if kept else Kind.REDIRECT
            steps = turn.steps + 1 if kept or turn.kind == Kind.REDIRECT else 1
            self._said(target, turn.url, lambda url: self.frontier.redirects.follow(turn, url, kind, steps))
            self.frontier.redirects.visited(turn, target)
            return
        self.columns.note(turn)
        follow = draw != 1
        parts = [self._link(visit, turn, follow=follow) for _ in range(self._draw(14))]
        keys = [key for part in parts for key in part.keys]
        self.frontier.ranking.visited(turn.page, keys)

    def _link(self, visit: Visit, turn: Turn, *, follow: bool) -> Links:
        """Follow one link; those that are followed."""
        kind = KINDS[self._draw(len(KINDS))]
        target = URLS[self._draw(len(URLS))]
        if turn.kind == Kind.MAP:
            kind, follow = (Kind.SITEMAP, True)
            if self._draw(3) == 0:
                kind, target = Kind.MAP, SITEMAPS[self._draw(len(SITEMAPS))]
        asks = self._draw(6) == 0 and kind < FIRST_REQUISITE and turn.kind != Kind.MAP
        page = msgspec.structs.replace(parsed(turn.url, *(() if asks else (target,)), kind=kind), follow=follow)
        if asks:
            page = msgspec.structs.replace(page, nofollow=[(target, kind)])
        obeyed = self.frontier.robots.obeys(visit.site)
        left = obeyed and (asks or not follow)
        self.columns.link(turn, target, kind, nofollow=left)
        follow_it = self.frontier.discovery.follow
        found, _ = self._said(target, turn.url, lambda _: follow_it(visit.site, turn, page, obeyed=obeyed))
        return found

    def _said(self, url: str, source: str, offer: Callable[[str], Offered]) -> Offered:
        """Offer a URL, and note the reason that was counted, if one was."""
        before = Counter(self.frontier.discovery.refused)
        said = offer(url)
        for reason in self.frontier.discovery.refused - before:
            self.found.setdefault(url, []).append(Said(source, reason, self.frontier.scope.blacklist.rules))
        return said

    def _draw(self, below: int) -> int:
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self._state >> 33) % below


def urls_of(crawl: Crawl) -> list[str]:
    """Every URL that came up in a crawl."""
    known = [crawl.frontier.pages.url_of(PageNumber(page)) for page in range(len(crawl.frontier.pages))]
    return list(dict.fromkeys((*known, *crawl.found, *URLS[:6])))
