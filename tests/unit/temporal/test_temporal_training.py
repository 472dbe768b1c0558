"""Thresholds learned from labelled pages."""

from __future__ import annotations

import numpy as np
import pytest
from tests.unit.temporal.made import Made, views_of, world

from weft.errors import UsageError
from weft.temporal.labels import Rules, classify
from weft.temporal.training import train


@pytest.fixture(scope="module")
def made() -> Made:
    """A world of some 5,000 pages."""
    return world(13)


def over_after(days: int, pages: int, start: int = 10) -> list[dict[int, int]]:
    """Pages with even views for so many days, and a few for a month."""
    month = {start + day: 1 for day in range(30)}
    return [month | {start + day: 60 // days + at % 7 for day in range(days)} for at in range(pages)]


def test_train__tells_hits_misses_and_false_alarms(made: Made) -> None:
    """As the paper does (4.2); what is right, what is not, and together all pages."""
    page = np.arange(0, made.views.pages, 3)
    whole = train(made.views, page, made.temporal[page]).whole
    assert whole.hit + whole.miss + whole.false_alarm == whole.pages == len(page)
    assert whole.hit > 0.95 * len(page)


def test_train__is_at_least_as_good_as_what_the_paper_found_elsewhere(made: Made) -> None:
    """On the pages it learns from, n = 3 and q = 0.7 are one of the choices."""
    news = np.char.startswith(made.kind, "news")
    page = np.arange(made.views.pages)
    taught = train(made.views, page, news)
    usual = classify(made.views, Rules(method="share"))
    assert taught.whole.hit >= (usual.temporal == news).sum()
    ruled = classify(made.views, taught.rules(Rules(method="share")))
    assert (ruled.temporal == news).sum() == taught.whole.hit


def test_train__finds_a_longer_time_where_news_lasts_longer() -> None:
    """Pages of a week are temporal here, pages of three weeks are not."""
    views = views_of(*over_after(7, 40), *over_after(21, 40))
    truth = np.arange(80) < 40
    whole = train(views, np.arange(80), truth).whole
    assert whole.hit == 80
    assert whole.n > 4


def test_train__keeps_the_usual_thresholds_where_they_do() -> None:
    """Nothing is learned from pages that are right already."""
    views = views_of(*over_after(1, 20), *([2] * 60 for _ in range(20)))
    whole = train(views, np.arange(40), np.arange(40) < 20).whole
    assert (whole.n, whole.q) == (3.0, 0.7)


def test_train__misses_less_where_misses_are_dear(made: Made) -> None:
    """And raises fewer false alarms where these are."""
    news = np.char.startswith(made.kind, "news")
    page = np.arange(made.views.pages)
    plain, dear, cheap = (
        train(made.views, page, news, rules=rules).whole for rules in (Rules(), Rules(miss=9.0), Rules(false_alarm=9.0))
    )
    assert dear.miss < plain.miss
    assert cheap.false_alarm < plain.false_alarm


def test_train__gives_classes_thresholds_of_their_own() -> None:
    """Finance is over after a day, a volcano after a week; pages that nobody labelled go with their folder."""
    finance = [*over_after(1, 40), *over_after(7, 40)]
    nature = [*over_after(7, 40), *over_after(21, 40)]
    urls = [f"http://a.example/{folder}/{at:03d}.html" for folder in ("finance", "nature") for at in range(80)]
    views = views_of(*finance, *nature, urls=urls)
    truth = np.tile(np.arange(80) < 40, 2)
    classes = np.repeat(np.array(["finance", "nature"]), 80)
    labelled = np.arange(0, 160, 2)
    taught = train(views, labelled, truth[labelled], classes[labelled])
    assert set(taught.classes) == {"finance", "nature"}
    assert taught.classes["finance"].n < taught.classes["nature"].n
    assert taught.whole.hit < taught.classes["finance"].hit + taught.classes["nature"].hit
    called = classify(views, Rules(method="share"), taught.thresholds).temporal
    assert (called == truth).mean() > 0.97


def test_train__leaves_small_classes_to_the_whole(made: Made) -> None:
    """Three pages are no ground for a threshold."""
    page = np.arange(0, made.views.pages, 5)
    classes = np.where(np.arange(len(page)) < 3, "rare", "")
    taught = train(made.views, page, made.temporal[page], classes)
    assert taught.classes == {}
    assert taught.thresholds is None


@pytest.mark.parametrize(
    ("truth", "said"), [([True, True], "all labelled pages are temporal"), ([False], "untemporal")]
)
def test_train__refuses_labels_of_one_kind(truth: list[bool], said: str) -> None:
    """There is nothing between them."""
    with pytest.raises(UsageError, match=said):
        train(views_of({20: 60}, {20: 90}), np.arange(len(truth)), np.array(truth))
