"""The graph value."""

from __future__ import annotations

import numpy as np
import pytest

from weft.graph import Graph


@pytest.fixture
def small() -> Graph:
    """Two sites of three and two pages."""
    links = [(0, 1), (0, 2), (0, 1), (1, 1), (1, 3), (3, 4), (4, 0)]
    return Graph.from_links([3, 2], links, parent=[-1, 0, 1, -1, 3])


def test_graph__self_links_and_repeats_are_dropped(small: Graph) -> None:
    """A page never links to itself nor twice to the same page; the first link keeps its place."""
    assert small.links_of(0).tolist() == [1, 2]
    assert small.links_of(1).tolist() == [3]
    assert small.links_of(2).tolist() == []


def test_graph__site_of_a_page_and_of_many(small: Graph) -> None:
    """The site is found for one page and for an array of pages."""
    assert int(small.site_of(2)) == 0
    assert small.site_of(np.array([0, 2, 3, 4])).tolist() == [0, 0, 1, 1]
    assert list(small.pages_of(1)) == [3, 4]


def test_graph__depth_counts_the_steps_up_to_the_home_page(small: Graph) -> None:
    """Depth follows the parents."""
    assert small.depth.tolist() == [0, 1, 2, 0, 1]


def test_graph__seeds_are_the_home_pages(small: Graph) -> None:
    """Without other seeds a crawl starts at all home pages."""
    assert small.seeds.tolist() == [0, 3]


def test_graph__is_read_only_and_leaves_the_callers_arrays_alone() -> None:
    """The value cannot be changed through its arrays, and making it does not freeze what it was made from."""
    links = np.array([1], dtype=np.int32)
    graph = Graph(
        first_page=np.array([0, 2]),
        offsets=np.array([0, 1, 1]),
        links=links,
        parent=np.array([-1, 0]),
        depth=np.array([0, 1]),
        seeds=np.array([0]),
    )
    with pytest.raises(ValueError, match="read-only"):
        graph.links[0] = 0
    assert links.flags.writeable


def test_describe__counts_what_the_papers_report(small: Graph) -> None:
    """Dangling pages and external links are shares of pages and of links."""
    summary = small.describe()
    assert (summary.sites, summary.pages, summary.links) == (2, 5, 5)
    assert summary.dangling_share == pytest.approx(1 / 5)
    assert summary.external_share == pytest.approx(2 / 5)
    assert summary.median_depth == 1
    assert summary.largest_site == 3
