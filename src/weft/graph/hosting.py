"""Where the sites of a graph are. In: numbers, or URLs. Out: for each site its registered domain and its address.

Graphs of others say nothing about addresses; then no two sites are at one.

>>> Hosting.of_names(["a.example.org", "b.example.org", "c.example"]).domain.tolist()
[1, 1, 2]
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.urls import registered_domain


@dataclass(frozen=True, slots=True, eq=False)
class Hosting:
    """By site: numbers, the same where domain or address is the same."""

    domain: NDArray[np.uint64]
    address: NDArray[np.uint64]
    """0: not known."""
    farm: NDArray[np.int32]
    """The link farm that it is a part of, from 1 on; 0: of none. Who generated the graph knows it."""

    @classmethod
    def apart(cls, sites: int) -> Hosting:
        """Every site has a domain of its own, and nothing is known of addresses."""
        return cls(np.arange(1, sites + 1, dtype=np.uint64), np.zeros(sites, np.uint64), np.zeros(sites, np.int32))

    @classmethod
    def of_names(cls, names: Iterable[str], addresses: Iterable[str] | None = None) -> Hosting:
        """That of sites with these names, and at these addresses."""
        domain = _numbered(map(registered_domain, names))
        none = np.zeros(len(domain), np.uint64)
        return cls(domain, none if addresses is None else _numbered(addresses), none.astype(np.int32))


def _numbered(texts: Iterable[str]) -> NDArray[np.uint64]:
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(text, len(numbers) + 1) for text in texts], np.uint64)
