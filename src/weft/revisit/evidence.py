"""What is kept of a page's fetches: 12 bytes. In: fetches, each *changed* or *not*. Out: what a rate needs.

Of an interval t without a change the likelihood is e^-lt, of one with at least one change 1 - e^-lt. Of the first kind
the sum of the times says everything. Of the second kind every t would be needed; what is kept is how many they were and
their sum, as if all had been as long as their mean. For intervals that are equal nothing is lost, and where few changes
fall into one interval next to nothing: then 1 - e^-lt is nearly lt e^(-lt/2), in which only number and sum count. It is
worst where a page changes several times between fetches whose distances differ much; `docs/freshness.md` has figures.

A change whose time is known (a Last-Modified that can be trusted, t0 before the fetch) is the better news: nothing has
happened since. It is an interval without a change of length t0, and a change in an interval of no length.

What lies back may count less: rates change. `fade` halves all of it, at whatever half-life the caller keeps.

>>> kept = Evidence(1)
>>> kept.add(np.array([0, 0, 0]), np.array([2.0, 2.0, 6.0]), np.array([True, False, False]))
>>> kept.changes.tolist(), kept.quiet.tolist(), kept.changed.tolist(), kept.nbytes
([1.0], [8.0], [2.0], 12)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.revisit.contract import Numbers


class Evidence:
    """Changes, the time in which there were none, and the time in which there were some; by page."""

    def __init__(self, pages: int) -> None:
        self.changes, self.quiet, self.changed = (np.zeros(pages, np.float32) for _ in range(3))

    def __len__(self) -> int:
        return len(self.changes)

    def __repr__(self) -> str:
        return f"Evidence(pages={len(self)}, changes={self.changes.sum():.0f})"

    @property
    def nbytes(self) -> int:
        """Its memory."""
        return self.changes.nbytes + self.quiet.nbytes + self.changed.nbytes

    def add(self, page: NDArray[Any], elapsed: Numbers, changed: NDArray[np.bool_]) -> None:
        """Take in fetches: whether a page had changed since its fetch before. A page may come repeatedly."""
        np.add.at(self.changes, page[changed], np.float32(1))
        np.add.at(self.changed, page[changed], elapsed[changed].astype(np.float32))
        np.add.at(self.quiet, page[~changed], elapsed[~changed].astype(np.float32))

    def add_dated(self, page: NDArray[Any], since: Numbers) -> None:
        """Take in changes of which is known how long ago the last one was."""
        np.add.at(self.changes, page, np.float32(1))
        np.add.at(self.quiet, page, since.astype(np.float32))

    def add_counts(self, page: NDArray[Any], elapsed: Numbers, count: NDArray[Any]) -> None:
        """Take in polls of hubs: how many pages were new. Births that are all seen count like dated changes."""
        np.add.at(self.changes, page, count.astype(np.float32))
        np.add.at(self.quiet, page, elapsed.astype(np.float32))

    def fade(self, part: float) -> None:
        """Let everything so far count so much less; 0.5 is one half-life."""
        for each in (self.changes, self.quiet, self.changed):
            np.multiply(each, np.float32(part), out=each)

    def grow(self, pages: int) -> None:
        """Make room for more pages."""
        for name in ("changes", "quiet", "changed"):
            old = getattr(self, name)
            setattr(self, name, np.concatenate([old, np.zeros(pages - len(old), np.float32)]))
