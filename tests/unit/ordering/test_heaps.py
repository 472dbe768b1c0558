"""The two-level heap against one that looks at everything."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.ordering.heaps import (
    CAPACITY,
    IN_HEAP,
    PENDING,
    Heaps,
    add_site,
    make_heaps,
    pop,
    push,
    push_all,
    rescore,
    set_ready,
    set_unready,
    take_site,
)

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
        """The best page of a site, or -1."""
        return min(self.pages[site], key=self.key, default=-1)

    def take(self) -> int:
        """The best ready site that has pages, or -1."""
        candidates = [site for site in range(SITES) if self.ready[site] and self.pages[site]]

        def key(site: int) -> tuple[float, float, int]:
            best = self.best(site)
            return (-len(self.pages[site]), 0.0, best) if self.by_size else (0.0, *self.key(best))

        return min(candidates, key=key, default=-1)


def fresh(*, scored: bool, by_size: bool, pages: int = 4096) -> Heaps:
    """Heaps with a few sites and no pages."""
    heaps = make_heaps(pages=pages, sites=SITES, scored=scored, by_size=by_size)
    for site in range(SITES):
        add_site(heaps, site)
    return heaps


def check_invariants(heaps: Heaps) -> None:
    """Every site knows its place, and no child comes before its parent."""
    count = int(heaps.counts[IN_HEAP])
    for place in range(count):
        assert heaps.at[heaps.sites[place]] == place
    for site in range(SITES):
        assert (heaps.at[site] >= 0) == (bool(heaps.ready[site]) and heaps.length[site] > 0)
        assert (heaps.block[site] >= 0) == (heaps.length[site] > 0)
        if heaps.length[site]:
            assert heaps.length[site] <= CAPACITY[heaps.kind[site]]


@pytest.mark.parametrize("scored", [False, True])
@pytest.mark.parametrize("by_size", [False, True])
@given(
    steps=st.lists(
        st.tuples(
            st.sampled_from(["push", "push", "push", "pop", "take", "ready", "unready", "rescore"]),
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
                heaps.score[page] = float(number)
            push(heaps, site, page)
            naive.pages[site].add(page)
            page += 1
        elif what == "pop":
            best = naive.best(site)
            assert pop(heaps, site) == best
            naive.pages[site].discard(best)
        elif what == "take":
            best = naive.take()
            assert take_site(heaps) == best
            if best >= 0:
                naive.ready[best] = False
        elif what == "ready":
            set_ready(heaps, site)
            naive.ready[site] = True
        elif what == "unready":
            set_unready(heaps, site)
            naive.ready[site] = False
        elif scored and naive.pages[site]:
            chosen = sorted(naive.pages[site])[number % len(naive.pages[site])]
            naive.score[chosen] = float(site)
            rescore(heaps, site, chosen, float(site))
        check_invariants(heaps)
        assert heaps.counts[PENDING] == sum(map(len, naive.pages))


def test_heaps__a_site_may_grow_and_shrink_without_losing_a_page() -> None:
    """Thousands of pages pass through blocks of many sizes, and come out in order."""
    heaps = fresh(scored=False, by_size=False, pages=1 << 16)
    chance = random.Random(1)
    pages = list(range(20_000))
    sites = [chance.randrange(SITES) for _ in pages]
    push_all(heaps, np.array(sites, np.int32), np.array(pages, np.int32))
    for site in range(SITES):
        expected = [page for page in pages if sites[page] == site]
        assert [pop(heaps, site) for _ in expected] == expected
        assert pop(heaps, site) == -1


def test_heaps__blocks_are_used_again() -> None:
    """A frontier that fills and empties again and again takes no more room than its fullest moment."""
    heaps = fresh(scored=False, by_size=False, pages=1 << 12)
    for round_ in range(50):
        for page in range(1000):
            push(heaps, page % SITES, page + round_)
        for site in range(SITES):
            while pop(heaps, site) >= 0:
                pass
    assert heaps.counts[1] < 4 * 1000
