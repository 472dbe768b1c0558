"""Who is on time when a plan is kept day by day."""

from __future__ import annotations

import numpy as np

from weft.revisit import policy_named
from weft.revisit.bounds import Bounds, Intervals
from weft.revisit.contract import Pages
from weft.revisit.feasibility import capacity_of, examine
from weft.revisit.planning import make_plan
from weft.sim.punctual import Kept, keep_up

SITE = np.repeat(np.arange(10, dtype=np.int32), 200)
WAIT = np.full(10, 600.0)
WAIT[3] = 86_400.0  # a site that can be visited once a day, and has 200 pages
NAMES = [f"s{at}.example" for at in range(10)]


def _kept(budget: float, wait: np.ndarray = WAIT) -> tuple[Kept, list[str], np.ndarray]:
    bounds = Bounds.none(len(SITE)).by(SITE * 0, Intervals(np.array([2.0]), np.array([30.0])))
    capacity = capacity_of(SITE, wait)
    rate = np.exp(np.random.default_rng(1).normal(-3, 1, len(SITE)))
    asked = float(bounds.asked.sum())
    wishes = examine(bounds, capacity, asked * budget)
    plan = make_plan(policy_named("square-root"), Pages.of(rate), asked * budget, bounds, capacity)
    kept = keep_up(plan.frequency, bounds, capacity, asked * budget, 120, np.random.default_rng(2))
    return kept, wishes.warnings(NAMES), capacity.most


def test_punctual__everybody_is_on_time_but_a_site_that_cannot_be_and_that_is_named() -> None:
    """With what is asked for and a fifth more, only the site with too long a wait is late."""
    kept, warnings, most = _kept(1.2)
    assert kept.late[SITE == 3].mean() > 0.9
    assert not kept.late[SITE != 3].any()
    assert kept.early == 0
    assert any("s3.example" in warning for warning in warnings)
    assert "s4.example" not in " ".join(warnings)
    assert kept.by_day.max() <= most.sum() + 10


def test_punctual__with_too_small_a_budget_many_are_late_and_it_was_said() -> None:
    """Half of what is asked for: the warning names both numbers, and nobody is fetched too early."""
    kept, warnings, _ = _kept(0.5, np.full(10, 60.0))
    assert kept.late.mean() > 0.5
    assert kept.early == 0
    assert "ask for 67 fetches a day, and there are 33" in warnings[0]
    assert kept.fetches <= 0.5 * len(SITE) / 30 * 120 + 1


def test_punctual__with_room_enough_nobody_is_late() -> None:
    """And no warning is given."""
    kept, warnings, _ = _kept(1.2, np.full(10, 60.0))
    assert not kept.late.any()
    assert warnings == []
