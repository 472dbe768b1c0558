"""The size of a site in larger-sites-first, where copies do not count in it."""

from __future__ import annotations

import doctest

import pytest
from tests.unit.frontier.conftest import Make

from weft.frontier.local import alike
from weft.frontier.local.frontier import LocalFrontier
from weft.frontier.politeness import Politeness
from weft.ordering import ordering_named

QUICK = Politeness(wait=0.0, connections=1, per_visit=1, margin=0.0)


def frontier_of(make: Make, *, size_copies: bool) -> LocalFrontier:
    """One that knows a large site and a small one."""
    frontier = make(ordering=ordering_named("larger-sites-first"), politeness=QUICK, size_copies=size_copies)
    frontier.commits.recover()
    return frontier


def fill(frontier: LocalFrontier) -> None:
    """Ten pages of one site, six of another."""
    for name, pages in (("large", 10), ("small", 6)):
        for page in range(pages):
            frontier.add_seed(f"http://{name}.example/{page or ''}")


def visited(frontier: LocalFrontier, pages: int, *, copy: bool, simhash: int | None = None) -> list[str]:
    """The sites of so many pages, as they are visited; those of the large site are copies, or have this SimHash."""
    sites = []
    for _ in range(pages):
        visit = frontier.visit()
        assert visit is not None
        turn = frontier.turn(visit)
        assert turn is not None
        frontier.settle(visit, turn, None)
        large = visit.site.name == "large.example"
        copied, text = copy and large, simhash if large else None
        frontier.sites.note_content(visit.site, turn.url, copy=copied, thin=False, simhash=text)
        frontier.enter(visit, "192.0.2.1")
        frontier.leave(visit)
        sites.append(visit.site.name.partition(".")[0])
    return sites


@pytest.mark.parametrize(("copy", "simhash"), [(True, None), (False, 12345)])
def test_size__of_a_site_of_copies_is_small(make: Make, *, copy: bool, simhash: int | None) -> None:
    """Pages that are the same as others, or whose text is almost that of others: the smaller site comes first then."""
    frontier = frontier_of(make, size_copies=False)
    fill(frontier)
    sites = visited(frontier, 9, copy=copy, simhash=simhash)
    assert sites[0] == "large"
    assert sites.count("small") >= 4, "two, where copies count"


def test_size__counts_copies_unless_they_are_to_be_left_out(make: Make) -> None:
    """By default every page that waits counts."""
    frontier = frontier_of(make, size_copies=True)
    fill(frontier)
    assert visited(frontier, 9, copy=True).count("small") <= 3


def test_size__without_copies_outlives_a_restart(make: Make) -> None:
    """What was seen of a site is remembered with it."""
    frontier = frontier_of(make, size_copies=False)
    fill(frontier)
    visited(frontier, 3, copy=True)
    frontier.commits.commit(marks={})
    frontier.close()
    again = frontier_of(make, size_copies=False)
    number = again.sites.numbers["large.example"]
    assert again.pages.heaps.arrays.copied[number] == frontier.pages.heaps.arrays.copied[number] > 0


def test_alike__doctests_hold() -> None:
    """What the module says of itself."""
    failed, tried = doctest.testmod(alike)
    assert (failed, tried) == (0, 3)
