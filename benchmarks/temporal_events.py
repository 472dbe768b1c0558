"""How soon `weft temporal update` finds the sites of an event, and how soon it drops them again.

    python -m benchmarks.temporal_events

Two generated worlds with ten sites each that live for one event, from day 50 to day 65. The log of the first fifty days
is taken in at once, and then one day at a time, as an operator would every night; `seeds.txt` is read after each. A
site is found on the first night that it is listed, in days since its event began, and dropped after the last, in days
since the event was over. Everything is the command's own way, from a log to the file.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.machine import description
from weft.temporal.analysis import Task, update
from weft.temporal.sites import SiteRules
from weft.temporal.worlds import Recipe, make_world
from weft.temporal.worlds.requests import Requests

WORLDS = {301: 100, 302: 150}  # by seed: sites
EVENTS, BEGIN, LASTS, LAST = 10, 50, 15, 82
RULES = {"default": SiteRules(), "all pages alike": SiteRules(half_life=0.0, least_rate=0.0)}


def run() -> dict[str, Any]:
    """Days to find and to drop, site by site, for each rule."""
    sites = {
        name: [row for seed, many in WORLDS.items() for row in followed(seed, many, rules)]
        for name, rules in RULES.items()
    }
    return {
        "machine": description(),
        "sites_by_seed": WORLDS,
        "half_life_days": {name: rules.half_life for name, rules in RULES.items()},
        "sites": sites,
        "medians": {name: medians(rows) for name, rows in sites.items()},
    }


def followed(seed: int, sites: int, rules: SiteRules) -> list[dict[str, Any]]:
    """Update every night; when was each site of the event listed?"""
    after = LAST - Recipe().days
    recipe = Recipe(
        seed=seed, sites=sites, after=after, event_sites=EVENTS, event_day=BEGIN, event_days=LASTS, event_pages=60
    )
    world = make_world(recipe)
    requests, task = Requests(world), Task(sites=rules)
    nights: dict[str, list[int]] = {}
    with tempfile.TemporaryDirectory() as scratch:
        log, found = Path(scratch) / "log.parquet", Path(scratch) / "found"
        for day in range(BEGIN - 1, LAST):
            with pq.ParquetWriter(log, requests.of_day(0).schema, compression="zstd") as writer:
                for each in range(day + 1) if day == BEGIN - 1 else (day,):
                    writer.write_table(requests.of_day(each))
            update(found, [log], task, lambda *_: None, again=False)
            for site in (found / "seeds.txt").read_text(encoding="utf-8").split():
                nights.setdefault(site, []).append(day + 1)
            print(f"  seed {seed}, half-life {rules.half_life:g}: day {day + 1}", flush=True)
    rows = []
    for site in world.sites.table().filter(pc.field("kind") == "event").to_pylist():
        listed = nights.get(site["site"], [])
        rows.append(
            {
                "seed": seed,
                "site": site["site"],
                "found_after": listed[0] - site["on"] if listed else None,
                "dropped_after": max(listed[-1] + 1 - site["off"], 0) if listed else None,
                "still_listed": bool(listed) and listed[-1] == LAST,
            }
        )
    return rows


def medians(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Over the sites that were found."""
    there = [row for row in rows if row["found_after"] is not None]
    return {
        "sites": len(rows),
        "found": len(there),
        "days_to_find": float(np.median([row["found_after"] for row in there])) if there else None,
        "days_to_drop": float(np.median([row["dropped_after"] for row in there])) if there else None,
        "still_listed_at_the_end": sum(row["still_listed"] for row in rows),
    }


def show(found: dict[str, Any]) -> None:
    """Print the medians."""
    for name, row in found["medians"].items():
        print(
            f"{name} (half-life {found['half_life_days'][name]:g} days): "
            + ", ".join(f"{k} {v}" for k, v in row.items())
        )


if __name__ == "__main__":
    show(run())
