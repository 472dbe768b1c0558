"""The links on every page as numbers. In: the graph, a page. Out: codes, in order on the page. Compiled.

A code below `MOVED` is a page of the graph; `MOVED + p` is page p by way of a redirect; a code from `GONE`
on names a page that never was, by site and number (see `weft.testbed.hazards`). The renderer writes these
codes as addresses, and what a crawl should see is worked out from the same codes.

Invariant: without failing links and redirects the codes are the graph's links.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.compiled import compiled
from weft.testbed.dice import mix

MOVED = 1 << 40
GONE = 1 << 41
_SITE = 42

_ELSEWHERE = 0.1
"""Share of the failing links that lead to another site."""

_TO_SHARE = 2.0**-53
_ELEVEN = np.uint64(11)


class Scene(NamedTuple):
    """Everything about a web that compiled code reads."""

    links: NDArray[np.int32]
    offsets: NDArray[np.int64]
    first_page: NDArray[np.int32]
    site: NDArray[np.int32]
    special: NDArray[np.uint8]
    path_text: NDArray[np.uint8]
    path_offsets: NDArray[np.int64]
    base_text: NDArray[np.uint8]
    base_offsets: NDArray[np.int64]
    """`http://host:port` of each site, cut by offsets."""
    failing: float
    redirects: float
    nofollow: float
    key: np.uint64


@compiled
def chance(key: np.uint64, page: int, question: int, number: int) -> float:
    """A number from 0 up to 1 for one question (0 to 7) about one link of a page."""
    return float((mix(mix(key, page * 8 + question), number) >> _ELEVEN) * _TO_SHARE)


@compiled
def gone_pages(scene: Scene, site: int) -> int:
    """How many missing pages of a site are linked to from somewhere."""
    if scene.failing == 0:
        return 0
    pages = scene.first_page[site + 1] - scene.first_page[site]
    return 1 + int(pages * scene.failing / (1 - scene.failing))


@compiled
def most_codes(scene: Scene, page: int) -> int:
    """How many codes a page can have at most."""
    count = scene.offsets[page + 1] - scene.offsets[page]
    return int(count * (1 + scene.failing / (1 - scene.failing))) + 2  # two, for what rounding may do


@compiled
def write_codes(scene: Scene, page: int, codes: NDArray[np.int64]) -> int:
    """Write the codes of a page's links into an array; return how many there are."""
    links, key, redirects = scene.links, scene.key, scene.redirects
    first = scene.offsets[page]
    count = int(scene.offsets[page + 1] - first)
    left = 0
    if scene.failing > 0 and count > 0:
        left = int(count * scene.failing / (1 - scene.failing) + chance(key, page, 0, 0))
    at = 0
    for i in range(count + 1):
        # Each place is as likely as any other for the missing pages that are left.
        while left > 0 and chance(key, page, 1, at) * (count - i + left) < left:
            codes[at] = _gone_code(scene, page, left)
            at += 1
            left -= 1
        if i < count:
            codes[at] = links[first + i]
            if redirects > 0 and chance(key, page, 2, i) < redirects:
                codes[at] += MOVED
            at += 1
    return at


@compiled
def _gone_code(scene: Scene, page: int, number: int) -> int:
    """The code of one missing page that a page links to: mostly of its own site."""
    site = int(scene.site[page])
    if chance(scene.key, page, 3, number) < _ELSEWHERE:
        site = int(chance(scene.key, page, 4, number) * (len(scene.first_page) - 1))
    return GONE + (site << _SITE) + int(chance(scene.key, page, 5, number) * gone_pages(scene, site))


@compiled
def says_nofollow(key: np.uint64, share: float, page: int, number: int) -> bool:
    """Whether the link with this number on a page says nofollow."""
    return share > 0 and chance(key, page, 6, number) < share


def codes_of(scene: Scene, page: int) -> list[int]:
    """The codes of a page's links, in order."""
    codes = np.empty(most_codes(scene, page), dtype=np.int64)
    written: list[int] = codes[: write_codes(scene, page, codes)].tolist()
    return written


def gone_site(code: int) -> int:
    """The site of a missing page."""
    return code >> _SITE


def gone_number(code: int) -> int:
    """The number of a missing page on its site."""
    return code & (MOVED - 1)
