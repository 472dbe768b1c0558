"""Thresholds from pages that people have labelled (P2 4.2 and 5.2). In: `Views` and what pages are. Out: n and q.

The paper tries values of n and q and keeps those with the most hits. So does `train`, for all n of a grid and for every
q that makes a difference: for a given n and given costs there is, for each page, one q below which it is called
temporal, so that all values of q are tried by sorting. Best is what A hit - B miss - C false alarm is largest for;
of equal ones that closest, in proportion, to the paper's n = 3 and q = 0.7.

Kinds of news may have thresholds of their own (P2 5.2: finance is old after hours, a far volcano after weeks). A class
with enough labelled pages of both kinds is trained alone. A page nobody labelled has the class of most labelled pages
in its pattern, its folder or its site, the nearest that has one; where there is none, the thresholds of all.

Shares are those that were counted, whatever method the rules have: n and q mean the same by all of them. Where the log
has hours, n below a day is tried too, with Phi(n) of a curve in the place of the share, as `labels` has it there.

What is told was measured on the pages that were learned from, as in the paper: expect a little less from others.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from weft.errors import UsageError
from weft.temporal.curves import fit_curves, phi
from weft.temporal.labels import SPREAD, Rules, Thresholds, distance
from weft.temporal.lifetimes import lives_of, share_within, views_since
from weft.temporal.places import levels
from weft.temporal.views import Views

DAYS = tuple(0.5 * at for at in range(1, 21))  # values of n that are tried
HOURS = tuple(at / 24 for at in (1, 2, 3, 6))  # and these, where the log has hours
SHARES = (0.05, 0.95)  # between which q must lie
LEAST = 30  # labelled pages that a class needs, and a sixth of them of each kind


@dataclass(frozen=True, slots=True)
class Trained:
    """What pages that people labelled have taught."""

    n: float
    q: float
    pages: int  # that it was learned from
    hit: int  # labelled as people do
    miss: int  # temporal ones, labelled untemporal
    false_alarm: int  # untemporal ones, labelled temporal


@dataclass(frozen=True, slots=True)
class Training:
    """The best thresholds for all pages, for each class, and for each page of the views."""

    whole: Trained
    classes: dict[str, Trained]
    thresholds: Thresholds | None  # None where all pages have the same

    def rules(self, rules: Rules) -> Rules:
        """The rules, with the thresholds that were learned."""
        return dataclasses.replace(rules, n=self.whole.n, q=self.whole.q)


def train(
    views: Views,
    page: NDArray[np.int64],
    temporal: NDArray[np.bool_],
    classes: NDArray[np.str_] | None = None,
    rules: Rules | None = None,
) -> Training:
    """The n and q that label these pages best, at the costs of the rules."""
    rules = rules or Rules()
    rules.check()
    if not 0 < temporal.sum() < len(temporal):
        said = "temporal" if len(temporal) and temporal.all() else "untemporal"
        raise UsageError(
            f"all labelled pages are {said}", todo="label pages of both kinds: thresholds lie between them"
        )
    tried = DAYS if views.hours is None else (*HOURS, *DAYS)
    shares, worth = _shares(views, page, tried)
    whole = _best(tried, shares, worth, temporal, rules)
    found: dict[str, Trained] = {}
    for name in [] if classes is None else sorted(set(classes.tolist()) - {""}):
        of = classes == name
        if of.sum() >= LEAST and LEAST <= 6 * temporal[of].sum() <= 6 * of.sum() - LEAST:
            found[name] = _best(tried, shares[:, of], worth[of], temporal[of], rules)
    if classes is None or not found:
        return Training(whole, found, None)
    return Training(whole, found, _thresholds(views, page, classes, whole, found))


def _shares(
    views: Views, page: NDArray[np.int64], tried: Sequence[float]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The share of each page for each n, a row an n; and what its views are worth."""
    lives = lives_of(views)
    curves = fit_curves(views, lives, np.unique(page)) if views.hours is not None else None
    shares = np.stack(
        [phi(curves, n)[page] if curves is not None and n < 1 else share_within(views, lives, n)[page] for n in tried]
    )
    return shares, views_since(views, lives)[page] / SPREAD


def _best(
    tried: Sequence[float],
    shares: NDArray[np.float64],
    worth: NDArray[np.float64],
    temporal: NDArray[np.bool_],
    rules: Rules,
) -> Trained:
    usual = Rules()
    best: tuple[float, float] = (-np.inf, -np.inf)
    chosen = (usual.n, usual.q)
    for n, share in zip(tried, shares, strict=True):
        q, gain = _best_share(_turning(share, worth, rules.least), temporal, rules)
        near = -abs(math.log(n / usual.n)) - abs(_log_odds(q) - _log_odds(usual.q))
        if (gain, near) > best:
            best, chosen = (gain, near), (n, q)
    share = shares[tried.index(chosen[0])]
    called = distance(share, np.full(len(share), chosen[1]), worth) > _needed(rules.least)
    return Trained(
        *chosen,
        len(temporal),
        int((called == temporal).sum()),
        int((temporal & ~called).sum()),
        int((called & ~temporal).sum()),
    )


def _log_odds(share: float) -> float:
    return math.log(share / (1.0 - share))


def _turning(share: NDArray[np.float64], worth: NDArray[np.float64], least: float) -> NDArray[np.float64]:
    """The q below which each page is called temporal."""
    arc = np.arcsin(np.sqrt(np.clip(share, 0.0, 1.0))) - _needed(least) / (2.0 * np.sqrt(worth))
    return np.asarray(np.sin(np.clip(arc, 0.0, np.pi / 2)) ** 2)


def _needed(least: float) -> float:
    """How many standard deviations above q make a page as probable as that."""
    return NormalDist().inv_cdf(min(max(least, 1e-9), 1.0 - 1e-9))


def _best_share(turning: NDArray[np.float64], temporal: NDArray[np.bool_], rules: Rules) -> tuple[float, float]:
    """The best q, and what it gains."""
    order = np.argsort(turning, kind="stable")
    sorted_turning = turning[order]
    tried = np.concatenate([[Rules().q], 0.5 * (sorted_turning[1:] + sorted_turning[:-1])])
    tried = np.clip(tried, *SHARES)
    below = np.searchsorted(sorted_turning, tried, side="right")
    missed = np.concatenate([[0], np.cumsum(temporal[order])])[below]
    right = below - missed  # untemporal pages below q
    alarms = (~temporal).sum() - right
    hits = temporal.sum() - missed + right
    gain = rules.hit * hits - rules.miss * missed - rules.false_alarm * alarms
    best = np.lexsort((np.abs(tried - Rules().q), -gain))[0]
    return float(tried[best]), float(gain[best])


def _thresholds(
    views: Views, page: NDArray[np.int64], classes: NDArray[np.str_], whole: Trained, found: dict[str, Trained]
) -> Thresholds:
    """N and q of each page: those of its class, which is that of most labelled pages around it."""
    names = list(found)
    number = np.array([names.index(name) if name in found else -1 for name in classes.tolist()], np.int64)
    labelled, number = page[number >= 0], number[number >= 0]
    each = np.full(views.pages, -1, np.int64)
    for level in levels(views):
        votes = np.zeros((len(level.names), len(names)), np.int64)
        np.add.at(votes, (level.of[labelled], number), 1)
        each = np.where(votes.sum(axis=1)[level.of] > 0, votes.argmax(axis=1)[level.of], each)
    each[labelled] = number
    n = np.array([*(found[name].n for name in names), whole.n])  # -1, no class, is the last
    q = np.array([*(found[name].q for name in names), whole.q])
    return Thresholds(n[each], q[each])
