"""What an ordering may look at. Arrays by page; a page's number is its place in the order of discovery.

An ordering's rules take `Known`, a page, the page that links to it (its *parent* when the link is the first one) and
the number of links on that page. Built-in rules are compiled and are given one page at a time; a rule in plain Python
is given all pages that one page links to, as an array. Most can be written so that they do for both.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import binder, inlined

HELD: Final = -np.inf  # the score of a page that waits until it is given another one, whatever else is there
NO_PAGE: Final = -1  # the parent of a seed


class Known(NamedTuple):
    """What is known of the pages. Arrays that the ordering does not need have one element."""

    score: NDArray[np.float64]  # by page: its priority; larger is better
    old: NDArray[np.float64]  # by page: its score in an earlier crawl, NaN when it was not in that
    true: NDArray[np.float64]  # by page: its score as an oracle knows it, NaN when even that does not
    past: NDArray[np.float64]  # the scores of the earlier crawl, of all its pages, in their order
    ranked: NDArray[np.int64]  # one number: pages known when scores were last computed anew
    seed: int  # of what is left to chance


known_at = binder(Known)
"""The arrays whose table lies at an address."""


@inlined
def stays(known: Known, page: int, _parent: int, _out: float) -> float:
    """Another link to a page changes nothing."""
    return float(known.score[page])


@inlined
def chance(seed: int, page: int) -> float:
    """A number between 0 and 1, drawn once for every page of a crawl: the same in every run of one seed.

    >>> 0 <= chance(1, 7) < 1, chance(1, 7) == chance(2, 7)
    (True, False)
    """
    # SplitMix64: two rounds of it mix seed and page as well as a stream of draws would be.
    state = np.uint64(seed) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(page) + np.uint64(1)
    for _ in range(2):
        state = state * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
        state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        state = state ^ (state >> np.uint64(31))
    return float(np.float64(state >> np.uint64(11)) / 9007199254740992.0)
