"""What a request was for. In: a web and an address, or a line of the servers' log. Out: a good page, a hazard, …

For whoever judges a crawler by the servers' log alone. It goes by the address and not by what was answered: a good page
that a storm turned away is a good page still, and its second request a second request for it.

Invariant: every page of the graph is good under its own address, whatever its site plays; a hazard's address is never
good, though it may show a good page's content once more (`page` says which).

>>> from weft.graph import Recipe, generate
>>> from weft.testbed.options import Options
>>> options = Options(hazardous=1.0, scenarios="calendar")
>>> web = Web(generate(Recipe(sites=1, pages=9), seed=1), options, seed=1, port=80)
>>> purpose_of(web, web.url(3))
Purpose(sort=<Sort.GOOD: 'good'>, scenario='calendar', page=3)
>>> purpose_of(web, web.url(0) + "calendar/2031/05/")
Purpose(sort=<Sort.HAZARD: 'hazard'>, scenario='calendar', page=-1)
>>> purpose_of(web, web.url(0) + "nothing"), purpose_of(web, "http://nobody.test/").sort.value
(Purpose(sort=<Sort.OTHER: 'other'>, scenario='calendar', page=-1), 'other')
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple
from urllib.parse import urlsplit

from weft.testbed.log import Entry
from weft.testbed.messages import without_port
from weft.testbed.scenarios.playing import ROBOTS
from weft.testbed.web import Web


class Sort(Enum):
    """The sorts of addresses."""

    GOOD = "good"
    """A page of the graph, under its own address."""
    HAZARD = "hazard"
    ROBOTS = "robots"
    OTHER = "other"
    """What links of the web lead to beside its pages: missing ones, redirects, sitemaps; and whatever nobody offers."""


class Purpose(NamedTuple):
    """What a request was for."""

    sort: Sort
    scenario: str
    """What the site plays that was asked; empty if it plays nothing, or is none."""
    page: int
    """The page of the graph whose content is there: a good page itself, or what a hazard shows once more; -1: none."""


def purpose_of(web: Web, url: str) -> Purpose:
    """What a request for an absolute URL is for."""
    scheme, rest = url.split("://", 1) if "://" in url else ("http", url)
    parts = urlsplit(f"{scheme}://{rest}")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return _purpose(web, scheme, parts.netloc.rpartition("@")[2].encode(), path.encode())


def purpose_of_entry(web: Web, entry: Entry) -> Purpose:
    """What a request in the servers' log was for."""
    return _purpose(web, entry.scheme, entry.site.encode(), entry.path.encode())


def _purpose(web: Web, scheme: str, authority: bytes, path: bytes) -> Purpose:
    host = without_port(authority.lower())
    site = web.names.site_of(host)
    if site < 0:
        return Purpose(Sort.ROBOTS if path == ROBOTS else Sort.OTHER, "", -1)
    played = web.played.get(site)
    scenario = "" if played is None else played.scenario.name
    label = "" if played is None else web.names.label(site, host)
    if path == ROBOTS:
        return Purpose(Sort.ROBOTS, scenario, -1)
    if played is not None and (label or played.owns(path)):
        return Purpose(Sort.HAZARD, scenario, played.copied(label, path))
    own = web.bases[site].startswith(scheme.encode() + b"://")
    page = web.graph_page(site, path) if own else -1
    if page >= 0:
        return Purpose(Sort.GOOD, scenario, page)
    copied = -1 if played is None else played.copied(label, path)
    return Purpose(Sort.OTHER if copied < 0 else Sort.HAZARD, scenario, copied)
