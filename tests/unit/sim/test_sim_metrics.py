"""The measures of an order are what their definitions say, counted naively."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from weft.sim import metrics
from weft.sim.usage import levels

Crawl = tuple[NDArray[np.int32], NDArray[np.float64]]


@st.composite
def crawls(draw: st.DrawFn) -> Crawl:
    """Scores with ties, and an order of all or some of the pages."""
    weights = draw(st.lists(st.integers(1, 9), min_size=1, max_size=40))
    order = draw(st.permutations(range(len(weights))))
    done = draw(st.integers(1, len(weights)))
    scores = np.array(weights, dtype=np.float64)
    return np.array(order[:done], dtype=np.int32), scores / scores.sum()


@st.composite
def downloads(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Starts and ends, in the order of the ends."""
    pairs = draw(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 20)), min_size=1, max_size=30))
    ends = sorted((start + length, start) for start, length in pairs)
    return np.array([start for _, start in ends], dtype=float), np.array([end for end, _ in ends], dtype=float)


@given(crawls())
def test_average__is_the_mean_of_what_is_in_after_each_download(crawl: Crawl) -> None:
    """Cumulative PageRank and its average, summed one by one."""
    order, scores = crawl
    sums = [math.fsum(scores[page] for page in order[: i + 1]) for i in range(len(order))]
    assert metrics.cumulative(order, scores) == pytest.approx(sums)
    assert metrics.average(order, scores) == pytest.approx(math.fsum(sums) / len(sums))


@given(crawls())
def test_optimal_average__is_above_every_order_of_all_pages(crawl: Crawl) -> None:
    """No order beats the one by score."""
    order, scores = crawl
    rest = np.setdiff1d(np.arange(len(scores)), order)
    assert metrics.average(np.concatenate([order, rest]), scores) <= metrics.optimal_average(scores) + 1e-12
    assert metrics.average(np.argsort(-scores), scores) == pytest.approx(metrics.optimal_average(scores))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), min_size=2, max_size=40))
def test_tau__counts_pairs_and_leaves_ties_out(drawn: list[tuple[int, int]]) -> None:
    """Concordant less discordant pairs by all pairs; a page drawn twice, or an equal score, is neither."""
    score_at = dict(drawn)  # the same place is the same page
    sample = [(place, score_at[place]) for place, _ in drawn]
    signs = [np.sign(a[0] - b[0]) * np.sign(b[1] - a[1]) for a, b in combinations(sample, 2)]
    places, scores = np.array([each[0] for each in sample]), np.array([each[1] for each in sample], dtype=float)
    assert metrics.tau(places, scores) == pytest.approx(sum(signs) / len(signs))


def test_kendall__tells_equal_reversed_and_unrelated_orders() -> None:
    """1, -1 and about 0, less the pairs of pages drawn twice."""
    scores = np.linspace(1.0, 2.0, 20_000)
    scores /= scores.sum()
    worst = np.arange(20_000, dtype=np.int32)
    mixed = np.random.Generator(np.random.PCG64(3)).permutation(worst)
    assert metrics.kendall(worst[::-1], scores, 1) == pytest.approx(1.0, abs=1e-3)
    assert metrics.kendall(worst, scores, 1) == pytest.approx(-1.0, abs=1e-3)
    assert abs(metrics.kendall(mixed, scores, 1)) < 0.03


def test_kendall__is_fixed_by_the_seed_and_near_the_whole() -> None:
    """The same seed, the same number; another seed, nearly the same as without sampling."""
    rng = np.random.Generator(np.random.PCG64(5))
    scores = rng.random(30_000)
    order = np.argsort(-(scores + rng.random(30_000))).astype(np.int32)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    whole = metrics.tau(place, scores)
    assert metrics.kendall(order, scores, 1) == metrics.kendall(order, scores, 1)
    assert metrics.kendall(order, scores, 1) != metrics.kendall(order, scores, 2)
    assert metrics.kendall(order, scores, 2) == pytest.approx(whole, abs=0.02)


@given(crawls(), st.sampled_from([0.01, 0.1, 0.25, 0.5, 1.0]))
def test_search_length__is_the_first_moment_at_which_enough_of_the_best_are_in(crawl: Crawl, share: float) -> None:
    """The best are looked for after each download."""
    order, scores = crawl
    wanted = max(1, round(share * len(scores)))
    best = set(sorted(range(len(scores)), key=lambda page: (-scores[page], page))[:wanted])

    def naive(hundredths: int) -> int | None:
        for i in range(1, len(order) + 1):
            if 100 * len(best & set(order[:i].tolist())) >= hundredths * wanted:
                return i
        return None

    found = metrics.search_length(order, scores, share)
    assert (found.pages, found.most, found.nearly, found.whole) == (wanted, naive(90), naive(99), naive(100))


@given(crawls(), st.integers(2, 30), st.data())
def test_by_time__counts_what_was_finished_by_then(crawl: Crawl, points: int, data: st.DataObject) -> None:
    """At each instant: the pages that finished at or before it."""
    order, scores = crawl
    gaps = data.draw(st.lists(st.integers(0, 5), min_size=len(order), max_size=len(order)))
    finished = np.cumsum(gaps).astype(float)
    found = metrics.by_time(finished, order, scores, points)
    assert (found.time[0], found.time[-1], len(found.time)) == (0.0, finished[-1], points)
    for instant, pages, pagerank in zip(found.time, found.pages, found.pagerank, strict=True):
        done = [page for page, end in zip(order, finished, strict=True) if end <= instant]
        assert pages == len(done)
        assert pagerank == pytest.approx(math.fsum(scores[page] for page in done))


@given(downloads(), st.integers(1, 25))
def test_levels__are_the_mean_number_of_downloads_in_each_interval(
    times: tuple[NDArray[np.float64], NDArray[np.float64]], points: int
) -> None:
    """The overlap of every download with every interval."""
    started, finished = times
    middles, robots = levels(started, finished, points=points)
    width = finished[-1] / points
    for number in range(points):
        low, high = number * width, (number + 1) * width
        overlap = [max(0.0, min(high, end) - max(low, start)) for start, end in zip(started, finished, strict=True)]
        assert robots[number] == pytest.approx(math.fsum(overlap) / width if width else 0.0, abs=1e-9)
        assert middles[number] == pytest.approx((low + high) / 2)


@given(crawls(), st.integers(2, 60))
def test_curve__goes_from_nothing_to_the_end(crawl: Crawl, points: int) -> None:
    """Each point is what is in after so many downloads."""
    order, scores = crawl
    finished = 2.0 * np.arange(1, len(order) + 1, dtype=np.float64)
    found = metrics.curve(order, scores, finished, points)
    assert (found.pages[0], found.pages[-1]) == (0, len(order))
    assert len(found.pages) == min(points, len(order) + 1)
    assert np.all(np.diff(found.pages) > 0)
    assert found.fraction == pytest.approx(found.pages / len(scores))
    assert found.time == pytest.approx(2.0 * found.pages)
    assert found.pagerank == pytest.approx([math.fsum(scores[page] for page in order[:n]) for n in found.pages])


def test_bound__is_the_time_of_a_link_that_is_never_idle() -> None:
    """T* and what was wasted."""
    assert metrics.bound(np.array([2_000.0, 4_000.0]), 2_000.0) == 3.0
    assert metrics.wasted(3.0, 4.0) == 0.25


def test_measures__of_nothing_are_nothing() -> None:
    """A crawl that was stopped before its first page can be measured."""
    order, none = np.zeros(0, dtype=np.int32), np.zeros(0)
    scores = np.array([0.4, 0.6])
    assert metrics.average(order, scores) == 0.0
    assert metrics.kendall(order, scores, 1) == 0.0
    assert metrics.search_length(order, scores, 0.5).whole is None
    assert metrics.curve(order, scores, none).pages.tolist() == [0]
    assert metrics.by_time(none, order, scores, 3).pagerank.tolist() == [0.0, 0.0, 0.0]
    assert levels(none, none, points=2)[1].tolist() == [0.0, 0.0]
