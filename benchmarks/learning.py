"""Rates learned from nothing: what a plan by them is worth after so many fetches a page.

    python -m benchmarks.learning

5,000 pages on 125 sites whose rates are log-normal over sites and over pages. Every page is fetched so many times at
equal distances, each fetch says *changed* or *not*; a plan is made by the estimates, and its true freshness and age
(closed forms) are held against those of the plan for the true rates. Beside it, what could be known: the same fetches,
with an estimator that is told the distribution the rates were drawn from, site by site, and takes the mean of the exact
posterior. What that misses is not to be had from these fetches.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import description
from weft.revisit import policy_named
from weft.revisit.bounds import Bounds, Intervals
from weft.revisit.contract import Numbers, Pages
from weft.revisit.evidence import Evidence
from weft.revisit.planning import make_plan
from weft.revisit.priors import Priors
from weft.revisit.visiting import age, freshness

PAGES, SITES = 5_000, 125
A_DAY = {1: 0.2, 2: 0.07}  # by seed: fetches a page and day
VISITS = (1, 2, 4, 8, 15, 30)
OF_SITES, OF_PAGES = (-3.0, 1.2), 0.8  # mean and deviation of logarithms


def run() -> dict[str, Any]:
    """Both sets of pages."""
    return {"machine": description(), "worlds": [world(seed) for seed in A_DAY]}


def world(seed: int) -> dict[str, Any]:
    """Ratios to the optimum after so many fetches."""
    rng = np.random.default_rng(seed)
    site = rng.integers(0, SITES, PAGES).astype(np.int32)
    middle = rng.normal(*OF_SITES, SITES)[site]
    rate = np.exp(middle + rng.normal(0.0, OF_PAGES, PAGES))
    budget, interval = A_DAY[seed] * PAGES, 1 / A_DAY[seed]
    bounds = Bounds.none(PAGES).by(np.zeros(PAGES, np.int32), Intervals(np.array([1 / 24]), np.array([30.0])))
    measure = {"freshness": freshness, "age": age}

    def worth(by: Numbers, aim: str) -> float:
        plan = make_plan(policy_named(aim), Pages.of(by), budget, bounds)
        return float(measure[aim](rate, plan.frequency, "periodic").mean())

    best = {aim: worth(rate, aim) for aim in measure}
    without = make_plan(policy_named("freshness"), Pages.of(rate), budget)
    rows, evidence, done = {}, Evidence(PAGES), 0
    for visits in VISITS:
        for _ in range(visits - done):
            changed = rng.random(PAGES) < -np.expm1(-rate * interval)
            evidence.add(np.arange(PAGES), np.full(PAGES, interval), changed)
        done = visits
        learned = Priors([site]).learn(evidence)[1].mean
        told = posterior_mean(evidence.changes.astype(np.float64), visits, interval, middle)
        rows[str(visits)] = {
            name: {aim: worth(by, aim) / best[aim] for aim in measure}
            for name, by in (("ours", learned), ("told", told))
        }
    uniform = make_plan(policy_named("uniform"), Pages.of(rate), budget, bounds).frequency
    return {
        "seed": seed,
        "fetches_a_page_and_day": A_DAY[seed],
        "optimum": best,
        "uniform": {aim: float(of(rate, uniform, "periodic").mean()) / best[aim] for aim, of in measure.items()},
        "never_fetched_by_the_freshness_optimum": without.never.tolist(),
        "visits": rows,
    }


def posterior_mean(changes: Numbers, visits: int, interval: float, middle: NDArray[np.float64]) -> Numbers:
    """By the true distribution, on a grid."""
    grid = np.exp(np.linspace(-9, 5, 281))
    log = -((np.log(grid)[None, :] - middle[:, None]) ** 2) / (2 * OF_PAGES**2)
    log = log + changes[:, None] * np.log(-np.expm1(-grid * interval)) - (visits - changes)[:, None] * grid * interval
    weight = np.exp(log - log.max(axis=1, keepdims=True))
    return np.asarray(weight @ grid / weight.sum(axis=1))


def show(found: dict[str, Any]) -> None:
    """Print the ratios."""
    for each in found["worlds"]:
        never = len(each["never_fetched_by_the_freshness_optimum"])
        print(
            f"\nseed {each['seed']}: uniform {each['uniform']}; never fetched by the freshness optimum: {never} pages"
        )
        for visits, row in each["visits"].items():
            parts = [f"{name} freshness {r['freshness']:.4f} age {r['age']:.4f}" for name, r in row.items()]
            print(f"  after {visits:>2} fetches a page: " + "; ".join(parts))


if __name__ == "__main__":
    show(run())
