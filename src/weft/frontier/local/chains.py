"""Chains of redirects. In: a page that was found by one, and the page that it was on. Out: the way back.

Ids say where a page was found, too, but anybody can make two URLs with one id: these are numbers of pages. What is kept
is bounded: the oldest are forgotten, and after a restart only the ways are known that led to pages yet to be fetched.
"""

from __future__ import annotations

from array import array

import numpy as np
from numpy.typing import NDArray

from weft.frontier.durable.past import still_needed
from weft.frontier.durable.records import Commit
from weft.model import NO_PAGE, PageNumber

_MOST = 1 << 16  # pages whose source is known


class Chains:
    """The redirects of one local frontier.

    >>> chains = Chains()
    >>> chains.add(7, 3)
    >>> chains.source(7), chains.source(3)
    (3, -1)
    """

    def __init__(self) -> None:
        self._source: dict[PageNumber, PageNumber] = {}
        self._new = array("I")  # since the last commit: page, source

    def __repr__(self) -> str:
        return f"Chains({len(self._source)} redirects)"

    def add(self, page: PageNumber, source: PageNumber) -> None:
        """A page was found by a redirect on another."""
        if len(self._source) >= _MOST:
            del self._source[next(iter(self._source))]
        self._source[page] = source
        self._new.extend((page, source))

    def source(self, page: PageNumber) -> PageNumber:
        """The page that redirected to one, or `NO_PAGE` where that is not known."""
        return self._source.get(page, NO_PAGE)

    def pack(self, commit: Commit) -> None:
        """Write down what came since the last commit."""
        commit.redirects, self._new = self._new.tobytes(), array("I")

    def forget(self, first: int) -> None:
        """Pages before this one are here no more."""
        self._source = {page: source for page, source in self._source.items() if page >= first and source >= first}

    def restore(self, redirects: NDArray[np.uint32], pending: NDArray[np.bool_], first: int = 0) -> None:
        """Take back the ways that led to pending pages; of these it is known from the `first` on."""
        self._source.update(still_needed(redirects, pending, first)[-_MOST:].tolist())
