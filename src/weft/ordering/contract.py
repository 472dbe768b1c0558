"""What an ordering is. In: nothing. Out: two protocols, which cost nothing to import.

What its rules may look at is in `known`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from weft.ordering.known import Known
    from weft.ordering.reranking import Every


@runtime_checkable
class Ordering(Protocol):
    """Which page first: how a page is scored, and how a site is (by its best page, or by its pending pages).

    A class that names this one, or `Scored`, as its base has the values below unless it says otherwise.
    """

    name: str
    by_size: bool = False  # sites by their number of pending pages, else by their best page
    scored: bool = False  # pages have scores; else the one found first comes first
    needs: tuple[str, ...] = ()  # the arrays of `Known` that its rules look at beside the scores: "old", "true"
    rerank: Every | None = None  # when scores are computed anew, if they are


@runtime_checkable
class Scored(Ordering, Protocol):
    """An ordering with scores: two rules, both pure. Equal scores fall back to the order of discovery."""

    scored: bool = True

    def found(self, known: Known, page: Any, parent: int, out: Any, /) -> Any:
        """The score of a page that is found, on a page with so many links; for a seed, `NO_PAGE` and 0.

        Where links count less than others, it is as if there were more of them: a number by page, for a rule in Python.
        """

    def linked(self, known: Known, page: Any, parent: int, out: Any, /) -> Any:
        """The score of a page from now on, when a page with so many links is visited that links to it."""
