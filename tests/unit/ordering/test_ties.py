"""Links that count less: what a link adds is weighed by where both sites are, and by who links back."""

from __future__ import annotations

import random
from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from tests.unit.sim.literal import Literal

from weft.graph import Graph, Recipe, generate
from weft.graph.farms import plant
from weft.graph.generate import generate_hosted
from weft.graph.hosting import Hosting
from weft.ordering import Scored, ordering_named
from weft.ordering.heaps import TwoLevelHeap, note_copies
from weft.ordering.known import Known
from weft.ordering.ties import LEAST_MUTUAL, MUTUAL_SHARE, make_ties, weigh
from weft.ordering.weights import LinkWeights
from weft.sim.run import Conditions, simulate

WEIGHTS: dict[str, Any] = {"weight_site": 0.5, "weight_domain": 0.25, "weight_address": 0.125, "weight_farm": 0.0}


class Plain:
    """The same in plain Python, from what the module says: sets of sites, gone through at every step."""

    def __init__(self, domain: list[int], address: list[int], weights: LinkWeights) -> None:
        self._domain, self._address, self._weights = domain, address, weights
        self.links: dict[int, set[int]] = defaultdict(set)
        self.begun: set[int] = set()
        self.located: set[int] = set()

    def visit(self, source: int, targets: list[int]) -> list[float]:
        """A page of a site is visited that links to some sites: what each of its links counts."""
        self.begun.add(source)
        self.links[source] |= set(targets) - {source}
        return [self.weight(source, target) for target in targets]

    def farm(self, site: int) -> bool:
        """Is a site taken for a part of a farm?"""
        linking = {other for other, targets in self.links.items() if site in targets}
        mutual = linking & self.links[site]
        most = max(len(linking), len(self.links[site] & self.begun))
        return len(mutual) >= LEAST_MUTUAL and len(mutual) >= MUTUAL_SHARE * most

    def weight(self, source: int, target: int) -> float:
        """What a link counts."""
        weights, both = self._weights, {source, target}
        found = 1.0
        if source == target:
            found = weights.weight_site
        elif self._domain[source] == self._domain[target]:
            found = weights.weight_domain
        elif self._address[source] == self._address[target] and both <= self.located:
            found = weights.weight_address
        return min(found, weights.weight_farm) if weights.weight_farm < found and self.farm(source) else found


@pytest.mark.parametrize("seed", range(6))
def test_ties__weigh_as_a_plain_program_does(seed: int) -> None:
    """On sites that link at random, some of them in a clique of which others know one, in any order of visits."""
    chance = random.Random(seed)
    sites, clique = 60, range(20, 20 + chance.randint(6, 25))
    others = [*set(range(sites)) - set(clique), clique[0]]
    weights = LinkWeights(**WEIGHTS)
    domain = [chance.randint(1, 40) for _ in range(sites)]
    address = [chance.randint(1, 20) for _ in range(sites)]
    plain, ties = Plain(domain, address, weights), make_ties(sites, weights)
    ties.domain[:] = domain
    farms = 0
    for _ in range(600):
        source = chance.randrange(sites)
        targets = [chance.choice(clique if source in clique else others) for _ in range(8)]
        ties.address[source] = address[source]
        plain.located.add(source)
        assert weigh(ties, source, np.array(targets, np.int32)).tolist() == plain.visit(source, targets)
        farms += int(ties.farm.sum())
    assert [bool(each) for each in ties.farm] == [plain.farm(site) for site in range(sites)]
    assert farms > 0 or len(clique) < LEAST_MUTUAL + 2


def test_ties__keep_pairs_when_their_table_grows() -> None:
    """Thousands of pairs: each is noted once, and what is mutual is known."""
    sites = 120
    ties = make_ties(sites, LinkWeights(weight_farm=0.5))
    ties.domain[:] = np.arange(sites)
    everybody = np.arange(sites, dtype=np.int32)
    for _ in range(2):
        for site in range(sites):
            weigh(ties, site, everybody)
    assert ties.counts[0] == sites * (sites - 1)
    assert set(ties.mutual.tolist()) == set(ties.linked.tolist()) == set(ties.answered.tolist()) == {sites - 1}
    assert ties.farm.all()


@pytest.fixture(scope="module")
def farmed() -> tuple[Graph, Hosting]:
    """A small web of which half is farms, of every kind."""
    graph, hosting = generate_hosted(Recipe(sites=60, pages=1500, largest_site=400, farms=0.5), seed=2)
    assert hosting is not None
    return graph, hosting


def test_farms__leave_the_ordinary_web_as_it_was(farmed: tuple[Graph, Hosting]) -> None:
    """Ordinary pages come first, with the links they had; what was smuggled in is behind these. All can be reached."""
    graph, hosting = farmed
    before = generate(Recipe(sites=60, pages=1500, largest_site=400), seed=2)
    assert graph.first_page[: before.sites + 1].tolist() == before.first_page.tolist()
    for page in range(before.pages):
        links = before.links_of(page).tolist()
        assert graph.links_of(page)[: len(links)].tolist() == links
        assert all(target >= before.pages for target in graph.links_of(page)[len(links) :])
    assert np.count_nonzero(hosting.farm) == graph.sites - before.sites > 0
    assert len(simulate(graph, ordering_named("breadth-first")).order) == graph.pages
    assert plant(before, 0.0, seed=2).graph is before


@pytest.mark.parametrize("ordering", ["backlink", "opic", "opic-seeds"])
def test_order__with_weights_is_that_of_a_literal_program(ordering: str) -> None:
    """Within sites, domains and addresses: one link after the other, from the rules as they are written."""
    graph = generate(Recipe(sites=25, pages=400, largest_site=100), seed=4)
    chance = random.Random(4)
    names = [f"{site}.domain-{chance.randint(1, 12)}.example" for site in range(graph.sites)]
    hosting = Hosting.of_names(names, [str(chance.randint(1, 6)) for _ in names])
    weights: dict[str, Any] = {"weight_site": 0.5, "weight_domain": 0.25, "weight_address": 0.0}
    plain = Plain(hosting.domain.tolist(), hosting.address.tolist(), LinkWeights(**weights))
    site_of = graph.site_of(np.arange(graph.pages)).tolist()
    links = [graph.links_of(page).tolist() for page in range(graph.pages)]
    expected = Literal(site_of, links, graph.seeds.tolist(), plain).order(ordering, 0.0, [0.0] * graph.pages)
    found = simulate(graph, ordering_named(ordering), Conditions(wait=0.0, **weights), hosting=hosting)
    assert found.order.tolist() == expected


class Counting(Scored):
    """Backlink in plain Python."""

    name = "counting"

    def found(self, _known: Known, page: Any, _parent: int, _out: float) -> Any:
        """No link is counted yet."""
        return np.zeros(np.shape(page))

    def linked(self, known: Known, page: Any, _parent: int, _out: float) -> Any:
        """One link more."""
        return known.score[page] + 1.0


def test_order__with_weights_is_the_same_for_a_rule_in_python(farmed: tuple[Graph, Hosting]) -> None:
    """An ordering that knows nothing of weights is weighed all the same."""
    graph, hosting = farmed
    conditions = Conditions(wait=0.0, weight_site=0.5, weight_domain=0.25, weight_address=0.0)
    both = [
        simulate(graph, ordering, conditions, hosting=hosting) for ordering in (Counting(), ordering_named("backlink"))
    ]
    assert both[0].order.tolist() == both[1].order.tolist()


@pytest.mark.parametrize("ordering", ["backlink", "opic", "partial", "batch"])
def test_farm__is_visited_later_when_its_links_count_nothing(ordering: str, farmed: tuple[Graph, Hosting]) -> None:
    """Of the first half of the pages fewer are a farm's."""
    graph, hosting = farmed
    farm = hosting.farm[graph.site_of(np.arange(graph.pages))] > 0
    shares = []
    some: dict[str, Any] = {"weight_domain": 0.1, "weight_address": 0.1, "weight_farm": 0.0}
    for weights in ({}, some):
        found = simulate(graph, ordering_named(ordering), Conditions(wait=0.0, rerank=200, **weights), hosting=hosting)
        shares.append(farm[found.order[: graph.pages // 2]].mean())
    assert shares[1] < shares[0]


@pytest.mark.parametrize("ordering", ["breadth-first", "larger-sites-first", "depth", "random"])
def test_order__that_counts_no_links_is_not_changed_by_weights(ordering: str, farmed: tuple[Graph, Hosting]) -> None:
    """Weights are about what links add."""
    graph, hosting = farmed
    orders = [
        simulate(graph, ordering_named(ordering), Conditions(wait=0.0, **weights), hosting=hosting).order.tolist()
        for weights in ({}, WEIGHTS)
    ]
    assert orders[0] == orders[1]


# Sizes without copies.


def test_size__counts_pages_that_are_likely_no_copies() -> None:
    """A site with ten pending pages of which two in three are copies stands behind one with five."""
    heaps = TwoLevelHeap(pages=100, sites=2, scored=False, by_size=True, but_copies=True)
    for site, pages in ((0, 10), (1, 5)):
        heaps.add_site(site)
        heaps.set_ready(site)
        for page in range(pages):
            heaps.push(site, 50 * site + page)
    note_copies(heaps.arrays, 0, 5, 4)
    assert [heaps.take_site(), heaps.take_site()] == [1, 0]


@pytest.mark.parametrize("ordering", ["larger-sites-first", "length"])
def test_size__without_copies_puts_a_site_of_copies_last(ordering: str) -> None:
    """The largest site inflates itself with copies: with the option the other sites are done before much of it."""
    sizes, links, parent = [40, 12, 12], [], []
    first = 0
    for size in sizes:
        links += [(first, first + page) for page in range(1, size)]
        parent += [-1] + [first] * (size - 1)
        first += size
    graph = Graph.from_links(sizes, links, parent)
    copies = np.zeros(graph.pages, np.bool_)
    copies[1:40] = True
    last = []
    for given in (None, copies):
        order = simulate(graph, ordering_named(ordering), Conditions(wait=0.0), copies=given).order
        last.append(int(np.flatnonzero(order >= 40).max()))
    assert last[0] == graph.pages - 1
    assert last[1] < last[0] - 10, "a dozen copies and more come after all others"


def test_size__is_not_changed_where_nothing_is_a_copy() -> None:
    """The same order as without the option."""
    graph = generate(Recipe(sites=30, pages=600, largest_site=200), seed=3)
    none = np.zeros(graph.pages, np.bool_)
    orders = [
        simulate(graph, ordering_named("length"), Conditions(wait=0.0), copies=given).order.tolist()
        for given in (None, none)
    ]
    assert orders[0] == orders[1]
