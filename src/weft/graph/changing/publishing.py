"""Who publishes how much, and when. In: a graph and how it changes. Out: `Publishing`, and the births of new pages.

Births of a site are a Poisson process whose rate is the site's own, times its weekend's factor, plus what an event
adds, times the factor of the hour. The hours are those of newsrooms, around 13 h; at sites that publish no news they
matter less. Births happen on whole seconds.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.graph.changing.processes import log_uniform, normals, points
from weft.graph.changing.recipe import Changes
from weft.graph.changing.world import DAY, HOUR, NONE, RESTLESS, STALE, TRUE, Publishing, Reals
from weft.graph.model import Graph

_NOON, _HOURS = 13.0, 4.3  # middle and deviation of the hours of births
_AT_NIGHT = 0.08  # of the rate at noon that is there at any hour
_SIZE_SPREAD = 1.5  # how far from the order of sizes that of news sites is


def draw_publishing(rng: np.random.Generator, graph: Graph, changes: Changes) -> Publishing:
    """How each site publishes."""
    sites = graph.sites
    news = _news_sites(rng, graph, changes.news)
    slow = log_uniform(rng, changes.births_least, changes.births_most, sites)
    fast = log_uniform(rng, changes.news_births_least, changes.news_births_most, sites)
    event = rng.random(sites) < changes.events
    begins = np.floor(rng.random(sites) * max(changes.days - changes.event_days, 1)) * DAY
    feeds = rng.random(sites) < np.where(news, changes.feeds, changes.feeds / 2)

    def lag(median: float) -> Reals:
        return np.asarray(median * np.exp(changes.lag_spread * normals(rng, sites)))

    def lie() -> Reals:
        return np.where(rng.random(sites) < changes.lies, changes.lie_s, 0.0)

    return Publishing(
        news=news,
        births_a_day=np.where(news, fast, slow),
        hours=_hours(rng, news, changes),
        event_begins=np.where(event, begins, np.inf),
        feed_lag_s=np.where(feeds, lag(changes.feed_lag_s), np.nan),
        feed_lie_s=lie(),
        sitemap_lag_s=lag(changes.sitemap_lag_s),
        sitemap_lie_s=lie(),
        validators=_validators(rng, sites, changes),
    )


def draw_births(
    rng: np.random.Generator, publishing: Publishing, changes: Changes
) -> tuple[NDArray[np.int64], Reals, NDArray[np.bool_]]:
    """The births of a world's days: site and time of each, by site and then by time, and whether an event is why."""
    days = int(np.ceil(changes.days))
    own = np.repeat(publishing.births_a_day[:, None], days, axis=1)
    weekend = (changes.first.weekday() + np.arange(days)) % 7 >= 5
    own[np.ix_(publishing.news, weekend)] *= changes.weekend
    since = np.arange(days) * DAY - publishing.event_begins[:, None]
    event = np.where((since >= 0) & (since < changes.event_days * DAY), changes.event_births, 0.0)
    expected = own + event
    day, along = points(rng, expected.ravel())
    site = day // days
    part = along / expected.ravel()[day]
    born = (day % days) * DAY + _second_of(part, np.cumsum(publishing.hours, axis=1) / 24, site)
    for_event = rng.random(len(site)) * expected.ravel()[day] < event.ravel()[day]
    kept = born < changes.days * DAY
    return site[kept], np.floor(born[kept]), for_event[kept]


def _second_of(part: Reals, reached: Reals, site: NDArray[np.int64]) -> Reals:
    """The second of a day by which a part of its births is reached, at each one's site."""
    ends = reached[site]
    hour = np.minimum((ends <= part[:, None]).sum(axis=1), 23)
    rows = np.arange(len(part))
    before = np.where(hour > 0, ends[rows, np.maximum(hour - 1, 0)], 0.0)
    return np.asarray((hour + (part - before) / (ends[rows, hour] - before)) * HOUR)


def _news_sites(rng: np.random.Generator, graph: Graph, share: float) -> NDArray[np.bool_]:
    """Which sites publish news: larger ones more often."""
    standing = np.log(np.diff(graph.first_page)) + _SIZE_SPREAD * normals(rng, graph.sites)
    news = np.zeros(graph.sites, dtype=np.bool_)
    news[np.argsort(-standing, kind="stable")[: round(share * graph.sites)]] = True
    return news


def _hours(rng: np.random.Generator, news: NDArray[np.bool_], changes: Changes) -> Reals:
    """24 factors for each site, 1 on average."""
    peak = _NOON + changes.peak_spread_h * normals(rng, len(news))
    away = np.abs(np.arange(24) + 0.5 - peak[:, None]) % 24
    away = np.minimum(away, 24 - away)
    spread = np.where(news, _HOURS, 1.5 * _HOURS)[:, None]
    shape = _AT_NIGHT + np.exp(-((away / spread) ** 2) / 2)
    return np.asarray(shape / shape.mean(axis=1, keepdims=True))


def _validators(rng: np.random.Generator, sites: int, changes: Changes) -> NDArray[np.uint8]:
    draw = rng.random(sites)
    none, restless = changes.unvalidated, changes.unvalidated + changes.restless
    found = np.full(sites, TRUE, dtype=np.uint8)
    found[draw < restless + changes.stale] = STALE
    found[draw < restless] = RESTLESS
    found[draw < none] = NONE
    return found
