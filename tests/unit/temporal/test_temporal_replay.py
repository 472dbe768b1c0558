"""What becomes of young pages, told by what became of pages like them."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.temporal.made import Made, views_of, world

from weft.temporal.labels import Rules, classify
from weft.temporal.lifetimes import lives_of
from weft.temporal.replay import YOUNG, observed, replay, young
from weft.temporal.views import Views

DAYS = 60


@pytest.fixture(scope="module")
def made() -> Made:
    """A world of some 5,000 pages."""
    return world(12)


def crowd(days: int = DAYS) -> list[dict[int, int]]:
    """News that halves its views from day to day, and pages that keep theirs, all of 60 views in two days or more."""
    rng = np.random.Generator(np.random.PCG64(4))
    pages = []
    for at in range(200):
        birth = 1 + at % (days - YOUNG)
        size = int(rng.integers(60, 200))
        fall = 0.3 if at % 2 else 0.97
        views = {birth + day: int(rng.poisson(size * fall**day)) for day in range(days - birth)}
        pages.append({day: count for day, count in views.items() if count})
    return pages


def replayed(views: Views) -> np.ndarray:
    """The probabilities of replay, each page's own label being that of its share."""
    lives = lives_of(views)
    temporal = classify(views, Rules(method="share")).temporal
    return replay(views, lives, temporal, np.full(views.pages, 3.0), None)


def test_replay__tells_young_news_from_young_pages_that_stay() -> None:
    """Two days old, and all their views within three days: only what became of others tells them apart."""
    views = views_of(*crowd(), {58: 100, 59: 30}, {58: 100, 59: 97})
    assert classify(views, Rules(method="share")).temporal[-2:].all()
    news, stays = replayed(views)[-2:]
    assert news > 0.8
    assert stays < 0.2


def test_replay__says_nothing_of_pages_that_were_seen_long_enough() -> None:
    """Their share speaks for itself."""
    views = views_of(*crowd(), {58: 100, 59: 30})
    found = replayed(views)
    old = ~young(views, lives_of(views))
    assert np.isnan(found[old]).all()
    assert observed(views, lives_of(views))[-1] == 2


@pytest.mark.parametrize("pages", [crowd()[1::2], crowd()[:20], []], ids=["of one kind", "few", "none"])
def test_replay__has_no_model_where_there_is_nothing_to_learn(pages: list[dict[int, int]]) -> None:
    """All became the same, or there are too few of them; the page is left in the middle."""
    views = views_of(*pages, {58: 100, 59: 30})
    assert np.isnan(replayed(views)).all()
    assert classify(views, Rules(neighbours=0.0)).p[-1] == 0.5


def test_replay__works_in_a_window_of_seventeen_days() -> None:
    """A shorter log has fewer pages in its middle, not none."""
    views = views_of(*crowd(17), {15: 100, 16: 30}, {15: 100, 16: 97}, days=17)
    news, stays = replayed(views)[-2:]
    assert stays < 0.5 < news


def test_replay__is_better_than_the_share_at_the_right_edge(made: Made) -> None:
    """Half of what it says of temporal and of untemporal pages, so that calling all of them temporal is no help."""
    edge = made.cut_right

    def balanced(temporal: np.ndarray) -> float:
        hits = [(temporal == made.temporal)[edge & (made.temporal == kind)].mean() for kind in (True, False)]
        return float(np.mean(hits))

    robust, share = classify(made.views).temporal, classify(made.views, Rules(method="share")).temporal
    assert balanced(robust) > balanced(share) + 0.1
