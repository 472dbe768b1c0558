"""Which pages are temporal (P2 4.2 and 5.2). In: `Views` and the rules. Out: `Labels`.

A page is temporal if more than q of its interest lies within n days of its birth. There are four ways to tell:

- ``robust``: what was counted, not a curve. The share of views within n days of the birth is compared with q; with a
  little less (`CUT`) where the window began after the page did, and does not show all of its first days. What that
  leaves in doubt is moved by the pages around it (`neighbours`); pages observed for less than ten days are judged by
  what became of pages like them (`replay`); and a burst of a single day, without a view on the next one, which is what
  a crowd or a machine on an old page looks like, is left to its neighbours almost wholly.
  Within hours (n below a day, and a log with times) two things differ. Users sleep: of a page born at night the share
  of the first hours says more about them than about it, so that Phi(n) of a curve that knows their hours takes its
  place. And a life of one day is what is looked for, not a burst.
- ``share``: the share alone.
- ``curve``: Phi(n) of a curve, by the Poisson likelihood, in the place of the share.
- ``paper``: Phi(n) of a curve, by least squares, life begun with the first view and nobody undecided.

The probability: the arc whose sine is the root of a share of N views has the same variance, 1 / 4N, whatever the share
is, and is nearly normal; so p is the normal distribution function of the distance between the arcs of s and of q. Views
come in bursts, which makes N of them worth N / `SPREAD`.

The decision: with A for a hit, B for a miss and C for a false alarm, A hit - B miss - C false alarm (P2 5.2) is largest
if pages with p > (A + C) / (2A + B + C) are called temporal.

Always: a page's entries depend on the views of this window alone, not on the order of pages or logs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from weft.errors import UsageError
from weft.settings import setting
from weft.temporal.curves import fit_curves, paper_curves, phi
from weft.temporal.fitting import normal
from weft.temporal.lifetimes import Lives, days_of_life, first_seen, lives_of, share_within, views_since
from weft.temporal.neighbours import odds, prior_odds, probability
from weft.temporal.replay import observed, replay, young
from weft.temporal.views import TEMPORAL, UNDECIDED, UNTEMPORAL, Labels, Views

SPREAD = 2.0
CUT = 0.88  # of q
BURST = 0.4  # how many standard deviations above q a burst of one day may bring a page
SHORT = 3  # days; who was observed for no more than these is decided only if p is far from the middle

Method = Literal["robust", "share", "curve", "paper"]
METHODS: tuple[Method, ...] = get_args(Method)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What makes a page temporal."""

    n: float = setting(
        3.0, "days after its birth in which a temporal page has most of its views; 0.25: six hours", above=0
    )
    q: float = setting(0.7, "the share of its views that a temporal page has in these days", above=0, at_most=1)
    method: Method = setting(
        "robust", "how to tell: by counts and neighbours, by counts, by a fitted curve, or by the paper's curve"
    )
    neighbours: float = setting(
        0.5, "weight of a page's pattern, folder and site, if robust; 0: its own views alone", at_least=0
    )
    hit: float = setting(1.0, "gain of a page that is labelled as it should be (the paper's A)", at_least=0)
    miss: float = setting(0.0, "cost of a temporal page that is labelled untemporal (B)", at_least=0)
    false_alarm: float = setting(0.0, "cost of an untemporal page that is labelled temporal (C)", at_least=0)
    sure: float = setting(
        0.9,
        "a page observed for 3 days or less is undecided unless a label is as probable as this",
        at_least=0,
        at_most=1,
    )

    def check(self) -> None:
        """Refuse what labels nothing."""
        if not self.n > 0:
            raise UsageError(f"n is {self.n}", todo="give a number of days, more than none")
        if not 0 < self.q < 1:
            raise UsageError(f"q is {self.q}", todo="give a share between 0 and 1")
        for name in ("neighbours", "hit", "miss", "false_alarm"):
            if not getattr(self, name) >= 0:
                raise UsageError(f"{name} is {getattr(self, name)}", todo="it must not be negative")
        if not self.hit + self.miss + self.false_alarm > 0:
            raise UsageError("hit, miss and false_alarm are all 0", todo="say what a right or a wrong label is worth")
        if not 0.5 <= self.sure <= 1:
            raise UsageError(f"sure is {self.sure}", todo="give a probability from 0.5 to 1")

    @property
    def least(self) -> float:
        """The probability above which a page is called temporal."""
        return (self.hit + self.false_alarm) / (2 * self.hit + self.miss + self.false_alarm)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """n and q page by page, where they differ."""

    n: NDArray[np.float64]
    q: NDArray[np.float64]


def classify(views: Views, rules: Rules | None = None, thresholds: Thresholds | None = None) -> Labels:
    """Label every page; by its own thresholds where they are given, else by those of the rules."""
    rules = rules or Rules()
    rules.check()
    each = thresholds or Thresholds(np.full(views.pages, rules.n), np.full(views.pages, rules.q))
    lives = first_seen(views) if rules.method == "paper" else lives_of(views)
    share = share_within(views, lives, each.n)
    p, hazy = _probability(views, lives, share, each, rules)
    temporal = p > rules.least
    label = np.where(temporal, TEMPORAL, UNTEMPORAL).astype(np.int8)
    label[hazy & (np.maximum(p, 1.0 - p) < rules.sure)] = UNDECIDED
    return Labels(lives.activation, lives.dormancy, lives.born, share, p, label, temporal, lives.hour)


def _probability(
    views: Views, lives: Lives, share: NDArray[np.float64], each: Thresholds, rules: Rules
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The probability that each page is temporal; and whether too few days were observed to rely on it."""
    worth = views_since(views, lives) / SPREAD
    short = observed(views, lives) <= SHORT
    if rules.method == "curve":
        hourly = bool((each.n < 1).any())  # for days the hours of users are but noise
        return normal(distance(phi(fit_curves(views, lives, hourly=hourly), each.n), each.q, worth)), short
    if rules.method == "paper":
        return normal(distance(phi(paper_curves(views, lives), each.n), each.q, worth)), np.zeros_like(short)
    if rules.method == "share":
        return normal(distance(share, each.q, worth)), short
    brief = (each.n < 1) & (lives.hour >= 0)
    if brief.any():
        curves = fit_curves(views, lives, np.flatnonzero(brief))
        share = np.where(brief, phi(curves, each.n), share)
    above = distance(share, np.where(lives.activation == 0, CUT * each.q, each.q), worth)
    above = np.where(_bursts(views, lives) & ~brief, np.minimum(above, BURST), above)
    p, told = _robust(views, lives, above, each, rules.neighbours)
    return p, short | ~told


def distance(share: NDArray[np.float64], q: NDArray[np.float64], worth: NDArray[np.float64]) -> NDArray[np.float64]:
    """How many standard deviations a share of so many views is above q."""
    return np.asarray(2.0 * (np.arcsin(np.sqrt(np.clip(share, 0.0, 1.0))) - np.arcsin(np.sqrt(q))) * np.sqrt(worth))


def _robust(
    views: Views, lives: Lives, above: NDArray[np.float64], each: Thresholds, neighbours: float
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The probability, and whether there was something to tell it by."""
    own = normal(above)
    old = ~young(views, lives)
    prior = prior_odds(views, own, old) if neighbours else None
    replayed = replay(views, lives, above > 0.0, each.n, prior)
    # The share of a page that has not lived long can only fall: where it is above q, it says nothing yet.
    p = np.where(old, own, np.minimum(own, 0.5))
    if prior is not None:
        p = probability(odds(p) + neighbours * prior)
    told = ~np.isnan(replayed)
    return np.where(told, replayed, p), told | old


def _bursts(views: Views, lives: Lives) -> NDArray[np.bool_]:
    """Pages with most of their views on the activation day and none on the next, which was observed."""
    first, second = days_of_life(views, lives, 2).T
    return np.asarray((second == 0) & (2 * first > views_since(views, lives)) & (observed(views, lives) > 1))
