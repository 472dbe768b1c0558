"""Pages born as the window ends. In: lives that were seen whole. Out: a probability for those that were not.

Of a page that was born two days before the window's end, all views lie within three days of its birth: its share says
nothing. But the window has pages that were born in its middle. Cut after two days they looked like this one, and it is
known what became of them. So for each number of observed days, pages that were observed for `YOUNG` days or more are
cut to as many, those that had views enough by then (they would have passed the floor) are kept, and a logistic model
learns their label from what was to be seen at the cut. No person's labels are needed, and a window of another country
or season brings its own models.

What is to be seen: how many views, the hour of birth (a first day is shorter for a page born in the evening), the
share of views on the first day, on the last one and within n days so far, and, where they are asked, the neighbours.
Where too few pages can be cut, or nearly all of them became the same, there is no model and nothing is told.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from weft.temporal.lifetimes import Lives, days_of_life, laid_out, views_within
from weft.temporal.neighbours import probability
from weft.temporal.views import Views

YOUNG = 10  # days; a page observed for fewer is judged by replay
LEAST_PAGES = 60  # to learn from, for each number of days
LEAST_EACH = 5  # of them temporal, and as many untemporal
MOST_PAGES = 20_000  # more teach nothing new; then every second, or third … one does
RIDGE = 1.0
STEPS = 25


def young(views: Views, lives: Lives) -> NDArray[np.bool_]:
    """Which pages were observed for too few days to be judged by their share."""
    return observed(views, lives) < YOUNG


def observed(views: Views, lives: Lives) -> NDArray[np.int64]:
    """The days of each page's life that lie in the window, the activation day included."""
    return views.window.days - lives.activation.astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Cut:
    """Pages as they looked after some days."""

    days: NDArray[np.float64]  # a row a page: its views on each day of its life
    hour: NDArray[np.float64]  # of its birth, as part of the activation day
    early: NDArray[np.float64]  # the same within n days of its birth
    prior: NDArray[np.float64] | None

    def of(self, which: NDArray[np.int64], days: int) -> _Cut:
        """Some of them, after fewer days."""
        prior = None if self.prior is None else self.prior[which]
        return _Cut(self.days[which, :days], self.hour[which], self.early[which, :days], prior)

    def marks(self) -> NDArray[np.float64]:
        """What was to be seen, a row a page."""
        total = self.days.sum(axis=1)
        found = [np.log(total), self.hour]
        length = self.days.shape[1]
        if length > 1:
            found += [np.log((self.days[:, at] + 0.5) / (total + 1.0)) for at in (0, -1)]
        early = self.early.sum(axis=1)
        if length > 3:
            found.append(np.log((early + 0.5) / (total - early + 0.5)))
        return np.column_stack(found if self.prior is None else [*found, self.prior])


def replay(
    views: Views,
    lives: Lives,
    temporal: NDArray[np.bool_],
    n: NDArray[np.float64],
    prior: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """The probability that a young page is temporal; NaN for others, and where there is nothing to learn from.

    `temporal` is the label that those observed long enough have by their share.
    """
    found = np.full(views.pages, np.nan)
    if not views.pages:
        return found
    length = observed(views, lives)
    known = (length >= YOUNG) & (lives.activation > 0)
    floor = views.totals().min()
    early = laid_out(views, lives, views_within(views, lives, n), YOUNG)
    whole = _Cut(days_of_life(views, lives, YOUNG).astype(np.float64), lives.born - lives.activation, early, prior)
    for days in range(1, YOUNG):
        wanted = np.flatnonzero(length == days)
        lesson = np.flatnonzero(known & (whole.days[:, :days].sum(axis=1) >= floor))
        lesson = lesson[:: 1 + len(lesson) // MOST_PAGES]
        truth = temporal[lesson]
        enough = len(lesson) >= LEAST_PAGES and LEAST_EACH <= truth.sum() <= len(lesson) - LEAST_EACH
        if len(wanted) and enough:
            learned = _learn(whole.of(lesson, days).marks(), truth.astype(np.float64))
            found[wanted] = learned.tell(whole.of(wanted, days).marks())
    return found


@dataclass(frozen=True, slots=True)
class _Logistic:
    middle: NDArray[np.float64]
    scale: NDArray[np.float64]
    weights: NDArray[np.float64]

    def tell(self, marks: NDArray[np.float64]) -> NDArray[np.float64]:
        return probability(self.weights[0] + (marks - self.middle) / self.scale @ self.weights[1:])


def _learn(marks: NDArray[np.float64], truth: NDArray[np.float64]) -> _Logistic:
    """Newton's steps to the best weights, kept small by a ridge so that few pages cannot make them large."""
    middle, scale = marks.mean(axis=0), marks.std(axis=0) + 1e-9
    columns = np.column_stack([np.ones(len(marks)), (marks - middle) / scale])
    ridge = np.diag([1e-3] + [RIDGE] * marks.shape[1])
    weights = np.zeros(columns.shape[1])
    for _ in range(STEPS):
        p = probability(columns @ weights)
        curvature = (columns * (p * (1.0 - p))[:, None]).T @ columns + ridge
        step = np.linalg.solve(curvature, columns.T @ (truth - p) - ridge @ weights)
        weights = weights + step
        if np.abs(step).max() < 1e-6:
            break
    return _Logistic(middle, scale, weights)
