"""What is crawled. In: a URL in normal form, its kind and depth. Out: nothing, or the reason why not.

The rules themselves, with all that they look at, are in `weft.frontier.rules`. Here is what they ask: the settings, the
seeds, the blacklist, and what single sites have of their own. `Scope.refusal` is their short cut for links.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from time import gmtime
from typing import Any, Literal, NamedTuple

from weft.errors import UsageError
from weft.frontier.blacklist import Blacklist
from weft.frontier.duphosts import read_duphosts
from weft.frontier.overrides import MOST_SITE_PAGES, Overrides, SiteSettings
from weft.frontier.patterns import Patterns
from weft.frontier.traps import is_after, repeats
from weft.model import FIRST_REQUISITE, Kind, Reason, is_named
from weft.parse.media import Wanted
from weft.settings import setting
from weft.units import quantity
from weft.urls import host_of, is_dynamic, literal_address, normal_form, registered_domain, site_of, split, web_port


def limits_of(written: Iterable[str]) -> dict[str, int]:
    """Limits of sizes by media type, as they are written.

    >>> limits_of(("application/pdf=20 MB", "video/*=500000"))
    {'application/pdf': 20000000, 'video/*': 500000}
    """
    pairs = (each.partition("=") for each in written)
    return {name.strip().lower(): int(quantity(amount, "bytes")) for name, _, amount in pairs}


def limits_complaint(written: str) -> str:
    """What is wrong with such a limit; nothing: it is good."""
    try:
        good = all("/" in name and amount > 0 for name, amount in limits_of((written,)).items())
    except (ValueError, OverflowError):
        good = False
    return "" if good else "write a media type and a size, as application/pdf=20 MB"


ScopeName = Literal["site", "domain", "tld", "prefix", "list", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What is crawled, and how far."""

    scope: ScopeName = setting(
        "site",
        "site: the seeds' sites with their www. or bare twin; domain: their registered domains; tld: their top-level "
        "domains, a country's say; prefix: below the seeds' folders; list: exactly the seeds; all: everything",
    )
    domains: tuple[str, ...] = setting(
        (),
        "further domains in the scope, with all that is below them, beside what the seeds say: those of a country that "
        "lie under .com, say, or a whole top-level domain (pt)",
    )
    include: tuple[str, ...] = setting(
        (),
        "only URLs that match one of these regular expressions (seeds apart); of those with back-references or "
        "look-around, only URLs of up to 500 characters",
    )
    exclude: tuple[str, ...] = setting(
        (),
        "no URL that matches one of these regular expressions; by those with back-references or look-around, "
        "no URL of more than 500 characters either",
    )
    duphosts: str = setting(
        "",
        "file with sites that are copies of others, a replica and its original a line, as `weft duphosts` writes it: "
        "the original is visited in place of the replica",
    )
    www: Literal["keep", "add"] = setting(
        "keep",
        "add: visit www.example.org in place of example.org, where that is a registered domain itself; longer names "
        "stay as they are. keep: all do",
    )
    types: tuple[str, ...] = setting((), "further media types to collect: application/pdf, image/*, pdf; '*/*' for all")
    external: Literal["deep-link", "home-page", "combined"] = setting(
        "deep-link", "what a link to another site stands for: the page, the site's home page, or both"
    )
    sitemaps: bool = setting(True, "read the sitemaps that robots.txt names")
    max_depth: int = setting(15, "links away from a seed, for static pages", at_least=0)
    max_depth_dynamic: int = setting(
        5, "links away from a seed, for dynamic pages (a question mark, or .php and its like)", at_least=0
    )
    max_repeats: int = setting(
        3, "times that one folder's name may stand in a path, or one name of a parameter in a query", at_least=1
    )
    max_years_ahead: int = setting(1, "years that a date in a URL may lie ahead: calendars have no end", at_least=0)
    max_redirects: int = setting(10, "redirects in a row that are followed", at_least=0, at_most=250)
    max_url: int = setting(2000, "characters of a URL", at_least=1)
    max_site_pages: int = setting(25_000, "pages of one site", at_least=1, at_most=MOST_SITE_PAGES)
    max_site_bytes: int = setting(
        0,
        "bytes that one site may send, after which it is left alone; 0: any number. A higher one lets in what is found "
        "from then on",
        at_least=0,
        unit="bytes",
    )
    max_site_time: float = setting(
        0.0,
        "seconds that downloads from one site may take together, after which it is left alone; 0: any number. A longer "
        "one lets in what is found from then on",
        at_least=0,
        unit="seconds",
    )
    max_page_sites: int = setting(5_000, "new sites that one page may lead to", at_least=1)
    max_domain_sites: int = setting(
        20_000, "sites of one registered domain; what is below a public suffix (blogspot.com) is one", at_least=1
    )
    max_wildcard_sites: int = setting(
        500, "sites of one registered domain whose name servers know any name, be it ever so absurd", at_least=2
    )
    max_doorways: int = setting(
        20, "sites of such a domain whose first pages look the same, after which no more are taken", at_least=1
    )
    max_bytes_page: int = setting(2_000_000, "bytes of one page; the rest is cut off", at_least=1, unit="bytes")
    max_bytes_type: tuple[str, ...] = setting(
        (), "the same for media types, as 'application/pdf=20 MB' or 'video/*=500 kB'", check=limits_complaint
    )
    max_hostile: int = setting(
        3, "pages of one site that crash or stall the parser, after which it is left alone", at_least=1
    )
    max_site_duplicates: int = setting(
        0, "pages of one site that are copies of others, after which it is left alone; 0: any number", at_least=0
    )
    max_duplicate_share: float = setting(
        0.95,
        "share of a site's last hundred pages that may be copies of others, before it is left alone; fifty copies are "
        "taken in any case; 1: all",
        above=0,
        at_most=1,
    )
    expansion: bool = setting(
        False,
        "two phases: domains that are found wait until those of the seeds are done, with nothing left to fetch there "
        "but what waits for a time",
    )
    max_barren: int = setting(
        100,
        "URLs of a site that differ in numbers alone and came to nothing, one after the other, before others like them "
        "are left alone; 0: any number. Nothing are copies of others, sitemaps that cannot be had, and pages of less "
        "than 2 kB without a link",
        at_least=0,
    )
    soft_404: bool = setting(
        True,
        "where pages of a site look the same one after the other, ask it for a URL that cannot exist: what says the "
        "same as its answer is no page (soft-404), and is not followed",
    )
    robots: Literal["obey", "ignore"] = setting("obey", "what to do about robots.txt, robots meta tags and nofollow")


class Change(NamedTuple):
    """A setting that is another one than in the run before."""

    name: str
    was: Any
    now: Any
    how: Literal["either", "wider", "narrower", "fixed"]  # may it be changed like this?


_SCOPES = ("list", "prefix", "site", "domain", "tld", "all")  # each has all that the one before has
_LIMITS = ("max_depth", "max_depth_dynamic", "max_url", "max_repeats", "max_years_ahead")
_EITHER_WAY = (  # less holds from then on
    "types",
    "max_redirects",
    "max_site_pages",
    "max_site_bytes",
    "max_site_time",
    "max_page_sites",
    "max_domain_sites",
    "max_wildcard_sites",
    "max_doorways",
    "max_bytes_page",
    "max_bytes_type",
    "max_hostile",
    "max_site_duplicates",
    "max_duplicate_share",
    "max_barren",
    "soft_404",
)


def changes(before: Selection, after: Selection) -> list[Change]:
    """What was changed between two runs, and how. What was found stays found: it cannot be made less by a rule.

    >>> [each[0::3] for each in changes(Selection(max_depth=3), Selection(max_depth=4, robots="ignore"))]
    [('max_depth', 'wider'), ('robots', 'fixed')]
    """
    found = []
    for field in dataclasses.fields(Selection):
        was, now = getattr(before, field.name), getattr(after, field.name)
        if was != now:
            found.append(Change(field.name, was, now, _how(field.name, was, now)))
    return found


def _how(name: str, was: Any, now: Any) -> Literal["either", "wider", "narrower", "fixed"]:
    if name in _EITHER_WAY:
        return "either"
    if name == "scope":
        wider = _SCOPES.index(now) > _SCOPES.index(was)
    elif name in _LIMITS:
        wider = now > was
    elif name == "domains":
        wider = set(was) <= set(now)
    elif name == "include":
        wider = not now or (bool(was) and set(was) <= set(now))
    elif name == "exclude":
        wider = set(now) <= set(was)
    else:
        return "fixed"
    return "wider" if wider else "narrower"


class Scope:
    """The laws of one crawl: what its rules ask. The frontier owns it; orders of the operator change it.

    What a URL is told of its site alone is remembered until the scope grows.
    """

    def __init__(self, selection: Selection, overrides: Overrides | None = None) -> None:
        self.selection = selection
        self._most_repeats = selection.max_repeats
        self._last_year = gmtime().tm_year + selection.max_years_ahead
        self._whole = selection.scope in ("prefix", "list")  # it looks at the whole URL
        self.overrides = overrides or Overrides()
        self._sites: set[str] = set()
        self._domains: set[str] = set()
        self._below = _names(selection.domains)  # names with all that is below them
        self._prefixes: tuple[str, ...] = ()
        self._by_site: dict[str, Reason | None] = {}  # what the rules say that look at the site alone
        self.wanted = Wanted(selection.types)
        self.blacklist = Blacklist()
        # A URL that cannot be tried is rather left out.
        self._duphosts = read_duphosts(selection.duphosts, www=selection.www == "add")
        self._include = Patterns(selection.include, "include", unsure=False) if selection.include else None
        self._exclude = Patterns(selection.exclude, "exclude", unsure=True) if selection.exclude else None
        self.slow = any(given is not None and given.slow for given in (self._include, self._exclude))
        bounds = [selection.max_site_bytes, selection.max_site_time]
        for site in self.overrides.sites.values():
            bounds += [site.max_bytes or 0, site.max_time or 0]
        self.bounds_sites = any(bounds)  # in bytes or time: then both are looked at before each page
        own = [site.max_depth for site in self.overrides.sites.values() if site.max_depth is not None]
        self._shallow = min(selection.max_depth, selection.max_depth_dynamic, *own)  # so deep nothing is too deep

    def __repr__(self) -> str:
        sizes = f"{len(self._sites)} sites, {len(self._domains)} domains, {len(self._prefixes)} prefixes"
        return f"Scope({self.selection.scope}: {sizes})"

    def admit(self, url: str) -> list[str]:
        """Let what this seed stands for into the scope; the seed, if that added anything."""
        before = self._size
        url = self.original(url)
        site = site_of(url)
        if self.selection.scope == "site":
            self._sites.update(twins(site))
        elif self.selection.scope == "domain":
            self._domains.add(registered_domain(site))
        elif self.selection.scope == "tld":
            self._admit_below(site)
        elif self.selection.scope == "prefix":
            self._prefixes = tuple(dict.fromkeys((*self._prefixes, *_folder(url))))
        self._by_site.clear()
        return [url] if self._size > before else []

    @property
    def _size(self) -> int:
        return len(self._sites) + len(self._domains) + len(self._below) + len(self._prefixes)

    def _admit_below(self, site: str) -> None:
        """Let a site's top-level domain in; an address has none, and stands for itself."""
        host = host_of(site)
        if literal_address(host) is None:
            self._below.add(host.rpartition(".")[2])
        else:
            self._sites.add(site)

    def refusal(self, url: str, site: str, kind: int, depth: int, source: str = "") -> Reason | None:
        """Why this URL of a site is not to be crawled, or None: what the rules of `FOUND` say that look at no more than
        this, in their order.

        Called for every link that is new, so they stand here in one piece, the cheap ones without a call.
        """
        if len(url) > self.selection.max_url:
            return Reason.URL_LENGTH
        if self.blacklist.rules and self.blacklist.names(url, site):
            return Reason.BLACKLISTED
        free = kind >= FIRST_REQUISITE or kind in _FROM_ANYWHERE
        by_site = self._by_site[site] if site in self._by_site else self._judge_site(url, site)
        if by_site is _PORT:
            return by_site
        if self._duphosts is not None and kind != _REDIRECT and self.is_replica(site):
            return Reason.DUPHOST
        if self._exclude is not None and self._exclude.match(url):
            return Reason.EXCLUDED
        if (
            (not free or (source and self.strays(kind, site, source)))
            and (by_site is not None or (self._whole and self._outside(url)))
            and not is_named(kind, depth)
        ):
            return Reason.SCOPE
        if kind >= FIRST_REQUISITE:
            return None
        if self._include is not None and kind != _SEED and not self._include.match(url):
            return Reason.NOT_INCLUDED
        if not free and not self.wanted.link(url) and not is_named(kind, depth):
            return Reason.EXTENSION
        if (trap := self.trap(url)) is not None and not is_named(kind, depth):
            return trap
        if depth > self._shallow and depth > self.deepest(url, site):
            return Reason.DEPTH
        return None

    # What rules ask.

    @property
    def replaces(self) -> bool:
        """Do some sites stand for others?"""
        return self._duphosts is not None

    def is_replica(self, site: str) -> bool:
        """Does another site stand for this one?"""
        return self._duphosts is not None and self._duphosts.original_of(site) != site

    def original(self, url: str) -> str:
        """A URL with the original in place of the replica: mostly as it is."""
        return url if self._duphosts is None else self._duphosts.url_of(url)

    def covers(self, site: str) -> bool:
        """Can pages of a site be in the scope, other than by being named?"""
        scope = self.selection.scope
        if scope == "all" or (self._below and self._is_below(host_of(site))):
            return True
        if scope == "prefix":
            return any(site_of(prefix) == site for prefix in self._prefixes)
        if scope == "domain":
            return registered_domain(site) in self._domains
        return site in self._sites

    def _is_below(self, host: str) -> bool:
        """Is a host one of the names with all that is below them, or below one?"""
        while host:
            if host in self._below:
                return True
            host = host.partition(".")[2]
        return False

    def holds(self, url: str, site: str) -> bool:
        """Does a URL lie in the scope, other than by being named?"""
        return self.covers(site) and not self._outside(url)

    def strays(self, kind: int, site: str, source: str) -> bool:
        """Is it a sitemap that one of another site names, for which that may not speak?"""
        return kind == _MAP and source != "" and site not in twins(source)

    def includes(self, url: str) -> bool:
        """Does one of the include patterns match, if there are any?"""
        return self._include is None or self._include.match(url)

    def excludes(self, url: str) -> bool:
        """Does one of the exclude patterns match?"""
        return self._exclude is not None and self._exclude.match(url)

    def trap(self, url: str) -> Reason | None:
        """Which sign of a trap a URL has, if it has one."""
        if repeats(url, self._most_repeats):
            return Reason.REPEATS
        if is_after(url, self._last_year):
            return Reason.CALENDAR
        return None

    def deepest(self, url: str, site: str) -> int:
        """How many links away from a seed a page may be."""
        own = self.overrides.of(site).max_depth if self.overrides.sites else None
        most = self.selection.max_depth if own is None else own
        return min(most, self.selection.max_depth_dynamic) if is_dynamic(url) else most

    def most_pages(self, site: str) -> int:
        """How many pages a site may have."""
        own = self.overrides.of(site).max_pages if self.overrides.sites else None
        return self.selection.max_site_pages if own is None else own

    def obeys(self, settings: SiteSettings) -> bool:
        """Is what robots.txt and nofollow say obeyed on a site with these settings?"""
        return (settings.robots or self.selection.robots) == "obey"

    def _judge_site(self, url: str, site: str) -> Reason | None:
        """What the rules say that look at the site alone: is its port for the web, is it in the scope?"""
        scope = self.selection.scope
        reason: Reason | None = None
        if not web_port(split(url).port):
            reason = Reason.PORT
        elif scope in ("site", "domain", "tld") and not self.covers(site):
            reason = Reason.SCOPE
        if len(self._by_site) > _MOST_CACHED:
            self._by_site.clear()
        self._by_site[site] = reason
        return reason

    def _outside(self, url: str) -> bool:
        """Does a scope that looks at the whole URL leave it out?"""
        if self._below and self._is_below(host_of(site_of(url))):
            return False
        if self.selection.scope == "prefix":
            return not url.startswith(self._prefixes)
        return self.selection.scope == "list"  # its seeds, and where they are redirected to, are asked for by name


# A seed is a seed wherever it lies, and robots.txt says where its sitemaps are.
# They are slow to find in Python 3.11.
_SEED, _MAP, _REDIRECT, _PORT = int(Kind.SEED), int(Kind.MAP), int(Kind.REDIRECT), Reason.PORT
_FROM_ANYWHERE = frozenset((Kind.SEED, Kind.MAP))
_MOST_CACHED = 200_000


def _names(written: tuple[str, ...]) -> set[str]:
    """Names of domains as sites have them; one that is none is an error."""
    found = set()
    for each in written:
        url = normal_form(f"http://{each.strip().lstrip('*').strip('.')}/", "")
        if type(url) is not str or url.count("/") != 3 or literal_address(host_of(site_of(url))) is not None:
            raise UsageError(
                f"domains: {each!r} is no name of a domain", todo="write pt, example.com or news.example.com"
            )
        found.add(host_of(site_of(url)))
    return found


def is_free(kind: int) -> bool:
    """May a URL that was found like this lie anywhere, and be called anything?"""
    return kind >= FIRST_REQUISITE or kind in _FROM_ANYWHERE


def twins(site: str) -> tuple[str, str]:
    """A site and the same with or without www.

    >>> twins("www.example.org"), twins("example.org:8080")
    (('www.example.org', 'example.org'), ('example.org:8080', 'www.example.org:8080'))
    """
    if literal_address(host_of(site)) is not None:
        return site, site
    return (site, site[4:]) if site.startswith("www.") else (site, f"www.{site}")


def _folder(url: str) -> tuple[str, str]:
    """The folder a seed lies in, under both schemes."""
    rest = url.partition("://")[2].partition("?")[0]
    rest = rest[: rest.rindex("/") + 1]
    return f"http://{rest}", f"https://{rest}"
