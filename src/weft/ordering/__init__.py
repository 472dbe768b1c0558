"""Orderings: which page first. The same code ranks pages in the simulator and in the live crawler.

An ordering is two small rules: how a page is scored, and how a site is (by its best page, or by its number of
pending pages). It knows integers and arrays, no URL text, no sockets and no clock. The two-level heap is in
`heaps`; what a rule may look at is in `known`.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from weft.errors import UsageError
from weft.ordering.contract import Ordering, Scored

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["Ordering", "Scored", "ordering_named", "ordering_names"]

GROUP = "weft.orderings"  # the entry points by which other packages add orderings


@cache
def _installed() -> dict[str, EntryPoint]:
    """The entry points by their names, looked for once: that reads a file of every package there is."""
    from importlib.metadata import entry_points  # settings are read without it

    return {point.name: point for point in entry_points(group=GROUP)}


def ordering_names() -> list[str]:
    """All orderings that are installed."""
    return sorted(_installed())


def ordering_named(name: str) -> Ordering:
    """The ordering of a name, ours or one that another package adds under the entry point `weft.orderings`."""
    found = _installed()
    if name not in found:
        known = ", ".join(sorted(found)) or "none: is weft installed?"
        raise UsageError(f"there is no ordering called '{name}'", todo=f"choose one of: {known}")
    ordering: Ordering = found[name].load()()
    lacking = [each for each in _asked_of(ordering) if not hasattr(ordering, each)]
    if lacking:
        raise UsageError(
            f"the ordering '{name}' has no {', '.join(lacking)}",
            todo="name `weft.ordering.Scored` as its base, or see docs/orderings.md for what it must have",
        )
    return ordering


def _asked_of(ordering: Ordering) -> tuple[str, ...]:
    """What an ordering must have."""
    rules = ("found", "linked") if getattr(ordering, "scored", False) else ()
    return ("name", "by_size", "scored", "needs", "rerank", *rules)
