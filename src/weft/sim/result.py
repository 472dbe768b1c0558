"""What a simulation leaves behind. In: nothing. Out: a frozen `Simulated`.

Invariant: the arrays are by position in the order, so `finished` never goes down; times are seconds from the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Simulated:
    """One ordering's way through a graph."""

    ordering: str
    order: NDArray[np.int32]
    """Pages in the order in which they were finished."""
    finished: NDArray[np.float64]
    """When, seconds from the start."""
    started: NDArray[np.float64]
    """When their download began."""
    site: NDArray[np.int32]
    """By position in the order: the number of the page's site."""
    seconds: float
    """Wall-clock time that the simulation itself took."""
    cpu: float
    """CPU seconds that it took."""
    parameters: dict[str, Any]
    """Connections, wait, per_visit, page_time, bandwidth, seed, rerank …"""
    bytes_moved: float = 0.0
    """Timed runs only, as what follows."""
    answered: NDArray[np.float64] | None = None
    """When the first byte of each page came."""
    speed: NDArray[np.float32] | None = None
    """What each page's server gave, bytes a second, if the link had room."""
    label: str = ""
    """What it is called beside others of the same ordering."""

    @property
    def name(self) -> str:
        """What it is called beside others."""
        return self.label or self.ordering
