"""Lists of sites side by side (P2 4.4, table 1). In: views and labels, our list, perhaps another, perhaps later logs.

The paper holds a list against the labels of the very window it was made from. That says how well it gathers what was
temporal; what a crawler wants is what will be. So where there are logs of later days, each list is also held against
the pages that were born in them, labelled by what these logs show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.compute as pc

from weft.temporal.evaluation import Measures, evaluate, measure
from weft.temporal.hand_labels import read_sites
from weft.temporal.labels import Rules, classify
from weft.temporal.places import page_sites
from weft.temporal.reading import Reading, read_views
from weft.temporal.views import Labels, Views

OURS = "this analysis"
LATER = ", pages born later"


def compare(views: Views, labels: Labels, ours: Sequence[str], against: Path | None) -> dict[str, Measures]:
    """Our list beside the one that is given, where one is, on the pages of the window."""
    return {name: evaluate(views, labels.temporal, sites) for name, sites in _lists(ours, against).items()}


def compare_later(
    views: Views, ours: Sequence[str], against: Path | None, logs: Sequence[Path], reading: Reading, rules: Rules
) -> dict[str, Measures]:
    """The same on pages that were born in later logs: those that neither the window nor their first day has."""
    later, _ = read_views(logs, replace(reading, first=""))
    labels = classify(later, rules)
    new = (labels.activation > 0) & ~np.asarray(pc.is_in(later.urls, views.urls), np.bool_)
    sites = page_sites(later).filter(new)
    lists = _lists(ours, against)
    return {f"{name}{LATER}": measure(sites, labels.temporal[new], listed) for name, listed in lists.items()}


def _lists(ours: Sequence[str], against: Path | None) -> dict[str, Sequence[str]]:
    return {OURS: ours} if against is None else {against.name: read_sites(against), OURS: ours}
