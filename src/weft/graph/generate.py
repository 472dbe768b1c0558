"""A generator of country-like webs. In: a `Recipe` and a seed. Out: a `Graph`, the same on every machine.

Site sizes are a truncated power law; a site is a tree of blocks; links follow templates (home, index,
menu), the tree, the siblings and chance; some lead to other sites, most of these to few of them. With the
default recipe about a quarter of the pages has no links, and all are reachable from the home pages, which
are the seeds.

Chance comes from three streams of one seed (sizes, trees, links), so that a change in the recipe's links
leaves the trees as they were. Only uniform draws are used: NumPy promises nothing about others across its
versions. Link farms and topics, where the recipe asks for them, have streams of their own, and leave the rest as it is.

>>> graph = generate(Recipe(sites=3, pages=40), seed=1)
>>> graph.sites, graph.pages, graph.seeds.tolist() == graph.first_page[:-1].tolist()
(3, 40, True)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from weft.errors import UsageError
from weft.graph.farms import plant
from weft.graph.hosting import Hosting
from weft.graph.model import Graph
from weft.graph.recipe import Recipe
from weft.graph.sizes import site_sizes
from weft.graph.topics import draw_topics, lead_by_topic
from weft.graph.trees import Trees, grow
from weft.graph.wiring import wire

__all__ = ["Recipe", "generate", "generate_hosted"]

TOLERANCE = 0.01
"""How near the mean number of links must come to the one asked for."""


def generate(recipe: Recipe, seed: int) -> Graph:
    """Make the web that belongs to this recipe and seed."""
    return generate_hosted(recipe, seed)[0]


def generate_hosted(recipe: Recipe, seed: int) -> tuple[Graph, Hosting | None]:
    """The same, and where its sites are, if it has farms."""
    graph = _ordinary(recipe, seed)
    return plant(graph, recipe.farms, seed) if recipe.farms else (graph, None)


def _ordinary(recipe: Recipe, seed: int) -> Graph:
    """The web without farms."""
    recipe.check()
    for_sizes, for_trees, for_links = np.random.SeedSequence(seed).spawn(3)
    sizes = site_sizes(_rng(for_sizes), sites=recipe.sites, pages=recipe.pages, cap=recipe.largest_site)
    first_page = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    trees = grow(_rng(for_trees), first_page, recipe)
    offsets, links = _wire_to_target(for_links, first_page, trees, recipe)
    if recipe.topics:
        topics = draw_topics(trees.parent, trees.depth, count=recipe.topics, seed=seed)
        links = lead_by_topic(first_page, offsets, links, topics, share=recipe.topic_links, seed=seed)
    return Graph(
        first_page=first_page,
        offsets=offsets,
        links=links,
        parent=trees.parent,
        depth=trees.depth,
        seeds=first_page[:-1],
    )


def _rng(stream: np.random.SeedSequence) -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(stream))


def _wire_to_target(
    stream: np.random.SeedSequence, first_page: NDArray[np.int32], trees: Trees, recipe: Recipe
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Write the links, again with more or fewer random ones until a page has as many as asked for."""
    wanted = recipe.links_per_page
    if not wanted:
        return wire(_rng(stream), first_page, trees, recipe, 1.0)
    low, high, factor = 0.0, np.inf, 0.0
    low_mean, high_mean = 0.0, np.inf
    for _ in range(40):
        made = wire(_rng(stream), first_page, trees, recipe, factor)
        mean = len(made[1]) / recipe.pages
        if abs(mean - wanted) <= TOLERANCE * wanted:
            return made
        if mean > wanted:
            high, high_mean = factor, mean
        else:
            low, low_mean = factor, mean
        if high == 0:
            raise UsageError(
                f"{wanted:g} links on a page are too few: without random links there are {mean:.1f}",
                todo="ask for more, or lower menus, links_index, dense or external",
            )
        # Double until there are too many, then draw a straight line between the nearest below and above.
        factor = low * 2 + 1 if high == np.inf else low + (high - low) * (wanted - low_mean) / (high_mean - low_mean)
    raise UsageError(
        f"{wanted:g} links on a page cannot be reached with this recipe",
        todo="ask for fewer links, or for larger sites: a page links to another page at most once",
    )
