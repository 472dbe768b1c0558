"""Scores of pages that other workers link to."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from tests.unit.frontier.conftest import Make, parsed

from weft.frontier.contract import Begun, Link, Message, Orders
from weft.frontier.local import LocalFrontier
from weft.frontier.politeness import Politeness
from weft.model import Kind
from weft.ordering import ordering_named

LINKS = {
    "http://a.example/": ["/1", "/2", "http://b.example/x", "http://b.example/y"],
    "http://a.example/1": ["http://b.example/x", "/2", "http://b.example/z"],
    "http://a.example/2": ["http://b.example/x", "http://b.example/y"],
}
WORTH = {  # of x, y and z of b.example, when the pages of a.example were visited
    "opic": [1 + 1 / 4 + 5 / 12 + 5 / 6, 1 + 1 / 4 + 5 / 6, 1 + 5 / 12],
    "backlink": [3.0, 2.0, 1.0],
    "depth": [-1.0, -1.0, -2.0],
    "partial": [1 / 4 + 1 / 12 + 1 / 6, 1 / 4 + 1 / 6, 1 / 12],
}


@pytest.mark.parametrize("ordering", sorted(WORTH))
@pytest.mark.parametrize("often", [True, False])
def test_score__is_the_same_wherever_links_were_found(
    make: Make, tmp_path: Path, ordering: str, *, often: bool
) -> None:
    """A worker whose pages another links to gives them the scores that one worker would; told often, or all at once."""

    def one_of_two(group: str) -> LocalFrontier:
        quick = Politeness(wait=0.0, connections=1, per_visit=1, margin=0.0)
        frontier = make(path=tmp_path / group, ordering=ordering_named(ordering), politeness=quick)
        frontier.recover(Begun(1, 0, alone=False))
        frontier.obey(Orders(messages=[Message(groups=[group])], taken=1, lent=[("192.0.2.1", 0.0)]))
        return frontier

    here, there = one_of_two("a.example"), one_of_two("b.example")
    here.add_seed("http://a.example/")
    for _ in LINKS:
        visit = here.visit()
        assert visit is not None
        turn = here.turn(visit)
        assert turn is not None
        found, _ = here.found.follow(visit.site, turn, parsed(turn.url, *LINKS[turn.url]))
        here.visited(turn, found)
        here.settle(visit, turn, None)
        here.enter(visit, "192.0.2.1")
        here.leave(visit, took=0.0)
        if often:
            here.commit(marks={})
    here.commit(marks={})
    told = [link for batch in here.report(0, wants=0).batches for links in batch.links.values() for link in links]
    assert len(told) == (2 + 2 + 2 if often and ordering != "depth" else 3), "one a page and commit"
    there.obey(Orders(messages=[Message(links=told)], taken=2))
    pages = [there._seen.page_of(f"http://b.example/{name}") for name in "xyz"]
    assert there._heaps.arrays.score[pages].tolist() == pytest.approx(WORTH[ordering])


@pytest.mark.parametrize("ordering", ["batch", "opic"])
def test_seed__given_away_by_another_worker_is_scored_as_a_seed(make: Make, ordering: str) -> None:
    """Pages that were given up come without the score of a page that links to them; a seed has none."""
    frontier = make(ordering=ordering_named(ordering), politeness=Politeness(wait=0.0, margin=0.0))
    frontier.recover(Begun(1, 0, alone=False))
    seeds = [Link(f"http://{name}.example/", Kind.SEED, 0, 0, math.nan, gain=-math.inf) for name in "ab"]
    frontier.obey(Orders(messages=[Message(groups=["a.example", "b.example"], links=seeds)], taken=1))
    assert not np.isnan(frontier._heaps.arrays.site_score[:2]).any()
    for _ in seeds:
        visit = frontier.visit()
        assert visit is not None
        assert frontier.turn(visit) is not None
