"""What a local frontier is made of. In: what a crawl says about its frontier. Out: the parts, each made once and given
to those that use it.

    Scope ── Holdings ──┐
    Seen, TwoLevelHeap, FrontierLog ──▶ Sites, Pages     the two tables
                                          │
    Ranking ◀── scores ───────────────────┤
    Schedule ◀── when which site ─────────┤
    Discovery ◀── links become pages ─────┤──▶ RobotsFiles, Redirects, Errands, Undoing
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from weft.clock import Clock
from weft.frontier.durable.log import FrontierLog
from weft.frontier.durable.pauses import Pauses
from weft.frontier.keyed import Keyed
from weft.frontier.local.apologies import Apologies
from weft.frontier.local.bounds import Bound
from weft.frontier.local.discovery import Discovery
from weft.frontier.local.holdings import Holdings
from weft.frontier.local.names import Names
from weft.frontier.local.pages import Pages
from weft.frontier.local.ranking import Ranking
from weft.frontier.local.redirects import Redirects
from weft.frontier.local.robots import RobotsFiles
from weft.frontier.local.rolling import AFTER
from weft.frontier.local.schedule import Schedule
from weft.frontier.local.seen import Seen
from weft.frontier.local.sites import Sites
from weft.frontier.local.specials import Specials
from weft.frontier.local.undoing import Undoing
from weft.frontier.local.unranked import Unranked
from weft.frontier.oracle import Oracle
from weft.frontier.overrides import Overrides
from weft.frontier.pace import Pace
from weft.frontier.politeness import Politeness
from weft.frontier.retries import Retries
from weft.frontier.scope import Scope, Selection
from weft.model import UrlId
from weft.ordering import Ordering, Scored
from weft.ordering.heaps import TwoLevelHeap
from weft.ordering.reranking import Reranking
from weft.ordering.weights import LinkWeights
from weft.urls import UrlRules

CAPACITY = 1 << 27  # pages that a worker can know at a time
_NUMBERS = (1 << 31) - 2  # that can be given to pages, where most of these are on the shelf
_SITES = 1 << 28  # and to sites
Note = Callable[[UrlId, str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What a crawl says about its frontier."""

    ordering: Ordering
    politeness: Politeness
    selection: Selection
    retries: Retries
    overrides: Overrides
    rules: UrlRules
    agent: str  # the product token that robots.txt files may name
    secret: bytes  # under which URLs are hashed
    reranking: Reranking = Reranking()
    weights: LinkWeights = LinkWeights()
    size_copies: bool = True  # do copies count in the size of a site?
    oracle: Oracle | None = None
    seed: int = 0  # of chance
    capacity: int = CAPACITY
    private: bool = False  # may nobody else read the log?
    checkpoint_after: int = AFTER  # bytes of a log that are folded
    bound: Bound | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The parts of one local frontier, which owns them; none is replaced while it lives."""

    terms: Terms
    clock: Clock
    scope: Scope
    holdings: Holdings
    sites: Sites
    pages: Pages
    names: Names
    ranking: Ranking | Unranked
    specials: Specials
    schedule: Schedule
    discovery: Discovery
    apologies: Apologies
    robots: RobotsFiles
    redirects: Redirects
    undoing: Undoing
    pace: Pace
    pauses: Pauses


def make_parts(terms: Terms, path: Path, clock: Clock, note: Note) -> Parts:
    """Make the parts of a frontier whose log is at a path. `note` is told every URL that is seen for the first time."""
    ordering, politeness = terms.ordering, terms.politeness
    numbers, most_sites = (0, terms.capacity >> 3) if terms.bound is None else (_NUMBERS, _SITES)
    heaps = TwoLevelHeap(
        pages=terms.capacity,
        sites=most_sites,
        scored=ordering.scored,
        by_size=ordering.by_size,
        numbers=numbers,
        but_copies=not terms.size_copies,
    )
    keyed = Keyed(terms.secret)
    seen = Seen(terms.capacity, most_sites, heaps, keyed, numbers)
    holdings = Holdings(keyed, gaining=isinstance(ordering, Scored))
    scope = Scope(terms.selection, terms.overrides)
    log = FrontierLog(path, private=terms.private)
    sites = Sites(scope=scope, heaps=heaps, seen=seen, holdings=holdings)
    sites.grouped = terms.bound is not None
    pages = Pages(clock=clock, seen=seen, heaps=heaps, log=log)
    ranking: Ranking | Unranked = Unranked()
    if isinstance(ordering, Scored):
        ranking = Ranking(
            ordering,
            heaps,
            seen,
            terms=terms.reranking,
            oracle=terms.oracle or Oracle(),
            seed=terms.seed,
            holdings=holdings,
            out_of_reach=sites.out_of_reach,
            weights=terms.weights,
            names=lambda: sites.names,
        )
    specials = Specials()
    names = Names(clock=clock, sites=sites, pages=pages, recheck=terms.retries.name_recheck)
    schedule = Schedule(pages=pages, sites=sites, politeness=politeness, names=names)
    discovery = Discovery(
        sites=sites,
        pages=pages,
        scope=scope,
        rules=terms.rules,
        holdings=holdings,
        specials=specials,
        note=note,
        ranked=ranking.scores,
    )
    robots = RobotsFiles(
        clock=clock,
        politeness=politeness,
        selection=terms.selection,
        agent=terms.agent,
        sites=sites,
        discovery=discovery,
        written=log.read,
    )
    sites.on_made = robots.take_up
    if terms.bound is not None and terms.bound.robots:
        robots.most = min(robots.most, terms.bound.robots)
    sites.leads_nowhere = names.leads_nowhere
    return Parts(
        terms=terms,
        clock=clock,
        scope=scope,
        holdings=holdings,
        sites=sites,
        pages=pages,
        names=names,
        ranking=ranking,
        specials=specials,
        schedule=schedule,
        discovery=discovery,
        apologies=Apologies(scope, sites, discovery.wildcards),
        robots=robots,
        redirects=Redirects(pages=pages, sites=sites, discovery=discovery, holdings=holdings, ranking=ranking),
        undoing=Undoing(clock=clock, politeness=politeness, sites=sites, schedule=schedule, pages=pages),
        pace=Pace(),
        pauses=Pauses(path),
    )
