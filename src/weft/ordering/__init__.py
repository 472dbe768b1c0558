"""Orderings: which page first. The same code ranks pages in the simulator and in the live crawler.

An ordering is two small rules: how a page is scored, and how a site is (by its best page, or by its number of
pending pages). It knows integers and arrays, no URL text, no sockets and no clock. The two-level heap is in
`heaps`.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Protocol

from weft.errors import UsageError


class Ordering(Protocol):
    """What the heaps must know of an ordering."""

    name: str
    by_size: bool  # sites by their number of pending pages, else by their best page
    scored: bool  # pages have scores; else the one found first comes first


def ordering_named(name: str) -> Ordering:
    """The ordering of a name, ours or one that another package adds under the entry point `weft.orderings`."""
    found = {point.name: point for point in entry_points(group="weft.orderings")}
    if name not in found:
        known = ", ".join(sorted(found)) or "none: is weft installed?"
        raise UsageError(f"there is no ordering called '{name}'", todo=f"choose one of: {known}")
    ordering: Ordering = found[name].load()()
    return ordering
