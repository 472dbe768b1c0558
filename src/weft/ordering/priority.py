"""By priority (P4): the crawling application says how much it wants each page."""

from __future__ import annotations

from weft.ordering.contract import Ordering


class Priority(Ordering):
    """The page with the highest priority first; among equals, the one asked for first."""

    name = "priority"
    by_size = False
    scored = True
