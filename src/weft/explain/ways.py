"""The ways in which a URL was found, judged again. In: a URL that no frontier has. Out: what each way looked like to
the crawler, and the reason for which it was refused.

What is refused when it is found is written down nowhere; links are, refused ones too. With the rows of the pages that
they are on, and what the frontiers know, there is everything that the rules of `FOUND` look at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from weft.config import Settings
from weft.frontier.durable.inspect import Ledger
from weft.frontier.durable.memory import SiteMemory
from weft.frontier.local.names import is_dead
from weft.frontier.local.parts import CAPACITY
from weft.frontier.rules import FOUND, Candidate, Room, first_refusal
from weft.frontier.scope import Scope
from weft.model import FIRST_REQUISITE, KINDS, Kind, Reason
from weft.parse.robots import Robots, parse_robots
from weft.store.reading import Linked
from weft.urls import fingerprint, normal_form, origin_of, registered_domain, site_of


class Columns(Protocol):
    """What is asked of a crawl's columns."""

    def fetches(self, url: str) -> list[dict[str, Any]]:
        """Every fetch of a URL, the oldest first."""
        ...

    def rows(self, url_id: int) -> list[dict[str, Any]]:
        """Every fetch of what has an id, the oldest first."""
        ...

    def linked_from(self, url_id: int) -> list[Linked]:
        """Some of the links to what has an id, those that were followed first."""
        ...

    def urls(self, url_id: int, table: str = "urls") -> list[str]:
        """The URLs that have an id."""
        ...


class Judged(NamedTuple):
    """A way in which a URL was found, judged again."""

    source: str  # the page that leads to it; "" where none does
    found: Candidate
    reason: Reason | None
    home: bool = False  # the link stands for the home page of its site, and not for the URL (`external`)


def robots_of(url: str, ledger: Ledger, agent: str) -> Robots | None:
    """The robots.txt for a URL, as far as it is known; None too where there is none."""
    record = ledger.robots(site_of(url), "https" if url[4] == "s" else "http")
    return None if record is None or record.body is None else parse_robots(record.body, agent)


class Ways:
    """Judges URLs of one crawl."""

    def __init__(
        self, files: Columns, settings: Settings, scope: Scope, ledgers: list[Ledger], *, seeds: set[str], now: float
    ) -> None:
        self._files = files
        self._now = now
        self._settings = settings
        self._scope = scope
        self._ledgers = ledgers
        self._seeds = seeds

    def __repr__(self) -> str:
        return f"Ways({self._scope}, {len(self._ledgers)} workers)"

    def judge(self, url: str) -> list[Judged]:
        """Judge again every way in which a URL was found that is known; as a plain link, if there is none."""
        found = [*self._named(url), *self._linked(url)]
        if not found:
            room = self._room(url)
            found = [Judged("", Candidate(url=url, site=site_of(url), kind=Kind.A, depth=1, room=room), None)]
        return [each._replace(reason=first_refusal(FOUND, self._scope, each.found)) for each in found]

    def _linked(self, url: str) -> Iterator[Judged]:
        """The links to it."""
        room, home = self._room(url), f"{origin_of(url)}/"
        to_home = self._settings.selection.external == "home-page" and url != home
        for link in self._files.linked_from(fingerprint(url)):
            for row in self._files.rows(link.source)[-1:]:
                found = _as_found(url, room, link, row, self._steps(row["url"]))
                page = found.kind < FIRST_REQUISITE and found.kind != Kind.REDIRECT
                yield Judged(row["url"], found, None, home=to_home and page and found.source != found.site)

    def _named(self, url: str) -> Iterator[Judged]:
        """Was it asked for as a seed, or does the robots.txt of its site name it as a sitemap?"""
        site, room = site_of(url), self._room(url)
        if url in self._seeds:
            yield Judged("", Candidate(url=url, site=site, kind=Kind.SEED, depth=0, room=room), None)
        if not (self._settings.selection.sitemaps and self._scope.covers(site)):
            return
        for ledger in self._ledgers:
            for source in (f"http://{site}/robots.txt", f"https://{site}/robots.txt"):
                robots = robots_of(source, ledger, self._settings.identity.product)
                for number, written in enumerate(() if robots is None else robots.sitemaps):
                    if normal_form(written, source, self._settings.urls) == url:
                        found = Candidate(url=url, site=site, kind=Kind.MAP, depth=0, listed=number, room=room)
                        yield Judged(source, found, None)

    def _steps(self, url: str) -> int:
        """How far down a chain a page is that a frontier has."""
        standings = (ledger.standing(url) for ledger in self._ledgers)
        return next((standing.entry.steps for standing in standings if standing is not None), 0)

    def _denied(self, memory: SiteMemory | None) -> bool:
        """Was the name of a site denied, and is it not time to ask again?"""
        return memory is not None and is_dead(memory.denied_at, self._now, self._settings.retries.name_recheck)

    def _room(self, url: str) -> Room:
        """What there is room for, by now. Which domains have any name is not written down: of one with as many sites as
        such a domain may have, that is what keeps a further one out.
        """
        site = site_of(url)
        group = registered_domain(site)
        sites = sum(ledger.domain_sites(group) for ledger in self._ledgers)
        selection = self._scope.selection
        doorways = sum(ledger.doorways(group) for ledger in self._ledgers) if sites >= selection.max_doorways else 0
        return Room(
            new_site=not any(ledger.knows(site) for ledger in self._ledgers),
            sites=all(len(ledger.names) < CAPACITY >> 3 for ledger in self._ledgers),
            domain_sites=sites,
            dead=any(self._denied(ledger.memory(site)) for ledger in self._ledgers),
            wild=sites >= selection.max_wildcard_sites or doorways >= selection.max_doorways,
            doorways=doorways,
            pages=all(ledger.pages < CAPACITY - 1 for ledger in self._ledgers),
            site_pages=sum(ledger.site_pages(site) for ledger in self._ledgers),
        )


def _as_found(url: str, room: Room, link: Linked, row: dict[str, Any], steps: int) -> Candidate:
    """A link as the crawler saw it. `row` is of the page that it is on, `steps` what led to that."""
    kind, on = KINDS[link.kind], KINDS[row["kind"]]
    nested = on == Kind.MAP or on >= FIRST_REQUISITE
    if kind == Kind.REDIRECT:
        steps = steps + 1 if nested or on == Kind.REDIRECT else 1
        kind = on if nested else kind
    else:
        steps = steps + 1 if nested else 0
    deeper = kind < FIRST_REQUISITE and kind not in (Kind.REDIRECT, Kind.MAP)
    return Candidate(
        url=url,
        site=site_of(url),
        kind=kind,
        depth=row["depth"] + deeper,
        steps=steps,
        source=site_of(row["url"]),
        nofollow=link.nofollow,
        room=room,
    )
