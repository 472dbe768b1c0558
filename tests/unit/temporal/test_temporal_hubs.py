"""Which pages are fronts, and what is born behind them."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest
from tests.unit.temporal.judged import pages_of
from tests.unit.temporal.made import Counts, world

from weft.temporal.hubs import find_hubs, hubs_of
from weft.temporal.labels import Rules, classify

STEADY = dict.fromkeys(range(60), 20)
NEWS: Counts = {20: 80, 21: 10}
ORDINARY = {f"http://a.example/x{at}.html": (False, {3: 40, 30: 30}) for at in range(5)}


@pytest.mark.parametrize(
    ("url", "temporal", "counts", "hub"),
    [
        pytest.param("http://a.example/", False, STEADY, True, id="home page"),
        pytest.param("http://a.example/sports/", False, STEADY, True, id="section front"),
        pytest.param("http://a.example/sports/index.php", False, STEADY, True, id="front by file name"),
        pytest.param("http://a.example/Default.aspx", False, STEADY, True, id="front in capitals"),
        pytest.param("http://a.example/sports/", False, dict.fromkeys(range(40, 60), 20), True, id="new section"),
        pytest.param("http://a.example/sports/", False, {3: 60, 30: 20}, False, id="article that ends in a slash"),
        pytest.param("http://a.example/2026/sun-rises/", True, NEWS, False, id="news that ends in a slash"),
        pytest.param("http://a.example/2026/today/", True, {58: 90, 59: 9}, False, id="the same, of these days"),
        pytest.param("http://a.example/sports/index_2.html", False, STEADY, True, id="second page of a front"),
        pytest.param("http://a.example/maintenance1.html", False, STEADY, False, id="only begins like a front"),
        pytest.param("http://a.example/index.php?id=7", False, STEADY, False, id="page by query"),
        pytest.param("http://a.example/live", False, STEADY, True, id="popular, old and steady"),
        pytest.param("http://a.example/live7.html", False, STEADY, False, id="the same with a number"),
        pytest.param("http://a.example/live", False, dict.fromkeys(range(60), 3), False, id="not popular enough"),
        pytest.param("http://a.example/live", False, dict.fromkeys(range(5, 60), 40), False, id="not old enough"),
    ],
)
def test_hub__is_steady_and_looks_like_a_front(url: str, temporal: bool, counts: Counts, hub: bool) -> None:
    """Neither the path nor the behaviour alone makes a hub."""
    views, labels = pages_of(ORDINARY | {url: (temporal, counts)})
    assert find_hubs(views, labels).tolist() == [each.as_py() == url and hub for each in views.urls]


def test_hub__needs_a_url() -> None:
    """A page of which only an id is known is none, however steady."""
    views, labels = pages_of({"http://a.example/": (False, STEADY)})
    assert find_hubs(views, labels).tolist() == [True]
    assert find_hubs(replace(views, urls=pa.array(["4711"])), labels).tolist() == [False]


def test_births__belong_to_the_nearest_front() -> None:
    """A page is announced by its folder's front, or by the next one above it, or by the home page."""
    pages = {
        "http://a.example/": (False, STEADY),
        "http://a.example/news/": (False, dict.fromkeys(range(60), 50)),
        "http://a.example/news/index.html": (False, STEADY),
        "http://a.example/news/2026/04/07/n1.html": (True, NEWS),
        "http://a.example/news/2026/04/08/n2.html": (True, NEWS),
        "http://a.example/howto/h1.html": (False, {20: 40, 40: 40}),
        "http://b.example/ent/n3.html": (True, NEWS),
    }
    views, labels = pages_of(pages)
    hubs = hubs_of(views, labels, find_hubs(views, labels))
    found = {name: at for at, name in enumerate(hubs.names.to_pylist())}
    assert set(found) == {"a.example/", "a.example/news/", "b.example/"}
    fronts = {name: views.urls[int(hubs.page[at])].as_py() for name, at in found.items() if hubs.page[at] >= 0}
    assert fronts == {"a.example/": "http://a.example/", "a.example/news/": "http://a.example/news/"}
    assert {name: round(hubs.temporal_births[at] * 52) for name, at in found.items()} == {
        "a.example/": 0, "a.example/news/": 2, "b.example/": 1,
    }  # fmt: skip
    assert {name: round(hubs.births[at] * 52) for name, at in found.items()} == {
        "a.example/": 1, "a.example/news/": 2, "b.example/": 1,
    }  # fmt: skip


def test_births__at_the_edges_are_not_counted() -> None:
    """What is first seen in the first week may be older; what is born on the last day is mostly under the floor."""
    pages = {f"http://a.example/{day}.html": (True, {day: 80}) for day in (0, 6, 7, 58, 59)}
    views, labels = pages_of(pages)
    hubs = hubs_of(views, labels, find_hubs(views, labels))
    assert (hubs.temporal_births * 52).round(6).tolist() == [2.0]


def test_births__are_those_of_the_world() -> None:
    """The rate of all sites together is that at which pages over the floor were born."""
    made = world(3)
    labels = classify(made.views, Rules())
    hubs = hubs_of(made.views, labels, find_hubs(made.views, labels))
    inside = (made.birth >= 7) & (made.birth < 59)
    assert hubs.temporal_births.sum() == pytest.approx((inside & made.temporal).sum() / 52, rel=0.1)
    assert hubs.births.sum() == pytest.approx(inside.sum() / 52, rel=0.1)


def test_hubs__of_a_world_are_found() -> None:
    """Of a generated world's home pages and section fronts hardly one is missed, and hardly another page is taken."""
    made = world(3)
    found, true = find_hubs(made.views, classify(made.views, Rules())), made.kind == "hub"
    assert true.sum() > 200
    assert (found & true).sum() >= 0.97 * max(found.sum(), true.sum())
