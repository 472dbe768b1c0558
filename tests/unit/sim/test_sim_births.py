"""Hubs are polled, and what they list is stored: what was known before counts."""

from __future__ import annotations

import numpy as np
import pytest

from weft.revisit import policy_named
from weft.sim.continuous import Crawl, Terms
from weft.sim.moving import moving_births

SITES, DAYS = 20, 6.0
RATES = np.geomspace(0.2, 20.0, SITES)


def _delay(policy: str, *, recalled: bool) -> dict[str, float]:
    """The mean delay of births until they are stored, with four polls a site and day."""
    rng = np.random.default_rng(3)
    many = rng.poisson(RATES * DAYS)
    site = np.repeat(np.arange(SITES), many)
    born = rng.random(len(site)) * DAYS
    web = moving_births(site, born, np.ones(len(site), np.bool_), SITES, DAYS)
    terms = Terms(fetches_a_day=400.0, hub_share=0.2, new_share=0.6, step=300.0, warm_up=0.5, headroom=0.0)
    crawl = Crawl(web, policy_named("uniform"), policy_named(policy), terms)
    if recalled:
        crawl.recall(np.arange(SITES), 30.0, RATES * 30, np.ones(SITES), rng.random(500))
    found = crawl.run().measures
    assert found["requests_by_lane"]["hubs"] == pytest.approx(4 * SITES * DAYS, rel=0.1)
    assert found["never_stored"] == 0
    return found


def test_births__are_stored_sooner_where_hubs_are_polled_by_what_a_log_has_told() -> None:
    """The root of rates beats equal intervals from the first day on, because the rates were known before."""
    uniform, root = _delay("uniform", recalled=True), _delay("square-root", recalled=True)
    assert root["mean_delay_hours"] < 0.75 * uniform["mean_delay_hours"]
    assert root["mean_delay_hours"] < _delay("square-root", recalled=False)["mean_delay_hours"]


def test_births__wait_half_an_interval_and_the_fetch() -> None:
    """Uniform polls every six hours: three hours on average, and never less than it takes to fetch the page."""
    assert 2.7 < _delay("uniform", recalled=True)["mean_delay_hours"] < 3.5
