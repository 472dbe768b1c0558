"""Interest curves (P2 4.1). In: `Views` and when lives began. Out: `Curves`, four numbers a page; shares of interest.

The curve is A times the log-normal density of mu and sigma, begun at b. The paper prints a root over sigma (x-b); only
the form of `Curves` integrates to A, which the paper says it does. There are two ways to fit it (`fitting`):

- `fit_curves`: a day's views, or an hour's, are Poisson around the integral of the curve over it, and the likelihood is
  made largest.
- `paper_curves`: least squares between a day's views and the curve's height at the middle of that day, as the paper
  has it. Days of many views then decide alone, though they are the noisiest.

A flat page ends at the bounds of the search, with an A far above what was counted: its label is right, but its A is no
"total interest".
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from weft.temporal.fitting import FINE, fit_all, normal
from weft.temporal.lifetimes import Lived, hour_columns, lives_of, share_within
from weft.temporal.views import Curves, Views

BRIEF = (
    0.5  # of the views, within the days that are parted into hours: who has more of them there is fitted by the hour
)


def fit_curves(
    views: Views, lived: Lived | None = None, pages: NDArray[np.int64] | None = None, *, hourly: bool = True
) -> Curves:
    """Curves by the Poisson likelihood of integrals, of all pages or of some (then NaN for the others).

    Pages that had most of their views in their first two days are fitted by the hour where the log has hours; unless
    somebody asks for days. Others have nothing to show in hours but the habits of users.
    """
    lived = lived or lives_of(views)
    if not hourly or views.hours is None:
        return _fitted(views, lived, pages, poisson=True)
    brief = share_within(views, lived, float(FINE)) > BRIEF
    return _fitted(views, replace(lived, hour=np.where(brief, lived.hour, np.int8(-1))), pages, poisson=True)


def paper_curves(views: Views, lived: Lived | None = None, pages: NDArray[np.int64] | None = None) -> Curves:
    """Curves by least squares, as the paper has it."""
    return _fitted(views, lived or lives_of(views), pages, poisson=False)


def phi(curves: Curves, days: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """Phi(x) of P2 4.2: the share of a page's interest within so many days of its birth; NaN where there is no curve.

    >>> one = np.array([1.0])
    >>> phi(Curves(one, one, np.log(3 * one), one), 3.0).tolist()
    [0.5]
    """
    return normal((np.log(np.broadcast_to(days, curves.mu.shape)) - curves.mu) / curves.sigma)


def _fitted(views: Views, lived: Lived, pages: NDArray[np.int64] | None, *, poisson: bool) -> Curves:
    chosen = np.arange(views.pages) if pages is None else np.asarray(pages, np.int64)
    found = np.full((4, views.pages), np.nan)
    columns = (views.start, views.day, views.count)
    clock = np.ones(24) if views.hours is None else views.hours.clock()
    life = (lived.activation, lived.hour, lived.born)
    fit_all(columns, hour_columns(views), clock, views.window.days, life, chosen, poisson, found)
    return Curves(*found)
