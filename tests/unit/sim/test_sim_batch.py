"""Batches from the middle of a crawl."""

from __future__ import annotations

import numpy as np
import pytest

from weft.graph import Graph, Recipe, generate
from weft.ordering import ordering_named
from weft.sim.batch import Choice, alone, choose, pending_after, simulate_batch
from weft.sim.run import Conditions, simulate
from weft.sim.times import Weather, draw_times


@pytest.fixture(scope="module")
def graph() -> Graph:
    """A web of some sites."""
    return generate(Recipe(sites=30, pages=1_500, largest_site=300), 1)


@pytest.fixture(scope="module")
def visited(graph: Graph) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    """Its first half, breadth-first."""
    return simulate(graph, ordering_named("breadth-first"), Conditions(most_pages=750)).order


def test_pending__is_what_visited_pages_link_to(graph: Graph, visited: np.ndarray) -> None:
    """By the definition, page by page."""
    known = set(graph.seeds.tolist())
    for page in visited.tolist():
        known.update(graph.links_of(page).tolist())
    assert pending_after(graph, visited).tolist() == sorted(known - set(visited.tolist()))


@pytest.mark.parametrize("choice", list(Choice))
def test_choose__takes_pending_pages_once(graph: Graph, visited: np.ndarray, choice: Choice) -> None:
    """As many as asked for, or as there are."""
    pending = set(pending_after(graph, visited).tolist())
    batch = choose(graph, visited, 50, choice)
    assert len(batch) == len(set(batch.tolist())) == 50
    assert set(batch.tolist()) <= pending
    assert len(choose(graph, visited, 10**6, choice)) == len(pending)


def test_spread__has_as_many_sites_as_possible(graph: Graph, visited: np.ndarray) -> None:
    """No site has two pages while another one with pending pages has none."""
    sites = len(np.unique(graph.site_of(pending_after(graph, visited))))
    batch = choose(graph, visited, sites, Choice.SPREAD)
    assert len(np.unique(graph.site_of(batch))) == sites


def test_batch__is_downloaded_whole_and_politely(graph: Graph, visited: np.ndarray) -> None:
    """Every page once, no site twice at a time or within w, by the pages' own times."""
    batch = choose(graph, visited, 100, Choice.RANDOM)
    page_sites = graph.site_of(np.arange(graph.pages)).astype(np.int32)
    times = draw_times(page_sites, graph.sites, Weather(), 1)
    conditions = Conditions(wait=15.0, connections=50)
    found = simulate_batch(graph, batch, ordering_named("breadth-first"), conditions, times)
    assert sorted(found.order.tolist()) == sorted(batch.tolist())
    assert (found.site == graph.site_of(found.order)).all()
    assert found.bytes_moved == pytest.approx(float(times.size[batch].sum()), rel=1e-4)
    for site in np.unique(found.site):
        mine = found.site == site
        starts, ends = np.sort(found.started[mine]), np.sort(found.finished[mine])
        assert (starts[1:] >= ends[:-1] + 15.0 - 1e-9).all()


def test_alone__keeps_the_order_of_the_batch(graph: Graph) -> None:
    """One connection and no wait: pages in the order of the batch."""
    batch = np.array([700, 3, 5, 1200])
    own = alone(graph, batch)
    assert own.pages[own.graph.seeds].tolist() == batch.tolist()
    found = simulate_batch(graph, batch, ordering_named("breadth-first"), Conditions(wait=0.0))
    assert found.order.tolist() == batch.tolist()
