"""Hubs, and how often something new stands on them. In: `Views` and `Labels`. Out: which pages are hubs; their rates.

A hub is a home page or a section's front: it lists what is new, so it is where a crawler looks for new pages, but it is
itself always of interest. Being popular and untemporal, hubs hide how temporal the rest of their site is (for P2 they
are pages like others).

A page is a hub if users have come for it steadily and it looks like a front: by its path, or by having been there from
the first day, being far more popular than its site's other pages, and having neither a number nor a query in its URL. A
page that is temporal is no hub, whatever its path. No one sign suffices: paths that end in a slash are articles on many
sites, and a steady popular page may be the best known of a reference work.

A hub is asked to tell of the pages in its own folder and in the folders below it that have no hub of their own; all
others are the home page's, whether or not users went there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from weft.temporal.places import Places, folders, parents, static_paths
from weft.temporal.views import Labels, Views

FRONT = r"(?i)/$|/(index|default|home|main|front)[-_0-9]*(\.[a-z0-9]+)?$"  # and so the home page, "/"
UNNUMBERED = r"^[^0-9]*$"
STEADY = 0.9  # of the days since its activation a hub has views
POPULAR = 5.0  # times the median views of its site's pages a hub has, if its path does not show it
LEAD = 7  # days of the window whose births do not count
OLD = 1  # the last day of activation of a page that was there before


@dataclass(frozen=True, slots=True)
class Hubs:
    """Where to look for new pages: one entry a hub, by site and folder."""

    names: Any  # pyarrow array of strings: the site and folder it stands for
    site: NDArray[np.int32]
    page: NDArray[np.int64]  # the most viewed hub of that folder; -1: a home page that was not among the views
    temporal_births: NDArray[np.float64]  # temporal pages born a day
    births: NDArray[np.float64]  # pages born a day


def find_hubs(views: Views, labels: Labels) -> NDArray[np.bool_]:
    """Whether each page is a hub."""
    paths = static_paths(views.urls)
    front, unnumbered = _matching(paths, FRONT), _matching(paths, UNNUMBERED)
    observed = np.maximum(views.window.days - labels.activation, 1)
    steady = np.diff(views.start) >= STEADY * observed
    popular = (labels.activation <= OLD) & (views.totals() >= POPULAR * _medians(views)[views.site])
    found: NDArray[np.bool_] = steady & ~labels.temporal & (front | popular & unnumbered)
    return found


def _matching(texts: Any, pattern: str) -> NDArray[np.bool_]:
    return np.asarray(pc.fill_null(pc.match_substring_regex(texts, pattern), fill_value=False), np.bool_)


def _medians(views: Views) -> NDArray[np.float64]:
    """The median views of each site's pages."""
    by_site = np.sort(views.site.astype(np.int64) << 40 | views.totals())  # far quicker than sorting by two keys
    pages = np.bincount(views.site, minlength=len(views.sites))
    middle = np.cumsum(pages) - (pages + 1) // 2
    found = np.zeros(len(pages))
    found[pages > 0] = by_site[middle[pages > 0]] & ((1 << 40) - 1)
    return found


def hubs_of(views: Views, labels: Labels, hub: NDArray[np.bool_]) -> Hubs:
    """Every place to look at, with the births of the pages that it stands for."""
    places = folders(views)
    scopes = _scopes(places, hub).dictionary_encode()
    scope = scopes.indices.to_numpy()
    site = np.zeros(len(scopes.dictionary), np.int32)
    site[scope] = places.site
    of = scope[places.of].astype(np.int32)
    temporal, everything = births(views, labels, ~hub, Places(scopes.dictionary, site, of))
    page = np.full(len(site), -1, np.int64)
    fronts = np.nonzero(hub)[0]
    fronts = fronts[np.argsort(views.totals()[fronts], kind="stable")]
    page[of[fronts]] = fronts  # the most viewed comes last, and stays
    return Hubs(scopes.dictionary, site, page, temporal, everything)


def _scopes(places: Places, hub: NDArray[np.bool_]) -> Any:
    """For every folder the nearest one at or above it that has a hub, or its site's uppermost folder."""
    fronted = places.names.take(pa.array(np.unique(places.of[hub])))
    found = places.names
    while True:
        above = pc.if_else(pc.is_in(found, fronted), found, parents(found))
        if above.equals(found):
            return found
        found = above


def births(
    views: Views, labels: Labels, counted: NDArray[np.bool_], places: Places
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Temporal pages, and all pages, that were born a day in each place.

    The window's edges do not count. An old page with a view a day is often first seen some days after the first; what
    is born on the last day has had no time to come over the floor.
    """
    days, groups = views.window.days, len(places.names)
    begin, end = min(LEAD, days // 4), max(days - 1, 1)
    seen = counted & (labels.activation >= begin) & (labels.activation < end)
    everything = np.bincount(places.of[seen], minlength=groups) / (end - begin)
    return np.bincount(places.of[seen & labels.temporal], minlength=groups) / (end - begin), everything
