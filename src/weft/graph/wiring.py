"""The links. In: sites with their hierarchy. Out: each page's links in order, without self-links and repeats.

A page links to its site's home page, its block's index and menu, its parent, all its children, its siblings,
random pages of its block and pages of other sites, in this order and each as the recipe says. A share of the
leaves links nowhere.

Invariant: a page that has children links to all of them, so that every page is reachable from its home page.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled
from weft.graph.recipe import Recipe
from weft.graph.trees import Trees, normal

NO_SIBLINGS, ALL_SIBLINGS, NEIGHBOURS = 0, 1, 2


class _Habits(NamedTuple):
    """What was drawn for sites, blocks, groups and pages before any link is written."""

    links_home: NDArray[np.bool_]
    links_index: NDArray[np.bool_]
    menu: NDArray[np.int32]
    links_parent: NDArray[np.bool_]
    siblings: NDArray[np.uint8]
    dangling: NDArray[np.bool_]
    random: NDArray[np.uint16]
    children: NDArray[np.int32]
    first_child: NDArray[np.int32]


class _Elsewhere(NamedTuple):
    """How often a page links to other sites, and to which."""

    amount: NDArray[np.uint16]
    popularity: NDArray[np.float64]
    to_home: float


def wire(
    rng: np.random.Generator,
    first_page: NDArray[np.int32],
    trees: Trees,
    recipe: Recipe,
    random_links: float,
) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Write the links of all pages; `random_links` scales the number of random ones in a block."""
    habits = _draw_habits(rng, first_page, trees, recipe, random_links)
    counts = _count_internal(first_page, trees, habits)
    site_sizes = np.diff(first_page)
    popularity = _popularity(rng, site_sizes, recipe)
    rates = np.repeat(site_sizes.astype(np.float64) ** recipe.linking_power, site_sizes)
    rates[habits.dangling] = 0.0
    wanted = counts.sum() * recipe.external if len(site_sizes) > 1 else 0.0
    rates *= wanted / max(rates.sum(), 1e-300)
    elsewhere = _Elsewhere(_poissons(rng, rates), popularity, recipe.to_home)
    most = int(counts.sum() + elsewhere.amount.sum())
    del rates, counts
    offsets = np.zeros(len(trees.parent) + 1, dtype=np.int64)
    links = np.empty(most, dtype=np.int32)  # room for repeats, too: what is never written to takes no memory
    written = _write_all(rng, first_page, trees, habits, elsewhere, offsets, links)
    return offsets, links[:written]


def _draw_habits(
    rng: np.random.Generator,
    first_page: NDArray[np.int32],
    trees: Trees,
    recipe: Recipe,
    random_links: float,
) -> _Habits:
    """Draw everything that does not depend on a single link."""
    pages, blocks = len(trees.parent), len(trees.first_of_block) - 1
    block_sizes = np.diff(trees.first_of_block)
    links_home = rng.random(len(first_page) - 1) < recipe.links_home
    links_index = rng.random(blocks) < recipe.links_index
    menu = recipe.menu_least * (1 - rng.random(blocks)) ** (-1 / recipe.menu_exponent)
    menu = np.minimum(np.minimum(menu, recipe.menu_most), block_sizes - 1)
    menu[rng.random(blocks) >= recipe.menus] = 0
    dense = (rng.random(blocks) < recipe.dense) & (block_sizes >= recipe.dense_least)
    kinds = rng.random(pages)[trees.group]  # one draw per group: that of its first page
    siblings = np.where(kinds < recipe.siblings / 2, ALL_SIBLINGS, NEIGHBOURS).astype(np.uint8)
    siblings[kinds >= recipe.siblings] = NO_SIBLINGS
    del kinds
    children, first_child = _children(trees.parent)
    in_dense = dense[trees.block]
    dangling = rng.random(pages) < np.where(in_dense, recipe.dense_dangling, recipe.dangling)
    dangling &= np.diff(first_child) == 0
    rates = random_links * _log_normals(rng, pages, recipe.random_spread)
    rates[in_dense] = recipe.dense_links
    rates[dangling] = 0.0
    return _Habits(
        links_home=links_home,
        links_index=links_index,
        menu=menu.astype(np.int32),
        links_parent=rng.random(pages) < recipe.links_parent,
        siblings=siblings,
        dangling=dangling,
        random=_poissons(rng, rates),
        children=children,
        first_child=first_child,
    )


def _count_internal(first_page: NDArray[np.int32], trees: Trees, habits: _Habits) -> NDArray[np.int64]:
    """Links inside the site that each page asks for, before repeats are dropped."""
    counts = np.repeat(habits.links_home, np.diff(first_page)).astype(np.int64)
    counts += habits.links_index[trees.block]
    counts += habits.menu[trees.block]
    counts += habits.links_parent
    others = np.bincount(trees.group, minlength=len(trees.group))[trees.group] - 1
    others[habits.siblings == NO_SIBLINGS] = 0
    counts += np.where(habits.siblings == NEIGHBOURS, np.minimum(others, 2), others)
    counts += habits.random
    counts += np.diff(habits.first_child)
    counts[habits.dangling] = 0
    return counts


def _popularity(rng: np.random.Generator, site_sizes: NDArray[np.int32], recipe: Recipe) -> NDArray[np.float64]:
    """Cumulative chance of each site to be linked from others; many small sites are linked from nowhere."""
    weight = site_sizes.astype(np.float64) ** recipe.site_weight_power
    weight *= _log_normals(rng, len(site_sizes), recipe.site_weight_spread)
    unknown = (rng.random(len(site_sizes)) < recipe.unknown_sites) & (site_sizes < site_sizes.mean())
    weight[unknown] = 0.0
    cumulative = np.cumsum(weight)
    return np.asarray(cumulative / max(cumulative[-1], 1e-300))


@compiled
def _children(parent: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """All pages sorted by parent, and where each page's children begin."""
    pages = len(parent)
    first = np.zeros(pages + 2, dtype=np.int32)
    for page in range(pages):
        first[parent[page] + 2] += 1
    first[1] = 0  # home pages are nobody's children
    for page in range(1, pages + 2):
        first[page] += first[page - 1]
    children = np.empty(first[pages + 1], dtype=np.int32)
    for page in range(pages):
        if parent[page] >= 0:
            children[first[parent[page] + 1]] = page
            first[parent[page] + 1] += 1
    return children, first[: pages + 1]


@compiled
def _log_normals(rng: np.random.Generator, count: int, spread: float) -> NDArray[np.float64]:
    """Log-normal draws with median 1."""
    values = np.empty(count, dtype=np.float64)
    for i in range(count):
        values[i] = np.exp(spread * normal(rng))
    return values


@compiled
def _poissons(rng: np.random.Generator, rates: NDArray[np.float64]) -> NDArray[np.uint16]:
    """Poisson draws by inversion; rates are cut at 500, above which the first term underflows."""
    counts = np.zeros(len(rates), dtype=np.uint16)
    for i in range(len(rates)):
        if rates[i] > 0:
            rate = min(rates[i], 500.0)
            left = rng.random()
            term = np.exp(-rate)
            while left > term and counts[i] < 1000:
                left -= term
                counts[i] += 1
                term *= rate / counts[i]
    return counts


@compiled
def _keep(links: NDArray[np.int32], at: int, seen: NDArray[np.int32], page: int, target: int) -> int:
    """Write one link unless the page has it or is it; return where the next one goes."""
    if seen[target] == page or target == page:
        return at
    seen[target] = page
    links[at] = target
    return at + 1


@compiled
def _write_template(
    trees: Trees,
    habits: _Habits,
    home: int,
    page: int,
    at: int,
    links: NDArray[np.int32],
    seen: NDArray[np.int32],
) -> int:
    """The links of the block's template and of the hierarchy: index, menu, parent, children, siblings."""
    block = trees.block[page]
    root = trees.first_of_block[block]
    if habits.links_index[block]:
        at = _keep(links, at, seen, page, root)
    for target in range(root + 1, root + 1 + habits.menu[block]):
        at = _keep(links, at, seen, page, target)
    if habits.links_parent[page] and page > home:
        at = _keep(links, at, seen, page, trees.parent[page])
    for i in range(habits.first_child[page], habits.first_child[page + 1]):
        at = _keep(links, at, seen, page, habits.children[i])
    if habits.siblings[page] != NO_SIBLINGS:
        first = trees.group[page]
        all_of_them = habits.siblings[page] == ALL_SIBLINGS
        target = first if all_of_them else max(first, page - 1)
        while target < len(trees.group) and trees.group[target] == first and (all_of_them or target <= page + 1):
            at = _keep(links, at, seen, page, target)
            target += 1
    return at


@compiled
def _pick_elsewhere(
    rng: np.random.Generator, first_page: NDArray[np.int32], trees: Trees, elsewhere: _Elsewhere
) -> int:
    """A page of some site: mostly its home page, else the root of one of its blocks or any page."""
    site = int(np.searchsorted(elsewhere.popularity, rng.random(), side="right"))
    site = min(site, len(elsewhere.popularity) - 1)
    home = first_page[site]
    end = first_page[site + 1]
    kind = rng.random()
    if kind < elsewhere.to_home:
        return int(home)
    if kind < (1 + elsewhere.to_home) / 2:
        first, last = trees.block[home], trees.block[end - 1]
        return int(trees.first_of_block[first + int(rng.random() * (last + 1 - first))])
    return int(home + int(rng.random() * (end - home)))


@compiled
def _write_all(
    rng: np.random.Generator,
    first_page: NDArray[np.int32],
    trees: Trees,
    habits: _Habits,
    elsewhere: _Elsewhere,
    offsets: NDArray[np.int64],
    links: NDArray[np.int32],
) -> int:
    """Write page after page, each in the order told above; return how many links there are."""
    at = 0
    seen = np.full(len(trees.parent), -1, dtype=np.int32)
    for site in range(len(first_page) - 1):
        home = first_page[site]
        end = first_page[site + 1]
        for page in range(home, end):
            if not habits.dangling[page]:
                if habits.links_home[site]:
                    at = _keep(links, at, seen, page, home)
                at = _write_template(trees, habits, home, page, at, links, seen)
                root = trees.first_of_block[trees.block[page]]
                size = trees.first_of_block[trees.block[page] + 1] - root
                for _ in range(habits.random[page]):
                    at = _keep(links, at, seen, page, root + int(rng.random() * size))
                for _ in range(elsewhere.amount[page]):
                    target = _pick_elsewhere(rng, first_page, trees, elsewhere)
                    if target < home or target >= end:
                        at = _keep(links, at, seen, page, target)
            offsets[page + 1] = at
    return at
