"""What is crawled. In: a URL in normal form, its kind and depth. Out: nothing, or the reason why not.

Rules are asked in order and the first that says no decides; `trace` gives every rule's answer, for `weft explain`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from weft.errors import UsageError
from weft.model import FIRST_REQUISITE, Kind, Reason
from weft.parse.media import Wanted
from weft.settings import setting
from weft.urls import host_of, is_dynamic, literal_address, registered_domain, site_of, split, web_port

ScopeName = Literal["site", "domain", "prefix", "list", "all"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What is crawled, and how far."""

    scope: ScopeName = setting(
        "site",
        "site: the seeds' sites with their www. or bare twin; domain: their registered domains; "
        "prefix: below the seeds' folders; list: exactly the seeds; all: everything",
    )
    include: tuple[str, ...] = setting((), "only URLs that match one of these regular expressions (seeds apart)")
    exclude: tuple[str, ...] = setting((), "no URL that matches one of these regular expressions")
    types: tuple[str, ...] = setting((), "further media types to collect, such as application/pdf or image/*")
    external: Literal["deep-link", "home-page", "combined"] = setting(
        "deep-link", "what a link to another site stands for: the page, the site's home page, or both (P3)"
    )
    sitemaps: bool = setting(True, "read the sitemaps that robots.txt names")
    max_depth: int = setting(15, "links away from a seed, for static pages")
    max_depth_dynamic: int = setting(
        5, "links away from a seed, for dynamic pages (a question mark, or .php and its like)"
    )
    max_url: int = setting(2000, "characters of a URL")
    max_site_pages: int = setting(25_000, "pages of one site")
    max_bytes_page: int = setting(2_000_000, "bytes of one page; the rest is cut off")
    robots: Literal["obey", "ignore"] = setting("obey", "what to do about robots.txt, robots meta tags and nofollow")


Test = Callable[[str, str, int, int], bool]  # (url, site, kind, depth) → refused?


class Scope:
    """The rules of one crawl."""

    def __init__(self, settings: Selection) -> None:
        self._settings = settings
        self._sites: set[str] = set()
        self._domains: set[str] = set()
        self._prefixes: tuple[str, ...] = ()
        self._inside: dict[str, bool] = {}  # by site: does the scope hold it, where the site decides
        self._ports: dict[str, bool] = {}  # by site: is its port for the web
        self.wanted = Wanted(settings.types)
        self._include = _patterns(settings.include, "include")
        self._exclude = _patterns(settings.exclude, "exclude")
        self._rules: tuple[tuple[Reason, Test], ...] = (
            (Reason.URL_LENGTH, self._too_long),
            (Reason.PORT, self._not_a_web_port),
            (Reason.EXCLUDED, self._excluded),
            (Reason.SCOPE, self._outside),
            (Reason.NOT_INCLUDED, self._not_included),
            (Reason.EXTENSION, self._unwanted_name),
            (Reason.DEPTH, self._too_deep),
        )

    def __repr__(self) -> str:
        sizes = f"{len(self._sites)} sites, {len(self._domains)} domains, {len(self._prefixes)} prefixes"
        return f"Scope({self._settings.scope}: {sizes})"

    def admit(self, url: str) -> list[str]:
        """Let what this seed stands for into the scope; the seed, if that added anything."""
        before = len(self._sites) + len(self._domains) + len(self._prefixes)
        site = site_of(url)
        if self._settings.scope == "site":
            self._sites.update(twins(site))
        elif self._settings.scope == "domain":
            self._domains.add(registered_domain(site))
        elif self._settings.scope == "prefix":
            self._prefixes = tuple(dict.fromkeys((*self._prefixes, *_folder(url))))
        self._inside.clear()
        return [url] if len(self._sites) + len(self._domains) + len(self._prefixes) > before else []

    def refusal(self, url: str, site: str, kind: int, depth: int) -> Reason | None:
        """Why this URL of a site is not to be crawled, or None."""
        for reason, refused in self._rules:
            if refused(url, site, kind, depth):
                return reason
        return None

    def trace(self, url: str, kind: int, depth: int) -> Iterator[tuple[Reason, bool]]:
        """Every rule with whether it refuses."""
        for reason, refused in self._rules:
            yield reason, refused(url, site_of(url), kind, depth)

    def _too_long(self, url: str, _site: str, _kind: int, _depth: int) -> bool:
        return len(url) > self._settings.max_url

    def _not_a_web_port(self, url: str, site: str, _kind: int, _depth: int) -> bool:
        if site[-1:].isdigit() and ":" in site:
            usual = self._ports.get(site)
            if usual is None:
                usual = self._ports[site] = web_port(split(url).port)
            return not usual
        return False

    def _excluded(self, url: str, _site: str, _kind: int, _depth: int) -> bool:
        return self._exclude is not None and self._exclude.search(url) is not None

    def _outside(self, url: str, site: str, kind: int, depth: int) -> bool:
        if kind >= FIRST_REQUISITE or kind in _FROM_ANYWHERE:
            return False
        inside = self._inside.get(site)
        if inside is None:
            scope = self._settings.scope
            if scope == "prefix":
                return not url.startswith(self._prefixes)
            if scope == "list":
                return kind != Kind.REDIRECT or depth > 0  # its seeds, and where they are redirected to
            inside = scope == "all" or (
                site in self._sites if scope == "site" else registered_domain(site) in self._domains
            )
            if len(self._inside) > _MOST_CACHED:
                self._inside.clear()
            self._inside[site] = inside
        return not inside

    def _not_included(self, url: str, _site: str, kind: int, _depth: int) -> bool:
        if self._include is None or kind >= FIRST_REQUISITE or kind == Kind.SEED:
            return False
        return self._include.search(url) is None

    def _unwanted_name(self, url: str, _site: str, kind: int, _depth: int) -> bool:
        return kind < FIRST_REQUISITE and kind not in _FROM_ANYWHERE and not self.wanted.link(url)

    def _too_deep(self, url: str, _site: str, kind: int, depth: int) -> bool:
        settings = self._settings
        if depth <= settings.max_depth_dynamic and depth <= settings.max_depth:
            return False
        return kind < FIRST_REQUISITE and (depth > settings.max_depth or is_dynamic(url))


# A seed is a seed wherever it lies, and robots.txt says where its sitemaps are.
_FROM_ANYWHERE = frozenset((Kind.SEED, Kind.MAP))
_MOST_CACHED = 200_000


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


def _patterns(patterns: tuple[str, ...], name: str) -> re.Pattern[str] | None:
    if not patterns:
        return None
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as error:
            raise UsageError(
                f"--{name} is not a regular expression: {error}", where=pattern, todo="see the syntax of Python's re"
            ) from error
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns))
