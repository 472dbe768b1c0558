"""Pages: what is true about each. In: a recipe and its sites. Out: `Pages` in columns, ordered by URL.

Births fall on working days and hours more often than on others. How many views a page gets has a heavy tail and is
independent of its kind; only home pages and fronts have more. Oddities that labels must survive are decided here: a
view before the birth, a burst of many users on an old page, one user who asks hundreds of times. A burst or spam may
come before the birth as well: the address was in use before.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from weft.temporal.worlds.addresses import LASTING_SECTIONS, NEWS_SECTIONS, front_urls, make_urls
from weft.temporal.worlds.kinds import KIND_NAMES, PAGE_KINDS, TAIL
from weft.temporal.worlds.recipe import BEFORE, Recipe
from weft.temporal.worlds.shapes import POWER_LAW, Reals, Shapes
from weft.temporal.worlds.sites import Sites

LIFE = 60.0  # days: a page's size is the views it expects in so many days from its birth
_VIEWS, _SPREAD = 96.0, 0.98  # in the middle, and the deviation of the logarithm
_FRONT_VIEWS, _FRONT_SPREAD = 2350.0, 0.85
_OLDEST = 900.0  # days
_WEEK = np.array([1.0, 1.0, 1.1, 1.1, 1.0, 0.53, 0.53])  # births on the days of a week, from Monday
_NOON, _HOURS = 13.0, 4.3  # middle and deviation of the hours of births
_LEAD = 11  # days that a stray view may come before the birth
NEVER = -1
HUB = KIND_NAMES.index("hub")


@dataclass(frozen=True, slots=True)
class Pages:
    """All pages, one entry each."""

    url: Any  # pyarrow array of strings
    site: NDArray[np.int64]
    kind: NDArray[np.int64]  # an index into KIND_NAMES
    birth: Reals  # in days from the beginning of the window
    size: Reals  # views expected in the first 60 days
    shapes: Shapes
    stray_day: NDArray[np.int64]  # a view before the birth; NEVER, as in the next two
    burst_day: NDArray[np.int64]
    burst_size: NDArray[np.int64]
    spam_day: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.site)

    def take(self, pages: NDArray[np.int64] | slice) -> Pages:
        """Some of the pages."""
        columns = {each.name: getattr(self, each.name) for each in fields(self)}
        url, shapes = columns.pop("url"), columns.pop("shapes")
        some = url[pages] if isinstance(pages, slice) else url.take(pa.array(pages))
        return Pages(url=some, shapes=shapes.take(pages), **{name: each[pages] for name, each in columns.items()})

    def having(self, trait: str) -> NDArray[np.bool_]:
        """The pages whose kind has a trait."""
        return _having(trait, self.kind)


def make_pages(recipe: Recipe, sites: Sites) -> Pages:
    """Draw all pages of a world."""
    site = np.repeat(np.arange(len(sites.kind)), sites.pages.sum(axis=1))
    kinds = np.tile(np.arange(len(KIND_NAMES)), len(sites.kind))
    kind = np.repeat(kinds, sites.pages.reshape(-1))
    birth = _births(recipe, sites, site, kind)
    strange = _oddities(recipe, kind, birth)
    pages = Pages(
        _urls(recipe, sites, site, kind, birth), site, kind, birth,
        _sizes(recipe, sites, site, kind), _shapes(recipe, kind), *strange,
    )  # fmt: skip
    return pages.take(pc.sort_indices(pages.url).to_numpy().astype(np.int64))


def _births(recipe: Recipe, sites: Sites, site: NDArray[np.int64], kind: NDArray[np.int64]) -> Reals:
    dice = recipe.dice("births")
    day = np.arange(-BEFORE, recipe.last)
    until = np.cumsum(np.concatenate([[0.0], _WEEK[(recipe.first.weekday() + day) % 7]]))
    since, end = until[sites.on[site] + BEFORE], until[sites.off[site] + BEFORE]
    place = np.searchsorted(until, since + dice.random(len(site)) * (end - since), side="right") - 1
    hour = dice.normal(_NOON, _HOURS, len(site)) % 24
    dated = day[np.minimum(place, len(day) - 1)] + hour / 24
    births = np.where(_having("old", kind), -dice.uniform(BEFORE, _OLDEST, len(site)), dated)
    return np.where(kind == HUB, -_OLDEST, births)


def _having(trait: str, kind: NDArray[np.int64]) -> NDArray[np.bool_]:
    having: NDArray[np.bool_] = np.array([getattr(each, trait) for each in PAGE_KINDS.values()])[kind]
    return having


def _sizes(recipe: Recipe, sites: Sites, site: NDArray[np.int64], kind: NDArray[np.int64]) -> Reals:
    dice = recipe.dice("sizes")
    usual = _VIEWS * sites.views[site] * np.exp(dice.normal(0, _SPREAD, len(site)))
    usual *= np.where(dice.random(len(site)) < 0.006, 1 + dice.pareto(1.0, len(site)), 1.0)  # what everybody must see
    front = _FRONT_VIEWS * sites.front_views[site] * np.exp(dice.normal(0, _FRONT_SPREAD, len(site)))
    return recipe.size * np.where(kind == HUB, front, usual)


def _shapes(recipe: Recipe, kind: NDArray[np.int64]) -> Shapes:
    """Curves for all pages, kind by kind."""
    dice = recipe.dice("shapes")
    count = len(kind)
    family, normal, form = np.empty(count, np.int64), np.empty(count), np.empty(count)
    rest, delay = np.zeros(count), np.zeros(count)
    for index, each in enumerate(PAGE_KINDS.values()):
        which = np.flatnonzero(kind == index)
        family[which] = dice.choice(list(each.shapes), len(which), p=list(each.shapes.values()))
        normal[which] = dice.normal(*each.first_days, len(which))
        form[which] = dice.uniform(*each.sigma, len(which))
        rest[which] = dice.beta(*each.rest, len(which)) if each.rest else 0.0
        delay[which] = dice.uniform(*each.again, len(which))
    form = np.where(family == POWER_LAW, dice.uniform(3.0, 5.0, count), form)
    return Shapes.of(family, normal, form).with_rest(rest, delay, TAIL)


def _urls(recipe: Recipe, sites: Sites, site: NDArray[np.int64], kind: NDArray[np.int64], birth: Reals) -> Any:
    dice = recipe.dice("sections")
    news = _having("recent", kind) ^ (dice.random(len(site)) < recipe.misfiled)
    section = dice.integers(0, len(NEWS_SECTIONS), len(site)) + np.where(news, 0, len(LASTING_SECTIONS))
    urls = np.empty(len(site), dtype=object)
    front = kind == HUB
    urls[front] = front_urls(sites, site[front])
    urls[~front] = make_urls(recipe, sites, site[~front], section[~front], birth[~front])
    return pa.array(urls, pa.string())


def _oddities(recipe: Recipe, kind: NDArray[np.int64], birth: Reals) -> tuple[NDArray[np.int64], ...]:
    """Days of a stray view, of a burst with its size, and of spam."""
    dice = recipe.dice("oddities")
    chance = dice.random((3, len(kind)))
    stray = np.floor(birth).astype(np.int64) - dice.integers(1, _LEAD + 1, len(kind))
    stray[(chance[0] >= recipe.strays) | (stray < 0)] = NEVER
    lasting = ~_having("recent", kind) & (kind != HUB)
    burst = np.where(lasting & (chance[1] < recipe.bursts), dice.integers(0, recipe.last, len(kind)), NEVER)
    spam = np.where(chance[2] < recipe.spam, dice.integers(0, recipe.last, len(kind)), NEVER)
    return stray, burst, dice.integers(20, 166, len(kind)), spam
