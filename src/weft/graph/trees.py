"""The hierarchy inside sites. In: site sizes. Out: for each page its parent, depth, block and siblings.

A site is a row of blocks (sections); the first one begins with the home page, each later one hangs under any
earlier page of the site, which is what hides good pages deep inside. Within a block pages come in groups of
siblings under an earlier page of it, some of them under the very page before (chains). Numbers: the recipe's.

Invariant: a page's parent has a smaller id than the page, and no page is deeper than the limit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled
from weft.graph.recipe import Recipe


class Trees(NamedTuple):
    """Where every page hangs. Pages of a block and pages of a group are contiguous."""

    parent: NDArray[np.int32]
    depth: NDArray[np.uint8]
    block: NDArray[np.int32]
    """Number of the page's block, counted over all sites."""
    first_of_block: NDArray[np.int32]
    """Root of each block, and the number of pages at the end."""
    group: NDArray[np.int32]
    """First page of the page's group of siblings."""


class _Shape(NamedTuple):
    """The recipe's numbers in the form compiled code takes."""

    block_least: float
    block_exponent: float
    group_mean: float
    group_spread: float
    parent_power: float
    chains: float
    max_depth: int


def grow(rng: np.random.Generator, first_page: NDArray[np.int32], recipe: Recipe) -> Trees:
    """Hang every page of every site somewhere."""
    pages = int(first_page[-1])
    most_blocks = int(np.ceil(np.diff(first_page) / recipe.block_least).sum())
    trees = Trees(
        parent=np.full(pages, -1, dtype=np.int32),
        depth=np.zeros(pages, dtype=np.uint8),
        block=np.zeros(pages, dtype=np.int32),
        first_of_block=np.zeros(most_blocks + 1, dtype=np.int32),
        group=np.arange(pages, dtype=np.int32),
    )
    shape = _Shape(
        block_least=float(recipe.block_least),
        block_exponent=recipe.block_exponent,
        group_mean=recipe.group_mean,
        group_spread=recipe.group_spread,
        parent_power=recipe.parent_power,
        chains=recipe.chains,
        max_depth=recipe.max_depth,
    )
    blocks = _grow(rng, first_page, shape, trees)
    return trees._replace(first_of_block=trees.first_of_block[: blocks + 1])


@compiled
def normal(rng: np.random.Generator) -> float:
    """One standard normal draw from two uniform ones (Box and Muller), the same on every machine."""
    return float(np.sqrt(-2 * np.log(1 - rng.random())) * np.cos(2 * np.pi * rng.random()))


@compiled
def _group_size(rng: np.random.Generator, mean: float) -> int:
    """A geometric draw, at least 1."""
    if mean <= 1:
        return 1
    return 1 + int(np.log(1 - rng.random()) / np.log(1 - 1 / mean))


@compiled
def _hang(trees: Trees, above: int, first: int, end: int) -> None:
    """Put the pages from first up to end side by side under one page."""
    trees.parent[first:end] = above
    trees.depth[first:end] = trees.depth[above] + 1
    trees.group[first:end] = first


@compiled
def _grow_block(rng: np.random.Generator, shape: _Shape, trees: Trees, root: int, end: int) -> None:
    """Hang the pages of a block, whose root hangs already, group by group."""
    mean = shape.group_mean * np.exp(shape.group_spread * normal(rng))
    page = root + 1
    while page < end:
        if rng.random() < shape.chains:
            above = page - 1
        else:
            above = root + int((page - root) * rng.random() ** shape.parent_power)
        if trees.depth[above] >= shape.max_depth:
            above = root
        stop = min(page + _group_size(rng, mean), end)
        _hang(trees, above, page, stop)
        page = stop


@compiled
def _grow(rng: np.random.Generator, first_page: NDArray[np.int32], shape: _Shape, trees: Trees) -> int:
    """Fill the arrays site by site, block by block; return how many blocks there are."""
    blocks = 0
    for site in range(len(first_page) - 1):
        home = first_page[site]
        end = first_page[site + 1]
        root = home
        while root < end:
            size = shape.block_least * (1 - rng.random()) ** (-1 / shape.block_exponent)
            block_end = end if size >= end - root else root + int(size)
            if root > home:
                above = home + int(rng.random() * (root - home))
                if trees.depth[above] >= shape.max_depth - 1:  # the root's children need a level, too
                    above = home
                _hang(trees, above, root, root + 1)
            _grow_block(rng, shape, trees, root, block_end)
            trees.block[root:block_end] = blocks
            trees.first_of_block[blocks] = root
            blocks += 1
            root = block_end
    trees.first_of_block[blocks] = first_page[-1]
    return blocks
