"""A web made of a script. In: a seed. Out: sites, their pages and what each of them says; and what a crawl of it must
come to, worked out without a crawler.

Some groups have several sites, several sites share an address, addresses lie in three networks, some sites ask for a
crawl-delay or forbid a folder, the robots.txt of some lives elsewhere. Pages lead to each other, redirect, are missing,
ask to be left alone for a while, or fail once or twice. Some stand in a row that goes from group to group. A site may
be dead, or have no name. What depends on chance (a site whose robots.txt could not be brought may be given up) is led
to by others and leads to nobody.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

WAIT = 1.2  # seconds between visits, where a site asks for no more
NETWORKS = 3  # that the addresses lie in


@dataclass(slots=True)
class Page:
    """What a server has under a URL."""

    url: str
    status: int = 200
    links: list[str] = field(default_factory=list)
    location: str = ""
    failures: int = 0  # answers of another kind before this one
    failure: str = ""  # 503, pause, reset
    takes: float = 0.1  # seconds
    closes: bool = False  # the connection, after the answer


@dataclass(slots=True)
class Site:
    """A host and how it behaves."""

    name: str
    group: str
    address: str
    pages: list[Page] = field(default_factory=list)
    delay: int = 0  # crawl-delay
    forbids: bool = False  # /private/
    robots_at: str = ""  # the site where its robots.txt lives
    dead: bool = False
    nameless: bool = False  # name servers say that there is no such name

    @property
    def leaf(self) -> bool:
        """May nothing depend on it?"""
        return self.dead or bool(self.robots_at)


class Web:
    """The whole of it."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self.sites: dict[str, Site] = {}
        self.pages: dict[str, Page] = {}
        self._make_sites(chance.randint(20, 26))
        self._make_pages(chance.randint(200, 240))
        open_sites = [site for site in self.sites.values() if not site.leaf]
        self.seeds = [site.pages[0].url for site in open_sites[: chance.randint(2, 5)]]
        self._link()
        self._lay_trail()

    def __repr__(self) -> str:
        return f"Web({len(self.sites)} sites, {len(self.pages)} pages)"

    def forget_names(self, chance: random.Random) -> None:
        """Have one or two of the sites that nothing depends on lose their names."""
        leaves = [site for site in self.sites.values() if site.leaf]
        for site in chance.sample(leaves, min(len(leaves), chance.randint(1, 2))):
            site.nameless = True

    def _make_sites(self, count: int) -> None:
        chance = self._chance
        addresses = chance.randint(8, 16)
        group = 0
        while len(self.sites) < count:
            group += 1
            for which in range(chance.choice((1, 1, 1, 2, 3))):
                domain = f"g{group}.example"
                name = domain if which == 0 else f"w{which}.{domain}"
                number = chance.randrange(addresses)
                address = f"198.18.{number % NETWORKS}.{number}"
                self.sites[name] = Site(name, domain, address)
        names = list(self.sites)
        for name in chance.sample(names[6:], 3):
            self.sites[name].delay = 2
        for name in chance.sample(names, 3):
            self.sites[name].forbids = True
        elsewhere = chance.sample(names[6:], chance.randint(2, 4))
        for name in elsewhere:
            others = [each for each in names if each not in elsewhere]
            self.sites[name].robots_at = chance.choice(others)
        if chance.random() < 0.4:
            dead = self.sites[chance.choice([each for each in names[6:] if each not in elsewhere])]
            dead.dead = not any(site.robots_at == dead.name for site in self.sites.values())

    def _make_pages(self, count: int) -> None:
        chance, names = self._chance, list(self.sites)
        for number in range(count):
            site = self.sites[names[number] if number < len(names) else chance.choice(names)]
            while (site.delay or site.leaf) and len(site.pages) > 2:  # a crawl would take all its time for them
                site = self.sites[chance.choice(names)]
            path = "" if not site.pages else f"p{len(site.pages)}"
            page = Page(f"http://{site.name}/{path}", takes=chance.choice((0.02, 0.1, 0.2, 0.5)))
            if path and not site.leaf:
                self._vary(page, site, path)
            page.closes = chance.random() < 0.1
            site.pages.append(page)
            self.pages[page.url] = page

    def _vary(self, page: Page, site: Site, path: str) -> None:
        """Not every page is a page."""
        chance = self._chance
        luck = chance.random()
        if site.forbids and luck < 0.3:
            page.url = f"http://{site.name}/private/{path}"
        elif luck < 0.06:
            page.status = 404
        elif luck < 0.12:
            page.status = 301
        elif luck < 0.2:
            page.failure = chance.choice(("503", "pause", "reset"))
            page.failures = 1 if page.failure == "pause" else chance.randint(1, 2)

    def _link(self) -> None:
        """Have every page led to by one before it that says something, and lead to some others."""
        chance = self._chance
        order = list(self.pages.values())
        leads = [self.pages[url] for url in self.seeds]
        for page in order:
            if page.url not in self.seeds:
                chance.choice(leads).links.append(page.url)
                if self._says_something(page):
                    leads.append(page)
        for page in leads:
            page.links += [chance.choice(order).url for _ in range(chance.randint(0, 4))]
            chance.shuffle(page.links)
        for page in order:
            if page.status == 301:
                page.location = chance.choice(leads).url

    def _lay_trail(self) -> None:
        """Have some pages stand in a row behind one of the largest site, each in another group. When all else is
        fetched the crawl goes on along them, from worker to worker, and nobody else has anything to do meanwhile.
        """
        chance = self._chance
        sites = [site for site in self.sites.values() if not site.leaf and not site.delay]
        largest = max(sites, key=lambda site: len(site.pages))
        before = [page for page in largest.pages if self._says_something(page)][-1]
        for number in range(chance.choice((0, 2, 4))):
            site = chance.choice([site for site in sites if site.group != self.site_of(before.url).group])
            page = Page(f"http://{site.name}/trail{number}", takes=0.1)
            site.pages.append(page)
            self.pages[page.url] = page
            before.links.append(page.url)
            before = page

    def _says_something(self, page: Page) -> bool:
        site = self.site_of(page.url)
        return page.status == 200 and not site.leaf and "/private/" not in page.url

    def site_of(self, url: str) -> Site:
        """The site of a URL."""
        return self.sites[url.split("/")[2]]

    def closure(self) -> tuple[set[str], set[str]]:
        """What a crawl must store, each page once; and what it may, depending on what goes wrong."""
        must: set[str] = set()
        may: set[str] = set()
        waiting, known = list(self.seeds), set(self.seeds)
        while waiting:
            page = self.pages[waiting.pop()]
            site = self.site_of(page.url)
            if site.nameless:
                continue
            if site.robots_at:
                may.add(page.url)
                continue
            if site.dead or (site.forbids and "/private/" in page.url):
                continue
            must.add(page.url)
            for url in [page.location] if page.status == 301 else page.links:
                if url not in known:
                    known.add(url)
                    waiting.append(url)
        return must, may
