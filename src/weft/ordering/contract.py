"""What an ordering is. In: nothing. Out: two protocols, which cost nothing to import.

What its rules may look at is in `known`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from weft.ordering.known import Known


@runtime_checkable
class Ordering(Protocol):
    """Which page first: how a page is scored, and how a site is (by its best page, or by its pending pages)."""

    name: str
    by_size: bool  # sites by their number of pending pages, else by their best page
    scored: bool  # pages have scores; else the one found first comes first


@runtime_checkable
class Scored(Ordering, Protocol):
    """An ordering with scores.

    Optional beside these: `needs` (the names among "old" and "true" of the arrays it looks at), and `rerank` for one
    whose scores are computed anew, see `weft.ordering.reranking`.
    """

    def found(self, known: Known, page: Any, parent: int, out: int) -> Any:
        """The score of a page that is found, on a page with so many links; for a seed, `NO_PAGE` and 0."""

    def linked(self, known: Known, page: Any, parent: int, out: int) -> Any:
        """The score of a page from now on, when a page with so many links is visited that links to it."""
