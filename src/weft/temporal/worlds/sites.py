"""Sites and how much each publishes. In: a recipe. Out: `Sites` in columns, ordered by name, with pages per kind.

A site has a home page, fronts of sections, and pages whose number and kinds lie around those of its kind of site. What
it publishes of each kind a day is known, so that a schedule made from views can be measured against it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weft.temporal.worlds.kinds import KIND_NAMES, PAGE_KINDS, SITE_KIND_NAMES, SITE_KINDS
from weft.temporal.worlds.recipe import BEFORE, Recipe
from weft.temporal.worlds.shapes import Reals

STYLES = 4  # of addresses
_NEWS, _MIXED, _OTHER = ("news", "portal"), ("mixed",), ("reference", "shop", "forum", "blog", "spam")
_DATED = np.array([not kind.old for kind in PAGE_KINDS.values()])
MOST_FRONTS = 6  # a home page and the fronts of five sections


@dataclass(frozen=True, slots=True)
class Sites:
    """All sites, by name."""

    name: Any  # pyarrow array of strings: the host
    kind: NDArray[np.int64]  # an index into SITE_KIND_NAMES
    pages: NDArray[np.int64]  # how many pages it has of each kind
    daily: Reals  # how many of each kind it publishes a day while it is on, on average
    on: NDArray[np.int64]  # first day on which it publishes
    off: NDArray[np.int64]  # first day on which it does not any more
    style: NDArray[np.int64]  # of its addresses
    plain_fronts: NDArray[np.bool_]  # its fronts are folders, not files with a number
    sessions: NDArray[np.bool_]  # it puts session and tracking parameters on addresses
    weekend: Reals  # factor on the views of a weekend's day
    views: Reals  # factor on a page's views
    front_views: Reals  # the same for its home page and fronts

    def table(self) -> Any:
        """Who publishes how much, as an Arrow table."""
        recent = np.array([kind.recent for kind in PAGE_KINDS.values()])
        return pa.table(
            {
                "site": self.name,
                "kind": pa.array(np.array(SITE_KIND_NAMES)[self.kind]),
                "on": self.on,
                "off": self.off,
                "new_pages_a_day": self.daily.sum(axis=1),
                "reports_a_day": self.daily @ recent,
                "sessions": self.sessions,
            }
        )


def make_sites(recipe: Recipe) -> Sites:
    """Draw all sites of a world."""
    dice = recipe.dice("sites")
    kind = _kinds(recipe, dice)
    count = len(kind)
    tiny, event = SITE_KIND_NAMES.index("tiny"), SITE_KIND_NAMES.index("event")
    number = np.where(kind == tiny, np.cumsum(kind == tiny), dice.permutation(count))
    called = [SITE_KIND_NAMES[each] for each in kind]
    names = np.array([f"www.{name}{place:05}.example" for name, place in zip(called, number, strict=True)])
    order = np.argsort(names)
    kind = kind[order]
    on, off = np.clip([recipe.event_day, recipe.event_day + recipe.event_days], -BEFORE, recipe.last)
    pages, daily = _publishing(recipe, kind, int(off - on), dice)
    pages[:, KIND_NAMES.index("hub")] = np.where(kind == tiny, 0, dice.integers(2, MOST_FRONTS + 1, count))
    sessions = (dice.random(count) < recipe.sessions) & (kind != tiny)
    return Sites(
        pa.array(names[order].tolist(), pa.string()),
        kind,
        pages,
        daily,
        np.where(kind == event, on, -BEFORE),
        np.where(kind == event, off, recipe.last),
        dice.integers(0, STYLES, count),
        dice.random(count) < 0.5,
        sessions,
        np.array([each.weekend for each in SITE_KINDS.values()])[kind] + dice.normal(0, 0.03, count),
        np.array([each.views for each in SITE_KINDS.values()])[kind] * np.exp(dice.normal(0, 0.22, count)),
        np.exp(dice.normal(0, 0.55, count)),
    )


def _kinds(recipe: Recipe, dice: np.random.Generator) -> NDArray[np.int64]:
    """The kind of every site: the recipe's shares, exactly."""
    usual = recipe.sites - recipe.event_sites
    news, mixed = round(usual * recipe.news), round(usual * recipe.mixed)
    drawn: list[int] = []
    for names, count in ((_NEWS, news), (_MIXED, mixed), (_OTHER, max(0, usual - news - mixed))):
        shares = np.array([SITE_KINDS[name].share for name in names])
        edges = np.round(np.cumsum(shares) / shares.sum() * count).astype(int)
        for name, some in zip(names, np.diff(edges, prepend=0), strict=True):
            drawn += [SITE_KIND_NAMES.index(name)] * int(some)
    drawn += [SITE_KIND_NAMES.index("event")] * recipe.event_sites
    shuffled = dice.permutation(np.array(drawn, dtype=np.int64))
    return np.concatenate([shuffled, np.full(recipe.tiny_hosts, SITE_KIND_NAMES.index("tiny"))])


def _publishing(
    recipe: Recipe, kind: NDArray[np.int64], days_on: int, dice: np.random.Generator
) -> tuple[NDArray[np.int64], Reals]:
    """What each site has of each kind of page, and what it publishes of it a day: every site has its own emphasis."""
    count, daily = np.zeros((2, len(kind), len(KIND_NAMES)))
    for index, (name, site) in enumerate(SITE_KINDS.items()):
        which = np.flatnonzero(kind == index)
        columns = np.array([KIND_NAMES.index(each) for each in site.mix])
        mix = np.array(list(site.mix.values())) * np.exp(dice.normal(0, 0.4, (len(which), len(columns))))
        mix /= mix.sum(axis=1, keepdims=True)
        if name == "tiny":  # at least one page, at most three
            found = dice.multinomial(dice.integers(1, 4, len(which)), mix)
            rate = found / recipe.span
        else:
            middle, per, days = site.pages, 100, recipe.span
            if name == "event":
                middle, per, days = recipe.event_pages, recipe.event_days, days_on
            pages = mix * middle * np.exp(dice.normal(0, site.spread, (len(which), 1)))
            rate = pages / per
            found = dice.poisson(np.where(_DATED[columns], rate * days, pages))
        count[which[:, None], columns] = found
        daily[which[:, None], columns] = np.where(_DATED[columns], rate, 0.0)
    return count.astype(np.int64), daily
