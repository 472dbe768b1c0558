"""What a web looks like, in the figures the papers draw. In: a graph, perhaps its PageRank. Out: `Figures`.

Site sizes and depths: figures 3 and 10 of Castillo et al. 2004. Concentration of PageRank: figure 3 of Baeza-Yates et
al. 2005. Sizes and degrees are counted in bins that double, for axes that are both logarithmic.

>>> describe(Graph.from_links([2, 1], [(0, 1), (0, 2)], parent=[-1, 0, -1])).site_sizes
(Bin(least=1, most=1, many=1), Bin(least=2, most=3, many=1))
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.graph.assembly import breadth_first
from weft.graph.model import Graph, Summary

TOP = (0.01, 0.1, 0.2, 0.5)
"""Shares of the pages, the highest first, of which is told what they hold."""


class Bin(NamedTuple):
    """How many sites or pages have between so many and so many."""

    least: int
    most: int
    many: int


class Level(NamedTuple):
    """The pages of one depth: so many links from the nearest seed."""

    depth: int
    pages: int
    score: float | None
    """Their average PageRank, as a multiple of that of all pages."""


class Held(NamedTuple):
    """How much of the PageRank the best pages hold."""

    pages: float
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What the papers draw of a web."""

    summary: Summary
    site_sizes: tuple[Bin, ...]
    in_degrees: tuple[Bin, ...]
    out_degrees: tuple[Bin, ...]
    depths: tuple[Level, ...]
    concentration: tuple[Held, ...] | None
    """None where PageRank is not known."""

    def __str__(self) -> str:
        parts = [
            str(self.summary),
            _table("pages of a site", "sites", self.site_sizes),
            _table("links to a page", "pages", self.in_degrees),
            _table("links on a page", "pages", self.out_degrees),
            "\n".join([f"{'depth':>17}{'pages':>14}{'PageRank':>12}", *map(_level, self.depths)]),
        ]
        if self.concentration is None:
            parts.append("PageRank is not known: `weft graph rank` works it out")
        else:
            rows = [f"{f'{held.pages:.0%}'.replace('%', ' %'):>17}{held.score:>14.3f}" for held in self.concentration]
            parts.append("\n".join([f"{'best pages':>17}{'PageRank':>14}", *rows]))
        return "\n\n".join(parts)


def describe(graph: Graph, scores: NDArray[np.float64] | None = None) -> Figures:
    """Count what the papers draw."""
    incoming = np.bincount(graph.links, minlength=graph.pages)
    return Figures(
        summary=graph.describe(),
        site_sizes=_bins(np.diff(graph.first_page)),
        in_degrees=_bins(incoming),
        out_degrees=_bins(np.diff(graph.offsets)),
        depths=_levels(graph, scores),
        concentration=None if scores is None else tuple(Held(top, held(scores, top)) for top in TOP),
    )


def held(scores: NDArray[np.float64], top: float) -> float:
    """The share of the whole that the best pages hold.

    >>> held(np.array([1.0, 5.0, 2.0, 2.0]), 0.5)
    0.7
    """
    if not len(scores):
        return 0.0
    many = max(1, round(top * len(scores)))
    return float(np.partition(scores, len(scores) - many)[len(scores) - many :].sum() / scores.sum())


def _bins(values: NDArray[np.integer]) -> tuple[Bin, ...]:
    """Counts of 0, 1, 2 to 3, 4 to 7 …"""
    exponents = np.frexp(values.astype(np.float64))[1]  # 0 for 0, 1 for 1, 2 for 2 and 3 …
    counts = np.bincount(exponents)
    return tuple(
        Bin(0 if exponent == 0 else 1 << (exponent - 1), (1 << exponent) - 1, int(count))
        for exponent, count in enumerate(counts.tolist())
        if count
    )


def _levels(graph: Graph, scores: NDArray[np.float64] | None) -> tuple[Level, ...]:
    # Not the hierarchy's: a generated site's pages are nearer than they hang.
    _, depths, reached = breadth_first(graph.offsets, graph.links, graph.seeds)
    counts = np.bincount(depths[reached])
    if scores is None:
        return tuple(Level(depth, count, None) for depth, count in enumerate(counts.tolist()) if count)
    sums = np.bincount(depths[reached], weights=scores[reached]) * graph.pages / scores.sum()
    return tuple(
        Level(depth, count, float(sums[depth] / count)) for depth, count in enumerate(counts.tolist()) if count
    )


def _level(level: Level) -> str:
    score = "" if level.score is None else f"{level.score:.3f}"
    return f"{level.depth:>17}{level.pages:>14,}{score:>12}".rstrip()


def _table(title: str, counted: str, bins: tuple[Bin, ...]) -> str:
    rows = [
        f"{f'{row.least:,}' if row.least == row.most else f'{row.least:,} - {row.most:,}':>17}{row.many:>14,}"
        for row in bins
    ]
    return "\n".join([f"{title:>17}{counted:>14}", *rows])
