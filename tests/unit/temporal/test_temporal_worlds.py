"""Worlds are what their recipe says, the same every time, and their truth is exact."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from weft.errors import UsageError
from weft.temporal.views import Views
from weft.temporal.worlds import Recipe, World, make_world
from weft.temporal.worlds.kinds import PAGE_KINDS
from weft.temporal.worlds.shapes import EXPONENTIAL, FLAT, LOG_NORMAL, POWER_LAW, Reals, Shapes
from weft.urls import normal_form, site_of

SITE_KINDS = {"news", "portal", "mixed", "reference", "shop", "forum", "blog", "spam", "event"}


@pytest.fixture(scope="module")
def world() -> World:
    """A world of the default kind, some larger than the default."""
    return make_world(Recipe(seed=4, sites=200, after=14, event_sites=12))


@pytest.fixture(scope="module")
def views(world: World) -> Views:
    """Its views in the window."""
    return world.views()


def _column(world: World, name: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    column: np.ndarray[tuple[int], np.dtype[np.float64]] = world.truth[name].to_numpy()
    return column


def test_world__is_the_same_for_the_same_recipe() -> None:
    """A recipe is a world: nothing but its seed decides."""
    one, again, other = (make_world(Recipe(seed=seed, sites=20)) for seed in (1, 1, 2))
    assert one.truth.equals(again.truth)
    assert np.array_equal(one.traffic.count, again.traffic.count)
    assert np.array_equal(one.traffic.first, again.traffic.first)
    assert not one.truth.equals(other.truth)


def test_world__has_all_kinds_of_pages_and_sites(world: World) -> None:
    """Nothing that labels must survive is missing."""
    assert set(world.truth["kind"].to_pylist()) == set(PAGE_KINDS)
    assert set(world.sites.table()["kind"].to_pylist()) == SITE_KINDS
    for flag in ("cut_left", "cut_right", "many_user_burst", "stray_early_view", "single_user_spam"):
        assert pc.any(world.truth[flag]).as_py(), flag


def _interest(shapes: Shapes, part: int, age: Reals) -> Reals:
    """The curves' densities by their formulas, for all pages at all ages."""
    family = shapes.family[:, part, None]
    scale, form = shapes.scale[:, part, None], shapes.form[:, part, None]
    x = age - shapes.delay[:, part, None]
    y = np.where(x > 0, x / scale, 1.0)
    sigma = np.where(form > 0, form, 1.0)
    curves = [
        np.exp(-(np.log(y) ** 2) / (2 * sigma**2)) / (np.sqrt(2 * np.pi) * sigma * y),
        np.log(2) * 2.0**-y,
        sigma * (1 + y) ** (-sigma - 1),
        np.where(y <= 1, 1.0, 0.0),
    ]
    return np.where(x > 0, np.choose(family, curves) / scale, 0.0) * shapes.weight[:, part, None]


def test_truth__share_of_three_days_is_the_integral_of_the_interest(world: World) -> None:
    """The truth is what summing up the curve in small steps comes to, whatever the curve."""
    every = slice(0, len(world.pages), 37)
    shapes = world.pages.shapes.take(every)
    assert set(shapes.family[:, 0]) == {LOG_NORMAL, EXPONENTIAL, POWER_LAW, FLAT}
    age = np.geomspace(1e-7, 3.0, 4001)
    interest = _interest(shapes, 0, age) + _interest(shapes, 1, age)
    summed = np.sum((interest[:, 1:] + interest[:, :-1]) / 2 * np.diff(age), axis=1)
    assert np.allclose(summed, _column(world, "phi3")[every], atol=1e-4)


def test_truth__follows_from_the_kind_and_the_birth(world: World) -> None:
    """Temporal is a share above 0.7; the edges are those of the window; who reports is a matter of kind."""
    birth = _column(world, "birth")
    assert np.array_equal(_column(world, "temporal_by_definition"), _column(world, "phi3") > 0.7)
    assert np.array_equal(_column(world, "cut_right"), (birth > 55) & (birth < 60))
    assert np.array_equal(_column(world, "cut_left"), (birth > -41) & (birth < 0))
    recent = [PAGE_KINDS[kind].recent for kind in world.truth["kind"].to_pylist()]
    assert _column(world, "reports_recent_event").tolist() == recent


def test_truth__goes_on_after_the_window(world: World) -> None:
    """Pages that no analysis of the window can know are there, with views."""
    born_later = _column(world, "birth") >= world.recipe.days
    later = world.views(since=60, days=14, floor=20)
    known = set(world.truth.filter(pa.array(born_later))["url"].to_pylist())
    assert born_later.sum() > 1000
    assert len(known.intersection(later.urls.to_pylist())) > 500
    assert later.window.first == date(2026, 5, 1)
    assert later.day.max() == 13


def test_views__hold_pages_over_the_floor_in_the_order_of_urls(world: World, views: Views) -> None:
    """The floor counts views in the window, and rows of truth can be had for the pages that are left."""
    traffic = world.traffic
    inside = np.where(traffic.day < 60, traffic.count, 0)
    pages = np.repeat(np.arange(len(world.pages)), np.diff(traffic.start))
    totals = np.bincount(pages, weights=inside, minlength=len(world.pages))
    assert views.pages == (totals >= 60).sum() < len(world.pages)
    assert views.totals().min() >= 60
    assert views.urls.to_pylist() == sorted(views.urls.to_pylist())
    assert world.truth_of(views)["url"].to_pylist() == views.urls.to_pylist()
    assert world.views(floor=1).pages > views.pages


def test_views__know_the_site_of_each_page(views: Views) -> None:
    """URLs are in normal form, and sites are those that a crawl would see."""
    urls = views.urls.to_pylist()
    assert [normal_form(url) for url in urls[::50]] == urls[::50]
    assert [site_of(url) for url in urls] == [views.sites[int(site)].as_py() for site in views.site]


def test_views__begin_after_the_birth(world: World, views: Views) -> None:
    """On the day it is born, nobody sees a page before it is; but for strays, bursts, spikes and spam on other days."""
    birth = world.truth_of(views)["birth"].to_numpy()
    page = np.repeat(np.arange(views.pages), np.diff(views.start))
    born = np.floor(birth[page]) == views.day
    assert born.sum() > 1000
    assert (views.first[born] >= np.floor(birth[page][born] % 1 * 86_400) - 1).all()
    assert views.first.min() >= 0
    assert views.first.max() < 86_400


def test_world__event_sites_publish_while_they_are_on() -> None:
    """An event site's pages are born between its first and its last day."""
    world = make_world(Recipe(seed=2, sites=30, after=20, event_sites=10, event_day=50, event_days=15))
    event = pc.and_(pc.starts_with(world.truth["site"], "www.event"), pc.not_equal(world.truth["kind"], "hub"))
    births = world.truth.filter(event)["birth"].to_numpy()
    assert births.min() >= 50
    assert births.max() < 65
    assert 30 < len(births) < 300
    rates = world.sites.table().filter(pc.equal(world.sites.table()["kind"], "event"))
    assert set(rates["on"].to_pylist()) == {50}
    assert abs(pc.sum(rates["new_pages_a_day"]).as_py() * 15 - len(births)) < 5 * np.sqrt(len(births))


def test_world__tiny_hosts_have_one_to_three_pages() -> None:
    """They are as many as the recipe says, and many have nothing but one temporal page."""
    world = make_world(Recipe(seed=3, sites=10, tiny_hosts=2000))
    tiny = world.truth.filter(pc.starts_with(world.truth["site"], "www.tiny"))
    hosts = tiny.group_by("site").aggregate([("url", "count"), ("temporal_by_definition", "all")])
    counts = hosts["url_count"].to_numpy()
    assert len(counts) == 2000
    assert set(counts.tolist()) == {1, 2, 3}
    assert ((counts == 1) & hosts["temporal_by_definition_all"].to_numpy()).sum() > 200


def test_world__sections_tell_what_stands_in_them_but_for_misfiled_pages() -> None:
    """News stands in sections of news, but for the share that the recipe misfiles."""
    world = make_world(Recipe(seed=5, sites=100, misfiled=0.1))
    truth = world.truth.filter(pc.not_equal(world.truth["kind"], "hub"))
    in_news = pc.match_substring_regex(truth["url"], "(/|cat=)(news|world|sports|ent|finance)[/&]").to_numpy()
    wrong = in_news != truth["reports_recent_event"].to_numpy()
    assert 0.085 < wrong.mean() < 0.115


def test_world__fewer_news_sites_have_fewer_temporal_pages() -> None:
    """The share of temporal pages follows the recipe."""
    shares = []
    for news in (0.05, 0.17):
        world = make_world(Recipe(seed=6, sites=150, news=news))
        shares.append(world.truth_of(world.views())["temporal_by_definition"].to_numpy().mean())
    assert shares[0] < 0.24
    assert 0.29 < shares[1] < 0.42


def test_world__looks_like_the_world_that_the_definitions_were_tried_on(shared_data: Path) -> None:
    """Columns, kinds and the middle of each kind's share in three days are those of the given world."""
    given = pq.read_table(shared_data / "views-world-a" / "truth.parquet")
    ours = make_world(Recipe(seed=8, sites=200)).truth
    assert ours.column_names == [*given.column_names, "site"]
    assert [ours.schema.field(name).type for name in given.column_names] == given.schema.types
    for kind in sorted(set(given["kind"].to_pylist()) - {"event"}):
        theirs, mine = (each.filter(pc.equal(each["kind"], kind)) for each in (given, ours))
        assert abs(len(theirs) / len(given) - len(mine) / len(ours)) < 0.04, kind
        one, other = (np.quantile(each["phi3"].to_numpy(), [0.25, 0.5, 0.75]) for each in (theirs, mine))
        assert np.allclose(one, other, atol=0.06), kind


@pytest.mark.parametrize("wrong", [{"misfiled": 5}, {"days": 0}, {"news": 0.7, "mixed": 0.6}], ids=min)
def test_recipe__refuses_what_makes_no_world(wrong: dict[str, float]) -> None:
    """A percentage where a share belongs is said at once."""
    with pytest.raises(UsageError, match="of the recipe"):
        Recipe(**wrong)  # type: ignore[arg-type]
