"""Lives of hours: births, shares, curves and labels below a day, from a log that has times."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from tests.unit.temporal.made import NOON, views_of

from weft.temporal.curves import fit_curves, phi
from weft.temporal.labels import Rules, classify
from weft.temporal.lifetimes import lives_of, share_within
from weft.temporal.reading import Reading, read_views
from weft.temporal.training import train
from weft.temporal.views import Hours, Views
from weft.temporal.worlds.by_hour import FIRST, HourlyWorld, hourly_world


@cache
def _made() -> tuple[HourlyWorld, Views, NDArray[np.int64]]:
    """A world, its log as it is read, and which of its pages these are."""
    import tempfile
    from pathlib import Path

    world = hourly_world(7, pages=800)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.parquet"
        pq.write_table(world.log, log)
        views, _ = read_views([log], Reading(first=FIRST.isoformat(), days=30, threads=1))
    return world, views, np.asarray(pc.index_in(views.urls, pa.array(world.urls)), np.int64)


def _by_days(views: Views) -> Views:
    """The same as a log without times would give it."""
    return replace(views, hours=None, first=np.full_like(views.first, -1))


def _one(hours: dict[tuple[int, int], int], days: int = 20) -> Views:
    """A page by its views on a day and in an hour of it."""
    by_day: dict[int, int] = {}
    for (day, _), many in sorted(hours.items()):
        by_day[day] = by_day.get(day, 0) + many
    first = min(hour for (day, hour) in hours if day == min(by_day)) * 3600
    views = views_of(by_day, days=days, first=first)
    start = np.cumsum([0, *(sum(day == at for at, _ in hours) for day in sorted(by_day))])
    hour = np.array([each for _, each in sorted(hours)], np.int8)
    return replace(views, hours=Hours(start, hour, np.array([hours[each] for each in sorted(hours)], np.int32)))


def test_activation__is_an_hour_and_a_stray_view_before_it_is_none() -> None:
    """One view at three in the morning does not begin the life of a page that is published at four in the afternoon."""
    views = _one({(5, 3): 1, (5, 16): 40, (5, 17): 60, (5, 18): 30, (6, 9): 10})
    lives = lives_of(views)
    assert (lives.activation[0], lives.hour[0]) == (5, 16)
    assert 5 + 15.9 / 24 < lives.born[0] <= 5 + 16 / 24
    assert lives_of(replace(views, hours=None)).born[0] < 5 + 4 / 24, "by the day it was the first view"


def test_activation__without_a_busy_hour_is_the_first_one() -> None:
    """A page with a view now and then was there when the first came."""
    lives = lives_of(_one({(5, 3): 1, (5, 9): 1, (5, 15): 1, (8, 4): 1}))
    assert (lives.activation[0], lives.hour[0]) == (5, 3)


def test_share__within_hours_counts_hours() -> None:
    """A fifth of the views in the first six hours, the others twelve hours later: days cannot tell."""
    views = _one({(5, 6): 20, (5, 8): 20, (5, 20): 160})
    lives = lives_of(views)
    assert share_within(views, lives, 0.25)[0] == pytest.approx(0.2)
    assert share_within(views, lives, 1.0)[0] == pytest.approx(1.0)
    assert abs(share_within(replace(views, hours=None), lives, 0.25)[0] - 0.2) > 0.1


def test_hours__add_nothing_where_whole_days_are_asked_for() -> None:
    """Shares of n days that end with a day are the same by hours and by days."""
    views = _one({(5, 0): 50, (5, 8): 50, (6, 20): 100, (9, 1): 40})
    lives = replace(lives_of(views), born=np.array([5.0]))
    assert share_within(views, lives, 2.0)[0] == share_within(replace(views, hours=None), lives, 2.0)[0] == 200 / 240


def test_curves__find_births_and_medians_of_hours() -> None:
    """In hours the birth and the position of the curve are nearer to the truth than in days, by far."""
    world, views, at = _made()
    brief = np.exp(world.mu[at]) < 0.5
    errors = []
    for each in (views, _by_days(views)):
        curves = fit_curves(each)
        off = (np.abs(curves.b - world.birth[at]) * 24, np.abs(curves.mu - world.mu[at]))
        errors.append([float(np.median(one[brief])) for one in off])
    assert errors[0][0] < 1.0 < errors[1][0], "hours"
    assert errors[0][1] < 0.2
    assert errors[0][1] < 0.5 * errors[1][1]


def test_curves__know_that_users_sleep() -> None:
    """A page born late in the evening, whose readers go to bed, is not taken for one whose interest ends."""
    world, views, at = _made()
    assert views.hours is not None
    late = (world.birth[at] % 1.0 > 20 / 24) & (np.exp(world.mu[at]) < 1.0)
    assert late.sum() > 30
    truth = world.phi(0.25)[at][late]
    fitted = np.abs(phi(fit_curves(views), 0.25)[late] - truth).mean()
    counted = np.abs(share_within(views, lives_of(views), 0.25)[late] - truth).mean()
    assert fitted < 0.7 * counted


@pytest.mark.parametrize(("n", "least"), [(0.25, 0.97), (0.5, 0.97)])
def test_labels__below_a_day_are_right_by_hours_and_not_by_days(n: float, least: float) -> None:
    """Six hours and twelve, against the exact share of interest."""
    world, views, at = _made()
    truth = world.phi(n)[at] > 0.7
    by_hour, by_day = (
        float((classify(each, Rules(n=n)).temporal == truth).mean()) for each in (views, _by_days(views))
    )
    assert by_hour >= least
    assert by_hour > by_day + 0.05


def test_labels__of_days_are_as_good_by_hours() -> None:
    """With n = 3, the default, hours must not make anything worse."""
    world, views, at = _made()
    truth = world.phi(3.0)[at] > 0.7
    by_hour, by_day = (float((classify(each).temporal == truth).mean()) for each in (views, _by_days(views)))
    assert by_hour > by_day - 0.005


def test_training__tries_hours_where_there_are_some() -> None:
    """Pages that people call old after some hours teach an n below a day."""
    world, views, at = _made()
    truth = world.phi(0.25)[at] > 0.7
    pages = np.arange(views.pages)
    assert train(views, pages, truth).whole.n < 0.5
    assert train(_by_days(views), pages, truth).whole.n >= 0.5


def test_views__by_hand_have_no_hours() -> None:
    """A log without times stays by the day."""
    assert views_of([60], first=NOON).unit == "day"
