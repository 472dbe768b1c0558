"""Sites written down by hand: so many temporal pages, so many others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from tests.unit.temporal.made import Counts, views_of

from weft.temporal.views import Labels, Views

Judged = tuple[Views, Labels]


def labels_of(views: Views, temporal: Sequence[bool] | NDArray[np.bool_]) -> Labels:
    """Labels as given, lives as they are seen."""
    decided = np.asarray(temporal, np.bool_)
    activation = views.day[views.start[:-1]]
    return Labels(
        activation=activation,
        dormancy=views.day[views.start[1:] - 1],
        born=activation.astype(np.float64) + 0.5,
        share=decided.astype(np.float64),
        p=decided.astype(np.float64),
        label=decided.astype(np.int8),
        temporal=decided,
        hour=np.full(views.pages, -1, np.int8),
    )


def pages_of(pages: Mapping[str, tuple[bool, Counts]]) -> Judged:
    """Pages by URL, each with its label and its views by day; in the order of URLs, as the reader gives them."""
    urls = sorted(pages)
    views = views_of(*(pages[url][1] for url in urls), urls=urls)
    return views, labels_of(views, [pages[url][0] for url in urls])


def sites_of(sites: Mapping[str, tuple[int, int]], born: Mapping[str, int] | None = None) -> Judged:
    """Sites by name, with the number of their temporal and of their other pages, 80 views each."""
    pages: dict[str, tuple[bool, Counts]] = {}
    for site, (temporal, others) in sites.items():
        day = (born or {}).get(site, 52)
        pages |= {f"http://{site}/t{at:03d}.html": (True, {day: 60, day + 1: 20}) for at in range(temporal)}
        pages |= {f"http://{site}/u{at:03d}.html": (False, {day: 20, day + 5: 60}) for at in range(others)}
    return pages_of(pages)
