"""Length (P0): the site with most pending pages first; within it, the pages nearest to a seed."""

from __future__ import annotations

from weft.ordering.contract import Scored
from weft.ordering.depth import found
from weft.ordering.known import stays


class Length(Scored):
    """Larger sites first, by depth inside them."""

    name = "length"
    by_size = True
    scored = True
    found = staticmethod(found)
    linked = staticmethod(stays)
