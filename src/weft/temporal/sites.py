"""From pages to ranked sites. In: `Views` and `Labels`. Out: a `Ranking`, best first, and how much of it to use.

Sites are ranked by their scores (`scoring`), or for the list with the best F-measure. A page that is undecided counts
by the decision that `Labels.temporal` makes for it.

Sites come and go with events: a page counts half for each `half_life` since its birth, so that a site is on the list
soon after its event has begun and off it soon after the end; and who has lately published hardly anything temporal, by
the same measure of time, is not on it (`least_rate`), however short the list is. docs/temporal.md says how soon, and
what it costs on other days. Nothing is kept from one day to the next: the list is made from the window's days alone.

Always: the ranking depends on the pages only; what is equal stands in the order of names; a site without a temporal
page has no score, and is never on the seed list.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from weft.errors import UsageError
from weft.settings import setting
from weft.temporal import list_length
from weft.temporal.hubs import LEAD, births, find_hubs, hubs_of
from weft.temporal.list_length import Ending
from weft.temporal.places import Places, sites
from weft.temporal.scoring import Added, Shares, gains, mean_views, shrunk, tally
from weft.temporal.views import Labels, Views


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteRules:
    """How sites are scored, and how many of them make the seed list."""

    alpha: float = setting(0.6, "weight of the share of temporal pages in a site's score", at_least=0)
    beta: float = setting(0.4, "weight of the share of views that temporal pages have", at_least=0)
    pseudo_pages: float = setting(
        20.0, "untemporal pages added to every site, so that tiny ones do not lead", at_least=0
    )
    least_pages: int = setting(1, "sites with fewer pages than this are not on the seed list", at_least=0)
    least_rate: float = setting(
        0.5, "sites that lately published fewer temporal pages a day are not on the seed list", at_least=0
    )
    rank_by: Literal["score", "f-measure"] = setting("score", "what a site is preferred for")
    half_life: float = setting(
        3.0, "a page born so many days ago counts half for the score; 0: all pages count alike", at_least=0
    )
    hubs_apart: bool = setting(False, "leave home pages and section fronts out of pages, views and scores")
    top: int = setting(100, "most sites on the seed list; 0: as many as can be polled", at_least=0)
    cut: bool = setting(True, "end the seed list before that where further sites would lower its F-measure")
    polls_per_day: float = setting(0.0, "hubs that the crawler can look at in a day to find new pages", at_least=0)
    delay_hours: float = setting(
        1.0, "with --top 0: how long a new page may wait on average until it is found", at_least=0
    )

    def check(self) -> None:
        """Refuse what means nothing."""
        if min(self.alpha, self.beta) < 0 or self.alpha + self.beta <= 0:
            raise UsageError("alpha and beta must not be negative, nor both 0", todo="the paper has 0.6 and 0.4")
        counts = (self.pseudo_pages, self.least_pages, self.least_rate, self.half_life, self.top)
        if min(*counts, self.polls_per_day, self.delay_hours) < 0:
            raise UsageError("a number of pages, sites, polls, days or hours is negative", todo="give a positive one")
        if not self.top and not (self.polls_per_day and self.delay_hours):
            raise UsageError(
                "the list is to be as long as polls and delay allow, and there are none",
                todo="give --polls-per-day and --delay-hours, or --top a length",
            )


# P2 as it stands: 3 to 2, the best 100, small sites like all others, and so are old pages
PAPER = SiteRules(pseudo_pages=0.0, half_life=0.0, least_rate=0.0, cut=False)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Sites, or folders, best first; one entry each. Pages are without hubs, where the rules leave them apart."""

    names: Any  # pyarrow array of strings
    score: NDArray[np.float64]  # by F-measure: what it adds, in pages
    page_share: NDArray[np.float64]  # temporal pages among its pages
    view_share: NDArray[np.float64]  # views of temporal pages among its views
    pages: NDArray[np.int64]
    temporal_pages: NDArray[np.int64]
    views: NDArray[np.int64]
    publication_rate: NDArray[np.float64]  # temporal pages born a day
    births: NDArray[np.float64]  # pages born a day
    hubs: NDArray[np.int64]  # home pages and section fronts
    listed: NDArray[np.bool_]  # whether it is on the seed list
    polls: NDArray[np.float64]  # its part of the looks for new pages that the crawler can take in a day
    ending: Ending = Ending(0, None, 0.0, "no more")  # of the seed list

    def seeds(self) -> list[str]:
        """The names on the seed list, best first."""
        found: list[str] = self.only(self.listed).names.to_pylist()
        return found

    def only(self, some: NDArray[np.bool_]) -> Ranking:
        """The same with some of the entries."""
        whole = {"names": self.names.filter(pa.array(some)), "ending": self.ending}
        columns = [each.name for each in fields(self) if each.name not in whole]
        return Ranking(**whole, **{name: getattr(self, name)[some] for name in columns})


def rank_sites(views: Views, labels: Labels, rules: SiteRules) -> Ranking:
    """Rank all sites that have pages."""
    hub = find_hubs(views, labels)
    places = sites(views)
    if rules.rank_by == "score":
        found = tally(views, labels, weights(views, labels, hub, rules), places)
        score = combined(shrunk(found, Added(rules.pseudo_pages, mean_views(found))), rules)
    else:  # hubs are pages that a list costs too
        score = gains(tally(views, labels, np.ones(views.pages), places), rules.top or len(places.names))
    ranking = ranked(places, score, views, labels, hub, rules)
    fit = (ranking.score > 0) & (ranking.pages >= rules.least_pages)
    if rules.least_rate:
        rate = lately(views, labels, hub, rules, places)
        fit &= rate[np.asarray(pc.index_in(ranking.names, places.names), np.int64)] >= rules.least_rate
    best = np.nonzero(fit)[0]
    rule: list_length.Rule = "no more"
    if rules.top:
        best, rule = best[: rules.top], "top" if len(best) > rules.top else rule
        f = list_length.f_measures(ranking.temporal_pages[best], ranking.pages[best], ranking.temporal_pages.sum())
        longest = int(np.argmax(f)) + 1 if rules.cut and len(f) else len(best)
        best, rule = best[:longest], "f-measure" if longest < len(best) else rule
    if not rules.polls_per_day:
        return _with_list(ranking, best, rule)
    demand = list_length.demand(hubs_of(views, labels, hub), len(places.names), views.window.days)
    wanted = demand.of(np.asarray(pc.index_in(ranking.names.take(pa.array(best)), places.names), np.int64))
    length = len(best) if rules.top else list_length.fitting(wanted, rules.polls_per_day, rules.delay_hours)
    rule = "polls" if length < len(best) else rule
    return _with_list(ranking, best[:length], rule, list_length.polls(wanted.of(slice(length)), rules.polls_per_day))


def counted(hub: NDArray[np.bool_], rules: SiteRules) -> NDArray[np.float64]:
    """1 for the pages that count, and 0 for hubs where they are left apart."""
    return np.where(hub & rules.hubs_apart, 0.0, 1.0)


def weights(views: Views, labels: Labels, hub: NDArray[np.bool_], rules: SiteRules) -> NDArray[np.float64]:
    """How much each page counts for the score: the less the longer ago it was born, where there is a half-life.

    A site whose event is over has soon no page left that counts. Nothing is kept from one day to the next.
    """
    found = counted(hub, rules)
    if rules.half_life:
        found *= 0.5 ** ((views.window.days - labels.born) / rules.half_life)
    return found


def lately(
    views: Views, labels: Labels, hub: NDArray[np.bool_], rules: SiteRules, places: Places
) -> NDArray[np.float64]:
    """Temporal pages born a day in each place, those of long ago counting less where there is a half-life.

    As in `hubs.births`, what is first seen in the window's first days may have been there before. What was born on the
    last day counts: an event has begun.
    """
    days = views.window.days
    begin = min(LEAD, days // 4)
    seen = ~hub & labels.temporal & (labels.activation >= begin)
    if not rules.half_life:
        return np.asarray(np.bincount(places.of[seen], minlength=len(places.names)) / max(days - begin, 1))
    weight = 0.5 ** ((days - labels.born[seen]) / rules.half_life)
    time = rules.half_life / np.log(2) * (1 - 0.5 ** ((days - begin) / rules.half_life))
    return np.asarray(np.bincount(places.of[seen], weight, len(places.names)) / time)


def combined(shares: Shares, rules: SiteRules) -> NDArray[np.float64]:
    """P2's score from its two parts."""
    return rules.alpha * shares.pages + rules.beta * shares.views


def ranked(
    places: Places,
    score: NDArray[np.float64],
    views: Views,
    labels: Labels,
    hub: NDArray[np.bool_],
    rules: SiteRules,
) -> Ranking:
    """All that is known of places, by score, and by name where that is equal; none of them listed yet."""
    keys = [("score", "descending"), ("name", "ascending")]
    order = np.asarray(pc.sort_indices(pa.table({"score": score, "name": places.names}), keys), np.int64)
    order = order[np.bincount(places.of, minlength=len(score))[order] > 0]
    found = tally(views, labels, counted(hub, rules), places)
    rate, everything = births(views, labels, ~hub, places)
    return Ranking(
        names=places.names.take(pa.array(order)),
        score=score[order],
        page_share=(found.temporal_pages / np.maximum(found.pages, 1))[order],
        view_share=(found.temporal_views / np.maximum(found.views, 1))[order],
        pages=found.pages[order].astype(np.int64),
        temporal_pages=found.temporal_pages[order].astype(np.int64),
        views=found.views[order].astype(np.int64),
        publication_rate=rate[order],
        births=everything[order],
        hubs=np.bincount(places.of[hub], minlength=len(score))[order],
        listed=np.zeros(len(order), np.bool_),
        polls=np.zeros(len(order)),
    )


def _with_list(
    ranking: Ranking, chosen: NDArray[np.int64], rule: list_length.Rule, polls: NDArray[np.float64] | float = 0.0
) -> Ranking:
    """The ranking with some of it on the seed list."""
    listed, shared = np.zeros_like(ranking.listed), np.zeros_like(ranking.polls)
    listed[chosen] = True
    shared[chosen] = polls
    temporal, pages = ranking.temporal_pages, ranking.pages
    f = 2 * int(temporal[listed].sum()) / max(int(pages[listed].sum() + temporal.sum()), 1)
    lowest = float(ranking.score[chosen].min()) if len(chosen) else None
    return replace(ranking, listed=listed, polls=shared, ending=Ending(len(chosen), lowest, f, rule))
