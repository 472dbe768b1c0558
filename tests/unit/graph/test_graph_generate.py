"""The generator of country-like webs keeps what its recipe promises."""

from __future__ import annotations

import zlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import UsageError
from weft.graph import Graph, Recipe, generate
from weft.graph.sizes import site_sizes
from weft.graph.topics import draw_topics


@pytest.fixture(scope="module")
def country() -> Graph:
    """A web large enough for its shares to settle."""
    return generate(Recipe(sites=6_000, pages=400_000), seed=1)


def reachable(graph: Graph) -> int:
    """How many pages a crawl that follows every link finds."""
    found = np.zeros(graph.pages, dtype=bool)
    found[graph.seeds] = True
    edge = graph.seeds
    while len(edge):
        targets = np.concatenate([graph.links_of(page) for page in edge])
        edge = np.unique(targets[~found[targets]])
        found[edge] = True
    return int(found.sum())


def test_generate__same_seed_same_web() -> None:
    """A seed means one web, on every machine and with every version of NumPy."""
    recipe = Recipe(sites=50, pages=2_000)
    first, again, other = generate(recipe, 7), generate(recipe, 7), generate(recipe, 8)
    assert np.array_equal(first.links, again.links)
    assert not np.array_equal(first.links[:1000], other.links[:1000])
    assert zlib.crc32(first.links.tobytes()) == 663485087
    assert zlib.crc32(first.parent.tobytes()) == 1004193378


def test_generate__country_has_the_shares_of_the_recipe(country: Graph) -> None:
    """A quarter of the pages dangles, a sixth of the links leaves its site, a page has about 11 links."""
    summary = country.describe()
    assert summary.pages == 400_000
    assert summary.dangling_share == pytest.approx(0.245, abs=0.02)
    assert 0.15 < summary.external_share < 0.20
    assert summary.links / summary.pages == pytest.approx(11.0, abs=1.0)
    assert summary.largest_site <= 25_000


def test_generate__site_sizes_follow_a_power_law(country: Graph) -> None:
    """Sites of at least x pages become fewer as x^-0.6 or so, over three decades."""
    sizes = np.diff(country.first_page)
    points = np.array([1, 10, 100, 1_000])
    shares = np.array([(sizes >= point).mean() for point in points])
    slopes = np.diff(np.log10(shares))
    assert np.all((slopes < -0.5) & (slopes > -0.8))


def test_generate__every_page_is_reachable(country: Graph) -> None:
    """A crawler that follows all links from the seeds finds all pages."""
    assert reachable(country) == country.pages


def test_generate__links_have_no_repeats_and_no_self_links(country: Graph) -> None:
    """The graph's invariant holds for generated webs."""
    source = np.repeat(np.arange(country.pages, dtype=np.int64), np.diff(country.offsets))
    assert not np.any(source == country.links)
    pairs = np.sort(source * country.pages + country.links)
    assert np.all(pairs[1:] != pairs[:-1])


def test_generate__hierarchy_is_a_tree_inside_the_site(country: Graph) -> None:
    """A parent comes before its child, on the same site, one level up, at most 15 deep, and links to it."""
    inner = np.flatnonzero(country.parent >= 0)
    above = country.parent[inner]
    assert np.all(above < inner)
    assert np.array_equal(country.site_of(inner), country.site_of(above))
    assert np.array_equal(country.depth[inner], country.depth[above] + 1)
    assert country.depth.max() <= 15
    assert np.flatnonzero(country.parent < 0).tolist() == country.first_page[:-1].tolist()
    for page in inner[::5_000]:
        assert page in country.links_of(country.parent[page])


def test_generate__mean_number_of_links_can_be_asked_for() -> None:
    """The benchmark's web has 22 links on a page; the hierarchy stays the same."""
    plain = generate(Recipe(sites=400, pages=20_000), seed=3)
    dense = generate(Recipe(sites=400, pages=20_000, links_per_page=22), seed=3)
    assert len(dense.links) / dense.pages == pytest.approx(22, rel=0.01)
    assert np.array_equal(plain.parent, dense.parent)


@pytest.mark.parametrize(
    ("recipe", "message"),
    [
        (Recipe(sites=0), "at least one site"),
        (Recipe(sites=10, pages=9), "home page"),
        (Recipe(sites=1, pages=30_000), "more sites"),
        (Recipe(dangling=1.5), "between 0 and 1"),
        (Recipe(sites=20, pages=1_000, links_per_page=1), "ask for more"),
        (Recipe(sites=500, pages=1_000, links_per_page=200), "fewer links"),
    ],
)
def test_generate__what_cannot_be_made_is_refused(recipe: Recipe, message: str) -> None:
    """A recipe that contradicts itself is refused with what to change."""
    with pytest.raises(UsageError, match=message):
        generate(recipe, seed=1)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 300), st.integers(1, 400), st.integers(0, 2**32))
def test_sizes__add_up_to_the_pages_asked_for(sites: int, mean: int, seed: int) -> None:
    """Whatever is asked for, the sizes are legal and exact."""
    rng = np.random.Generator(np.random.PCG64(seed))
    sizes = site_sizes(rng, sites=sites, pages=sites * mean, cap=1_000)
    assert int(sizes.sum()) == sites * mean
    assert sizes.min() >= 1
    assert sizes.max() <= 1_000


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 30), st.integers(0, 500), st.integers(0, 2**32))
def test_generate__small_webs_are_whole(sites: int, more: int, seed: int) -> None:
    """Also a web of one page is a web."""
    graph = generate(Recipe(sites=sites, pages=sites + more), seed)
    assert graph.pages == sites + more
    assert reachable(graph) == graph.pages


def test_topics__links_between_sites_lead_from_like_to_like() -> None:
    """About as often as the recipe says, and within sites too; trees and numbers of links are those of the same web
    without topics.
    """
    recipe = Recipe(sites=60, pages=3000, largest_site=200)
    plain, topical = generate(recipe, 3), generate(replace(recipe, topics=8, topic_links=0.9), 3)
    topics = draw_topics(topical.parent, topical.depth, count=8, seed=3)
    assert np.array_equal(plain.parent, topical.parent)
    assert np.array_equal(plain.offsets, topical.offsets)
    source = np.repeat(np.arange(plain.pages), np.diff(plain.offsets))
    between = topical.site_of(source) != topical.site_of(topical.links)
    assert np.array_equal(plain.links[~between], topical.links[~between])

    def alike(links: np.ndarray[Any, Any]) -> float:
        return float((topics[source] == topics[links])[between].mean())

    assert alike(topical.links) > 0.6
    assert alike(plain.links) < 0.3
    for page in range(plain.pages):
        links = topical.links_of(page).tolist()
        assert len(set(links)) == len(links), "none twice"
