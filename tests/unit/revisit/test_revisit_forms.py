"""Closed forms are what integration gives, and derivatives what differences give."""

from __future__ import annotations

import numpy as np
import pytest

from weft.revisit import marginal
from weft.revisit.contract import Kind, Numbers
from weft.revisit.visiting import age, delay, freshness, within

RATES = (0.01, 0.3, 1.0, 7.0)
FREQUENCIES = (0.05, 0.5, 4.0)


def integrated(rate: float, frequency: float, kind: Kind) -> tuple[float, float]:
    """Freshness and age by summing over the time since the last fetch, as dense as that time is."""
    if kind == "periodic":
        since = (np.arange(200_000) + 0.5) / 200_000 / frequency
        dense = np.full(len(since), 1 / len(since))
    else:
        since = (np.arange(400_000) + 0.5) / 400_000 * 40 / frequency
        dense = np.exp(-frequency * since)
        dense /= dense.sum()
    fresh = np.exp(-rate * since)
    old = since - (1 - fresh) / rate  # the time since the first change, by when that came
    return float(dense @ fresh), float(dense @ old)


@pytest.mark.parametrize("kind", ["periodic", "random"])
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("frequency", FREQUENCIES)
def test_forms__are_what_integration_gives(rate: float, frequency: float, kind: Kind) -> None:
    """Freshness and age, of periodic and of random fetches."""
    fresh, old = integrated(rate, frequency, kind)
    one, often = np.array([rate]), np.array([frequency])
    assert freshness(one, often, kind)[0] == pytest.approx(fresh, rel=1e-3)
    assert age(one, often, kind)[0] == pytest.approx(old, rel=2e-3)


def test_forms__know_pages_that_are_never_fetched_or_never_change() -> None:
    """Neither gives a NaN."""
    rate, often = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])
    for kind in ("periodic", "random"):
        assert freshness(rate, often, kind).tolist() == [1.0, 1.0, 0.0]
        assert age(rate, often, kind).tolist() == [0.0, 0.0, np.inf]
    assert delay(np.array([4.0]), "periodic").tolist() == [0.125]
    assert within(np.array([4.0, 48.0]), 1.0, "periodic").tolist() == pytest.approx([1 / 6, 1.0])


def slopes(of: Numbers, at: Numbers) -> Numbers:
    """Differences, by what they are taken over."""
    return np.diff(of) / np.diff(at)


@pytest.mark.parametrize("rate", RATES)
def test_marginals__are_the_derivatives(rate: float) -> None:
    """What one fetch more is worth, by the closed form and by a small difference."""
    often = np.geomspace(0.05, 20, 4000)
    middle = (often[1:] + often[:-1]) / 2
    r = rate / middle
    expected: dict[tuple[str, Kind], Numbers] = {
        ("fresh", "periodic"): marginal.fresh_periodic(r) / rate,
        ("fresh", "random"): (r / (1 + r)) ** 2 / rate,
        ("age", "periodic"): marginal.age_periodic(r) / rate**2,
        ("age", "random"): marginal.age_random(r) / rate**2,
    }
    for (aim, kind), formula in expected.items():
        found = (
            freshness(np.full(4000, rate), often, kind) if aim == "fresh" else -age(np.full(4000, rate), often, kind)
        )
        assert slopes(found, often) == pytest.approx(formula, rel=2e-3, abs=1e-7)


def test_inverses__lead_back() -> None:
    """To the changes between two fetches, over all that comes up."""
    r = np.geomspace(1e-5, 25, 300)
    assert marginal.r_fresh_periodic(marginal.fresh_periodic(r)) == pytest.approx(r, rel=1e-4)
    assert marginal.r_fresh_random((r / (1 + r)) ** 2) == pytest.approx(r, rel=1e-9)
    assert marginal.r_age_periodic(marginal.age_periodic(r)) == pytest.approx(r, rel=1e-4)
    assert marginal.r_age_random(marginal.age_random(r)) == pytest.approx(r, rel=1e-4)
