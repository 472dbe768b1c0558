"""Orders page by page: against the orders that a slow, literal program worked out, and on graphs small enough to follow
by hand.
"""

from __future__ import annotations

import gzip
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.unit.sim.literal import Literal

from weft.errors import UsageError
from weft.graph import Graph, Recipe, generate
from weft.graph.importing import import_graph
from weft.graph.rank import pagerank
from weft.graph.scores import read_scores
from weft.ordering import Scored, ordering_named, ordering_names
from weft.ordering.known import Known
from weft.sim.run import Conditions, Scores, simulate
from weft.sim.times import PageTimes, Weather, draw_times

GIVEN = ("backlink", "breadth-first", "larger-sites-first", "omniscient", "opic", "opic-seeds")


@pytest.mark.parametrize("wait", [0, 15])
@pytest.mark.parametrize("ordering", GIVEN)
@pytest.mark.parametrize("name", ["tiny", "generated-3000"])
def test_order__is_the_given_one(shared_data: Path, name: str, ordering: str, wait: int) -> None:
    """Page by page."""
    folder = shared_data / "orders" / name
    stored = import_graph(folder / "pages.tsv.gz", folder / "links.tsv.gz", folder / "seeds.txt")
    scores = Scores(true=read_scores(folder / "scores.tsv.gz", stored))
    result = simulate(stored.graph, ordering_named(ordering), Conditions(wait=wait), scores)
    with gzip.open(folder / f"order.{ordering}.w{wait}.txt.gz", "rt") as file:
        assert stored.id_of(result.order).tolist() == [int(line) for line in file]


def literal(graph: Graph) -> Literal:
    """The same graph for the slow program."""
    pages = range(graph.pages)
    sites = [int(graph.site_of(page)) for page in pages]
    return Literal(sites, [graph.links_of(page).tolist() for page in pages], graph.seeds.tolist())


@pytest.mark.parametrize("wait", [0, 15])
@pytest.mark.parametrize("ordering", GIVEN)
def test_order__is_that_of_the_rules_taken_literally(ordering: str, wait: int) -> None:
    """Page by page, on webs of some hundred pages: what needs nothing but this clone."""
    for seed in (1, 2):
        graph = generate(Recipe(sites=30, pages=400, largest_site=80), seed)
        true = pagerank(graph.offsets, graph.links)
        result = simulate(graph, ordering_named(ordering), Conditions(wait=wait), Scores(true=true))
        assert [int(page) for page in result.order] == literal(graph).order(ordering, wait, true.tolist())


@pytest.mark.parametrize("wait", [0, 15])
@pytest.mark.parametrize("ordering", GIVEN)
def test_literal_program__gives_the_given_orders(shared_data: Path, ordering: str, wait: int) -> None:
    """The stand-in is as good as what it stands in for."""
    folder = shared_data / "orders" / "tiny"
    stored = import_graph(folder / "pages.tsv.gz", folder / "links.tsv.gz", folder / "seeds.txt")
    true = read_scores(folder / "scores.tsv.gz", stored).tolist()
    found = literal(stored.graph).order(ordering, wait, true)
    with gzip.open(folder / f"order.{ordering}.w{wait}.txt.gz", "rt") as file:
        assert stored.id_of(np.array(found)).tolist() == [int(line) for line in file]


def order(ordering: str, graph: Graph, scores: Scores | None = None, **conditions: Any) -> list[int]:
    """The order of the pages of a graph, with w = 0 unless told otherwise."""
    result = simulate(graph, ordering_named(ordering), Conditions(**({"wait": 0.0} | conditions)), scores)
    return [int(page) for page in result.order]


# Site A has pages 0 to 4, site B 5 to 7. A's home links to 1, 2 and B's page 6; 1 to 3, 2 to 4, 6 to 7, B's home to 6.
TWO_SITES = Graph.from_links(
    [5, 3], [(0, 1), (0, 2), (0, 6), (1, 3), (2, 4), (5, 6), (6, 7), (3, 7), (4, 7)], parent=[-1, 0, 0, 1, 2, -1, 5, 6]
)


def test_depth__near_pages_come_before_pages_found_earlier() -> None:
    """While B waits, A goes on; when B is ready its pages at depth 1 and 2 come before A's at depth 2."""
    assert order("depth", TWO_SITES) == [0, 5, 1, 2, 6, 3, 4, 7]
    chain = Graph.from_links([4, 2], [(0, 1), (1, 2), (2, 3), (4, 5)], parent=[-1, 0, 1, 2, -1, 4])
    # 2 is found at 2 s, while B rests until 6 s; B's page 5 (depth 1) is next then, before 3 (depth 3).
    assert order("depth", chain, wait=4.0) == [0, 4, 1, 5, 2, 3]
    assert order("breadth-first", chain, wait=4.0) == [0, 4, 1, 5, 2, 3]


def test_length__larger_sites_by_depth_inside() -> None:
    """The site with most pending pages; inside it a page at depth 1 found late comes before one at depth 2."""
    graph = Graph.from_links([5, 1], [(0, 1), (0, 2), (1, 3), (5, 4)], parent=[-1, 0, 0, 1, 0, -1])
    # A has two pages pending, then two, then one; then B's home was found first, and finds page 4 of A, at depth 1.
    assert order("length", graph) == [0, 1, 2, 5, 4, 3]
    assert order("larger-sites-first", graph) == [0, 1, 2, 5, 3, 4]


def test_random__is_the_same_for_a_seed_and_another_for_another() -> None:
    """And no order of discovery."""
    graph = generate(Recipe(sites=10, pages=400), 1)
    one = order("random", graph, seed=1)
    assert one == order("random", graph, seed=1)
    assert one != order("random", graph, seed=2)
    assert sorted(one) == list(range(400))


def test_batch__what_is_found_meanwhile_waits() -> None:
    """With K = 2: the seeds; then the two with the highest estimates; and so on."""
    # Both seeds link to 6; so it has twice the estimate of 1 and 2, of which the one found first is in the batch.
    assert order("batch", TWO_SITES, rerank=2)[:4] == [0, 5, 6, 1]
    assert sorted(order("batch", TWO_SITES, rerank=2)) == list(range(8))


def test_batch__the_first_one_is_the_first_seeds() -> None:
    """With K = 1 of two seeds: the second one waits for an estimate."""
    assert order("batch", TWO_SITES, rerank=1)[0] == 0
    # After page 0 its links 1, 2, 6 have more than seed 5, to which nothing links.
    assert order("batch", TWO_SITES, rerank=1)[1] == 1


def test_partial__new_pages_have_what_links_give_them() -> None:
    """Before the first computation: seeds 1, others the sum of their parents' scores divided by their links."""
    # 6 has 1/3 from page 0 and 1/1 from page 5: it comes before 1 and 2 with 1/3 each.
    assert order("partial", TWO_SITES, rerank=100)[:3] == [0, 5, 6]


def test_partial__a_delay_is_felt_only_after_it() -> None:
    """The order until a computation takes effect is that without one."""
    graph = generate(Recipe(sites=20, pages=2000), 3)
    never = order("partial", graph, rerank=5000)
    at_once = order("partial", graph, rerank=500)
    later = order("partial", graph, rerank=500, rerank_delay=200)
    assert at_once[:500] == never[:500]
    assert later[:500] == never[:500]
    assert at_once != never
    assert later != at_once
    assert sorted(later) == list(range(2000))


def test_batch__with_a_delay_every_page_is_still_visited() -> None:
    """What was found after the snapshot is in a later batch."""
    graph = generate(Recipe(sites=20, pages=2000), 3)
    assert sorted(order("batch", graph, rerank=100, rerank_delay=60)) == list(range(2000))


OLD = np.array([0.1, 0.5, np.nan, np.nan, 0.4, 0.2, np.nan, 0.3])
TRUE = np.array([0.3, 0.01, 0.02, 0.05, 0.06, 0.1, 0.2, 0.26])


def test_historical__zero() -> None:
    """Old pages by their old scores; then new ones as they were found."""
    assert order("historical-zero", TWO_SITES, Scores(old=OLD)) == [5, 0, 1, 6, 7, 2, 4, 3]


def test_historical__parent() -> None:
    """A new page has the score of the page it was found on, divided by the links there."""
    # Seed 5 (.2): 6 is new, found there: .2 / 1. Seed 0 (.1) is next to 6 (.2): 6 first, then 7 (.3) ...
    assert order("historical-parent", TWO_SITES, Scores(old=OLD)) == [5, 6, 7, 0, 1, 3, 2, 4]


def test_historical__omniscient() -> None:
    """A new page has its true score."""
    assert order("historical-omniscient", TWO_SITES, Scores(old=OLD, true=TRUE)) == [5, 6, 7, 0, 1, 3, 2, 4]


def test_historical__random_draws_among_the_old_scores() -> None:
    """A new page is somewhere among the old ones; a new seed comes last."""
    old = np.array([np.nan, 0.5, np.nan, np.nan, 0.4, 0.2, np.nan, 0.3])
    orders = {tuple(order("historical-random", TWO_SITES, Scores(old=old), seed=seed)) for seed in range(20)}
    assert len(orders) > 1
    assert all(each[0] == 5 for each in orders)


def test_visits__go_on_for_k_pages() -> None:
    """Then the site waits; with one connection the other site has its turn."""
    assert order("breadth-first", TWO_SITES, per_visit=2) == [0, 1, 5, 6, 2, 3, 7, 4]


def test_time__of_sites_that_wait() -> None:
    """One page a second and w = 10: the clock jumps to the next release."""
    result = simulate(TWO_SITES, ordering_named("breadth-first"), Conditions(wait=10.0))
    assert result.finished.tolist() == [1.0, 2.0, 12.0, 13.0, 23.0, 24.0, 34.0, 45.0]
    assert result.order.tolist() == [0, 5, 1, 6, 2, 7, 3, 4]


def test_time__small_sites_may_wait_longer() -> None:
    """W by the number of pages found."""
    result = simulate(TWO_SITES, ordering_named("breadth-first"), Conditions(wait=1.0, small_wait=10.0, small_site=100))
    assert result.finished[-1] == 45.0


def test_link__that_is_full_slows_all_transfers_alike() -> None:
    """Two pages of 100 bytes from sites of 100 bytes a second over a link of 100: two seconds after the latency."""
    graph = Graph.from_links([1, 1], [], parent=[-1, -1])
    times = PageTimes(np.full(2, 1.0, np.float32), np.full(2, 100.0, np.float32), np.full(2, 100.0, np.float32))
    breadth_first = ordering_named("breadth-first")
    alone = simulate(graph, breadth_first, Conditions(connections=1, wait=0.0), times=times)
    assert alone.finished.tolist() == [2.0, 4.0]
    wide = simulate(graph, breadth_first, Conditions(connections=2, wait=0.0), times=times)
    assert wide.finished.tolist() == [2.0, 2.0]
    full = simulate(graph, breadth_first, Conditions(connections=2, wait=0.0, bandwidth=100.0), times=times)
    assert full.finished.tolist() == [3.0, 3.0]
    assert full.bytes_moved == 200.0


def test_link__moves_no_more_than_it_can() -> None:
    """However many connections there are, a crawl takes at least as long as its bytes."""
    graph = generate(Recipe(sites=100, pages=3000), 2)
    times = draw_times(graph.site_of(np.arange(3000)).astype(np.int32), 100, Weather(), 1)
    result = simulate(
        graph,
        ordering_named("larger-sites-first"),
        Conditions(connections=64, wait=1.0, bandwidth=50_000.0),
        times=times,
    )
    assert math.isclose(result.bytes_moved, float(times.size.sum()), rel_tol=1e-4)
    assert result.finished[-1] >= result.bytes_moved / 50_000.0
    assert (result.finished >= result.started).all()
    assert (np.diff(result.finished) >= 0).all()


@pytest.mark.parametrize("connections", [1, 7])
def test_politeness__of_every_ordering(connections: int) -> None:
    """One connection to a site at a time, and w between two; every page once."""
    graph = generate(Recipe(sites=30, pages=900), 5)
    true = pagerank(graph.offsets, graph.links)
    old = np.where(np.arange(900) % 2, true, np.nan)
    for name in ordering_names():
        result = simulate(
            graph,
            ordering_named(name),
            Conditions(connections=connections, wait=5.0, page_time=0.5, rerank=100),
            Scores(true=true, old=old),
        )
        assert sorted(result.order.tolist()) == list(range(900)), name
        for site in range(30):
            mine = np.flatnonzero(result.site == site)
            assert (result.started[mine][1:] >= result.finished[mine][:-1] + 5.0).all(), name
        events = sorted([(start, 1) for start in result.started] + [(end, -1) for end in result.finished])
        assert int(np.cumsum([step for _, step in events]).max()) <= connections, name


class PlainOpic(Scored):
    """Opic in plain Python."""

    name = "plain-opic"

    def found(self, known: Known, page: Any, parent: int, out: int) -> float:
        """The cash every page starts with."""
        del known, page, parent, out
        return 1.0

    def linked(self, known: Known, page: Any, parent: int, out: int) -> Any:
        """Its cash, and its part of the cash of the page that links to it."""
        return known.score[page] + known.score[parent] / out


def test_orderings__in_plain_python_order_like_compiled_ones() -> None:
    """The same rule gives the same order."""
    graph = generate(Recipe(sites=20, pages=2000), 6)
    plain = simulate(graph, PlainOpic(), Conditions(wait=3.0)).order.tolist()
    assert plain == simulate(graph, ordering_named("opic"), Conditions(wait=3.0)).order.tolist()


def test_orderings__that_lack_scores_say_so() -> None:
    """With what to do."""
    with pytest.raises(UsageError, match="historical-zero needs the scores of an earlier crawl"):
        simulate(TWO_SITES, ordering_named("historical-zero"))
    with pytest.raises(UsageError, match="there is no ordering called 'best'"):
        ordering_named("best")


@pytest.mark.parametrize(
    "wrong", [{"connections": 0}, {"wait": -1.0}, {"bandwidth": 0.0}, {"rerank": 0}, {"rerank": 10, "rerank_delay": 10}]
)
def test_conditions__that_cannot_be(wrong: dict[str, Any]) -> None:
    """Are refused."""
    with pytest.raises(UsageError):
        simulate(TWO_SITES, ordering_named("breadth-first"), Conditions(**wrong))
