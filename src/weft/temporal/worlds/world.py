"""A world: sites, pages and traffic whose truth is known. In: a recipe. Out: `World`, its truth and its `Views`.

The same recipe gives the same world on any machine. Pages born after the window are in the truth as well, with births
of `days` and more, so that lists of sites can be measured on pages that no analysis has seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from weft.temporal.views import Views, Window
from weft.temporal.worlds.kinds import KIND_NAMES
from weft.temporal.worlds.pages import NEVER, Pages, make_pages
from weft.temporal.worlds.recipe import BEFORE, Recipe
from weft.temporal.worlds.shapes import DAYS
from weft.temporal.worlds.sites import Sites, make_sites
from weft.temporal.worlds.traffic import Traffic, make_traffic

SHARE = 0.7  # of the interest, in the first three days: more is temporal (P2 4.2)
_RIGHT_EDGE = 5.0  # days before the end of the window: who is born later is cut


@dataclass(frozen=True)
class World:
    """A page-view world."""

    recipe: Recipe
    sites: Sites
    pages: Pages
    traffic: Traffic

    @cached_property
    def truth(self) -> Any:
        """What is true about each page, as an Arrow table in the order of URLs; edges and oddities of the window."""
        pages, end = self.pages, self.recipe.days
        phi3 = pages.shapes.share(DAYS)
        return pa.table(
            {
                "url": pages.url,
                "birth": pages.birth,
                "phi3": phi3,
                "temporal_by_definition": phi3 > SHARE,
                "reports_recent_event": pages.having("recent"),
                "kind": pa.array(np.array(KIND_NAMES)[pages.kind]),
                "cut_left": (pages.birth > -BEFORE - 1) & (pages.birth < 0),
                "cut_right": (pages.birth > end - _RIGHT_EDGE) & (pages.birth < end),
                "many_user_burst": (pages.burst_day != NEVER) & (pages.burst_day < end),
                "stray_early_view": pages.stray_day != NEVER,
                "single_user_spam": (pages.spam_day != NEVER) & (pages.spam_day < end),
                "site": self.sites.name.take(pa.array(pages.site)),
            }
        )

    def views(self, floor: int = 60, since: int = 0, days: int | None = None) -> Views:
        """What an exact reading of the log finds: pages with so many views from a day on, the window if not told."""
        length = self.recipe.days if days is None else days
        traffic = self.traffic
        inside = (traffic.day >= since) & (traffic.day < since + length)
        before = np.concatenate([[0], np.cumsum(np.where(inside, traffic.count, 0), dtype=np.int64)])
        kept = before[traffic.start[1:]] - before[traffic.start[:-1]] >= max(1, floor)
        inside &= np.repeat(kept, np.diff(traffic.start))
        entries = np.concatenate([[0], np.cumsum(inside)])[traffic.start]
        there, site = np.unique(self.pages.site[kept], return_inverse=True)
        return Views(
            Window(self.recipe.first + timedelta(since), length),
            self.pages.url.filter(pa.array(kept)),
            self.sites.name.take(pa.array(there)),
            site.astype(np.int32),
            np.concatenate([entries[:-1][kept], entries[-1:]]),
            (traffic.day[inside] - since).astype(np.int16),
            traffic.count[inside],
            traffic.first[inside],
        )

    def truth_of(self, views: Views) -> Any:
        """The rows of the truth for the pages of some views, page by page."""
        return self.truth.take(pc.index_in(views.urls, value_set=self.pages.url))


def make_world(recipe: Recipe) -> World:
    """Make the world of a recipe."""
    sites = make_sites(recipe)
    pages = make_pages(recipe, sites)
    return World(recipe, sites, pages, make_traffic(recipe, sites, pages))
