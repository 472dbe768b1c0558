"""How often pages change. In: `Evidence`, and what was thought before. Out: rates, and how sure they are.

With x changes in intervals of t on average, and S days without, the likelihood is (1 - e^-lt)^x e^-lS. It is largest at

    l = ln(1 + xt / S) / t

which for equal intervals is the estimator of Cho and Garcia-Molina (2003, "Estimating frequency of change"). A page
that had changed whenever it was looked at has no
largest one, and a page that never had changes never, it says: so a rate is
estimated together with what is known of its neighbours, as a gamma distribution of a mean m and a shape a (how alike
they are). With b = a / m the estimate is the mode of the posterior of ln l:

    l = (a + x g(lt)) / (b + S)        g(u) = u / (e^u - 1)

the one solution, found by Newton. Without changes, and where changes are dated (t = 0), it is exactly the mean of the
posterior, which is a gamma distribution then; otherwise the posterior is taken for the gamma distribution of this mode
and of the same curvature there. With more and more fetches the prior counts for nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from weft.revisit.contract import Numbers
from weft.revisit.evidence import Evidence

_STEPS = 60
_CLOSE = 1e-9


class Prior(NamedTuple):
    """What is thought of pages before they were fetched twice."""

    mean: Numbers  # by page: changes a day
    shape: float  # how alike neighbours are: their variance is mean^2 / shape


class Rates(NamedTuple):
    """Estimated rates, each a gamma distribution."""

    mean: Numbers  # changes a day
    shape: Numbers  # how sure: the variance is mean^2 / shape


def likeliest(evidence: Evidence) -> Numbers:
    """The rates by the page's own fetches alone: 0 where no change was seen, infinite where nothing else was.

    >>> of = Evidence(2)
    >>> of.add(np.repeat([0, 1], 4), np.full(8, 0.5), np.array([1, 0, 0, 0, 1, 1, 1, 1], bool))
    >>> likeliest(of).round(3).tolist()  # -ln(3/4) / 0.5, and no end
    [0.575, inf]
    """
    x, quiet, changed = (np.asarray(each, np.float64) for each in (evidence.changes, evidence.quiet, evidence.changed))
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.where(changed > 0, x / changed * np.log1p(changed / quiet), x / quiet)
    return np.where(x == 0, 0.0, spread)


def estimate(evidence: Evidence, prior: Prior) -> Rates:
    """The rates by the page's own fetches and by what was thought before."""
    x, quiet, changed = (np.asarray(each, np.float64) for each in (evidence.changes, evidence.quiet, evidence.changed))
    t = np.divide(changed, x, out=np.zeros_like(changed), where=x > 0)
    scale = prior.shape / np.maximum(prior.mean, 1e-300) + quiet
    # The equation in v = ln l has one root; from its upper bound Newton comes down to it without a step too far.
    v = np.log((prior.shape + x) / scale)
    for _ in range(_STEPS):
        rate = np.exp(v)
        u = rate * t
        g, steep = _per_change(u)
        step = (rate * scale - prior.shape - x * g) / (rate * scale - x * steep)
        v -= step
        if not (np.abs(step) > _CLOSE).any():
            break
    rate = np.exp(v)
    return Rates(rate, rate * scale - x * _per_change(rate * t)[1])


def _per_change(u: Numbers) -> tuple[Numbers, Numbers]:
    """g(u) = u / (e^u - 1), and u g'(u)."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        g = np.where(u < 1e-8, 1.0 - u / 2, u / np.expm1(u))
        steep = np.where(u < 1e-4, -u / 2, g * (1 - u - g))
    return g, steep
