"""The figures of an analysis. In: views, labels and curves. Out: SVG with what is said about it.

Two kinds: how the interest in a page went, day by day, with the fitted curve laid over it (P2, figure 3), and how much
of their interest the pages of a site had gathered after one day (P2, figure 5). Both are functions of the analysis
alone: the same logs give the same figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.printing import plots
from weft.temporal.curves import phi
from weft.temporal.fitting import normal
from weft.temporal.views import LABEL_NAMES, TEMPORAL, UNDECIDED, UNTEMPORAL, Curves, Labels, Views

_BINS = 20  # of the shares of figure 5: intervals of .05
_FEW = 20  # a site with fewer pages has no distribution to speak of
_MOST = 4  # sites in one figure: more lines cannot be told apart
_POINTS = 600  # of a drawn curve
_NOTHING = 1e-9  # days of age: before its birth a page has no interest


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure and what is said about it."""

    svg: str
    caption: str
    alternative: str


@dataclass(frozen=True, slots=True)
class Example:
    """A page that is shown, and why this one."""

    page: int
    why: str


def examples(views: Views, labels: Labels) -> list[Example]:
    """Pages that show what labels mean: of each label the most viewed and the middle one, and the least certain."""
    totals = views.totals()
    whole = (labels.activation > 0) & (labels.label != UNDECIDED)
    chosen: dict[int, str] = {}
    for label in (TEMPORAL, UNTEMPORAL):
        pages = np.flatnonzero((labels.label == label) & whole)
        pages = pages[np.argsort(-totals[pages], kind="stable")]
        if len(pages):
            chosen.setdefault(int(pages[0]), f"the most viewed {LABEL_NAMES[label]} page that the window saw born")
            chosen.setdefault(int(pages[len(pages) // 2]), f"the middle one of the {LABEL_NAMES[label]} pages by views")
    decided = np.flatnonzero(whole)
    if len(decided):
        unsure = np.abs(labels.p[decided] - 0.5)
        chosen.setdefault(int(decided[np.argmin(unsure)]), "the decided page that is nearest to the border")
    for pages, why in (
        (np.flatnonzero(labels.label == UNDECIDED), "the most viewed undecided page: too young to tell"),
        (np.flatnonzero(labels.activation == 0), "the most viewed page that was there on the first day"),
    ):
        if len(pages):
            chosen.setdefault(int(pages[np.argmax(totals[pages])]), why)
    return [Example(page, why) for page, why in chosen.items()]


def draw_page(views: Views, labels: Labels, curves: Curves, example: Example) -> Picture:
    """A page's views by day as points, and its curve as a line: the interest within half a day before and after."""
    page = example.page
    days = slice(views.start[page], views.start[page + 1])
    seen = plots.Series("views of a day", views.day[days] + 0.5, views.count[days])
    drawn = [seen]
    line = _curve(curves, page, views.window.days)
    if line is not None:
        drawn.append(plots.Series("fitted curve", *line, reference=True))
    label = LABEL_NAMES[labels.label[page]]
    title = f"{label}, p = {labels.p[page]:.2f}: {_short(views.urls[page].as_py())}"
    frame = plots.Frame(title, "days from the start of the window", "views", x_range=(0, views.window.days), height=2.8)
    caption = f"{example.why[:1].upper()}{example.why[1:]}."
    peak = int(views.count[days].max())
    told = (
        f"Points of views by day and a curve. {label}; {int(views.count[days].sum()):,} views, at most {peak:,} a day."
    )
    return Picture(plots.scatter(drawn, frame), caption, told)


def _curve(curves: Curves, page: int, days: int) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Interest gathered within a day around each moment; None where no curve was fitted."""
    total, born, mu, sigma = (float(each[page]) for each in (curves.A, curves.b, curves.mu, curves.sigma))
    if not math.isfinite(total):
        return None
    x = np.linspace(0.0, days, _POINTS)
    until, since = (np.log(np.maximum(x - born + half, _NOTHING)) for half in (0.5, -0.5))
    return x, total * (normal((until - mu) / sigma) - normal((since - mu) / sigma))


def _short(url: str, length: int = 70) -> str:
    """A URL that fits into a title.

    >>> _short("http://www.example.org/a/very/long/path", 24)
    'www.example.org/a/very/…'
    """
    bare = url.partition("://")[2] or url
    return bare if len(bare) <= length else f"{bare[: length - 1]}…"


def draw_first_day(views: Views, curves: Curves, sites: Sequence[int]) -> Picture | None:
    """How the pages of some sites, and of all, are distributed by Phi(1); None where no curve was fitted."""
    share = phi(curves, 1.0)
    known = np.isfinite(share)
    if not known.any():
        return None
    edges = np.linspace(0.0, 1.0, _BINS + 1)
    drawn, said = [], []
    for name, pages in [(views.sites[site].as_py(), known & (views.site == site)) for site in sites] + [("all", known)]:
        if pages.any():
            found = np.histogram(share[pages], edges)[0] / pages.sum()
            label = f"{'all sites' if name == 'all' else name} ({pages.sum():,})"
            drawn.append(plots.Series(label, np.repeat(edges, 2)[1:-1], np.repeat(found, 2), reference=name == "all"))
            said.append(f"{label}: {(share[pages] > 0.8).mean():.0%} of the pages above .8")
    title = "Where a line rises on the right, interest is over after a day"
    frame = plots.Frame(
        title, "Phi(1): share of a page's interest on its first day", "share of the pages", x_range=(0, 1)
    )
    caption = "Distribution of the interest gathered on the first day (P2, figure 5), by the fitted curves."
    return Picture(plots.lines(drawn, frame), caption, f"Line chart of shares of pages by Phi(1). {'; '.join(said)}.")


def sites_to_draw(views: Views, ranked: Sequence[int]) -> list[int]:
    """The best ranked sites that have pages enough for a distribution, and the worst one of them for contrast."""
    many = np.bincount(views.site, minlength=len(views.sites))
    enough = [site for site in ranked if many[site] >= _FEW]
    return enough if len(enough) <= _MOST else [*enough[: _MOST - 1], enough[-1]]
