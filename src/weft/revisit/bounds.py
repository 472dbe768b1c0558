"""Least and most intervals. In: what the crawl, sites, media types and patterns say. Out: bounds by page.

The last one that says something holds: the crawl's, the site's, the media type's, the pattern's. An image of a site
that is wanted every week is an image
first. Where a least interval is above a most one, which two of them may bring about,
the most one gives way: politeness goes before wishes.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.revisit.contract import Numbers


class Intervals(NamedTuple):
    """How long pages are left alone, in days, by the number of what says so; NaN: it says nothing."""

    least: Numbers
    most: Numbers


class Bounds(NamedTuple):
    """The same as frequencies, by page."""

    lowest: Numbers  # one a most interval; 0: none is set
    highest: Numbers  # one a least interval; infinite: none is set

    @classmethod
    def none(cls, pages: int) -> Bounds:
        """No bounds."""
        return cls(np.zeros(pages), np.full(pages, np.inf))

    def by(self, group: NDArray[np.int32], said: Intervals) -> Bounds:
        """The same with what sites, media types or patterns say; `group` has the number of each page's.

        >>> crawl = Bounds.none(3).by(np.zeros(3, np.int32), Intervals(np.array([1.0]), np.array([90.0])))
        >>> types = Intervals(np.array([np.nan, 30.0]), np.array([np.nan, 180.0]))
        >>> (1 / crawl.by(np.array([0, 1, 0], np.int32), types).highest).tolist()
        [1.0, 30.0, 1.0]
        """
        least, most = said.least[group], said.most[group]
        with np.errstate(divide="ignore"):
            return Bounds(
                np.where(np.isnan(most), self.lowest, 1 / most), np.where(np.isnan(least), self.highest, 1 / least)
            )

    def only(self, chosen: NDArray[np.bool_]) -> Bounds:
        """The bounds of some pages."""
        return Bounds(self.lowest[chosen], self.highest[chosen])

    @property
    def asked(self) -> Numbers:
        """The fetches a day that most intervals ask for."""
        return np.minimum(self.lowest, self.highest)

    def cut(self, frequency: Numbers) -> Numbers:
        """Frequencies within the bounds."""
        return np.minimum(np.maximum(frequency, self.lowest), self.highest)
