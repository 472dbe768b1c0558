"""How much a worker knows at a time. In: how much memory it may take. Out: how much of that is in use.

What things take was measured (`python -m benchmarks frontier-memory`); what is not in proportion to anything (the
interpreter, libraries, contents that are known, pages that are being read) is `FIXED`.
"""

from __future__ import annotations

from typing import NamedTuple

FIXED = 400_000_000  # bytes of a worker that knows nothing
LEAST = 600_000_000  # bytes with which a worker gets on
_PAGE = 30  # bytes that it takes to know a page
_SCORED = 12  # and more where it has a score
_SITE = 700  # a site
_VISITED = 2_500  # and more where it was visited
_SHELVED = 60  # a group on the shelf
_ROBOTS = 10  # robots.txt files that are kept ready have so much of the memory, as a fraction of it


class Bound(NamedTuple):
    """How much a worker knows at a time; the rest is on the shelf."""

    pages: int  # numbers of pages, from the first that is in use to the last
    sites: int
    memory: int = 0  # bytes that all of it may take; 0: whatever it takes
    scored: bool = False  # pages have scores
    robots: int = 0  # bytes that robots.txt files may take which are kept ready; 0: whatever is usual

    def use(self, pages: int, sites: int, visited: int, shelved: int) -> float:
        """How much of it is in use, with 1.0 for all.

        >>> Bound(1000, 100).use(500, 90, 0, 0)
        0.9
        """
        used = max(pages / self.pages, sites / self.sites)
        if not self.memory:
            return used
        page = _PAGE + _SCORED * self.scored
        taken = pages * page + sites * _SITE + visited * _VISITED + shelved * _SHELVED
        return max(used, taken / self.memory)

    def room(self, used: float) -> int:
        """How many pages there is room for, if so much of it is in use; with each as much of its site as is usual."""
        most = min(self.pages, self.memory // 100) if self.memory else self.pages
        return max(0, int((1.0 - used) * most))


def bound_of(memory: int, *, known: int | None, most: int, scored: bool) -> Bound:
    """The bound of a worker that may take so much memory, and know so many pages at a time; no more than `most`."""
    return Bound(
        min(known or most, most), most >> 3, max(0, memory - FIXED - memory // _ROBOTS), scored, memory // _ROBOTS
    )
