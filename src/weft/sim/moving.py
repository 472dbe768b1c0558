"""A web that changes, as a simulation needs it. In: a world, or arrays. Out: `Moving`: who changes when, in days.

Changes of all pages are one sorted array: a change is its page's number times a span that no time reaches, plus its
time. So how often pages have changed by some times is one binary search for all of them. A page's death is its last
change, and a birth that a hub lists is a change of the hub.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.graph.changing import World
from weft.graph.changing.world import DAY, TRUE
from weft.revisit.contract import Numbers


class Moving(NamedTuple):
    """Pages and their changes; times are days from the start."""

    site: NDArray[np.int32]
    folder: NDArray[np.int32]  # what a page hangs under: the level between its site and itself
    born: Numbers  # 0 or before: it was there at the start
    gone: Numbers  # infinite: it stays
    rate: Numbers  # real changes a day, as the world has them; an oracle's
    weight: Numbers  # views a day, or quality; 1 on average
    size: Numbers  # bytes
    conditional: NDArray[np.bool_]  # whether a fetch of an unchanged page costs next to nothing (304)
    temporal: NDArray[np.bool_]
    hub: NDArray[np.bool_]
    listed: NDArray[np.int32]  # births, hub by hub, in their order
    listed_from: NDArray[np.int64]  # by page: where its births begin; one entry more
    shown: int  # how many of the newest a hub lists
    changes: Numbers  # keys, ascending
    days: float

    @property
    def pages(self) -> int:
        """How many there ever are."""
        return len(self.site)

    def key(self, page: NDArray[Any], time: Numbers) -> Numbers:
        """Where a page's time stands among all changes."""
        return page * _span(self.days) + np.clip(time, -1.0, self.days + 1.0)

    def next_change(self, page: NDArray[Any], time: Numbers) -> Numbers:
        """When pages change for the first time after these times; infinite where they do not."""
        at = np.searchsorted(self.changes, self.key(page, time), side="right")
        found = self.changes[np.minimum(at, len(self.changes) - 1)] - page * _span(self.days)
        return np.where((at < len(self.changes)) & (found <= self.days + 1.0), found, np.inf)


def _span(days: float) -> float:
    return days + 4.0  # times are kept within a day before the start and a day after the end


def keys_of(page: NDArray[Any], time: Numbers, days: float) -> Numbers:
    """Changes as sorted keys; those outside the time that is simulated are left out."""
    inside = (time > 0) & (time <= days)
    return np.sort(page[inside] * _span(days) + time[inside])


def poisson_changes(rate: Numbers, days: float, rng: np.random.Generator) -> tuple[NDArray[np.int64], Numbers]:
    """Changes at these rates, by chance: pages and times."""
    many = rng.poisson(rate * days)
    return np.repeat(np.arange(len(rate)), many), rng.random(int(many.sum())) * days


def moving_pages(rate: Numbers, site: NDArray[Any], days: float, seed: int, weight: Numbers | None = None) -> Moving:
    """Pages that are all there from the start and change at these rates, with no hubs: for policies by themselves."""
    rng = np.random.default_rng(seed)
    many = len(rate)
    return Moving(
        site=np.asarray(site, np.int32),
        folder=np.asarray(site, np.int32),
        born=np.zeros(many),
        gone=np.full(many, np.inf),
        rate=rate,
        weight=np.ones(many) if weight is None else weight / weight.mean(),
        size=np.full(many, 15_000.0),
        conditional=np.zeros(many, np.bool_),
        temporal=np.zeros(many, np.bool_),
        hub=np.zeros(many, np.bool_),
        listed=np.zeros(0, np.int32),
        listed_from=np.zeros(many + 1, np.int64),
        shown=1,
        changes=keys_of(*poisson_changes(rate, days, rng), days),
        days=days,
    )


def moving_births(
    site: NDArray[Any], born: Numbers, temporal: NDArray[np.bool_], sites: int, days: float, shown: int = 50
) -> Moving:
    """Sites with one hub each, which lists what is born there: for hub policies by themselves. Hubs come first."""
    many = sites + len(born)
    order = np.lexsort((born, site))
    hubs = np.arange(sites)
    whole = np.concatenate([hubs, site]).astype(np.int32)
    births = np.concatenate([np.full(sites, -np.inf), born])
    listed = (sites + order).astype(np.int32)
    return Moving(
        site=whole,
        folder=whole,
        born=births,
        gone=np.full(many, np.inf),
        rate=np.concatenate([np.bincount(site, minlength=sites) / days, np.zeros(len(born))]),
        weight=np.ones(many),
        size=np.full(many, 15_000.0),
        conditional=np.zeros(many, np.bool_),
        temporal=np.concatenate([np.zeros(sites, np.bool_), temporal]),
        hub=np.arange(many) < sites,
        listed=listed,
        listed_from=np.concatenate(
            [np.searchsorted(site[order], np.arange(sites + 1)), np.full(len(born), len(born))]
        ).astype(np.int64),
        shown=shown,
        changes=keys_of(site, born, days),
        days=days,
    )


def moving_of(world: World, weight: Numbers, seed: int = 1) -> Moving:
    """A world of `weft.graph.changing`; what pages are worth is PageRank, or whatever the caller has."""
    graph, days = world.graph, world.changes.days
    pages = graph.pages
    site = np.repeat(np.arange(graph.sites, dtype=np.int32), np.diff(graph.first_page))
    home = graph.first_page[site]
    born, gone = world.birth / DAY, world.death / DAY
    hub = np.zeros(pages, np.bool_)
    hub[world.hubs] = True
    # A leaf is listed by its front, and by its site's home page where that is another one.
    leaf = np.flatnonzero(~hub)
    beside = leaf[home[leaf] != world.front[leaf]]
    listing = np.concatenate([world.front[leaf], home[beside]])
    listed = np.concatenate([leaf, beside])
    order = np.lexsort((born[listed], listing))
    listing, listed = listing[order], listed[order].astype(np.int32)
    edited = np.repeat(np.arange(pages), np.diff(world.edit_offsets))
    # A page that dies has its last change then; what happens to it afterwards does not.
    changed = np.concatenate([edited, listing, np.flatnonzero(np.isfinite(gone))])
    when = np.concatenate([world.edit_times / DAY, born[listed], gone[np.isfinite(gone)]])
    there = when <= gone[changed]
    rng = np.random.default_rng(seed)
    return Moving(
        site=site,
        folder=np.where(graph.parent >= 0, graph.parent, np.arange(pages)).astype(np.int32),
        born=born,
        gone=gone,
        rate=np.where(hub, np.bincount(listing[born[listed] > 0], minlength=pages) / days, world.edits_a_day),
        weight=weight / weight.mean(),
        size=rng.lognormal(np.log(15_000.0), 1.0, pages),
        conditional=world.publishing.validators[site] == TRUE,
        temporal=world.temporal,
        hub=hub,
        listed=listed,
        listed_from=np.searchsorted(listing, np.arange(pages + 1)),
        shown=world.changes.listed,
        changes=keys_of(changed[there], when[there], days),
        days=days,
    )
