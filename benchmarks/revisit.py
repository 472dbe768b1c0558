"""When to come again: revisit policies against the optimum for known rates, and rates learned from nothing.

    python -m benchmarks.revisit

Two tables, all by simulation, with the code that decides in a crawl:
*pages*: two sets of pages with known rates; freshness and age in the simulation beside the closed form of the optimum
(the same budget, bounds, waits and kind of fetches), with rates that are known, and learned from nothing.
*estimates*: the summary of 12 bytes a page beside the exact likelihood, for intervals that are equal, uniform and wild.
"""

from __future__ import annotations

import json
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import description
from weft.revisit import POLICIES, policy_named
from weft.revisit.bounds import Bounds, Intervals
from weft.revisit.contract import Numbers, Pages, Policy
from weft.revisit.evidence import Evidence
from weft.revisit.feasibility import capacity_of
from weft.revisit.planning import make_plan
from weft.revisit.rates import likeliest
from weft.revisit.visiting import age, freshness
from weft.sim.continuous import Crawl, Terms
from weft.sim.moving import moving_pages

PAGES, SITES, DAYS = 5_000, 125, 75.0
A_PAGE = {1: 0.2, 2: 0.07}  # by seed: fetches a page and day
MOST = 30.0  # days: no page is left alone for longer, so that an age can be measured


def run() -> dict[str, Any]:
    """All tables."""
    found: dict[str, Any] = {"machine": description()}
    found["pages"] = [pages_of(seed) for seed in A_PAGE]
    found["estimates"] = estimates()
    found["plan"] = planning()
    return found


# Pages.


def pages_of(seed: int) -> dict[str, Any]:
    """Rates that are alike within sites: log-normal over sites and over the pages of each."""
    rng = np.random.default_rng(seed)
    site = rng.integers(0, SITES, PAGES).astype(np.int32)
    rate = np.exp(rng.normal(-3.0, 1.2, SITES))[site] * np.exp(rng.normal(0.0, 0.8, PAGES))
    web = moving_pages(rate, site, DAYS, seed)
    terms: dict[str, Any] = {
        "fetches_a_day": A_PAGE[seed] * PAGES,
        "hub_share": 0.0,
        "new_share": 0.0,
        "step": 3600.0,
        "seed": seed,
    }
    terms |= {"most_interval": MOST * 86_400, "wait": 600.0, "warm_up": MOST}
    rows: dict[str, Any] = {}
    for kind in POLICIES:
        if kind.name in ("filling", "quality"):
            continue
        policy = policy_named(kind.name)
        best = ideal(policy, rate, site, Terms(**terms))
        found = {
            known: Crawl(web, policy, policy_named("square-root"), Terms(**terms, known_rates=known)).run()
            for known in (True, False)
        }
        rows[kind.name] = {
            **best,
            "known": {name: found[True].measures[name] for name in ("freshness", "age_days", "requests")},
            "learned": {name: found[False].measures[name] for name in ("freshness", "age_days", "requests")},
            "fetches_to_fresh": {
                part: fetches_until(found[False].by_day[:, 1] >= part * best["freshness"], found[False].by_day[:, 3])
                for part in (0.90, 0.97, 0.98)
            },
            "fetches_to_young": {
                part: fetches_until(found[False].by_day[:, 2] <= best["age_days"] / part, found[False].by_day[:, 3])
                for part in (0.80, 0.90)
            },
        }
    return {"seed": seed, "terms": terms, "policies": rows}


def ideal(policy: Policy, rate: Numbers, site: NDArray[np.int32], terms: Terms) -> dict[str, Any]:
    """The closed form, under the same terms."""
    bounds = Bounds.none(len(rate)).by(
        np.zeros(len(rate), np.int32), Intervals(np.array([terms.least_interval / 86_400]), np.array([MOST]))
    )
    capacity = capacity_of(site, np.full(SITES, terms.wait))
    plan = make_plan(policy, Pages.of(rate), terms.fetches_a_day * (1 - terms.headroom), bounds, capacity)
    without = make_plan(policy, Pages.of(rate), terms.fetches_a_day * (1 - terms.headroom))
    return {
        "freshness": float(freshness(rate, plan.frequency, policy.kind).mean()),
        "age_days": float(age(rate, plan.frequency, policy.kind).mean()),
        "full_sites": len(plan.full),
        "never_without_bounds": len(without.never),
        "never_share_of_changes": float(rate[without.never].sum() / rate.sum()),
    }


def fetches_until(met: NDArray[np.bool_], fetches: Numbers) -> float | None:
    """Fetches a page after which a bound was kept for good, but for one day in twenty; None: it never was."""
    for day in range(len(met)):
        if met[day:].mean() >= 0.95 and len(met) - day >= 20:
            return float(fetches[day]) / PAGES
    return None


# Estimates.


def estimates() -> dict[str, Any]:
    """Bias and spread of estimates, by 12 bytes and by all intervals, 4,000 pages of one rate and 20 fetches each."""
    rng = np.random.default_rng(9)
    pages, fetches, rows = 4000, 20, []
    for shape, lengths in (
        ("equal", np.ones((pages, fetches))),
        ("uniform, 0 to 2", rng.random((pages, fetches)) * 2),
        ("exponential", rng.exponential(1.0, (pages, fetches))),
    ):
        for rate in (0.1, 0.5, 1.5):
            changed = rng.random((pages, fetches)) < -np.expm1(-rate * lengths)
            kept = Evidence(pages)
            kept.add(np.repeat(np.arange(pages), fetches), lengths.ravel(), changed.ravel())
            brief, whole = likeliest(kept), exact(lengths, changed)
            sound = np.isfinite(brief) & np.isfinite(whole)
            rows.append(
                {
                    "intervals": shape,
                    "rate": rate,
                    "brief_mean": float(brief[sound].mean()),
                    "whole_mean": float(whole[sound].mean()),
                    "brief_rms": float(np.sqrt(((brief[sound] - rate) ** 2).mean())),
                    "whole_rms": float(np.sqrt(((whole[sound] - rate) ** 2).mean())),
                    "left_out": float(1 - sound.mean()),
                }
            )
    return {"pages": pages, "fetches": fetches, "rows": rows}


def exact(lengths: Numbers, changed: NDArray[np.bool_]) -> Numbers:
    """The likeliest rates by all intervals, halved down to."""
    low, high = np.full(len(lengths), 1e-6), np.full(len(lengths), 50.0)
    for _ in range(60):
        middle = np.sqrt(low * high)[:, None]
        gain = np.where(changed, lengths / np.expm1(np.minimum(middle * lengths, 500.0)), -lengths).sum(axis=1)
        low, high = np.where(gain > 0, middle[:, 0], low), np.where(gain > 0, high, middle[:, 0])
    found = np.sqrt(low * high)
    return np.where(changed.any(axis=1), np.where(changed.all(axis=1), np.inf, found), 0.0)


# Costs.


def planning() -> dict[str, Any]:
    """What a plan of a million pages costs, for each policy; and estimating their rates."""
    rng = np.random.default_rng(3)
    pages = Pages.of(np.exp(rng.normal(-3, 2, 1_000_000)))
    rows = {}
    for kind in POLICIES:
        began = time.process_time()
        make_plan(policy_named(kind.name), pages, 200_000.0)
        rows[kind.name] = time.process_time() - began
    return {"pages": 1_000_000, "seconds": rows}


def show(found: dict[str, Any]) -> None:
    """Print the tables."""
    for world in found["pages"]:
        print(f"\npages, seed {world['seed']}: policy, optimum, known, learned (freshness; age), fetches a page until")
        for name, row in world["policies"].items():
            parts = [row, row["known"], row["learned"]]
            fresh, old = (" ".join(f"{part[key]:.4f}" for part in parts) for key in ("freshness", "age_days"))
            until = f"{row['fetches_to_fresh']} {row['fetches_to_young']} never {row['never_without_bounds']}"
            print(f"  {name:18s} {fresh} | {old} | {until}")
    print("\nestimates: intervals, rate, mean by 12 bytes and exact, root mean square error of both")
    for row in found["estimates"]["rows"]:
        means = f"{row['brief_mean']:.4f} {row['whole_mean']:.4f}"
        print(f"  {row['intervals']:16s} {row['rate']} {means} {row['brief_rms']:.4f} {row['whole_rms']:.4f}")
    print("\na plan of a million pages, CPU s:", json.dumps(found["plan"]["seconds"]))


if __name__ == "__main__":
    show(run())
