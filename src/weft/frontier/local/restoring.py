"""Pages that come back from the log, all at once. In: a checkpoint and the records behind it. Out: every page stands
where it stood.

Records are read in their order, and make pages known by their keys alone (`load_base`, `replay`). When all are read,
it is clear which of them count: these are put into URL-seen (`restore`) and into the heaps of their sites (`stand`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Thread
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.clock import Clock
from weft.compiled import uncounted
from weft.frontier.durable.log import Replayed
from weft.frontier.durable.past import GONE, PART, PENDING, REPLACED, STATE, Past, room_for_sites
from weft.frontier.local.pages import Pages
from weft.frontier.local.ranking import Ranking
from weft.frontier.local.seen import build
from weft.frontier.local.sites import Sites
from weft.frontier.local.unranked import Unranked
from weft.model import PageNumber, SiteNumber
from weft.ordering.heaps import stand_all


class Standing(NamedTuple):
    """Pages that were read back."""

    site_of: NDArray[np.int32]
    waiting: NDArray[np.bool_]  # by page: is it yet to be fetched?
    table: Thread  # in which URL-seen is made


@uncounted
def count_all(
    sites: NDArray[np.int32],
    states: NDArray[np.uint8],
    known: NDArray[np.bool_],
    waiting: NDArray[np.bool_],
    found: NDArray[np.int32],
    begun: NDArray[np.bool_],
) -> None:
    """By page, is it known, and does it wait? By site, how many pages of it are known, and was one settled?"""
    for page in range(sites.size):
        site, state = sites[page], states[page] & STATE
        known[page] = site != GONE and state != REPLACED
        waiting[page] = known[page] and state == PENDING
        if known[page]:
            found[site] += states[page] < PART
            if state != PENDING:
                begun[site] = True


@contextmanager
def reading_columns(pages: Pages) -> Iterator[Future[NDArray[np.int32]]]:
    """Read keys and sites of the pages of a checkpoint, beside what is done meanwhile: the keys to where they stand,
    the sites to an array with room behind for those of the log.
    """
    log, arrays, sites = pages.log, pages.seen.arrays, room_for_sites(pages.log)

    def read() -> NDArray[np.int32]:
        if log.base is not None:
            begin, end = log.base.manifest.first, log.base.manifest.pages
            log.read_columns(arrays.key[begin:end], sites[: end - begin])
        return sites

    with ThreadPoolExecutor(1, "checkpoint") as reader:
        yield reader.submit(read)


def load_base(pages: Pages, ranking: Ranking | Unranked, past: Past, columns: Future[NDArray[np.int32]]) -> None:
    """Put the pages of a checkpoint back, without making them known or pending, with their scores."""
    past.take_sites(columns.result())
    base = pages.log.base
    if base is None:
        return
    begin, end = base.manifest.first, base.manifest.pages
    pages.seen.arrays.counts[0] = end
    if "scores" in base.manifest.files:
        pages.heaps.arrays.score[begin:end] = np.frombuffer(base.read("scores"))
    ranking.load_base(base)


def replay(pages: Pages, ranking: Ranking | Unranked, replayed: Replayed) -> None:
    """The same with the pages of a record."""
    arrays, commit = pages.seen.arrays, replayed.commit
    first, count = int(arrays.counts[0]), len(replayed.rows)
    if first + count > arrays.key.size:
        raise MemoryError("the frontier is full")
    arrays.key[first : first + count] = replayed.keys
    arrays.counts[0] = first + count
    if commit.scores:
        pages.heaps.arrays.score[first : first + count] = np.frombuffer(commit.scores)
    ranking.restore(commit)


def restore(pages: Pages, sites: Sites, past: Past) -> Standing:
    """Make pages known, and count them; which of them wait. The table is made beside what follows."""
    site_of = past.sites()
    known = np.empty(len(site_of), np.bool_)
    waiting = np.empty(len(site_of), np.bool_)
    count_all(site_of, past.raw_states(), known, waiting, pages.seen.arrays.found, sites.begun)
    owner = pages.heaps.arrays.owner
    if owner.size > 1:
        owner[past.first : past.first + len(site_of)] = site_of
    table = Thread(target=build, args=(pages.seen.arrays, known, past.first), name="URL-seen")
    table.start()
    return Standing(site_of, waiting, table)


def stand(
    pages: Pages,
    sites: Sites,
    past: Past,
    standing: Standing,
    clock: Clock,
    set_back: float,
    longest: Callable[[int], float],
) -> NDArray[np.bool_]:
    """Make pages pending again that were, now or when their pause is over; the clock was set back by so much, and may
    have been before: no pause is longer than the `longest` behind so many tries. By page, from the first on: is it yet
    to be fetched?
    """
    (site_of, waiting, table), first = standing, past.first
    now = clock.now()
    offset = clock.wall() + set_back - now
    delayed = [page - first for page in past.retries if page >= first and waiting[page - first]]
    for place in delayed:
        tries, wall = past.retries[first + place]
        sites.begun[site_of[place]] = True
        at = min(max(now, wall - offset), now + longest(tries))
        pages.due.put(PageNumber(first + place), SiteNumber(int(site_of[place])), at, tries)
    waiting[delayed] = False
    stand_all(pages.heaps.arrays, site_of, waiting, first)
    waiting[delayed] = True
    table.join()
    return waiting
