"""What more robots are worth is told over the same pages, and never more than there are of them (P0, table 1)."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from weft.cli.terms import Lists, jobs_of, lists_of, with_one_robot
from weft.errors import UsageError
from weft.graph import Graph, Recipe, generate
from weft.graph.files import Stored, save
from weft.graph.subgraph import nearest, subgraph_of
from weft.ordering import ordering_named
from weft.sim.measured import measured, speed_up_table
from weft.sim.repeats import interval, quantile
from weft.sim.result import Simulated
from weft.sim.run import Conditions, simulate
from weft.sim.several import Job, Order, by_chance, simulate_all
from weft.sim.times import PageTimes, Weather
from weft.sim.usage import levels, usage

ROBOTS = (1, 2, 3, 8, 40)


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small graph on disk."""
    path = tmp_path_factory.mktemp("graphs") / "small"
    save(Stored(graph=generate(Recipe(sites=30, pages=600, largest_site=150), 1)), path)
    return path


def crawled(graph: Path, ordering: str, wanted: Order | None = None) -> list[Simulated]:
    """Crawls with all r on two links, and with two k."""
    jobs = [
        Job(ordering, Conditions(connections=r, bandwidth=link, per_visit=k, wait=5.0), label=f"r={r},k={k},{link}")
        for k in (1, 5)
        for link in (1e6, 2e4)
        for r in ROBOTS
    ]
    return list(simulate_all(wanted or Order(graph, Weather()), jobs, processes=1))


@pytest.mark.parametrize("ordering", ["length", "breadth-first", "random", "backlink"])
def test_speed_up__is_never_above_the_number_of_robots(graph: Path, ordering: str) -> None:
    """Whatever the ordering, the link and k are; one robot on the widest link is the measure."""
    crawls = crawled(graph, ordering)
    table = speed_up_table(measured(each, np.full(600, 1 / 600)) for each in crawls)
    assert len(table) == 20
    for row in table:
        assert 0 < row["speed_up"] <= row["connections"] * (1 + 1e-12)
        assert row["time"] >= row["least_time"]
    for k in (1, 5):
        first = next(row for row in table if (row["per_visit"], row["connections"], row["bandwidth"]) == (k, 1, 1e6))
        assert first["speed_up"] == pytest.approx(1.0, abs=0.05)


def slow_site() -> tuple[Graph, PageTimes]:
    """A large site that is slow, and many small ones that are fast."""
    sizes = [50] + [1] * 40
    graph = Graph.from_links(sizes, [(0, page) for page in range(1, 50)], parent=[-1, *[0] * 49, *[-1] * 40])
    latency = np.array([20.0] * 50 + [1.0] * 40, np.float32)
    return graph, PageTimes(latency, np.ones(90, np.float32), np.full(41, 1e6, np.float32))


def test_speed_up__of_as_many_pages_would_be_above_the_number_of_robots() -> None:
    """Crawls that stop after as many pages have different ones, on slower or faster sites: hence what follows."""
    graph, times = slow_site()
    one, four = (
        simulate(
            graph,
            ordering_named("length"),
            Conditions(connections=r, wait=0.0, bandwidth=1e9, most_pages=12),
            None,
            times,
        )
        for r in (1, 4)
    )
    assert one.finished[-1] / four.finished[-1] > 4
    assert set(one.order.tolist()) != set(four.order.tolist())


def test_speed_up__is_over_the_same_pages(graph: Path) -> None:
    """Of fewer than all those nearest to the seeds, for every r, link, k and ordering."""
    pages = {
        frozenset(each.order.tolist())
        for ordering in ("length", "opic")
        for each in crawled(graph, ordering, Order(graph, Weather(), nearest=200))
    }
    assert len(pages) == 1
    assert len(next(iter(pages))) == 200


def test_speed_up__of_a_batch_is_over_the_same_batch(graph: Path) -> None:
    """It is taken from the same crawl, whatever the terms of its own download are."""
    lists = {"connections": [1, 40], "per_visit": [1, 50]}
    wanted = Order(graph, Weather(), batch=100)
    jobs = jobs_of(["length"], Conditions(), lists, 1, wanted)
    batches = [frozenset(each.order.tolist()) for each in simulate_all(wanted, jobs, processes=1)]
    assert len(batches) == 4
    assert len(set(batches)) == 1


def test_nearest__pages_can_be_crawled_whole() -> None:
    """All of them are reached from the seeds by links among themselves; none that is nearer is left out."""
    graph = generate(Recipe(sites=20, pages=500, largest_site=100), 2)
    for count in (5, 20, 100, 499, 500, 900):
        pages = nearest(graph, count)
        assert len(set(pages.tolist())) == len(pages) == min(count, 500)
        some = subgraph_of(graph, pages)
        assert len(simulate(some.graph, ordering_named("breadth-first"), Conditions(wait=0.0)).order) == len(pages)
        assert [graph.site_of(page) for page in some.pages] == [
            some.sites[some.graph.site_of(page)] for page in range(some.graph.pages)
        ]
    # Breadth-first and without waits a crawl goes the same way.
    assert (
        nearest(graph, 500).tolist()
        == simulate(graph, ordering_named("breadth-first"), Conditions(wait=0.0)).order.tolist()
    )


# Lists of terms.


def test_terms__are_all_combined_and_named_by_what_differs(graph: Path) -> None:
    """One robot is always among those that are compared."""
    lists = with_one_robot(lists_of(Lists(connections="64", bandwidth="2 MB,inf", per_visit="1")))
    assert lists == {"connections": [1, 64], "bandwidth": [2e6, math.inf], "per_visit": [1]}
    jobs = jobs_of(["opic"], Conditions(seed=3), lists, 2, Order(graph))
    assert [job.name for job in jobs] == ["opic,r=1,2MB", "opic,r=1,inf", "opic,r=64,2MB", "opic,r=64,inf"]
    assert jobs[2].conditions == Conditions(seed=3, connections=64, bandwidth=2e6)
    alone = with_one_robot(lists_of(Lists(connections="64", bandwidth="1000", per_visit="2")))
    assert [job.name for job in jobs_of(["opic"], Conditions(), alone, 1, Order(graph))] == ["opic"]


@pytest.mark.parametrize("text", ["0", "1,0", "1,1", ",", "many", "1.5"])
def test_terms__that_cannot_be_are_refused_by_name(text: str) -> None:
    """As the settings are that they stand for."""
    with pytest.raises(UsageError, match="--connections cannot be"):
        lists_of(Lists(connections=text, bandwidth="inf", per_visit="1"))


# Repeats.


def test_repeats__are_of_what_is_left_to_chance(graph: Path) -> None:
    """The draw of times, and orderings that draw; nothing else is simulated twice."""
    assert [by_chance(Order(graph), name) for name in ("opic", "random", "historical-random")] == [False, True, True]
    assert by_chance(Order(graph, Weather()), "opic")
    none = np.ones(600, np.float32)
    assert not by_chance(Order(graph, Weather(), times=PageTimes(none, none, none)), "opic")
    jobs = jobs_of(["opic", "random"], Conditions(seed=5), {}, 3, Order(graph))
    assert [(job.name, job.conditions.seed) for job in jobs] == [
        ("opic", 5),
        ("random", 5),
        ("random", 6),
        ("random", 7),
    ]


def test_interval__is_students() -> None:
    """By the values of printed tables; a mean that is nearly sure has nearly none."""
    assert [round(quantile(n), 3) for n in (1, 2, 3, 5, 10, 20, 60)] == [12.706, 4.303, 3.182, 2.571, 2.228, 2.086, 2.0]
    found = interval([1.0, 2.0, 3.0, 4.0])
    assert found.mean == 2.5
    assert found.half == pytest.approx(3.182 * math.sqrt(5 / 3) / 2, rel=1e-3)
    assert interval([2.0, 2.0]).half == 0.0


def test_interval__holds_the_truth_as_often_as_it_says() -> None:
    """About 95 of 100 times, for as few as four values."""
    rng = np.random.Generator(np.random.PCG64(7))
    found = [interval(rng.normal(3.0, 2.0, 4).tolist()) for _ in range(2_000)]
    held = np.mean([abs(each.mean - 3.0) <= (each.half or 0.0) for each in found])
    assert 0.93 < held < 0.97


# Over time.


def test_usage__moves_every_byte_and_never_more_than_the_link_can(graph: Path) -> None:
    """What was used, over all intervals, is what came; robots at work are the mean that the report tells."""
    for result in crawled(graph, "length"):
        used = usage(result, points=300)
        width = float(result.finished[-1]) / 300
        assert used.used is not None
        assert float(used.used.sum()) * width == pytest.approx(result.bytes_moved, rel=1e-6)
        assert float(used.used.max()) <= used.bandwidth * (1 + 1e-9)
        assert used.wasted == pytest.approx(used.bandwidth - used.used, abs=1e-6)
        assert float(used.robots.max()) <= result.parameters["connections"] * (1 + 1e-9)
        assert float(used.robots.sum()) * width == pytest.approx(float((result.finished - result.started).sum()))


def test_usage__without_sizes_knows_the_robots_alone() -> None:
    """Where every page takes the same time nothing is known of bytes."""
    graph = Graph.from_links([2, 1], [(0, 1), (0, 2), (1, 0)], parent=[-1, 0, -1])
    found = usage(simulate(graph, ordering_named("breadth-first"), Conditions(wait=0.0, connections=2)), points=2)
    assert (found.used, found.least_time) == (None, None)
    assert found.robots.tolist() == [2.0, 1.0]


def test_levels__are_bounded_together() -> None:
    """Two that would be more than the link share it."""
    began, ended, speed = np.array([0.0, 0.0]), np.array([1.0, 2.0]), np.array([70.0, 70.0])
    assert levels(began, ended, speed, most=100.0, points=2)[1].tolist() == [100.0, 70.0]
    assert levels(began, ended, points=2, until=4.0)[1].tolist() == [1.5, 0.0]


# Servers that close connections (P0, section 4.2).


def finishes(pages: int, **more: float) -> list[float]:
    """When the pages of one site are in; each has a latency of 10 s, of 2 s on an open connection, and no size."""
    graph = Graph.from_links([pages], [(0, page) for page in range(1, pages)], parent=[-1, *[0] * (pages - 1)])
    times = PageTimes(np.full(pages, 10.0, np.float32), np.full(pages, 1e-9, np.float32), np.ones(1, np.float32))
    conditions = Conditions(**({"kept_latency": 0.2} | more))  # type: ignore[arg-type]
    return [
        round(float(each), 3)
        for each in simulate(graph, ordering_named("breadth-first"), conditions, None, times).finished
    ]


def test_keep_alive__a_server_closes_a_connection_after_so_many_pages() -> None:
    """Within a visit, the page after them connects anew; without a limit only the first page of a visit does."""
    assert finishes(5, per_visit=5) == [10, 12, 14, 16, 18]
    assert finishes(5, per_visit=5, keep_alive_pages=2) == [10, 12, 22, 24, 34]
    assert finishes(5, per_visit=2, wait=1, keep_alive_pages=100) == [10, 12, 23, 25, 36]


def test_keep_alive__a_connection_is_left_open_for_a_visit_that_comes_in_time() -> None:
    """With w = 15 s it does, as P0 says, and with 16 s it does not; the limit of pages counts from visit to visit."""
    assert finishes(3, wait=15) == [10, 35, 60]
    assert finishes(3, wait=15, keep_alive=15) == [10, 27, 44]
    assert finishes(3, wait=16, keep_alive=15) == [10, 36, 62]
    assert finishes(4, wait=15, keep_alive=15, keep_alive_pages=2) == [10, 27, 52, 69]
