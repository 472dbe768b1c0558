"""The instant crawler: how long a temporal page waits until it is stored, by the way hubs are polled.

    python -m benchmarks.instant

Two worlds of page views (`weft.temporal.worlds`, 200 sites): `weft temporal` reads 60 days and gives rates, shares of
temporal pages and hours of the day; then fourteen days are crawled (`weft.sim.continuous`), with what the log has told
and what polls go on to tell. Every site has one hub, which lists its newest pages. The budget is 4 hub polls a site and
day; fetches of the pages found there are outside of it, and counted. A page is stored when it was fetched, one
connection a site and a wait behind each visit. Five phases of the default, two of the others: where in its interval a
hub stands at the beginning.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import description
from weft.revisit import policy_named
from weft.revisit.contract import Kind, Numbers, Pages, Policy, Price
from weft.revisit.filling import Filling
from weft.sim.continuous import Crawl, Terms
from weft.sim.moving import Moving, moving_births
from weft.temporal.hubs import LEAD
from weft.temporal.labels import Rules, classify
from weft.temporal.reading import Reading, read_views
from weft.temporal.sites import PAPER, rank_sites
from weft.temporal.worlds import Recipe, make_world, write_log

SEEDS = (501, 502)
SITES, DAYS = 200, 14
POLLS = 4.0  # a site and day
PHASES, FEWER = 5, 2  # of the default, and of the others
ROOM = 10.0  # fetches a site and day beside polls: more than are ever needed
WAIT = 15.0
PSEUDO = 1.0  # births, as temporal as all are, added to each site's share
DEFAULT = "square root, with profile (default)"


class Shares:
    """So much of the polls for these hubs, the rest for the others: a list that is hard."""

    name = "hard list"
    kind: Kind = "periodic"

    def __init__(self, listed: np.ndarray[Any, np.dtype[np.bool_]], share: float = 0.9) -> None:
        self._part = np.where(listed, share / max(listed.sum(), 1), (1 - share) / max((~listed).sum(), 1))

    def frequency(self, pages: Pages, price: Price) -> Numbers:
        """By the list alone; pages that are no hubs have none."""
        part = np.zeros(len(pages.rate))
        part[: len(self._part)] = self._part
        return np.asarray(part[: len(pages.rate)] / price)


class Never:
    """Stored pages are left alone: this is about new ones."""

    name = "never"
    kind: Kind = "periodic"

    def frequency(self, pages: Pages, price: Price) -> Numbers:  # noqa: ARG002  a policy has a price
        """Not at all."""
        return np.zeros(len(pages.rate))


class Past:
    """What 60 days of page views tell of the sites."""

    def __init__(self, seed: int) -> None:
        world = make_world(Recipe(seed=seed, sites=SITES, after=DAYS))
        with tempfile.TemporaryDirectory() as folder:
            write_log(world, Path(folder) / "world")
            views, _ = read_views([Path(folder) / "world" / "log.parquet"], Reading())
        labels = classify(views, Rules())
        truth = world.truth.to_pydict()
        names = sorted(set(truth["site"]))
        number = {name: at for at, name in enumerate(names)}
        self.sites = len(names)
        site = np.array([number[name] for name in truth["site"]])
        birth, hub = np.array(truth["birth"]), np.array(truth["kind"]) == "hub"
        later = (birth >= world.recipe.days) & (birth < world.recipe.days + DAYS) & ~hub
        temporal = np.array(truth["temporal_by_definition"])
        self.web: Moving = moving_births(
            site[later], birth[later] - world.recipe.days, temporal[later], self.sites, float(DAYS)
        )
        days = views.window.days
        self.days = days - 1.0 - LEAD
        seen = (labels.activation >= LEAD) & (labels.activation < days - 1)
        of = np.array([number[name] for name in views.sites.to_pylist()])[views.site]
        self.births = np.bincount(of[seen], minlength=self.sites).astype(np.float64)
        wanted = np.bincount(of[seen & labels.temporal], minlength=self.sites)
        usual = wanted.sum() / max(self.births.sum(), 1.0)
        self.share = (wanted + PSEUDO * usual) / (self.births + PSEUDO)
        self.times = labels.born[seen & labels.temporal]
        ranked = rank_sites(views, labels, PAPER).names.to_pylist()
        self.ranked = [number[name] for name in ranked]

    def listed(self, part: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """The best n / part sites by the paper's score."""
        found = np.zeros(self.sites, np.bool_)
        found[self.ranked[: self.sites // part]] = True
        return found


def ways(past: Past) -> dict[str, tuple[Policy, dict[str, Any]]]:
    """The rows of the table: a policy, and terms that differ from the usual."""
    plain = {"hour_profile": False}
    return {
        "uniform": (policy_named("uniform"), plain),
        "hard list of n/15, 90 % of the polls": (Shares(past.listed(15)), plain),
        "hard list of n/5, 90 % of the polls": (Shares(past.listed(5)), plain),
        "proportional to temporal births": (policy_named("proportional"), plain),
        "square root": (policy_named("square-root"), plain),
        DEFAULT: (policy_named("square-root"), {}),
        "greedy for 1 h (filling)": (Filling(1.0), plain),
        "square root of the true later rates": (policy_named("square-root"), plain | {"known_rates": True}),
    }


def crawled(past: Past, policy: Policy, seed: int, **differ: Any) -> tuple[dict[str, Any], Numbers]:
    """Fourteen days."""
    headroom = 0.02
    per_day = (POLLS / (1 - headroom) + ROOM) * past.sites
    settings: dict[str, Any] = {
        "fetches_a_day": per_day,
        "hub_share": POLLS * past.sites / (1 - headroom) / per_day,
        "new_share": 0.9 * ROOM * past.sites / per_day,
        "headroom": headroom,
        "wait": WAIT,
        "least_interval": 600.0,
        "most_interval": 7 * 86_400.0,
        "warm_up": 0.5,
        "step": 120.0,
        "seed": seed,
    }
    crawl = Crawl(past.web, Never(), policy, Terms(**settings | differ))
    share = past.share
    if differ.get("known_rates"):
        born = past.web.site[past.sites :]
        true = np.bincount(born, past.web.temporal[past.sites :], past.sites)
        share = true / np.maximum(np.bincount(born, minlength=past.sites), 1)
    crawl.recall(np.arange(past.sites), past.days, past.births, np.maximum(share, 1e-3), past.times)
    found = crawl.run()
    return found.measures, found.delays


def world(seed: int) -> dict[str, Any]:
    """All ways, five phases each."""
    past = Past(seed)
    rows: dict[str, Any] = {}
    for title, (policy, differ) in ways(past).items():
        measured, delays = zip(
            *(crawled(past, policy, phase, **differ) for phase in range(PHASES if title == DEFAULT else FEWER)),
            strict=True,
        )
        every = np.concatenate(delays)
        stored = every[np.isfinite(every)]
        rows[title] = {
            "within_1h": float((every <= 1).mean()),
            "within_6h": float((every <= 6).mean()),
            "mean_delay_h": float(stored.mean()),
            "never_stored": float(1 - len(stored) / len(every)),
            "phases": [{"mean_delay_h": each["mean_delay_hours"], "within_1h": each["within_1h"]} for each in measured],
            "polls_a_site_and_day": float(
                np.mean([each["requests_by_lane"]["hubs"] for each in measured]) / past.sites / DAYS
            ),
            "page_fetches_a_site_and_day": float(
                np.mean([each["requests_by_lane"]["new"] for each in measured]) / past.sites / DAYS
            ),
        }
        print(f"  {seed} {title}: {rows[title]['mean_delay_h']:.2f} h", flush=True)
    return {"seed": seed, "sites": past.sites, "temporal_pages": int(past.web.temporal.sum()), "policies": rows}


def run() -> dict[str, Any]:
    """Both worlds."""
    return {"machine": description(), "wait_s": WAIT, "polls": POLLS, "worlds": [world(seed) for seed in SEEDS]}


def show(found: dict[str, Any]) -> None:
    """Print the table."""
    for each in found["worlds"]:
        print(f"\nseed {each['seed']}: {each['sites']} sites, {each['temporal_pages']:,} temporal pages; until stored")
        print(
            f"  {'':40}{'<= 1 h':>8}{'<= 6 h':>8}{'mean h':>8}{'worst phase':>13}{'polls':>7}{'fetches':>9}{'never':>7}"
        )
        for title, row in each["policies"].items():
            worst = max(phase["mean_delay_h"] for phase in row["phases"])
            print(
                f"  {title:40}{row['within_1h']:8.2f}{row['within_6h']:8.2f}{row['mean_delay_h']:8.2f}{worst:13.2f}"
                f"{row['polls_a_site_and_day']:7.2f}{row['page_fetches_a_site_and_day']:9.2f}{row['never_stored']:7.3f}"
            )


if __name__ == "__main__":
    show(run())
