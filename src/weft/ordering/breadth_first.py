"""Breadth-first (P1): pages in the order in which they were found, over all sites."""

from __future__ import annotations

from weft.ordering.contract import Ordering


class BreadthFirst(Ordering):
    """First found, first fetched."""

    name = "breadth-first"
    by_size = False
    scored = False
