"""What sites say of their own changes, and what that is worth. In: hints, and what fetches then found. Out: chances.

A sitemap's lastmod that is later than our fetch says *changed*; so does an Expires, or a max-age of Cache-Control, that
has run out. Many sites say so of every page each day, others never. So a hint is measured, site by site and source by
source, against what fetches find: *recall* is the share of the changes that it had said, *precision* the share of what
it said that were changes. To begin with a hint is worth nothing: as if it had been said as often of pages that
had changed as of others (`PSEUDO` fetches of each). What it is worth is the ratio of the two, by Bayes' rule, and so a
site that lies, or that says nothing, keeps a ratio of 1 and is not listened to, without any threshold.

>>> hints = Hints(2)  # of two sites; the first is right nine times in ten, the second says the same of all pages
>>> changed, said = np.array([1, 1, 0, 0] * 50, bool), np.array([1, 1, 0, 0] * 45 + [0, 0, 1, 1] * 5, bool)
>>> hints.add(np.zeros(200, int), said, changed); hints.add(np.ones(200, int), np.ones(200, bool), changed)
>>> hints.precision.round(2).tolist(), hints.recall.round(2).tolist()
([0.89, 0.5], [0.89, 1.0])
>>> hints.chance(np.array([0, 0, 1]), np.array([True, False, True]), np.array([0.2, 0.2, 0.2])).round(2).tolist()
[0.67, 0.03, 0.2]
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.revisit.contract import Numbers

PSEUDO = 2.0  # fetches of pages with a change, and of others without, of which half had been said


class Hints:
    """One source of hints, measured on every site."""

    def __init__(self, sites: int) -> None:
        self._count = np.zeros((sites, 2, 2), np.float32)  # by site, by said or not, by changed or not

    def __repr__(self) -> str:
        return f"Hints(sites={len(self._count)}, fetches={self._count.sum():.0f})"

    def add(self, site: NDArray[Any], said: NDArray[np.bool_], changed: NDArray[np.bool_]) -> None:
        """Take in fetches: what was said before, and what was found."""
        np.add.at(self._count, (site, said.astype(np.intp), changed.astype(np.intp)), np.float32(1))

    @property
    def recall(self) -> Numbers:
        """By site: of pages that had changed, the share of which that was said."""
        return self._said(1)

    @property
    def false_alarms(self) -> Numbers:
        """By site: of pages that had not changed, the share of which it was said all the same."""
        return self._said(0)

    @property
    def precision(self) -> Numbers:
        """By site: of pages of which it was said, the share that had changed."""
        count = self._count.astype(np.float64)
        changed = count[:, :, 1].sum(axis=1)
        usual = (changed + PSEUDO / 2) / (count.sum(axis=(1, 2)) + PSEUDO)
        return np.asarray((count[:, 1, 1] + PSEUDO * usual) / (count[:, 1].sum(axis=1) + PSEUDO))

    @property
    def worth(self) -> Numbers:
        """By site: bits that one hint tells of whether a page has changed; 0 where it tells nothing."""
        count = self._count.astype(np.float64)
        usual = (count[:, :, 1].sum(axis=1) + PSEUDO / 2) / (count.sum(axis=(1, 2)) + PSEUDO)
        said, both = self.recall * usual, _entropy(usual)
        without = self.false_alarms * (1 - usual)
        share = said + without
        left = share * _entropy(said / share) + (1 - share) * _entropy((usual - said) / (1 - share))
        return np.asarray(np.maximum(both - left, 0.0))

    def chance(self, site: NDArray[Any], said: NDArray[np.bool_], before: Numbers) -> Numbers:
        """The chance that pages have changed, from the one by their rates and from what is said."""
        recall, alarms = self.recall[site], self.false_alarms[site]
        ratio = np.where(said, recall / alarms, (1 - recall) / (1 - alarms))
        with np.errstate(divide="ignore", invalid="ignore"):
            odds = np.where(before < 1, before / (1 - before), np.inf) * ratio
            return np.where(np.isinf(odds), 1.0, odds / (1 + odds))

    def _said(self, changed: int) -> Numbers:
        """The share of pages that had changed, or not, of which it was said; held towards that of all pages."""
        count = self._count.astype(np.float64)
        usual = (count[:, 1].sum(axis=1) + PSEUDO / 2) / (count.sum(axis=(1, 2)) + PSEUDO)
        return np.asarray((count[:, 1, changed] + PSEUDO * usual) / (count[:, :, changed].sum(axis=1) + PSEUDO))


def _entropy(p: Numbers) -> Numbers:
    """Bits of one answer that is yes with this chance."""
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return np.asarray(-p * np.log2(p) - (1 - p) * np.log2(1 - p))
