"""Continuous crawls on a clock that jumps: policies do what their closed forms say, and lanes keep their shares."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from weft.errors import UsageError
from weft.graph import Recipe
from weft.graph.changing import Changes, make_world
from weft.revisit import Pages, policy_named
from weft.revisit.contract import Numbers
from weft.revisit.planning import make_plan
from weft.revisit.visiting import age, freshness
from weft.sim.continuous import Continuous, Crawl, Terms
from weft.sim.continuous_report import write_continuous_report
from weft.sim.moving import Moving, moving_of, moving_pages

DAYS, MOST = 30.0, 12.0
SITE = np.arange(1500, dtype=np.int32) % 50
RATE: Numbers = np.exp(np.random.default_rng(1).normal(-2, 0.8, 50))[SITE]


def crawl(web: Moving, policy: str, **given: float) -> Continuous:
    """One crawl."""
    return Crawl(web, policy_named(policy), policy_named("square-root"), Terms(**{"step": 7200.0, **given})).run()  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def still() -> Moving:
    """Pages with known rates, and no births."""
    return moving_pages(RATE, SITE, DAYS, seed=3)


@pytest.fixture(scope="module")
def born() -> Moving:
    """A small world with births, deaths and hubs."""
    world = make_world(Recipe(sites=20, pages=600), Changes(days=12, news=0.3), seed=2)
    return moving_of(world, np.ones(world.graph.pages))


@pytest.mark.parametrize("policy", ["uniform", "freshness", "age", "freshness-random"])
def test_crawl__with_known_rates_is_what_the_closed_form_says(still: Moving, policy: str) -> None:
    """Freshness within .97, age within 1.05 of the plan's own, for periodic and random fetches."""
    terms = {"fetches_a_day": 450.0, "hub_share": 0.0, "new_share": 0.0, "warm_up": MOST, "wait": 1.0}
    found = crawl(still, policy, **terms, known_rates=True).measures
    chosen = policy_named(policy)
    often = make_plan(chosen, Pages.of(RATE), 450 * 0.98).frequency
    assert found["freshness"] == pytest.approx(freshness(RATE, often, chosen.kind).mean(), rel=0.03)
    if policy in ("uniform", "age"):
        assert found["age_days"] == pytest.approx(age(RATE, often, chosen.kind).mean(), rel=0.05)
    assert found["requests"] == pytest.approx(450 * DAYS * 0.98, rel=0.03)


def test_crawl__learns_rates_from_nothing(still: Moving) -> None:
    """And comes near to who knows them."""
    terms = {"fetches_a_day": 450.0, "hub_share": 0.0, "new_share": 0.0, "warm_up": MOST, "wait": 1.0}
    found = [crawl(still, "age", **terms, known_rates=known).measures for known in (True, False)]
    assert found[1]["age_days"] <= found[0]["age_days"] / 0.9
    assert found[1]["freshness"] >= 0.97 * found[0]["freshness"]


def test_crawl__keeps_to_the_waits_of_sites(still: Moving) -> None:
    """Two hours between visits are twelve fetches a day and site at most, whatever the capacity is."""
    found = crawl(still, "uniform", fetches_a_day=5000.0, hub_share=0.0, new_share=0.0, wait=7199.0).measures
    assert found["requests"] <= 50 * (12 * DAYS + 1)


def test_crawl__finds_what_is_born_and_notices_what_is_gone(born: Moving) -> None:
    """Hubs are polled, new pages are stored, dead ones are not asked for again."""
    found = crawl(born, "age", fetches_a_day=600.0, hub_share=0.4, new_share=0.2, warm_up=3.0, step=3600.0).measures
    lanes = found["requests_by_lane"]
    assert found["held"] > 0.9
    assert found["temporal_pages"] > 10
    assert found["within_6h"] > 0.3
    assert 0 < found["gone"] <= np.isfinite(born.gone).sum()
    assert lanes["hubs"] <= 0.45 * sum(lanes.values())
    assert sum(lanes.values()) <= 600 * 12


def test_crawl__with_more_for_hubs_has_news_sooner(born: Moving) -> None:
    """The operator's number decides: what goes to hubs does not go to known pages."""
    found = [
        crawl(born, "age", fetches_a_day=500.0, hub_share=share, new_share=0.1, step=3600.0) for share in (0.05, 0.5)
    ]
    few, many = (each.measures for each in found)
    assert many["within_6h"] > few["within_6h"]
    assert many["freshness"] < few["freshness"]


def test_crawl__warns_of_wishes_that_cannot_be_met(still: Moving) -> None:
    """And says which sites they are of."""
    found = crawl(still, "uniform", fetches_a_day=100.0, hub_share=0.0, most_interval=86_400.0, wait=7199.0)
    assert any("fetches a day" in each for each in found.warnings)
    assert any("site 0" in each for each in found.warnings)


def test_terms__leave_something_for_known_pages() -> None:
    """All of it for others is a mistake."""
    with pytest.raises(UsageError, match="together"):
        Terms(hub_share=0.5, new_share=0.5).check()


def test_report__has_every_measure_and_is_replaced(born: Moving, tmp_path: Path) -> None:
    """JSON that others read, one page, and figures where they can be drawn."""
    results = [crawl(born, policy, fetches_a_day=300.0) for policy in ("uniform", "freshness")]
    for _ in range(2):
        write_continuous_report(results, tmp_path / "report", {"web": "a world", "hubs": "square-root"})
    summary = json.loads((tmp_path / "report" / "summary.json").read_text(encoding="utf-8"))
    assert [each["policy"] for each in summary["crawls"]] == ["uniform", "freshness"]
    wanted = {
        "freshness",
        "age_days",
        "embarrassment",
        "mean_delay_hours",
        "within_1h",
        "within_6h",
        "requests",
        "bytes",
    }
    assert wanted <= summary["crawls"][0]["measures"].keys()
    assert "freshness, 30 % new" in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")
