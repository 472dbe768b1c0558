"""How good a list of sites is (P2 4.3 and 4.4, table 1). In: pages with their truth, and a list. Out: `Measures`.

A list is held against pages: precision is the share of temporal pages among all pages of the listed sites, recall the
share of all temporal pages that are on listed sites. Pages are those over the floor. The paper takes its own labels for
the truth and the pages that the list was made from; `evaluate` takes what it is given, so that a list can also be held
against what is true, and against pages born after the window. For those a view log is not even needed.

>>> import pyarrow as pa
>>> found = measure(pa.array(["a", "a", "b"]), np.array([True, False, True]), ["a"])
>>> found.temporal, found.total, found.precision, found.recall, found.f
(1, 2, 0.5, 0.5, 0.5)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from weft.temporal.places import page_sites
from weft.temporal.sites import SiteRules, rank_sites
from weft.temporal.views import Labels, Views

GRID = tuple(step / 10 for step in range(11))


@dataclass(frozen=True, slots=True)
class Measures:
    """One column of the paper's table 1."""

    temporal: int  # temporal pages on the listed sites
    total: int  # pages on the listed sites
    precision: float
    recall: float
    f: float


@dataclass(frozen=True, slots=True)
class Weights:
    """The weights whose list has the best F-measure, and how F moved with them."""

    alpha: float
    beta: float
    f: float
    tried: tuple[tuple[float, float], ...]  # alpha, and the F-measure that it gave


def evaluate(views: Views, temporal: NDArray[np.bool_], sites: Sequence[str]) -> Measures:
    """Hold a list of sites against the pages of some views: `Labels.temporal`, or the truth where it is known."""
    return measure(page_sites(views), temporal, sites)


def measure(site: Any, temporal: NDArray[np.bool_], sites: Sequence[str]) -> Measures:
    """Hold a list of sites against pages, given the name of each page's site: for pages born after the window, too."""
    listed = np.asarray(pc.is_in(site, pa.array(sites, pa.string())), np.bool_)
    hits, total, wanted = int((listed & temporal).sum()), int(listed.sum()), int(temporal.sum())
    return Measures(
        temporal=hits,
        total=total,
        precision=hits / total if total else 0.0,
        recall=hits / wanted if wanted else 0.0,
        f=2 * hits / (total + wanted) if total + wanted else 0.0,
    )


def train_weights(views: Views, labels: Labels, temporal: NDArray[np.bool_], rules: SiteRules) -> Weights:
    """The best alpha (with beta = 1 - alpha) for the F-measure of the list; of equals the nearest to the paper's 0.6.

    Little hangs on it: in trials F moved by .02 at most, and the best weights of two worlds were .4 and 1.
    """
    tried = []
    for alpha in GRID:
        ranking = rank_sites(views, labels, replace(rules, alpha=alpha, beta=1 - alpha))
        tried.append((alpha, evaluate(views, temporal, ranking.seeds()).f))
    alpha, f = max(tried, key=lambda each: (each[1], -abs(each[0] - SiteRules().alpha)))
    return Weights(alpha, 1 - alpha, f, tuple(tried))
