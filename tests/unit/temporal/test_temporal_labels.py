"""Which pages are called temporal, how surely, and what costs change."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from tests.unit.temporal.made import Counts, Made, views_of, world

from weft.errors import UsageError
from weft.temporal.labels import METHODS, Method, Rules, Thresholds, classify
from weft.temporal.reading import Reading, read_views
from weft.temporal.views import TEMPORAL, UNDECIDED, UNTEMPORAL, Labels, Views

NEWS = {20: 70, 21: 30, 22: 6, 23: 2, 30: 1}
STEADY = [2] * 60


@pytest.fixture(scope="module")
def made() -> Made:
    """A world of some 5,000 pages."""
    return world(11)


def reordered(views: Views, order: NDArray[np.int64]) -> Views:
    """The same pages in another order."""
    length = np.diff(views.start)[order]
    rows = np.concatenate([np.arange(views.start[page], views.start[page + 1]) for page in order])
    start = np.concatenate([[0], np.cumsum(length)])
    urls = views.urls.take(pa.array(order))
    columns = views.day[rows], views.count[rows], views.first[rows]
    return Views(views.window, urls, views.sites, views.site[order], start, *columns)


def right(labels: Labels, made: Made, of: NDArray[np.bool_] | None = None) -> float:
    """The share of pages that are labelled as is true."""
    return float((labels.temporal == made.temporal)[slice(None) if of is None else of].mean())


@pytest.mark.parametrize("method", METHODS)
def test_classify__tells_news_from_what_is_always_read(method: Method) -> None:
    """By each method."""
    labels = classify(views_of(NEWS, STEADY), Rules(method=method))
    assert labels.label.tolist() == [TEMPORAL, UNTEMPORAL]
    assert labels.temporal.tolist() == [True, False]
    assert labels.p[0] > 0.95
    assert labels.p[1] < 0.05


def test_classify__knows_what_is_temporal_in_a_world_with_truth(made: Made) -> None:
    """And better than the paper's curve, which is better than a coin."""
    robust, _share, curve, paper = (classify(made.views, Rules(method=method)) for method in METHODS)
    assert right(robust, made) > 0.96
    assert right(curve, made) > 0.955
    assert 0.9 < right(paper, made) < right(robust, made)


def test_classify__sees_through_stray_views_and_bursts(made: Made) -> None:
    """What misleads counting from the first view."""
    robust, paper = classify(made.views), classify(made.views, Rules(method="paper"))
    assert right(robust, made, made.stray) > 0.88 > right(paper, made, made.stray)
    assert right(robust, made, made.burst) > 0.85


def test_classify__is_better_with_neighbours(made: Made) -> None:
    """Not by the definition, which they cannot change, but by what a person would say."""
    news = np.char.startswith(made.kind, "news") | np.isin(made.kind, ["reignite", "event"])
    alone, among = (classify(made.views, Rules(neighbours=weight)).temporal for weight in (0.0, 0.5))
    assert (among == news).mean() > (alone == news).mean()


def test_classify__gives_probabilities_that_are_kept(made: Made) -> None:
    """Of pages with p near .9 some .9 are temporal; a little less, for interest goes on behind the window."""
    labels = classify(made.views)
    for low, high in ((0.0, 0.1), (0.9, 1.0)):
        of = (labels.p >= low) & (labels.p <= high)
        assert of.sum() > 100
        assert low - 0.01 <= made.temporal[of].mean() <= high + 0.01


def test_classify__does_not_depend_on_the_order_of_pages(made: Made) -> None:
    """Neither do the neighbours, nor what is learned from the window."""
    order = np.random.Generator(np.random.PCG64(5)).permutation(made.views.pages)
    labels, other = classify(made.views), classify(reordered(made.views, order))
    assert np.allclose(labels.p[order], other.p, atol=1e-9)
    assert (labels.temporal[order] == other.temporal).all()


def test_classify__is_sure_of_much_and_unsure_of_little() -> None:
    """The same share says more if it is a share of more views."""
    few, many = ({20: 50 * size, 21: 20 * size, 40: 20 * size} for size in (1, 100))
    labels = classify(views_of(few, many), Rules(method="share"))
    assert labels.share[0] == pytest.approx(labels.share[1])
    assert 0.5 < labels.p[0] < 0.99 < labels.p[1]


def test_classify__leaves_the_youngest_undecided() -> None:
    """A page born on the last day looks like news to everyone; it still has a decision."""
    labels = classify(views_of({58: 40, 59: 45}, NEWS, STEADY))
    assert labels.label.tolist() == [UNDECIDED, TEMPORAL, UNTEMPORAL]
    assert 0.1 < labels.p[0] < 0.9
    everything = classify(views_of({58: 40, 59: 45}), Rules(sure=0.5))
    assert everything.label.tolist() != [UNDECIDED]


def test_classify__decides_little_in_a_window_of_four_days() -> None:
    """No page was seen long enough, and there are none to learn from; only a share below q cannot rise again."""
    views = views_of([80, 40, 20, 10], [0, 30, 30, 30], [20, 20, 20, 60], days=4, first=600)
    labels = classify(views, Rules(neighbours=0.0))
    assert labels.label.tolist() == [UNDECIDED, UNDECIDED, UNTEMPORAL]


@pytest.mark.parametrize(
    ("costs", "least"),
    [
        ((1.0, 0.0, 0.0), 0.5),
        ((1.0, 2.0, 0.0), 0.25),
        ((1.0, 0.0, 2.0), 0.75),
        ((0.0, 1.0, 1.0), 0.5),
        ((0.0, 1.0, 9.0), 0.9),
    ],
)
def test_costs__move_the_decision(costs: tuple[float, float, float], least: float) -> None:
    """Temporal iff p > (A + C) / (2A + B + C)."""
    rules = Rules(hit=costs[0], miss=costs[1], false_alarm=costs[2])
    assert rules.least == pytest.approx(least)


def test_costs__are_met_best_by_the_decision_they_move() -> None:
    """With probabilities that hold, no other threshold gains more."""
    rng = np.random.Generator(np.random.PCG64(2))
    p = rng.random(200_000)
    truth = rng.random(200_000) < p
    rules = Rules(hit=1.0, miss=3.0, false_alarm=0.5)

    def gain(least: float) -> float:
        called = p > least
        hits, missed, alarms = (called == truth).sum(), (truth & ~called).sum(), (called & ~truth).sum()
        return float(rules.hit * hits - rules.miss * missed - rules.false_alarm * alarms)

    others = [least for least in np.arange(0.02, 1.0, 0.02) if abs(least - rules.least) > 0.02]
    assert gain(rules.least) > max(gain(least) for least in others)


def test_classify__calls_more_pages_temporal_if_misses_are_dear(made: Made) -> None:
    """And fewer if false alarms are."""
    plain, dear, cheap = (
        classify(made.views, rules).temporal.sum() for rules in (Rules(), Rules(miss=9.0), Rules(false_alarm=9.0))
    )
    assert cheap < plain < dear


def test_thresholds__may_differ_from_page_to_page() -> None:
    """A page that is over after a week is temporal by a threshold of a week."""
    week = {20 + day: 20 for day in range(7)}
    views = views_of(week, week)
    each = Thresholds(np.array([3.0, 7.5]), np.array([0.7, 0.7]))
    assert classify(views, Rules(neighbours=0.0), each).temporal.tolist() == [False, True]


@pytest.mark.parametrize("burst", [{30: 90}, {30: 90, 45: 2, 50: 3}])
def test_classify__leaves_a_burst_of_one_day_to_its_neighbours(burst: Counts) -> None:
    """Ninety users on one day and nobody on the next are news in a folder of news only."""
    news = [{10 + at: 70, 11 + at: 30, 12 + at: 6} for at in range(30)]
    urls = [f"http://a.example/{folder}/{at:03d}.html" for folder in ("news", "talk") for at in range(31)]
    labels = classify(views_of(*news, burst, *([STEADY] * 30), burst, urls=urls))
    assert labels.temporal[[30, 61]].tolist() == [True, False]


@pytest.mark.parametrize(
    "wrong",
    [
        {"n": 0.0},
        {"q": 1.0},
        {"q": 0.0},
        {"miss": -1.0},
        {"neighbours": float("nan")},
        {"hit": 0.0},
        {"sure": 0.2},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_rules__that_label_nothing_are_refused(wrong: dict[str, float]) -> None:
    """With the name of the setting."""
    with pytest.raises(UsageError, match=next(iter(wrong))):
        classify(views_of(NEWS), dataclasses.replace(Rules(), **wrong))  # type: ignore[arg-type]


@pytest.mark.parametrize("method", METHODS)
def test_classify__of_no_pages_is_no_labels(method: Method) -> None:
    """An empty log is no error here."""
    assert len(classify(views_of(), Rules(method=method)).p) == 0


def test_classify__knows_what_is_temporal_in_the_given_world(shared: Callable[[str], Path]) -> None:
    """By definition and by what a person would say."""
    folder = shared("views-world-a")
    views, _ = read_views([folder / "log.parquet"], Reading())
    table = pq.read_table(folder / "truth.parquet")
    truth = table.take(pc.index_in(views.urls, table["url"].combine_chunks()))
    temporal = classify(views).temporal
    assert (temporal == truth["temporal_by_definition"].to_numpy(zero_copy_only=False)).mean() >= 0.970
    assert (temporal == truth["reports_recent_event"].to_numpy(zero_copy_only=False)).mean() >= 0.962


def test_classify__calls_what_a_news_site_publishes_temporal(shared: Callable[[str], Path]) -> None:
    """Articles of a real portal, nearly all of which have nearly all their clicks within three days."""
    log = shared("views-globo-a") / "clicks.csv.zst"
    reading = Reading(user="user_id", ts="timestamp_ms", url="article_id", ids=True, first="2017-10-01", days=17)
    views, _ = read_views([log], reading)
    labels = classify(views)
    born = (labels.activation >= 1) & (labels.activation <= 8)
    assert 0.95 < labels.temporal[born].mean() < 0.99


def test_classify__calls_pages_about_people_untemporal(shared: Callable[[str], Path]) -> None:
    """Members of parliament, in bursts of the news or not; counts without times, in windows of 17 days."""
    log = shared("views-wikipedia-mps") / "views.csv.gz"
    called = []
    for first in ("2022-01-01", "2022-01-17", "2022-02-02", "2022-02-18", "2022-03-06", "2022-03-22"):
        reading = Reading(views="views", ts="timestamp", url="article", ids=True, first=first, days=17)
        views, _ = read_views([log], reading)
        called.extend(classify(views).temporal.tolist())
    assert len(called) > 3800
    assert np.mean(called) <= 0.01
