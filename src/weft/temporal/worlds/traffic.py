"""Views: what users make of the interest in pages. In: sites and pages. Out: `Traffic`, views of every page and day.

A day's views are Poisson around the integral of the interest over the day, times what has nothing to do with the page:
the weekday at its kind of site, the site's and the page's good and bad days, a season, and three days on which a part
of the log was lost. Pages that last have spikes besides, as real reference pages have: many people come for a few days
and fewer each day; like a burst, a spike may come before the birth. Pages are worked off in parts of a fixed number,
each with chance of its own.

The first view of a page and day is drawn as what it is, the first of so many; a log drawn later has the others behind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.temporal.worlds.pages import HUB, LIFE, NEVER, Pages
from weft.temporal.worlds.recipe import Recipe
from weft.temporal.worlds.shapes import Reals
from weft.temporal.worlds.sites import Sites

_PART = 8192  # pages
CLOCK_HOURS = np.array([6, 4, 3, 2, 2, 3, 6, 12, 20, 25, 27, 26, 24, 25, 25, 25, 25, 24, 22, 24, 28, 26, 21, 14])
_CLOCK = np.concatenate([[0.0], np.cumsum(CLOCK_HOURS) / CLOCK_HOURS.sum()])  # share of a day's views before each hour
_SITE_NOISE, _PAGE_NOISE, _FRONT_NOISE = 0.1, 0.2, 0.1  # deviations of logarithms, of one day each
_SPIKES = 0.0055  # a day
_SPIKE_HEIGHT, _SPIKE_SPREAD = 7.0, 0.6  # in days' views of the page, and the deviation of the logarithm
_SPIKE_LEFT = (0.2, 0.55)  # of a spike, a day later
_SPIKE_DAYS = 7
_SEASON_DAYS, _SEASON_STRENGTH = (30.0, 60.0), (0.7, 1.4)
_LOST_DAYS, _KEPT = 3, 0.72
_EAGER = 0.4  # how much earlier a page is seen on the day of its birth than the hours' shares of views say
DAY = 86_400  # seconds


@dataclass(frozen=True, slots=True)
class Traffic:
    """Views of all pages; days without views are not there."""

    start: NDArray[np.int64]  # where a page's days begin; one more entry than pages
    day: NDArray[np.int16]
    count: NDArray[np.int32]  # users who viewed the page on that day
    first: NDArray[np.int32]  # second of the day at which the first of them came


def make_traffic(recipe: Recipe, sites: Sites, pages: Pages) -> Traffic:
    """Draw the views of all pages."""
    factors = _site_days(recipe, sites)
    starts, parts = [np.zeros(1, np.int64)], []
    for part, begin in enumerate(range(0, len(pages), _PART)):
        some = pages.take(slice(begin, begin + _PART))
        dice = recipe.dice("traffic", part)
        count = dice.poisson(_expected(recipe, some, factors, dice))
        _add_oddities(some, count)
        page, day = np.nonzero(count)
        views = count[page, day]
        starts.append(np.bincount(page, minlength=len(some)))
        earliest = 1 - dice.random(len(day)) ** (1 / views)  # of so many draws between 0 and 1
        first = second_of(earliest, born_at(some.birth[page], day))
        parts.append((day.astype(np.int16), views.astype(np.int32), first))
    columns = [np.concatenate(each) for each in zip(*parts, strict=True)]
    return Traffic(np.cumsum(np.concatenate(starts)), *columns)


def born_at(birth: Reals, day: NDArray[np.int64] | int) -> Reals:
    """The share of a day that lies before a page's birth; none on other days: views before it come at any hour."""
    share = np.interp((birth - day) * DAY, np.arange(25) * 3600, _CLOCK)
    return np.where((birth >= day) & (birth < day + 1), share, 0.0)


def second_of(chance: Reals, born: Reals) -> NDArray[np.int32]:
    """The second of a day before which a share of a page's views lie, if it was born on that day at a share of it."""
    early = np.where(born > 0, chance * (1 - _EAGER * (1 - chance)), chance)
    share = born + (1 - born) * early
    return np.minimum(np.interp(share, _CLOCK, np.arange(25)) * 3600, DAY - 1).astype(np.int32)


def chance_of(second: NDArray[np.int32], born: Reals) -> Reals:
    """The share of a page's views that lie before a second of the day."""
    share = np.interp(second, np.arange(25) * 3600, _CLOCK)
    early = np.maximum(share - born, 0.0) / (1 - born)
    rest = 1 - _EAGER
    chance: Reals = (np.sqrt(rest**2 + 4 * _EAGER * early) - rest) / (2 * _EAGER)  # where `second_of` came from
    return np.where(born > 0, chance, early)


def _site_days(recipe: Recipe, sites: Sites) -> Reals:
    """What a day does to all pages of a site."""
    dice = recipe.dice("days")
    day = np.arange(recipe.last)
    weekend = (recipe.first.weekday() + day) % 7 >= 5
    lost = int(dice.integers(0, max(1, recipe.days - _LOST_DAYS)))
    kept = np.where((day >= lost) & (day < lost + _LOST_DAYS), _KEPT, 1.0)
    noise = np.exp(dice.normal(0, _SITE_NOISE, (len(sites.kind), recipe.last)))
    return np.where(weekend, sites.weekend[:, None], 1.0) * noise * kept


def _expected(recipe: Recipe, pages: Pages, factors: Reals, dice: np.random.Generator) -> Reals:
    """Views that each page expects on each day."""
    days = recipe.last
    expected = pages.shapes.by_day(pages.birth, days) * (pages.size / pages.shapes.share(LIFE))[:, None]
    season = np.flatnonzero(pages.having("seasonal"))
    length = dice.uniform(*_SEASON_DAYS, (len(season), 1))
    phase, strength = dice.random((len(season), 1)), dice.uniform(*_SEASON_STRENGTH, (len(season), 1))
    expected[season] *= np.exp(strength * np.sin(2 * np.pi * (np.arange(days) / length + phase)))
    _add_spikes(pages, expected, dice)
    noise = np.where(pages.kind == HUB, _FRONT_NOISE, _PAGE_NOISE)[:, None]
    expected *= np.exp(dice.standard_normal(expected.shape, dtype=np.float32) * noise)
    expected *= factors[pages.site]
    return expected


def _add_spikes(pages: Pages, expected: Reals, dice: np.random.Generator) -> None:
    days = expected.shape[1]
    spiky = np.flatnonzero(pages.having("spiky"))
    page = np.repeat(spiky, dice.poisson(_SPIKES * days, len(spiky)))
    day = dice.integers(0, days, len(page))
    height = pages.size[page] / LIFE * np.exp(dice.normal(np.log(_SPIKE_HEIGHT), _SPIKE_SPREAD, len(page)))
    left = dice.uniform(*_SPIKE_LEFT, len(page))
    for later in range(_SPIKE_DAYS):
        inside = day + later < days
        np.add.at(expected, (page[inside], day[inside] + later), (height * left**later)[inside])


def _add_oddities(pages: Pages, count: NDArray[np.int64]) -> None:
    """A stray view, a burst, and spam, which is one more user however often he asks."""
    for when, views in ((pages.stray_day, 1), (pages.burst_day, pages.burst_size), (pages.spam_day, 1)):
        page = np.flatnonzero(when != NEVER)
        count[page, when[page]] += np.broadcast_to(views, when.shape)[page]
