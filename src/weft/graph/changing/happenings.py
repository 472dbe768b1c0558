"""What happened: the truth that a crawl is judged by. In: a world and two times. Out: births, edits and deaths between.

And how well somebody kept up with it. In: who was fetched when. Out: delays of new pages, and freshness and age of
copies as Cho and Garcia-Molina (2003) define them: a copy is fresh while the page has had no real edit since it was
fetched, and its age is the time since the first edit that it lacks.

A page counts from its birth, or from `begin` if it was there; until it is fetched it is not fresh, and its age is
reckoned from there. What was fetched is the version of the moment given: say when the server answered.

>>> from weft.graph import Recipe
>>> from weft.graph.changing import Changes, make_world
>>> world = make_world(Recipe(sites=5, pages=200), Changes(days=10, news=0.4), seed=1)
>>> happened = happenings(world, 0.0, world.end)
>>> {kind.value: int((happened.kind == place).sum()) > 0 for place, kind in enumerate(Kind)}
{'born': True, 'edited': True, 'died': True}
>>> born = np.flatnonzero(world.birth > 0)
>>> at_once = keeping_up(world, born, world.birth[born] + 60, begin=0.0, end=world.end)
>>> round(at_once.mean_delay_s), at_once.within(3600.0)
(60, 1.0)
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.graph.changing.world import Reals, World


class Kind(Enum):
    """What can happen to a page."""

    BORN = "born"
    EDITED = "edited"
    DIED = "died"


class Happenings(NamedTuple):
    """What happened, in the order of time: three arrays of one length."""

    at: Reals
    page: NDArray[np.int64]
    kind: NDArray[np.uint8]
    """The place in `Kind`."""


def happenings(world: World, begin: float, end: float) -> Happenings:
    """Births, real edits and deaths after `begin` and up to `end`. What hubs list is no edit here: births say it."""
    edited = np.repeat(np.arange(world.graph.pages), np.diff(world.edit_offsets))
    found = []
    for kind, (page, at) in enumerate(
        (
            (np.arange(world.graph.pages), world.birth),
            (edited, world.edit_times),
            (np.arange(world.graph.pages), world.death),
        )
    ):
        inside = np.flatnonzero((at > begin) & (at <= end))
        found.append((at[inside], page[inside], np.full(len(inside), kind, dtype=np.uint8)))
    at, page, kinds = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.lexsort((kinds, page, at))
    return Happenings(at[order], page[order], kinds[order])


@dataclass(frozen=True, slots=True)
class KeepingUp:
    """How well a crawl kept up with a world from one time to another."""

    delay_s: Reals
    """Of each page born in that time: how long until it was first fetched; infinite: it was not while it lived."""
    freshness: float
    """Share of the pages whose copy is fresh, on average over pages and time."""
    age_s: float
    """Age of the copies, on average over pages and time."""
    fetches: int
    found: int
    """Born pages that were fetched."""

    @property
    def mean_delay_s(self) -> float:
        """Over those that were fetched; NaN if none was."""
        fetched = self.delay_s[np.isfinite(self.delay_s)]
        return float(fetched.mean()) if len(fetched) else float("nan")

    def within(self, seconds: float) -> float:
        """Share of the born pages that were fetched within this; NaN if none was born."""
        return float((self.delay_s <= seconds).mean()) if len(self.delay_s) else float("nan")


def keeping_up(
    world: World,
    page: NDArray[np.integer],
    at: Reals,
    *,
    begin: float,
    end: float,
    temporal: bool = False,
) -> KeepingUp:
    """Judge fetches (page and the world's time of each, in any order) over pages that are listed: hubs are left out.

    With `temporal` only temporal pages count.
    """
    fetched, times = np.asarray(page, dtype=np.int64), np.asarray(at, dtype=np.float64)
    counted = world.front != np.arange(world.graph.pages)
    if temporal:
        counted &= world.temporal
    useful = (times <= end) & world.alive(fetched, times) & counted[fetched]
    fetched, times = fetched[useful], times[useful]
    first = np.full(world.graph.pages, np.inf)
    np.minimum.at(first, fetched, times)
    born = np.flatnonzero(counted & (world.birth > begin) & (world.birth <= end))
    delay = first[born] - world.birth[born]
    fresh, age, lived = _copies(world, fetched, times, np.flatnonzero(counted), begin, end)
    return KeepingUp(
        delay_s=delay,
        freshness=fresh / lived if lived else float("nan"),
        age_s=age / lived if lived else float("nan"),
        fetches=int((times > begin).sum()),
        found=int(np.isfinite(delay).sum()),
    )


def _copies(
    world: World, page: NDArray[np.int64], at: Reals, counted: NDArray[np.int64], begin: float, end: float
) -> tuple[float, float, float]:
    """Seconds in which copies were fresh, their age summed over time, and the seconds that pages were there."""
    from_when = np.maximum(world.birth[counted], begin)
    until = np.minimum(world.death[counted], end)
    there = np.maximum(until - from_when, 0.0)
    # Each page has stretches: from its birth on without a copy, then one from every fetch to the next.
    stretch_page = np.concatenate([counted, page])
    stretch_from = np.concatenate([np.full(len(counted), -np.inf), at])
    order = np.lexsort((stretch_from, stretch_page))
    stretch_page, stretch_from = stretch_page[order], stretch_from[order]
    same = stretch_page[1:] == stretch_page[:-1]
    stretch_end = np.append(np.where(same, stretch_from[1:], np.inf), np.inf)[: len(stretch_page)]
    counts_from = np.maximum(world.birth[stretch_page], begin)
    begins = np.maximum(stretch_from, counts_from)
    ends = np.minimum(stretch_end, np.minimum(world.death[stretch_page], end))
    lacks = np.where(np.isfinite(stretch_from), _next_edit(world, stretch_page, stretch_from), counts_from)
    fresh = np.maximum(np.minimum(lacks, ends) - begins, 0.0)
    old = np.flatnonzero(ends > np.maximum(lacks, begins))
    older, oldest = np.maximum(begins[old] - lacks[old], 0.0), ends[old] - lacks[old]
    return float(fresh.sum()), float(((oldest**2 - older**2) / 2).sum()), float(there.sum())


def _next_edit(world: World, page: NDArray[np.int64], after: Reals) -> Reals:
    """The first real edit of each page after a time; infinite if there is none."""
    done = world.version_of(page, after).real
    place = world.edit_offsets[page] + done
    more = place < world.edit_offsets[page + 1]
    found = np.full(len(page), np.inf)
    found[more] = world.edit_times[place[more]]
    return found
