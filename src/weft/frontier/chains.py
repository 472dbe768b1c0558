"""Chains of redirects. In: a page that was found by one, and the page that it was on. Out: the way back.

Ids say where a page was found, too, but anybody can make two URLs with one id: these are numbers of pages. What is kept
is bounded: the oldest are forgotten, and after a restart only the ways are known that led to pages yet to be fetched.
"""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.frontier.log import Commit

MOST_REDIRECTS = 8  # of a chain that is looked at
_MOST = 1 << 16  # pages whose source is known


class Chains:
    """The redirects of one local frontier.

    >>> chains = Chains()
    >>> chains.add(7, 3)
    >>> chains.source(7), chains.source(3)
    (3, -1)
    """

    def __init__(self) -> None:
        self._source: dict[int, int] = {}
        self._new = array("I")  # since the last commit: page, source

    def __repr__(self) -> str:
        return f"Chains({len(self._source)} redirects)"

    def add(self, page: int, source: int) -> None:
        """A page was found by a redirect on another."""
        if len(self._source) >= _MOST:
            del self._source[next(iter(self._source))]
        self._source[page] = source
        self._new.extend((page, source))

    def source(self, page: int) -> int:
        """The page that redirected to one, or -1 where that is not known."""
        return self._source.get(page, -1)

    def pack(self, commit: Commit) -> None:
        """Write down what came since the last commit."""
        commit.redirects, self._new = self._new.tobytes(), array("I")

    def restore(self, redirects: NDArray[np.uint32], pending: NDArray[np.bool_]) -> None:
        """Take back the ways that led to pending pages."""
        wanted: NDArray[Any] = np.flatnonzero(pending)
        for _ in range(MOST_REDIRECTS):
            found = redirects[np.isin(redirects[:, 0], wanted)]
            if not len(found):
                return
            self._source.update(found[-_MOST:].tolist())
            wanted = found[:, 1]
