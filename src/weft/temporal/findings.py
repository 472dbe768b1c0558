"""What an analysis has found out: the border between the steps that find it and those that write it down.

Nothing is computed here. `analysis` fills it; `output`, `columns`, `report` and `pictures` read it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.temporal.evaluation import Measures
from weft.temporal.folders import Folders
from weft.temporal.hubs import Hubs
from weft.temporal.reading import Taken
from weft.temporal.sites import Ranking
from weft.temporal.views import Curves, Labels, Views


@dataclass(frozen=True, slots=True)
class Findings:
    """All that is written down of an analysis."""

    views: Views
    taken: Taken
    labels: Labels
    curves: Curves
    hub: NDArray[np.bool_]  # whether a page is a home page or section front
    hubs: Hubs
    sites: Ranking
    folders: Folders
    lists: dict[str, Measures]  # lists of sites held against the labels, as in table 1 of the paper
    training: dict[str, Any]  # what labelled pages have taught; empty where there were none
    settings: dict[str, Any]  # how it was done, so that it can be done again
    drawn: tuple[str, ...]  # sites whose Phi(1) is drawn; none: they are chosen by rank
