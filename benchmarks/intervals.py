"""Heritrix' planning scenario, simulated: groups of sites with least and most intervals, who is on time, at what cost.

    python -m benchmarks.intervals

50,000 sites and 10 million pages, whose sizes are a power law: 45,000 sites with intervals of a week to three months,
5,000 with a day to a month, and static types (two fifths of the pages) with one to six months, whatever their site has.
Within the intervals a page is fetched by its rate of change (`square-root`); half a year is simulated. Two budgets:
what the longest intervals ask for and a tenth more, and eight tenths of it.
"""

from __future__ import annotations

import resource
import time
from typing import Any

import numpy as np

from benchmarks.machine import description
from weft.revisit import policy_named
from weft.revisit.bounds import Bounds, Intervals
from weft.revisit.contract import Pages
from weft.revisit.evidence import Evidence
from weft.revisit.feasibility import capacity_of, examine
from weft.revisit.planning import make_plan
from weft.revisit.visiting import age, freshness
from weft.sim.punctual import keep_up

SITES, PAGES, FAST, DAYS, WAIT = 50_000, 10_000_000, 5_000, 182, 15.0
MONTH = 30.4


def run() -> dict[str, Any]:
    """Both budgets."""
    rng = np.random.default_rng(4)
    share = rng.pareto(1.2, SITES) + 0.02
    many = np.maximum((share / share.sum() * PAGES).astype(np.int64), 1)
    many[int(many.argmax())] += PAGES - int(many.sum())
    site = np.repeat(np.arange(SITES, dtype=np.int32), many)
    fast = np.zeros(SITES, np.bool_)
    fast[rng.permutation(SITES)[:FAST]] = True
    static = rng.random(PAGES, np.float32) < 0.4
    group = np.where(static, 2, fast[site].astype(np.int32)).astype(np.int32)
    said = Intervals(np.array([7.0, 1.0, MONTH]), np.array([3 * MONTH, MONTH, 6 * MONTH]))
    bounds = Bounds.none(PAGES).by(group, said)
    rate = np.exp(rng.normal(-3.5, 1.2, SITES))[site] * np.exp(rng.standard_normal(PAGES))
    rate[static] *= 0.1
    capacity = capacity_of(site, np.full(SITES, WAIT))
    names = [f"site{at:05d}.example" for at in range(SITES)]
    asked = float(bounds.asked.sum())
    found: dict[str, Any] = {
        "machine": description(),
        "sites": SITES,
        "pages": PAGES,
        "days": DAYS,
        "wait_s": WAIT,
        "largest_site": int(many.max()),
        "asked_a_day": asked,
        "bytes_a_page": {"evidence": Evidence(1).nbytes, "plan": 8, "last and due": 8},
        "budgets": {},
    }
    for times in (1.1, 0.8):
        began = time.process_time()
        wishes = examine(bounds, capacity, asked * times)
        plan = make_plan(policy_named("square-root"), Pages.of(rate), asked * times, bounds, capacity)
        planned = time.process_time() - began
        kept = keep_up(plan.frequency, bounds, capacity, asked * times, DAYS, rng)
        over = np.isin(site, wishes.sites)
        found["budgets"][str(times)] = {
            "fetches_a_day": asked * times,
            "fetched_a_day": kept.fetches / DAYS,
            "warnings": wishes.warnings(names),
            "sites_that_cannot": [names[at] for at in wishes.sites.tolist()],
            "on_time": {
                name: float(1 - kept.late[some].mean())
                for name, some in {
                    "all pages": np.ones(PAGES, np.bool_),
                    "week to three months": group == 0,
                    "day to month": group == 1,
                    "static types": group == 2,
                    "all but those of named sites": ~over,
                }.items()
            },
            "before_their_time": kept.early,
            "waiting_at_the_end": kept.waiting,
            "freshness": float(freshness(rate, plan.frequency, "periodic").mean()),
            "age_days": float(age(rate, plan.frequency, "periodic").mean()),
            "plan_cpu_s": planned,
            "simulation_cpu_s": time.process_time() - began - planned,
        }
        print(f"  {times}: {found['budgets'][str(times)]['on_time']}", flush=True)
    found["peak_rss_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found


def show(found: dict[str, Any]) -> None:
    """Print who was on time."""
    print(
        f"{found['asked_a_day']:,.0f} fetches a day are asked for; the largest site has {found['largest_site']:,} pages"
    )
    for times, row in found["budgets"].items():
        print(f"\nbudget {times} of that: {row['fetched_a_day']:,.0f} a day were fetched")
        for name, part in row["on_time"].items():
            print(f"  on time, {name:30} {part:.4f}")
        print(f"  before their time {row['before_their_time']}, waiting at the end {row['waiting_at_the_end']:,}")
        print(f"  CPU s: plan {row['plan_cpu_s']:.1f}, {found['days']} days {row['simulation_cpu_s']:.1f}")
        for warning in row["warnings"]:
            print(f"  ! {warning}")
    print(f"\npeak memory {found['peak_rss_mb']:,.0f} MB; bytes a page {found['bytes_a_page']}")


if __name__ == "__main__":
    show(run())
