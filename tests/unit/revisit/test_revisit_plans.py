"""Plans spend what they are given, within bounds and waits, and optima are optimal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from weft.errors import UsageError
from weft.revisit import Pages, policy_named, policy_names
from weft.revisit.bounds import Bounds, Intervals
from weft.revisit.contract import Kind, Numbers
from weft.revisit.feasibility import capacity_of, examine
from weft.revisit.freshest import never
from weft.revisit.planning import Capacity, make_plan
from weft.revisit.visiting import age, freshness

RNG = np.random.default_rng(5)
RATES = np.exp(RNG.normal(-2, 2, 3000))
PAGES = Pages.of(RATES, RNG.random(3000) + 0.1, RNG.random(3000) + 0.5)
SITE = RNG.integers(0, 40, 3000).astype(np.int32)
BOUNDS = Bounds.none(3000).by(np.zeros(3000, np.int32), Intervals(np.array([0.25]), np.array([60.0])))


@pytest.mark.parametrize("name", policy_names())
@pytest.mark.parametrize("budget", [10.0, 900.0, 6000.0])
def test_plan__costs_the_budget(name: str, budget: float) -> None:
    """Without bounds every policy finds a use for all of it."""
    plan = make_plan(policy_named(name), PAGES, budget)
    assert PAGES.cost @ plan.frequency == pytest.approx(budget, rel=1e-5)
    assert (plan.frequency >= 0).all()
    assert not plan.short


@pytest.mark.parametrize("name", policy_names())
def test_plan__keeps_within_bounds_and_waits(name: str) -> None:
    """Least and most intervals, and what a site can bear; the budget is still spent."""
    capacity = Capacity(SITE, np.full(40, 30.0))
    plan = make_plan(policy_named(name), PAGES, 900.0, BOUNDS, capacity)
    assert (plan.frequency <= 4.0 * (1 + 1e-5)).all()
    assert (plan.frequency >= 1 / 60 * (1 - 1e-5)).all()
    assert (np.bincount(SITE, plan.frequency) <= 30 * (1 + 1e-5)).all()
    assert PAGES.cost @ plan.frequency == pytest.approx(900.0, rel=1e-5)
    assert not len(plan.stretched)


def test_plan__is_stretched_where_most_intervals_ask_for_too_much() -> None:
    """All alike, and it says so; nothing is spent that is not there."""
    asked = float(PAGES.cost @ BOUNDS.asked)
    plan = make_plan(policy_named("age"), PAGES, asked / 2, BOUNDS)
    assert plan.short
    assert plan.frequency == pytest.approx(BOUNDS.asked / 2)


def test_plan__spends_no_more_than_is_allowed_where_there_is_more() -> None:
    """Least intervals hold, whatever is left over."""
    plan = make_plan(policy_named("freshness"), PAGES, 1e9, BOUNDS)
    assert plan.frequency.max() <= 4.0
    assert plan.price == 0.0


def value(kind: str, pages: Pages) -> Callable[[Numbers], float]:
    """What a policy is to make as large as possible."""
    by: Kind = "random" if kind.endswith("random") else "periodic"
    if kind.startswith("freshness"):
        return lambda often: float((pages.weight * freshness(pages.rate, often, by)).sum())
    return lambda often: -float((pages.weight * age(pages.rate, often, by)).sum())


@pytest.mark.parametrize("name", ["freshness", "freshness-random", "age", "age-random"])
def test_optimum__is_beaten_by_no_other_way_to_spend(name: str) -> None:
    """Moving fetches from any page to any other, by much or by little, gains nothing; bounds included."""
    pages = PAGES.only(np.arange(3000) < 8)
    bounds = BOUNDS.only(np.arange(3000) < 8)
    worth = value(name, pages)
    best = make_plan(policy_named(name), pages, 5.0, bounds).frequency
    for part in (0.3, 0.03, 0.003):
        for giver in range(8):
            for taker in range(8):
                tried = best.copy()
                moved = min(part * best[giver], best[giver] - bounds.lowest[giver])
                tried[giver] -= moved
                tried[taker] += moved * pages.cost[giver] / pages.cost[taker]
                if tried[taker] <= bounds.highest[taker]:
                    assert worth(tried) <= worth(best) + 1e-7


def test_optimum__of_sites_that_are_full_is_beaten_by_no_move_within_them() -> None:
    """The price of a site that cannot bear more is its own, and the same for its pages."""
    pages, site = Pages.of(np.array([0.1, 1.0, 0.2, 0.5])), np.array([0, 0, 1, 1], np.int32)
    plan = make_plan(policy_named("age"), pages, 10.0, capacity=Capacity(site, np.array([1.0, 100.0])))
    assert plan.full.tolist() == [0]
    assert np.bincount(site, plan.frequency) == pytest.approx([1.0, 9.0], rel=1e-5)
    alone = make_plan(policy_named("age"), pages.only(site == 0), 1.0).frequency
    assert plan.frequency[:2] == pytest.approx(alone, rel=1e-4)


def test_freshness__names_the_pages_that_it_never_fetches() -> None:
    """Those that change too often to be kept fresh, and no others."""
    pages = Pages.of(RATES)
    plan = make_plan(policy_named("freshness"), pages, 300.0)
    assert len(plan.never)
    assert sorted(plan.never) == np.flatnonzero(never(pages, plan.price)).tolist()
    kept = np.setdiff1d(np.arange(3000), plan.never)
    assert RATES[plan.never].min() > RATES[kept].max()


def test_proportional__is_worse_than_uniform_for_freshness() -> None:
    """Cho and Garcia-Molina's theorem, whatever the rates are."""
    found = {
        name: make_plan(policy_named(name), Pages.of(RATES), 600.0).frequency for name in ("uniform", "proportional")
    }
    fresh = {name: freshness(RATES, often, "periodic").mean() for name, often in found.items()}
    assert fresh["proportional"] < fresh["uniform"]


def test_filling__polls_the_busiest_and_no_others() -> None:
    """To an interval of an hour, in the order of their rates."""
    plan = make_plan(policy_named("filling"), Pages.of(np.array([5.0, 1.0, 3.0, 2.0])), 60.0)
    assert plan.frequency == pytest.approx([24.0, 0.0, 24.0, 12.0])


def test_quality__counts_for_as_much_as_change() -> None:
    """A page of twice the quality comes sooner at the same rate; one below the price never."""
    plan = make_plan(policy_named("quality"), Pages.of(np.full(3, 0.1), np.array([1.0, 2.0, 0.01])), 0.2)
    first, second, third = plan.frequency
    assert second > first > third == 0.0


def test_bounds__the_last_that_says_something_holds() -> None:
    """Media types go before sites; a least interval before a most one."""
    by_site = BOUNDS.by(SITE, Intervals(np.full(40, 7.0), np.full(40, 90.0)))
    kind = (np.arange(3000) % 2).astype(np.int32)
    found = by_site.by(kind, Intervals(np.array([np.nan, 30.0]), np.array([np.nan, 20.0])))
    assert (1 / found.lowest[0], 1 / found.highest[0]) == pytest.approx((90.0, 7.0))
    assert found.cut(np.array([9.0] * 3000))[1] == pytest.approx(1 / 30)
    assert 1 / found.asked[1] == pytest.approx(30.0)


def test_wishes__that_cannot_be_met_are_told_with_the_sites() -> None:
    """One connection and a wait: 86,400 / w visits a day."""
    site = np.repeat(np.array([0, 1], np.int32), [10, 1000])
    daily = Bounds.none(1010).by(site, Intervals(np.full(2, np.nan), np.ones(2)))
    capacity = capacity_of(site, np.array([600.0, 600.0]), page_time=0.0)
    assert capacity.most.tolist() == [144.0, 144.0]
    wishes = examine(daily, capacity, 500.0)
    assert wishes.sites.tolist() == [1]
    assert wishes.stretch == pytest.approx([1000 / 144])
    [said] = wishes.warnings(["a.example", "b.example"])
    assert "b.example" in said, "and the budget is no reason: 154 is all that can be borne"
    assert not wishes.met
    [budget, _] = examine(daily, capacity, 77.0).warnings()
    assert "2.00 times as long" in budget
    plan = make_plan(policy_named("uniform"), Pages.of(np.ones(1010)), 500.0, daily, capacity)
    assert plan.stretched.tolist() == [1]
    assert plan.frequency[site == 1].sum() == pytest.approx(144.0, rel=1e-5)


def test_policy__that_nobody_knows_is_refused() -> None:
    """With the names of those that there are."""
    with pytest.raises(UsageError, match="no revisit policy"):
        policy_named("sometimes")
