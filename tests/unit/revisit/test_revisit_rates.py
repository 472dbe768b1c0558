"""Rates are estimated without bias that matters, from 12 bytes a page, and neighbours help."""

from __future__ import annotations

import numpy as np
import pytest

from weft.revisit.contract import Numbers
from weft.revisit.evidence import Evidence
from weft.revisit.hints import Hints
from weft.revisit.hours import hours_of
from weft.revisit.priors import Groups, Priors
from weft.revisit.rates import Prior, estimate, likeliest


def watched(rate: Numbers, fetches: int, rng: np.random.Generator, *, regular: bool) -> Evidence:
    """Pages of these rates, fetched so often, a day apart on average."""
    kept = Evidence(len(rate))
    for _ in range(fetches):
        elapsed = np.ones(len(rate)) if regular else rng.random(len(rate)) * 2
        kept.add(np.arange(len(rate)), elapsed, rng.random(len(rate)) < -np.expm1(-rate * elapsed))
    return kept


@pytest.mark.parametrize("rate", [0.05, 0.5, 1.5])
@pytest.mark.parametrize("regular", [True, False])
def test_likeliest__is_within_two_percent_after_200_fetches(rate: float, regular: bool) -> None:
    """At equal and at irregular intervals, where the summary loses something."""
    kept = watched(np.full(3000, rate), 200, np.random.default_rng(1), regular=regular)
    assert likeliest(kept).mean() == pytest.approx(rate, rel=0.02 if regular or rate < 1 else 0.06)


def test_estimate__is_the_exact_mean_where_there_is_one() -> None:
    """Without changes, and with dated changes or counted births, the posterior is a gamma distribution."""
    kept = Evidence(2)
    kept.add(np.array([0]), np.array([30.0]), np.array([False]))
    kept.add_counts(np.array([1]), np.array([10.0]), np.array([7]))
    found = estimate(kept, Prior(np.full(2, 0.5), 2.0))
    assert found.mean == pytest.approx([2 / (4 + 30), (2 + 7) / (4 + 10)])
    assert found.shape == pytest.approx([2, 9])


def test_estimate__solves_its_equation_even_where_every_fetch_found_a_change() -> None:
    """A page that had always changed has a finite rate, and a page never fetched that of its neighbours."""
    kept = Evidence(2)
    kept.add(np.zeros(9, int), np.full(9, 2.0), np.ones(9, bool))
    found = estimate(kept, Prior(np.full(2, 0.5), 1.0)).mean
    u = found[0] * 2
    assert found[0] == pytest.approx((1 + 9 * u / np.expm1(u)) / (1 / 0.5))
    assert found[1] == pytest.approx(0.5)


def test_dated_changes__say_more_than_changes() -> None:
    """The time of the last change tells how many a long interval may have hidden."""
    rng = np.random.default_rng(2)
    rate, elapsed = 2.0, 3.0
    plain, dated = Evidence(2000), Evidence(2000)
    for _ in range(10):
        since = rng.exponential(1 / rate, 2000)
        changed = since < elapsed
        page = np.arange(2000)
        plain.add(page, np.full(2000, elapsed), changed)
        dated.add_dated(page[changed], since[changed])
        dated.add(page[~changed], np.full(int((~changed).sum()), elapsed), np.zeros(int((~changed).sum()), bool))
    prior = Prior(np.full(2000, 1.0), 1.0)
    found = {name: estimate(kept, prior).mean.mean() for name, kept in (("plain", plain), ("dated", dated))}
    assert found["plain"] < 0.8 * rate  # it had always changed: how often is anybody's guess
    assert found["dated"] == pytest.approx(rate, rel=0.05)


def test_priors__of_sites_are_better_than_of_none() -> None:
    """Pages of a site change alike: after three fetches what neighbours say decides; after many a page is itself."""
    rng = np.random.default_rng(3)
    site = np.repeat(np.arange(60), 50)
    rate = np.exp(rng.normal(-2, 1.2, 60))[site] * np.exp(rng.normal(0, 0.4, 3000))

    def wrong(fetches: int, levels: list[Groups]) -> float:
        found = Priors(levels).learn(watched(rate, fetches, np.random.default_rng(4), regular=False))[1]
        return float(np.abs(np.log(found.mean / rate)).mean())

    nobody = [np.zeros(3000, int)]
    assert wrong(3, [site]) < 0.6 * wrong(3, nobody)
    assert wrong(60, [site]) < 0.6 * wrong(3, [site])


def test_priors__find_how_alike_pages_are() -> None:
    """The shape of a gamma distribution, from pages seen some dozen times."""
    rng = np.random.default_rng(6)
    rate = rng.gamma(2.0, 0.2 / 2.0, 4000)
    priors = Priors([np.zeros(4000, int)])
    priors.learn(watched(rate, 40, rng, regular=True))
    assert priors.mean == pytest.approx(0.2, rel=0.05)
    assert priors.shape == pytest.approx(2.0, rel=0.25)


def test_evidence__takes_12_bytes_a_page_grows_and_fades() -> None:
    """And a page may come twice at once."""
    kept = Evidence(1000)
    assert kept.nbytes == 12_000
    kept.add(np.array([3, 3]), np.array([1.0, 2.0]), np.array([True, True]))
    kept.grow(2000)
    kept.fade(0.5)
    assert (kept.changes[3], kept.changed[3], len(kept)) == (1.0, 1.5, 2000)


def test_hints__of_nobody_and_of_liars_are_worth_nothing() -> None:
    """A sitemap that was never checked moves no chance, nor does one that says the same of every page."""
    rng = np.random.default_rng(7)
    hints = Hints(3)
    changed = rng.random(400) < 0.3
    hints.add(np.zeros(400, int), np.where(rng.random(400) < 0.95, changed, ~changed), changed)
    hints.add(np.ones(400, int), rng.random(400) < 0.5, changed)
    before = np.full(3, 0.3)
    said = hints.chance(np.arange(3), np.ones(3, bool), before)
    assert said[0] > 0.8
    assert said[1] == pytest.approx(0.3, abs=0.06)
    assert said[2] == pytest.approx(0.3)
    assert hints.worth[0] > 0.4
    assert 0 <= hints.worth[1] < 0.02
    assert hints.worth[2] == pytest.approx(0.0, abs=1e-9)


def test_hours__shorten_the_mean_delay() -> None:
    """Births by day, polls at equal distances of the clock that runs with their root."""
    rng = np.random.default_rng(8)
    busy = rng.random(20_000) < 0.95
    born = np.sort(
        rng.integers(0, 50, 20_000) + np.where(busy, 8 + 10 * rng.random(20_000), 24 * rng.random(20_000)) / 24
    )
    delays = {}
    for name, clock in (("plain", hours_of(np.arange(24) / 24)), ("by hours", hours_of(born))):
        polls = np.concatenate([clock.time(np.arange(0, 60, 0.25) + phase) for phase in (0.0, 0.06, 0.12, 0.18)])
        at = [np.sort(part) for part in polls.reshape(4, -1)]
        delays[name] = np.mean([part[np.searchsorted(part, born)] - born for part in at])
    assert delays["by hours"] < 0.85 * delays["plain"]
