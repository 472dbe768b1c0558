"""Interest curves: what is put in comes out, by both ways of fitting."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.unit.temporal.made import Counts, views_of

from weft.temporal.curves import fit_curves, paper_curves, phi
from weft.temporal.lifetimes import lives_of
from weft.temporal.views import Curves

DAYS = 60


def integrals(size: float, b: float, mu: float, sigma: float) -> NDArray[np.float64]:
    """A curve's integral over each day, by summing its height over a fine grid."""
    x = (np.arange(DAYS * 4000) + 0.5) / 4000
    age = np.where(x > b, x - b, np.nan)
    height = size / (math.sqrt(2 * math.pi) * sigma * age) * np.exp(-((np.log(age) - mu) ** 2) / (2 * sigma**2))
    found: NDArray[np.float64] = np.nansum(height.reshape(DAYS, 4000), axis=1) / 4000
    return found


def first_second(b: float) -> int:
    """When a page with many views has the first of them."""
    return int((b % 1) * 86_400) + 60


@pytest.mark.parametrize(
    ("b", "mu", "sigma"), [(10.4, 0.0, 0.8), (20.25, 1.0, 0.6), (5.75, -0.5, 1.0), (15.5, 2.0, 1.2)]
)
def test_fit__finds_the_curve_that_views_come_from(b: float, mu: float, sigma: float) -> None:
    """A page with very many views, and no noise, gives its curve away."""
    counts = integrals(200_000.0, b, mu, sigma).round().astype(int).tolist()
    curves = fit_curves(views_of(counts, first=first_second(b)))
    assert curves.mu[0] == pytest.approx(mu, abs=0.1)
    assert curves.sigma[0] == pytest.approx(sigma, rel=0.1)
    assert curves.b[0] == pytest.approx(b, abs=0.15)
    assert curves.A[0] == pytest.approx(200_000.0, rel=0.05)


def test_phi__is_the_integral_of_the_curve() -> None:
    """Phi(3) is the part of A that lies in the first three days."""
    one = np.array([1.0])
    curve = Curves(500.0 * one, 7.0 * one, 1.3 * one, 0.9 * one)
    assert phi(curve, 3.0)[0] == pytest.approx(integrals(500.0, 7.0, 1.3, 0.9)[7:10].sum() / 500.0, abs=1e-4)


def test_fit__tells_news_from_pages_that_are_always_read() -> None:
    """By both ways; few views and noise do not matter much."""
    rng = np.random.Generator(np.random.PCG64(7))
    news = rng.poisson(integrals(150.0, 12.5, -0.3, 0.7), (60, DAYS))
    steady = rng.poisson(3.0, (60, DAYS))
    views = views_of(*news.tolist(), *steady.tolist())
    for fit in (fit_curves, paper_curves):
        share = phi(fit(views), 3.0)
        assert (share[:60] > 0.7).mean() > 0.95
        assert (share[60:] < 0.3).all()


def test_fit__by_likelihood_is_nearer_to_the_truth_than_by_squares() -> None:
    """Days of many views are the noisiest; least squares let them decide alone."""
    rng = np.random.Generator(np.random.PCG64(3))
    curve = (120.0, 12.5, 1.0, 1.0)
    truth = phi(Curves(*(np.array([value]) for value in curve)), 3.0)[0]
    views = views_of(*rng.poisson(integrals(*curve), (200, DAYS)).tolist())
    likelihood, squares = (np.abs(phi(fit(views), 3.0) - truth).mean() for fit in (fit_curves, paper_curves))
    assert likelihood < 0.8 * squares


def test_fit__keeps_within_its_bounds_whatever_the_counts() -> None:
    """One day, two days, the last day, the first day, gaps: a curve for each, and finite."""
    pages: list[Counts] = [
        {30: 100},
        {30: 100, 31: 1},
        {59: 70},
        {0: 70},
        {0: 60, 59: 60},
        [1] * DAYS,
        {10: 1, 40: 10**6},
    ]
    views = views_of(*pages)
    activation = lives_of(views).activation
    for fit in (fit_curves, paper_curves):
        found = fit(views)
        assert np.isfinite(np.stack([found.A, found.b, found.mu, found.sigma])).all()
        assert ((found.sigma >= 0.119) & (found.sigma <= 4.001)).all()
        assert ((found.mu >= -4) & (found.mu <= 8)).all()
        assert (found.b <= activation + 0.981).all()
        assert (found.b >= np.where(activation == 0, -60, activation - 1)).all()


def test_fit__of_some_pages_leaves_the_others_without_a_curve() -> None:
    """For the pictures a few are enough."""
    views = views_of({20: 60, 21: 30}, [2] * DAYS, {30: 60, 31: 9})
    some, every = fit_curves(views, pages=np.array([2])), fit_curves(views)
    assert np.isnan(some.mu).tolist() == [True, True, False]
    assert np.isnan(phi(some, 3.0)).tolist() == [True, True, False]
    assert some.mu[2] == every.mu[2]
