"""The two-level heap against one that looks at everything."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.ordering.heaps import CAPACITY, IN_HEAP, PENDING, TwoLevelHeap, push_all, reheap

SITES = 5


class Naive:
    """The same rules, written down without thought for speed."""

    def __init__(self, *, scored: bool, by_size: bool) -> None:
        self.pages: list[set[int]] = [set() for _ in range(SITES)]
        self.ready = [False] * SITES
        self.score: dict[int, float] = {}
        self.scored = scored
        self.by_size = by_size

    def key(self, page: int) -> tuple[float, int]:
        """Smaller comes first."""
        return (-self.score[page] if self.scored else 0.0, page)

    def best(self, site: int) -> int:
        """The best page of a site that need not wait for another score, or -1."""
        free = [page for page in self.pages[site] if not self.scored or self.score[page] > -np.inf]
        return min(free, key=self.key, default=-1)

    def take(self) -> int:
        """The best ready site that has pages, or -1."""
        candidates = [site for site in range(SITES) if self.ready[site] and self.best(site) >= 0]

        def key(site: int) -> tuple[float, float, int]:
            best = self.best(site)
            return (-len(self.pages[site]), 0.0, best) if self.by_size else (0.0, *self.key(best))

        return min(candidates, key=key, default=-1)


def fresh(*, scored: bool, by_size: bool, pages: int = 4096) -> TwoLevelHeap:
    """Heaps with a few sites and no pages."""
    heaps = TwoLevelHeap(pages=pages, sites=SITES, scored=scored, by_size=by_size)
    for site in range(SITES):
        heaps.add_site(site)
    return heaps


def check_invariants(heap: TwoLevelHeap) -> None:
    """Every site knows its place, and no child comes before its parent."""
    heaps = heap.arrays
    count = int(heaps.counts[IN_HEAP])
    for place in range(count):
        assert heaps.at[heaps.sites[place]] == place
    for site in range(SITES):
        assert (heaps.at[site] >= 0) == (bool(heaps.ready[site]) and heaps.length[site] > 0)
        assert (heaps.block[site] >= 0) == (heaps.length[site] > 0)
        if heaps.length[site]:
            assert heaps.length[site] <= CAPACITY[heaps.size_class[site]]


@pytest.mark.parametrize("scored", [False, True])
@pytest.mark.parametrize("by_size", [False, True])
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from([*["push"] * 3, "pop", "take", "ready", "unready", "rescore", "reheap", "hold", "drain"]),
            st.integers(0, SITES - 1),
            st.integers(0, 3),
        ),
        max_size=200,
    )
)
def test_heaps__agree_with_a_naive_frontier(*, scored: bool, by_size: bool, steps: list[tuple[str, int, int]]) -> None:
    """Whatever is done in whatever order, the best site and the best page are those of an exhaustive search."""
    heaps, naive = fresh(scored=scored, by_size=by_size), Naive(scored=scored, by_size=by_size)
    page = 0
    for what, site, number in steps:
        if what == "push":
            naive.score[page] = float(number)
            if scored:
                heaps.arrays.score[page] = float(number)
            heaps.push(site, page)
            naive.pages[site].add(page)
            page += 1
        elif what == "pop":
            best = naive.best(site)
            assert heaps.pop(site) == best
            naive.pages[site].discard(best)
        elif what == "drain":
            assert heaps.drain(site) == sorted(naive.pages[site], key=naive.key)
            naive.pages[site].clear()
        elif what == "take":
            best = naive.take()
            assert heaps.take_site() == best
            if best >= 0:
                naive.ready[best] = False
        elif what in ("ready", "unready"):
            naive.ready[site] = what == "ready"
            (heaps.set_ready if naive.ready[site] else heaps.set_unready)(site)
        elif what == "reheap":
            for each in sorted(set().union(*naive.pages)) if scored else ():
                naive.score[each] = heaps.arrays.score[each] = float((each * 7 + number) % 4)
            if scored:
                reheap(heaps.arrays)
        elif scored and naive.pages[site] and not (what == "hold" and by_size):  # sizes do not know of pages that wait
            chosen = sorted(naive.pages[site])[number % len(naive.pages[site])]
            naive.score[chosen] = -np.inf if what == "hold" else float(site)
            heaps.rescore(site, chosen, naive.score[chosen])
        check_invariants(heaps)
        assert heaps.arrays.counts[PENDING] == sum(map(len, naive.pages))


def test_heaps__a_site_may_grow_and_shrink_without_losing_a_page() -> None:
    """Thousands of pages pass through blocks of many sizes, and come out in order."""
    heaps = fresh(scored=False, by_size=False, pages=1 << 16)
    chance = random.Random(1)
    pages = list(range(20_000))
    sites = [chance.randrange(SITES) for _ in pages]
    push_all(heaps.arrays, np.array(sites, np.int32), np.array(pages, np.int32))
    for site in range(SITES):
        expected = [page for page in pages if sites[page] == site]
        assert [heaps.pop(site) for _ in expected] == expected
        assert heaps.pop(site) == -1


@pytest.mark.parametrize("pages", [1, 5, 7, 14, 20, 317, 475, 1000, 5000])
def test_heaps__have_room_for_all_pages_on_one_site(pages: int) -> None:
    """However they grow."""
    heaps = TwoLevelHeap(pages=pages, sites=1, scored=False, by_size=False)
    heaps.add_site(0)
    for page in range(pages):
        heaps.push(0, page)
    assert [heaps.pop(0) for _ in range(pages)] == list(range(pages))


def test_heaps__blocks_are_used_again() -> None:
    """A frontier that fills and empties again and again takes no more room than its fullest moment."""
    heaps = fresh(scored=False, by_size=False, pages=1 << 12)
    for round_ in range(50):
        for page in range(1000):
            heaps.push(page % SITES, page + round_)
        for site in range(SITES):
            while heaps.pop(site) >= 0:
                pass
    assert heaps.arrays.counts[1] < 4 * 1000
