"""Views written down by hand, and worlds with their truth as plain columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weft.temporal.views import Views, Window

NOON = 43_200

Counts = Sequence[int] | dict[int, int]


def views_of(
    *pages: Counts, days: int = 60, first: int | Sequence[int] = NOON, urls: Sequence[str] | None = None
) -> Views:
    """Pages by their views day by day (or by number of day); `first` is when, on every day, the first view comes."""
    by_day = [dict(enumerate(page)) if not isinstance(page, dict) else page for page in pages]
    rows = [[(day, views) for day, views in sorted(page.items()) if views] for page in by_day]
    names = list(urls or (f"http://site.example/{at:05d}.html" for at in range(len(pages))))
    hosts = [name.split("/")[2] for name in names]
    sites = sorted(set(hosts))
    firsts = [first] * len(pages) if isinstance(first, int) else list(first)
    return Views(
        Window(date(2026, 3, 2), days),
        pa.array(names),
        pa.array(sites),
        np.array([sites.index(host) for host in hosts], np.int32),
        np.cumsum([0, *(len(row) for row in rows)], dtype=np.int64),
        np.array([day for row in rows for day, _ in row], np.int16),
        np.array([views for row in rows for _, views in row], np.int32),
        np.array([at for at, row in zip(firsts, rows, strict=True) for _ in row], np.int32),
    )


@dataclass(frozen=True)
class Made:
    """A generated world: its views, and what is true of their pages."""

    views: Views
    temporal: NDArray[np.bool_]
    kind: NDArray[np.str_]
    cut_right: NDArray[np.bool_]
    stray: NDArray[np.bool_]
    burst: NDArray[np.bool_]
    phi3: NDArray[np.float64]
    birth: NDArray[np.float64]


def world(seed: int, sites: int = 90) -> Made:
    """A world of some 5,000 pages."""
    from weft.temporal.worlds import Recipe, make_world

    made = make_world(Recipe(seed=seed, sites=sites))
    views = made.views(floor=60)
    truth = made.truth_of(views)

    def column(name: str) -> NDArray[np.bool_]:
        return np.array(truth[name].to_pylist(), np.bool_)

    return Made(
        views,
        column("temporal_by_definition"),
        np.array(truth["kind"].to_pylist()),
        column("cut_right"),
        column("stray_early_view"),
        column("many_user_burst"),
        np.array(truth["phi3"].to_pylist()),
        np.array(truth["birth"].to_pylist()),
    )
