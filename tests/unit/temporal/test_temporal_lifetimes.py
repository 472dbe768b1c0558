"""When lives begin and end, and how much of them lies in their first days."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.unit.temporal.made import Counts, views_of

from weft.temporal.lifetimes import days_of_life, first_seen, lives_of, share_within, views_since

NEWS = {20: 90, 21: 30, 22: 5, 30: 1}


@pytest.mark.parametrize(
    ("page", "activation"),
    [
        pytest.param(NEWS, 20, id="first day with views"),
        pytest.param({12: 1, **NEWS}, 20, id="one stray view"),
        pytest.param({9: 1, 12: 1, **NEWS}, 20, id="two stray views"),
        pytest.param({3: 1, 9: 1, 12: 1, **NEWS}, 3, id="views on three days are a life"),
        pytest.param({12: 4, **NEWS}, 12, id="four views are a life"),
        pytest.param({12: 2, 20: 100, 21: 50}, 20, id="two views of a hundred are stray"),
        pytest.param({12: 15, 20: 4000}, 20, id="fifteen views of four thousand are stray"),
        pytest.param({0: 15, 20: 4000}, 0, id="unless they come as the window begins"),
        pytest.param(dict.fromkeys(range(60), 1), 0, id="one view a day"),
        pytest.param({7: 1}, 7, id="never more than one"),
    ],
)
def test_activation__is_the_first_day_of_a_life_and_not_of_a_stray_view(page: Counts, activation: int) -> None:
    """Stray views begin no life, an earlier life is one."""
    assert lives_of(views_of(page)).activation.tolist() == [activation]


def test_activation__of_an_old_page_in_the_news_is_not_the_day_of_the_news() -> None:
    """A page that was read now and then for weeks stays an old page, however large the burst."""
    old = dict.fromkeys(range(2, 40, 3), 2) | {40: 5000, 41: 900}
    lives = lives_of(views_of(old))
    assert lives.activation.tolist() == [2]
    assert share_within(views_of(old), lives, 3.0)[0] < 0.01


def test_dormancy__is_the_last_day_with_views() -> None:
    """The valid lifetime ends where nobody comes any more."""
    assert lives_of(views_of(NEWS, [3] * 60)).dormancy.tolist() == [30, 59]


def test_birth__is_a_little_before_the_first_view() -> None:
    """The fewer views the first day has, the longer the page was there before one of them came."""
    many, few = lives_of(views_of({20: 900}, {20: 9})).born
    assert few < many < 20.5
    assert many == pytest.approx(20.5, abs=0.01)
    assert few >= 20.0


def test_birth__is_the_start_of_the_window_for_pages_that_were_there_before() -> None:
    """Early views on the first day say that the page is older; late ones, and many, that it is not."""
    views = views_of({0: 40, 1: 40}, {0: 400, 1: 40}, first=[600, 16 * 3600])
    old, new = lives_of(views).born
    assert old == 0.0
    assert new == pytest.approx(2 / 3, abs=0.01)


def test_birth__without_times_lies_on_the_activation_day() -> None:
    """Ready-made counts have no hours, and a page of the first day is older than the window."""
    born = lives_of(views_of(NEWS, {0: 50, 1: 40}, first=-1)).born
    assert 20.0 < born[0] < 20.5
    assert born[1] == 0.0


def test_share__counts_the_part_of_the_last_day_that_belongs_to_it() -> None:
    """Three days from noon end at noon."""
    views = views_of({20: 1000, 21: 100, 22: 100, 23: 100, 24: 100})
    lives = lives_of(views)
    noon = dataclasses.replace(lives, born=np.array([20.5]))
    assert share_within(views, noon, 3.0).tolist() == [1250 / 1400]
    midnight = dataclasses.replace(lives, born=np.array([20.0]))
    assert share_within(views, midnight, 3.0).tolist() == [1200 / 1400]


def test_share__leaves_stray_views_out() -> None:
    """They are neither early nor late."""
    views = views_of({5: 1, 20: 50, 40: 50}, {20: 50, 40: 50})
    lives = lives_of(views)
    assert share_within(views, lives, 3.0).tolist() == [0.5, 0.5]
    assert views_since(views, lives).tolist() == [100, 100]


def test_share__may_have_days_of_its_own_for_each_page() -> None:
    """Classes of news have thresholds of their own."""
    views = views_of(NEWS, NEWS)
    lives = lives_of(views)
    both = share_within(views, lives, np.array([1.0, 3.0]))
    assert both.tolist() == [share_within(views, lives, 1.0)[0], share_within(views, lives, 3.0)[1]]


def test_days_of_life__begin_with_the_activation_day() -> None:
    """A row a page, days without views being 0."""
    views = views_of({5: 1, **NEWS}, {58: 40, 59: 30})
    assert days_of_life(views, lives_of(views), 4).tolist() == [[90, 30, 5, 0], [40, 30, 0, 0]]


def test_first_seen__begins_with_the_first_view_as_in_the_paper() -> None:
    """Stray or not."""
    assert first_seen(views_of({5: 1, **NEWS})).activation.tolist() == [5]


def test_lives__do_not_depend_on_the_order_of_pages() -> None:
    """Each page is looked at alone."""
    rng = np.random.Generator(np.random.PCG64(1))
    pages = [rng.poisson(rng.exponential(3.0, 60)).tolist() for _ in range(40)]
    there, back = lives_of(views_of(*pages)), lives_of(views_of(*pages[::-1]))
    for name in ("activation", "dormancy", "born"):
        assert getattr(there, name).tolist() == getattr(back, name)[::-1].tolist()
    assert ((there.activation <= there.born) & (there.born < there.activation + 1)).all()
    assert (there.activation <= there.dormancy).all()


def test_lives__of_no_pages_are_none() -> None:
    """An empty log is no error here."""
    views = views_of()
    assert len(lives_of(views).born) == 0
    assert len(views_since(views, lives_of(views))) == 0
