"""Everything that is known of one site. In: a crawl's directory and the name of a site. Out: how it stands, what limits
it has, its robots.txt, and what came of the requests to it.
"""

from __future__ import annotations

from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from weft.config import Settings
from weft.directory import group_keys, laws_of
from weft.errors import UsageError
from weft.frontier.durable.inspect import Ledger
from weft.frontier.durable.memory import RobotsRecord, SiteMemory
from weft.frontier.durable.past import SCHEMES
from weft.frontier.politeness import wait_after
from weft.frontier.scope import Scope
from weft.parse.robots import parse_robots
from weft.reading import Crawl
from weft.sites.survey import SiteRow, survey
from weft.urls import normal_form, registered_domain, site_of

_LAST = 50  # fetches that are listed


class Outcome(NamedTuple):
    """What came of some requests."""

    outcome: str  # a status, or the reason of a failure
    fetches: int
    bytes: int
    last: float  # wall time


@dataclass(slots=True, kw_only=True)
class Site:
    """A site as it stands."""

    site: str
    domain: str
    row: SiteRow | None  # None: no worker holds it, or it is on the shelf
    shelved: bool
    memory: SiteMemory | None
    limits: dict[str, str]
    robots: dict[str, RobotsRecord]  # by scheme
    outcomes: list[Outcome] = field(default_factory=list)
    fetches: list[dict[str, Any]] = field(default_factory=list)  # the last ones, the newest first

    @property
    def known(self) -> bool:
        """Does the crawl know it at all?"""
        return self.row is not None or self.shelved or bool(self.fetches)


def site_named(text: str) -> str:
    """The site that is meant by a name or by a URL.

    >>> site_named("WWW.example.org"), site_named("http://example.org:8080/a")
    ('www.example.org', 'example.org:8080')
    """
    url = normal_form(text if "://" in text else f"http://{text}/")
    if type(url) is not str:
        raise UsageError(f"this is no name of a site: {text}", todo="give it as it stands in URLs")
    return site_of(url)


def look_at_site(out: Path, text: str, now: float) -> Site:
    """Everything that is known of a site, given by its name or by one of its URLs; `now` in wall time."""
    site = site_named(text)
    rows = survey(out, now, only=site)
    settings = Settings().with_file(out / "crawl.toml")
    with ExitStack() as left:
        paths = sorted(out.glob("workers/*/frontier.log"))
        ledgers = [left.enter_context(closing(Ledger(path, key_of=group_keys(out)))) for path in paths]
        ledger = next((each for each in ledgers if each.knows(site)), None)
        memory = None if ledger is None else ledger.memory(site)
        had = {} if ledger is None else {scheme: ledger.robots(site, scheme) for scheme in SCHEMES}
        robots = {scheme: record for scheme, record in had.items() if record is not None}
        pages = 0 if ledger is None else ledger.site_pages(site)
    row = next(iter(rows), None)
    found = Site(
        site=site,
        domain=registered_domain(site),
        row=row,
        shelved=row is None and ledger is not None,
        memory=memory,
        limits=_limits(settings, laws_of(out, settings), site, memory, robots, pages),
        robots=robots,
    )
    _add_history(out, found)
    return found


def _limits(
    settings: Settings,
    scope: Scope,
    site: str,
    memory: SiteMemory | None,
    robots: dict[str, RobotsRecord],
    pages: int,
) -> dict[str, str]:
    """What counts for a site, in words."""
    own, politeness, selection = scope.overrides.of(site), settings.politeness, settings.selection
    obeys = scope.obeys(own)
    asked = [parse_robots(each.body, settings.identity.product).crawl_delay for each in robots.values() if each.body]
    delay = max((each for each in asked if each is not None), default=None) if obeys else None
    wait = wait_after(politeness, 0.0 if memory is None else memory.took, delay, own.wait, pages)
    most = selection.max_site_pages if own.max_pages is None else own.max_pages
    depth = selection.max_depth if own.max_depth is None else own.max_depth
    return {
        "wait between visits": f"{wait:,.3g} s" + ("" if delay is None else f" (robots.txt asks for {delay:,.3g} s)"),
        "pages a visit": str(1 if delay is not None else own.per_visit or politeness.per_visit),
        "pages at most": f"{most:,}",
        "links away from a seed at most": f"{depth:,}",
        "robots.txt": "obeyed" if obeys else "ignored, by a setting of this crawl",
        "in the scope": "yes" if scope.covers(site) else "no",
    }


def _add_history(out: Path, found: Site) -> None:
    """What came of the requests to it, from the columns."""
    base = Crawl(out).connection()
    try:
        base.execute(
            "create temp table own as select url, kind, depth, attempt, final, status, reason, took, "
            "bytes, epoch(fetched_at) as fetched_at, detected_type, title from pages where site = ?",
            [found.site],
        )
        outcomes = base.execute(
            "select coalesce(reason, status::text, 'none') as outcome, count(*), coalesce(sum(bytes), 0)::bigint, "
            "max(fetched_at) from own group by outcome order by 2 desc, 1"
        ).fetchall()
        found.outcomes = [Outcome(*each) for each in outcomes]
        last = base.execute(f"select * from own order by fetched_at desc limit {_LAST}")  # noqa: S608
        names = [each[0] for each in last.description or ()]
        found.fetches = [dict(zip(names, row, strict=True)) for row in last.fetchall()]
    finally:
        base.close()
